"""LangGraph's AsyncRedisStore: it writes, memfold merges, and it goes on as if it had held the merged memory alone."""

import time
from collections.abc import Iterator

import pytest
from conftest import PARTS
from library import Library
from store import documents

ALICE = ["memories", "alice"]
WINDOW = "User prefers window seats on flights"
REPEATED = {"a1": WINDOW, "a2": "user prefers window seats on flights."}
OTHERS = {"o1": "User prefers aisle seats on flights", "o2": "User is allergic to peanuts"}
KEYS = [*REPEATED, *OTHERS]


@pytest.fixture(scope="module")
def process(redis_url, e5, tmp_path_factory) -> Iterator[Library]:
    log = tmp_path_factory.mktemp("langgraph") / "log"
    library = Library(PARTS / "langgraph-async/bin/python", "langgraph_async.py", (redis_url, e5.url), log)
    yield library
    library.close()


@pytest.fixture
def store(redis, process) -> Library:
    """The library over an empty store."""
    process.start()
    return process


@pytest.fixture
def fold(memfold):
    """memfold without a model of its own: merges that keep a text keep its vector."""
    for name in ("MEMFOLD_ONNXRUNTIME", "MEMFOLD_MODEL_DIR", "MEMFOLD_INDEX"):
        del memfold.settings[name]
    memfold.settings |= {"MEMFOLD_LAYOUT": "langgraph-store", "MEMFOLD_DISTANCE": "stored"}
    return memfold


def put_all(store, texts, namespace=ALICE, **options):
    for key, text in texts.items():
        store.put(namespace=namespace, key=key, value={"content": text, "topic": "travel"}, **options)
        time.sleep(0.002)  # times are told in microseconds; the first is to be the oldest for sure


def answers(store) -> list:
    """All that an agent can ask: by key, by meaning, by a member of the value, and everything."""
    return [
        [store.get(namespace=ALICE, key=key) for key in KEYS],
        [store.search(namespace=ALICE, query=query, limit=2) for query in ("Which seat?", "peanuts")],
        store.search(namespace=ALICE, query="Which seat?", limit=2, filter={"topic": "travel"}),
        sorted(row[0] for row in store.search(namespace=ALICE)),
    ]


def test_the_library_answers_as_if_it_had_held_the_merged_memory_alone(redis, store, fold):
    put_all(store, REPEATED | OTHERS)
    before = documents(redis)

    [report] = fold.merge("alice")

    assert report["not_committed"] == []
    [merge] = report["merged"]
    assert len(documents(redis)) == len(before) - 2, "both keys of the retired item are gone"
    kept = store.get(namespace=ALICE, key="a1")
    assert store.get(namespace=ALICE, key="a2") is None
    found = answers(store)
    fold("undo", merge["merge_id"])
    assert documents(redis) == before

    redis.flushall()
    store.start()
    put_all(store, {"a1": kept["content"]} | OTHERS)
    assert found == answers(store)


def test_the_agent_updates_and_deletes_the_merged_item(redis, store, fold):
    put_all(store, REPEATED | OTHERS)
    fold.merge("alice")

    changed = {"content": "User prefers seats at the exit", "topic": "travel"}
    store.put(namespace=ALICE, key="a1", value=changed)
    assert store.get(namespace=ALICE, key="a1") == changed
    assert store.search(namespace=ALICE, query="seats at the exit", limit=1)[0][0] == "a1"
    store.delete(namespace=ALICE, key="a1")
    assert store.get(namespace=ALICE, key="a1") is None
    assert len(documents(redis)) == 2 * len(OTHERS), "no vector is left behind"


def test_expiry_and_users_are_kept(redis, store, fold):
    lookalikes = ["alice,bob", "alic", "alice "]
    for number, user in enumerate(lookalikes):
        put_all(store, {f"other{number}": WINDOW}, ["memories", user])
    others = documents(redis)
    put_all(store, REPEATED, ttl=60)
    before = documents(redis)

    [report] = fold.merge("alice")

    [merge] = report["merged"]
    assert 0 < redis.ttl(merge["result_key"]) <= 3600
    after = documents(redis)
    assert {key: after.get(key) for key in others} == others
    fold("undo", merge["merge_id"])
    assert documents(redis) == before
