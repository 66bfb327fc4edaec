"""LangMem's tools and memory manager on a store whose memories memfold has merged."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langgraph_store import store
from langmem import create_manage_memory_tool, create_memory_store_manager
from store import documents

NAMESPACE = ("memories", "{langgraph_user_id}")
ALICE = ("memories", "alice")
CONFIG = {"configurable": {"langgraph_user_id": "alice"}}
WINDOW = "User prefers window seats on flights"


class Model(GenericFakeChatModel):
    """A model that is never asked."""

    def bind_tools(self, tools, **options):
        return self


@pytest.fixture
def memfold(memfold):
    memfold.settings |= {"MEMFOLD_LAYOUT": "langgraph-store"}
    del memfold.settings["MEMFOLD_INDEX"]
    return memfold


@pytest.fixture
def made(redis, minilm):
    return store(redis, lambda texts: [minilm.embed(text) for text in texts])


def test_memories_of_the_tool_go_on_under_the_oldest_id(redis, made, memfold):
    tool = create_manage_memory_tool(namespace=NAMESPACE, store=made)
    for text in (WINDOW, WINDOW.lower() + ".", "User has a dog"):
        tool.invoke({"content": text, "action": "create"}, config=CONFIG)
    [report] = memfold.merge("alice")
    [done] = report["merged"]
    left = made.search(ALICE, limit=10)
    [kept] = [item for item in left if "window" in item.value["content"].lower()]
    assert len(left) == 2 and set(kept.value) == {"content"}

    tool.invoke({"content": "User prefers aisle seats", "action": "update", "id": kept.key}, config=CONFIG)
    assert made.get(ALICE, kept.key).value == {"content": "User prefers aisle seats"}
    tool.invoke({"action": "delete", "id": kept.key}, config=CONFIG)
    assert [item.value["content"] for item in made.search(ALICE, limit=10)] == ["User has a dog"]
    assert done["result_key"].encode() not in documents(redis)


def test_the_manager_reads_what_was_merged_and_kinds_stay_apart(redis, made, memfold):
    manager = create_memory_store_manager(Model(messages=iter([])), namespace=NAMESPACE, store=made)
    for number, kind in enumerate(("Memory", "Memory", "Note", "Note")):
        manager.put(f"k{number}", {"kind": kind, "content": {"content": WINDOW}}, config=CONFIG)
    before = documents(redis)

    [report] = memfold.merge("alice")

    assert len(report["merged"]) == 2
    # The manager makes its schemas of what it finds, and fails on another shape.
    found = manager.search(query="seats", config=CONFIG)
    assert {item.value.content for item in found if not isinstance(item.value, dict)} == {WINDOW}
    kinds = sorted(item.value["kind"] for item in made.search(ALICE, limit=10))
    assert kinds == ["Memory", "Note"]
    memfold("undo", "--run", report["run_id"])
    assert documents(redis) == before


TEXTS = ("Alice likes tea with honey", "Alice likes tea with ginger")
MERGED = "Alice likes tea with honey, ginger"


@pytest.fixture
def llm_url():
    """An LLM that always gives the same answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = {"verdict": "same", "text": MERGED, "used": ["m1", "m2"]}
            message = {"role": "assistant", "content": json.dumps(answer)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
            body = json.dumps({"id": "1", "object": "chat.completion", "model": asked["model"], "choices": [choice], "usage": usage})
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


@pytest.mark.parametrize("distance", ["stored", "onnx"])
def test_a_new_text_is_embedded_as_the_library_would(redis, minilm, made, memfold, llm_url, distance):
    value = {"kind": "Memory", "content": {"content": ""}}
    for number, text in enumerate(TEXTS):
        made.put(ALICE, f"k{number}", value | {"content": {"content": text}})
    options = ("--llm-url", llm_url, "--llm-model", "stub", "--distance", distance, "--threshold", "0.3")

    [report] = memfold.merge("alice", options=options)

    [merge] = report["plan"]["merges"]
    assert report["merged"] and merge["vector_origin"] == "embedded", report["plan"]["groups_left"]
    [item] = made.search(ALICE, query="tea", limit=10)
    assert item.value == value | {"content": {"content": MERGED}}

    redis.flushall()
    alone = store(redis, lambda texts: [minilm.embed(text) for text in texts])
    alone.put(ALICE, "k0", item.value)
    [expected] = alone.search(ALICE, query="tea", limit=10)
    assert item.score == pytest.approx(expected.score, abs=1e-5)
