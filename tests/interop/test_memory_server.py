"""The Redis Agent Memory Server's long-term memory: it writes, memfold merges, and it goes on with the merged memories."""

import json
from collections.abc import Iterator

import pytest
from conftest import PARTS
from library import Library, LibraryError
from store import documents, indexed

SEATS = "User prefers window seats on flights"
SEATS_AGAIN = "user prefers window seats on flights."
TEA = "User likes green tea"
USERS = ("alice", "Alice", "alice ", "alice,bob", "alic")


@pytest.fixture(scope="module")
def process(redis_url, e5, tmp_path_factory) -> Iterator[Library]:
    log = tmp_path_factory.mktemp("memory-server") / "log"
    library = Library(PARTS / "memory-server/bin/python", "memory_server.py", (redis_url, e5.url), log)
    yield library
    library.close()


@pytest.fixture
def server(redis, process) -> Library:
    """The server over an empty store with its index."""
    process.start()
    return process


@pytest.fixture
def fold(memfold, e5):
    for name in ("MEMFOLD_ONNXRUNTIME", "MEMFOLD_MODEL_DIR", "MEMFOLD_INDEX"):
        del memfold.settings[name]
    memfold.settings |= {
        "MEMFOLD_LAYOUT": "agent-memory-server",
        "MEMFOLD_EMBED_URL": e5.url,
        "MEMFOLD_EMBED_MODEL": "e5-query",
    }
    return memfold


def key(id: str) -> str:
    return f"memory_idx:{id}"


def found(redis) -> set[bytes]:
    query = "*=>[KNN 10000 @vector $vector]"
    vector = b"\x00\x00\x80\x3f" + bytes(4 * 383)
    answer = redis.execute_command(
        "FT.SEARCH", "memory_records", query, "PARAMS", 2, "vector", vector, "NOCONTENT", "LIMIT", 0, 10000, "DIALECT", 2
    )
    return {row[b"id"] for row in answer[b"results"]} if isinstance(answer, dict) else set(answer[1:])


def answers(server) -> list:
    queries = ("Where to sit?", "What to drink?")
    results = [server.search(query=query, limit=2, user_id="alice", namespace="n") for query in queries]
    return [[(m["text"], m["memory_hash"], round(m["dist"], 4)) for m in some] for some in results]


def test_the_server_goes_on_as_if_it_had_only_the_merged_memory(redis, server, fold):
    common = {"user_id": "alice", "namespace": "n"}
    server.add(id="A1", text=SEATS_AGAIN, session_id="s1", **common)
    server.add(id="A3", text=TEA, **common)
    expected = answers(server)
    redis.flushall()
    server.start()
    server.add(
        id="A1", text=SEATS, session_id="s1", topics=["travel"], access_count=2,
        created_at="2026-03-02T00:00:00Z", last_accessed="2026-04-01T00:00:00Z", **common,
    )  # fmt: skip
    server.add(
        id="A2", text=SEATS_AGAIN, session_id="s2", topics=["seats", "travel"], entities=["Alice"], access_count=3,
        created_at="2026-03-03T00:00:00Z", last_accessed="2026-05-01T00:00:00Z", **common,
    )  # fmt: skip
    server.add(id="A3", text=TEA, **common)

    [report] = fold.merge("alice")

    [merge] = report["merged"]
    assert (merge["result_key"], merge["retired"]) == (key("A1"), [key("A2")])
    assert found(redis) == documents(redis).keys() and len(documents(redis)) == 2
    got = server.get(id="A1")
    assert got["text"] == SEATS_AGAIN
    assert got["created_at"] == "2026-03-02T00:00:00Z" and got["last_accessed"] == "2026-05-01T00:00:00Z"
    assert (got["topics"], got["entities"], got["access_count"]) == (["travel", "seats"], ["Alice"], 5)
    fields = {name: got[name] for name in ("id", "text", "user_id", "namespace", "session_id", "memory_type")}
    assert got["memory_hash"] == server.hash(**fields)
    assert answers(server) == expected
    assert [m["id"] for m in server.search(query=SEATS, limit=2, user_id="alice", session_id="s1")] == ["A1"]
    assert server.get(id="A2") is None

    updated = server.update(id="A1", text="User prefers aisle seats", topics=["aisle"])
    got = server.get(id="A1")
    # The server keeps less of a second than it says.
    assert [got | {"updated_at": ""}] == [updated | {"updated_at": ""}]
    # What the server does not know of stays.
    assert json.loads(redis.hget(key("A1"), "metadata"))["merge_id"] == merge["merge_id"]
    server.delete(id="A1")
    assert server.get(id="A1") is None and server.count(user_id="alice") == 1


def test_an_undo_gives_every_field_and_expiry_back(redis, server, fold):
    for id, text in (("A1", SEATS), ("A2", SEATS_AGAIN), ("A3", TEA)):
        server.add(id=id, text=text, user_id="alice", namespace="n", topics=[id])
        redis.expire(key(id), 5000)
    before, said = documents(redis), answers(server)
    [report] = fold.merge("alice")
    [merge] = report["merged"]
    assert documents(redis) != before
    assert 4_000_000 < redis.pttl(merge["result_key"]) <= 5_000_000
    fold("undo", merge["merge_id"])
    assert documents(redis) == before and answers(server) == said


def test_users_namespaces_types_and_days_stay_apart(redis, server, fold):
    for number, user in enumerate(USERS):
        server.add(id=f"U{number}", text=SEATS, user_id=user)
    server.add(id="N1", text=SEATS, user_id="alice", namespace="n")
    server.add(id="T1", text=SEATS, user_id="alice", memory_type="episodic")
    server.add(id="D1", text=SEATS, user_id="alice", event_date="2026-03-01T00:00:00Z")
    server.add(id="D2", text=SEATS, user_id="alice", event_date="2026-03-02T00:00:00Z")
    server.add(id="M1", text=SEATS, user_id="alice", memory_type="message")
    server.add(id="O1", text=SEATS)
    before = documents(redis)
    for user in USERS:
        [report] = fold.merge(user)
        assert report["merged"] == [], user
    assert documents(redis) == before
    # And each with a twin of its own.
    for number, user in enumerate(USERS):
        server.add(id=f"V{number}", text=SEATS_AGAIN, user_id=user)
    for number, user in enumerate(USERS):
        [report] = fold.merge(user)
        assert [merge["retired"] for merge in report["merged"]] == [[key(f"V{number}")]], user


@pytest.mark.parametrize(
    ("field", "value", "fails"),
    [
        ("access_count", "-1", True),
        ("last_accessed", "inf", True),
        ("memory_type", "fact", True),
        ("discrete_memory_extracted", "?", True),
        ("persisted_at", "nan", False),
    ],
)
def test_what_the_server_cannot_read_reaches_no_other(redis, server, fold, field, value, fails):
    for id, text in (("A1", SEATS), ("A2", SEATS_AGAIN), ("A3", SEATS)):
        server.add(id=id, text=text, user_id="alice")
    redis.hset(key("A3"), field, value)
    if fails:
        with pytest.raises(LibraryError):
            server.get(id="A3")
    before = documents(redis)[key("A3").encode()]
    [report] = fold.merge("alice")
    [merge] = report["merged"]
    assert {merge["result_key"], *merge["retired"]} == {key("A1"), key("A2")}
    assert {left["key"]: left["reason"] for left in report["plan"]["left_alone"]} == {key("A3"): "malformed"}
    assert documents(redis)[key("A3").encode()] == before
    assert server.get(id="A1")["text"] == SEATS_AGAIN


def test_pinned_memories_are_never_retired(redis, server, fold):
    for id, text, pinned in (("A1", SEATS, False), ("A2", SEATS_AGAIN, True), ("A3", SEATS, True)):
        server.add(id=id, text=text, user_id="alice", pinned=pinned)
    [report] = fold.merge("alice")
    [merge] = report["merged"]
    assert merge["retired"] == [key("A1")] and merge["result_key"] in (key("A2"), key("A3"))
    assert all(server.get(id=id)["pinned"] for id in ("A2", "A3"))


def test_the_file_that_inspect_writes_works_unchanged(redis, server, fold):
    for id, text in (("A1", SEATS), ("A2", SEATS_AGAIN)):
        server.add(id=id, text=text, user_id="alice")
    del fold.settings["MEMFOLD_LAYOUT"]
    fold("inspect", "--write-config")
    assert 'layout = "agent-memory-server"' in (fold.home / "memfold.toml").read_text()
    [report] = fold.merge("alice")
    assert [merge["retired"] for merge in report["merged"]] == [[key("A2")]]


def test_doctor_finds_the_store_fit(redis, server, fold):
    for id, text in (("A1", SEATS), ("A2", SEATS_AGAIN)):
        server.add(id=id, text=text, user_id="alice")
    checks = {check["name"]: check for check in fold.json("doctor")["checks"]}
    assert "matches" in checks["match"]["found"]
    assert checks["memories"]["found"] == "2 memories of 1 user"
    # No setting gives the server's fields other names.
    assert checks["fields"]["status"] == "ok" and "`metadata`" in checks["fields"]["found"]


def test_a_worker_that_compacts_is_warned_of(redis, server, fold):
    server.add(id="A1", text=SEATS, user_id="alice")
    name = "memory-server:task-workers:compact_long_term_memories"
    fold.merge("alice")
    assert "COMPACT_SEMANTIC_DUPLICATES" not in fold.stderr
    # As its worker keeps it.
    redis.zadd(name, {"host#1": 1796000802.6})
    fold.merge("alice")
    assert "COMPACT_SEMANTIC_DUPLICATES" in fold.stderr
