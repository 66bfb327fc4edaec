"""README and quick starts keep their word: their commands work in their order from a clean folder, on stores that the real
libraries wrote, and print what is shown."""

import itertools
import json
import os
import re
import subprocess

import pytest
from blocks import blocks
from conftest import BINARY, PARTS, ROOT, free_port
from langchain_redis import RedisConfig, RedisVectorStore
from langgraph_store import store as langgraph_store
from redisvl.index import SearchIndex
from test_langchain import Model

README = ROOT / "README.md"
BLOCKS = blocks(README)
DEMO = [json.loads(line) for line in (ROOT / "examples/demo/memories.jsonl").read_text().splitlines()]


def seed(redis_url: str, minilm, index: str, memories: list[dict], names: dict[str, str] = {}):
    """Stores memories as the recipe does, with fields of these names."""
    kinds = {"content": "text", "memory_type": "tag", "metadata": "text", "created_at": "text", "user_id": "tag", "memory_id": "tag"}
    vector = {"algorithm": "flat", "dims": 384, "distance_metric": "cosine", "datatype": "float32"}
    fields = [{"name": names.get(name, name), "type": kind} for name, kind in kinds.items()]
    fields.append({"name": names.get("embedding", "embedding"), "type": "vector", "attrs": vector})
    schema = {"index": {"name": index, "prefix": index, "storage_type": "json"}, "fields": fields}
    store = SearchIndex.from_dict(schema, redis_url=redis_url)
    store.create(overwrite=True)
    vectors = [minilm.embed(memory["content"]) for memory in memories]
    for number, (memory, vector) in enumerate(zip(memories, vectors)):
        record = {**memory, "memory_id": f"id-{number}", "embedding": [float(x) for x in vector]}
        record = {names.get(name, name): value for name, value in record.items()}
        store.load([record], keys=[f"{index}:{number:026}"])


@pytest.fixture
def folder(tmp_path):
    """A clean folder in which the scripts of this checkout are."""
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    (tmp_path / ".memfold").symlink_to(PARTS)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/memfold").symlink_to(BINARY)
    return tmp_path


def run(folder, script: str) -> str:
    """Runs a script that must end well, in a folder, without any setting of this process."""
    path = f"{folder}/bin:{os.environ['PATH']}"
    env = {name: os.environ[name] for name in ("LANG", "MEMFOLD_PYTHON") if name in os.environ}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**env, "PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout


# Without the one that only an LLM can tell apart: the small one of the tests goes on until its answer is cut.
ALICE = [
    {**memory, "user_id": "alice"}
    for memory in DEMO
    if memory["user_id"] == "ana" and "carry-on" not in memory["content"]
]
PAGES = [README, ROOT / "docs/quickstart.zh.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_works_in_its_order(redis, redis_url, minilm, llm_url, folder, page):
    seed(redis_url, minilm, "agent_memories", ALICE)
    port = str(free_port())
    text = "\n".join(block.text for block in blocks(page) if block.runs)
    assert text.count("memfold merge --user alice") >= 2
    # Addresses of the reader become those of this test; the merge is the first one made; a worker runs beside.
    merge = "$(memfold history --json | grep -o '01[0-9A-Z]*' | head -1)"
    ready = f"until curl -sf http://127.0.0.1:{port}/readyz; do sleep 0.1; done"
    for of_reader, ours in [
        ("redis://localhost:6379", redis_url),
        ("http://localhost:11434/v1", llm_url),
        ("01K…", merge),
        ("127.0.0.1:9464", f"127.0.0.1:{port}"),
    ]:
        assert of_reader in text or page != README, of_reader
        text = text.replace(of_reader, ours)
    text, workers = re.subn(r"^(memfold worker [^#\n]*).*$", rf"\1 & worker=$!; {ready}", text, flags=re.MULTILINE)
    assert workers == (page == README)
    shown = run(folder, f"worker=; trap 'kill $worker 2> worker.log || true' EXIT\n{text}")
    assert "undone 01" in shown and "would turn" in shown and "agent_memories" in shown


def test_the_file_of_the_readme_names_the_fields_of_a_store(redis, redis_url, minilm, folder):
    [block] = [block for block in BLOCKS if block.language == "toml"]
    names = {usual: ours for ours, usual in re.findall(r'= "(\w+)" +# (\w+)\n', block.text)}
    assert len(names) == 7
    seed(redis_url, minilm, "assistant_facts", DEMO, names)
    (folder / "memfold.toml").write_text(block.text)
    command = 'eval "$(scripts/env)"; export MEMFOLD_REDIS_URL=' + redis_url + "; "
    run(folder, command + "memfold doctor")
    report = json.loads(run(folder, command + "memfold merge --user ana --json"))
    assert report["users"][0]["merged"]


def test_what_the_readme_shows_is_what_is_printed(redis, redis_url, minilm, folder):
    [block] = [block for block in BLOCKS if block.comment.startswith("shown: ")]
    command = block.comment.removeprefix("shown: ").split(" (")[0]
    seed(redis_url, minilm, "agent_memories", DEMO)
    printed = run(folder, f'eval "$(scripts/env)"; export MEMFOLD_REDIS_URL={redis_url} MEMFOLD_INDEX=agent_memories; {command}')

    def facts(text: str) -> list[str]:
        # The keys are those of another run.
        return [re.sub(r"\S*[A-Z0-9]{8,}\S*", "KEY", line).rstrip() for line in text.splitlines()]

    printed = facts(printed)
    for line in facts(block.text):
        assert line == "…" or line in printed, f"{line!r} is not in what `{command}` prints"


def test_a_block_that_is_not_run_says_why():
    for page in [README, *sorted((ROOT / "docs").glob("*.md"))]:
        for block in blocks(page):
            if block.comment.startswith("not run:"):
                assert len(block.comment) > len("not run: ") + 10, block


def recipe(redis, redis_url, minilm):
    seed(redis_url, minilm, "agent_memories", ALICE)


def langgraph(redis, redis_url, minilm):
    made = langgraph_store(redis, lambda texts: [minilm.embed(text) for text in texts])
    for number, memory in enumerate(ALICE):
        made.put(("memories", "alice"), f"k{number}", {"content": memory["content"]})


def langchain(redis, redis_url, minilm):
    kinds = [{"name": "user_id", "type": "tag"}, {"name": "memory_type", "type": "tag"}]
    config = RedisConfig(index_name="lc_mem", redis_url=redis_url, metadata_schema=kinds)
    memories = [{"user_id": "alice", "memory_type": memory["memory_type"]} for memory in ALICE]
    RedisVectorStore(Model(minilm), config).add_texts([memory["content"] for memory in ALICE], memories)


def own_program(redis, redis_url, minilm):
    seed(redis_url, minilm, "notes", ALICE, {"content": "body", "user_id": "owner", "embedding": "vec"})


QUICK = ROOT / "docs/quickstart.md"
WRITERS = {
    "The LangGraph recipe on redisvl": recipe,
    "LangGraph's RedisStore and LangMem": langgraph,
    "langchain-redis": langchain,
    "Your own program": own_program,
}


def section(line: int) -> str:
    """The heading above a line of the quick start."""
    headings = [text[3:] for text in QUICK.read_text().splitlines()[:line] if text.startswith("## ")]
    return headings[-1]


@pytest.mark.parametrize("heading", WRITERS)
def test_the_quick_start_of_a_library_works_on_its_store(redis, redis_url, minilm, folder, heading):
    first, *others = [block for block in blocks(QUICK) if block.runs]
    assert {section(block.line) for block in others} == set(WRITERS)
    WRITERS[heading](redis, redis_url, minilm)
    [block] = [block for block in others if section(block.line) == heading]
    text = f'eval "$(scripts/env)"\n{first.text}\n{block.text}'
    shown = run(folder, text.replace("redis://localhost:6379", redis_url))
    assert "would turn" in shown, shown


# What docs/performance.md calls the ways that the README's table of speed compares.
WAYS = {
    "memfold, the whole plan": "memfold",
    "the published recipe's queries": "published-pattern",
    "one range query a memory, pipelined": "range-queries",
    "fetch all, numpy": "numpy-blocks",
    "fetch all, semhash": "semhash",
}


def table(page, head: str) -> list[list[str]]:
    """The rows of the table whose head begins so; the head comes first."""
    lines = page.read_text().splitlines()
    [start] = [number for number, line in enumerate(lines) if line.startswith(head)]
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[start:])
    [names, _, *rows] = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return [names, *rows]


def test_the_speed_of_the_readme_is_what_was_measured():
    names, *measured = table(ROOT / "docs/performance.md", "| case | memories | index |")
    _, *shown = table(README, "| 10,000 memories | FLAT: wall s | server CPU s | missed | HNSW: wall s | server CPU s | missed |")
    assert [row[0] for row in shown] == list(WAYS)
    wanted = [names.index(name) for name in ("wall s", "server CPU s", "pairs missed")]
    for way, *figures in shown:
        cells = []
        for index in ("FLAT HASH", "HNSW HASH"):
            [row] = [row for row in measured if row[:3] == [f"plan: {WAYS[way]}", "10,000", index]]
            cells += [row[place] for place in wanted]
        assert figures == cells, f"README.md and docs/performance.md differ for {way!r}"
