"""A real embedding server (multilingual-e5-small behind OpenAI's protocol) in the place of the model in memfold."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from conftest import free_port
from recipe import MemoryType
from store import documents, indexed

SEMANTIC = MemoryType.SEMANTIC
SEATS = ("User prefers window seats on flights", "user prefers window seats on flights.")
# Far apart for an English model that knows few of the characters; near for this one.
CHINESE = ("用户喜欢靠窗的座位", "用户喜欢靠窗的座位。", "用户的猫叫米米")


@pytest.fixture
def with_e5(memfold, e5):
    """memfold without ONNX Runtime, with the server."""
    for name in ("MEMFOLD_ONNXRUNTIME", "MEMFOLD_MODEL_DIR"):
        del memfold.settings[name]
    memfold.settings |= {"MEMFOLD_EMBED_URL": e5.url, "MEMFOLD_EMBED_MODEL": "e5-query"}
    return memfold


def checks(memfold) -> dict[str, dict]:
    report = memfold.json("doctor", codes=(0, 1))
    return {check["name"]: check for check in report["checks"]}


def test_the_server_is_proven_to_have_made_the_vectors(new_agent, minilm, e5, with_e5):
    agent = new_agent(embed=e5.embed)
    agent.store_memory(SEATS[0], SEMANTIC, "tyler")
    found = checks(with_e5)
    assert "matches (1 stored text" in found["match"]["found"]
    assert found["embedder"]["found"].startswith("e5-query, 384 dimensions, at http://127.0.0.1:")


def test_the_vectors_of_another_model_are_told_apart(new_agent, minilm, with_e5):
    agent = new_agent(embed=minilm.embed)
    agent.store_memory(SEATS[0], SEMANTIC, "tyler")
    assert checks(with_e5)["match"]["status"] == "warn"


def test_memories_of_a_multilingual_model_are_merged_and_brought_back(redis, new_agent, e5, with_e5):
    agent = new_agent(embed=e5.embed)
    for number, text in enumerate(SEATS + CHINESE):
        agent.store_memory(text, SEMANTIC, "tyler", thread_id=str(number))
    before = documents(redis)
    [report] = with_e5.merge("tyler")
    assert sorted(len(merge["sources"]) for merge in report["plan"]["merges"]) == [2, 2]
    assert report["plan"]["distance"] == "stored" and report["plan"]["left_alone"] == []
    assert len(documents(redis)) == 3 and indexed(redis) == documents(redis).keys()
    found = agent.retrieve_memories("靠窗", SEMANTIC, "tyler", distance_threshold=0.3)
    assert found[0].content in CHINESE[:2]
    for merge in report["merged"]:
        with_e5("undo", merge["merge_id"])
    assert documents(redis) == before


class Joiner(BaseHTTPRequestHandler):
    """In the place of an LLM, whose words would differ from run to run: says all memories one after the other."""

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1]["content"]
        memories, _ = json.JSONDecoder().raw_decode(question, question.index("["))
        text = " ".join(memory["text"] for memory in memories)
        answer = json.dumps({"verdict": "same", "text": text, "used": [memory["id"] for memory in memories]})
        choice = {"index": 0, "message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}
        body = json.dumps({"model": "joiner", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def joiner() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Joiner)
    threading.Thread(target=server.serve_forever).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


def test_a_new_text_gets_the_servers_vector(redis, new_agent, e5, with_e5, joiner):
    agent = new_agent(embed=e5.embed)
    for number, text in enumerate(("User likes tea with honey.", "User likes tea with ginger.")):
        agent.store_memory(text, SEMANTIC, "tyler", thread_id=str(number))
    with_e5.settings |= {"MEMFOLD_LLM_URL": joiner, "MEMFOLD_LLM_MODEL": "joiner"}
    [report] = with_e5.merge("tyler", options=("--threshold", "0.2"))
    [merge] = report["plan"]["merges"]
    assert merge["vector_origin"] == "embedded" and report["merged"]
    [document] = documents(redis).values()
    stored = np.array(json.loads(document.body)["embedding"])
    text = document.fields()["content"]
    assert "honey" in text and "ginger" in text
    assert stored @ np.array(e5.embed(text)) == pytest.approx(1, abs=1e-4)


def test_texts_are_embedded_once(redis, new_agent, minilm, e5, with_e5, tmp_path):
    # The vectors of another model: all texts are embedded for grouping.
    agent = new_agent(embed=minilm.embed)
    for number, text in enumerate(SEATS + CHINESE):
        agent.store_memory(text, SEMANTIC, "tyler", thread_id=str(number))
    plan = ("merge", "--user", "tyler", "--dry-run", "--embed-cache", str(tmp_path / "cache"))
    first = with_e5.json(*plan)
    files = {path: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
    assert with_e5.json(*plan)["users"][0]["distance"] == "onnx"
    assert {path: path.read_bytes() for path in (tmp_path / "cache").iterdir()} == files
    # Of a damaged cache is told; the plan is the same.
    for path, content in files.items():
        path.write_bytes(content[:-1])
    again = with_e5.json(*plan)
    texts = [[merge["text"] for merge in run["users"][0]["merges"]] for run in (first, again)]
    assert texts[0] == texts[1] and len(texts[0]) == 2


def test_a_server_that_is_gone_leaves_everything(redis, new_agent, e5, with_e5):
    agent = new_agent(embed=e5.embed)
    for number, text in enumerate(SEATS):
        agent.store_memory(text, SEMANTIC, "tyler", thread_id=str(number))
    before = documents(redis)
    with_e5.settings["MEMFOLD_EMBED_URL"] = f"http://127.0.0.1:{free_port()}/v1"
    with_e5("merge", "--user", "tyler", codes=(1,))
    assert documents(redis) == before
