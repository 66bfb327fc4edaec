"""mem0 on its own Redis store: it writes, memfold merges, and it goes on as if it had only ever had the merged memories."""

import json
import threading
from collections.abc import Callable, Iterator

import pytest
from conftest import PARTS, MemfoldFailed
from library import Library, LibraryError
from store import documents, indexed

SEATS = "User prefers window seats on flights"
SEATS_AGAIN = "user prefers window seats on flights."
TEA = "User likes green tea"
USERS = ("alice", "Alice", "alice,bob", "alic")


@pytest.fixture(scope="module")
def start_mem0(redis_url, e5, tmp_path_factory) -> Iterator[Callable[[], Library]]:
    started = []

    def start() -> Library:
        folder = tmp_path_factory.mktemp("mem0")
        arguments = (redis_url, e5.url, str(folder))
        started.append(Library(PARTS / "mem0/bin/python", "mem0_agent.py", arguments, folder / "log"))
        return started[-1]

    yield start
    for library in started:
        library.close()


@pytest.fixture(scope="module")
def process(start_mem0) -> Library:
    return start_mem0()


@pytest.fixture
def mem0(redis, process) -> Library:
    """mem0 over an empty store."""
    process.restart()
    return process


@pytest.fixture
def fold(memfold, e5):
    """memfold with the model that mem0 has."""
    for name in ("MEMFOLD_ONNXRUNTIME", "MEMFOLD_MODEL_DIR", "MEMFOLD_INDEX"):
        del memfold.settings[name]
    memfold.settings |= {
        "MEMFOLD_LAYOUT": "mem0",
        "MEMFOLD_EMBED_URL": e5.url,
        "MEMFOLD_EMBED_MODEL": "e5-query",
    }
    return memfold


def tell(mem0, **scope) -> tuple[str, str, str]:
    first = mem0.add(text=SEATS, link=True, metadata={"source": "chat", "n": 1}, **scope)
    second = mem0.add(text=SEATS_AGAIN, link=True, metadata={"n": 2, "tags": ["seat"]}, **scope)
    return first, second, mem0.add(text=TEA, link=True, **scope)


def answers(mem0, user: str = "alice") -> list:
    """What mem0 says of a user, without what differs between any two stores."""
    found = [mem0.search(query=query, top_k=2, user_id=user) for query in ("Where to sit?", "What to drink?")]
    listed = mem0.get_all(user_id=user)
    plain = [[(m["memory"], m["hash"], m["user_id"], round(m.get("score") or 0, 4)) for m in some] for some in found]
    return [*plain, sorted((m["memory"], m["hash"]) for m in listed)]


def test_mem0_goes_on_as_if_it_had_only_the_merged_memory(redis, mem0, fold):
    # What it says where it was never told twice: of memories alone, since each entity is an answer too.
    mem0.add(text=SEATS_AGAIN, user_id="alice")
    mem0.add(text=TEA, user_id="alice")
    expected = answers(mem0)
    redis.flushall()
    mem0.restart()
    first = mem0.add(text=SEATS, user_id="alice", metadata={"source": "chat", "n": 1})
    second = mem0.add(text=SEATS_AGAIN, user_id="alice", metadata={"n": 2, "tags": ["seat"]})
    mem0.add(text=TEA, user_id="alice")
    before = mem0.get(id=first)

    [report] = fold.merge("alice")

    [merge] = report["merged"]
    assert merge["result_key"].removeprefix("mem0:mem0:") in (first, second)
    survivor = merge["result_key"].removeprefix("mem0:mem0:")
    assert indexed(redis, "mem0") == documents(redis).keys() and len(documents(redis)) == 2
    got = mem0.get(id=survivor)
    assert got["memory"] == SEATS_AGAIN
    assert (got["user_id"], got["created_at"]) == ("alice", before["created_at"])
    metadata = got["metadata"]
    assert metadata["source"] == "chat" and metadata["tags"] == ["seat"]
    assert {said["value"] for said in metadata["memfold"]["values"]["n"]} == {1, 2}
    assert answers(mem0) == expected
    # The loser is like one that mem0 itself deleted.
    [retired] = merge["retired"]
    with pytest.raises(LibraryError, match="KeyError"):
        mem0.get(id=retired.removeprefix("mem0:mem0:"))

    mem0.update(id=survivor, text="User prefers aisle seats")
    got = mem0.get(id=survivor)
    assert got["memory"] == "User prefers aisle seats" and got["metadata"]["merge_id"] == merge["merge_id"]
    mem0.delete(id=survivor)
    assert [memory["memory"] for memory in mem0.get_all(user_id="alice")] == [TEA]


def test_entities_are_no_memories_and_name_the_survivor(redis, mem0, fold):
    first, second, tea = tell(mem0, user_id="alice")
    before = documents(redis)
    assert mem0.links(user_id="alice")["User"] == [first, tea]
    # mem0 keeps one entity a text; a second of the same words would be a twin if it were a memory.
    entity = next(key for key in before if b"_entities:" in key)
    twin = entity[:-12] + b"ffffffffffff"
    redis.copy(entity, twin)
    redis.hset(twin, "memory_id", twin.rpartition(b":")[2])
    before = documents(redis)
    mem0.add(text="user likes green tea.", link=True, user_id="alice")

    [report] = fold.merge("alice")

    survivors = {merge["result_key"].removeprefix("mem0:mem0:") for merge in report["merged"]}
    retired = {key.removeprefix("mem0:mem0:") for merge in report["merged"] for key in merge["retired"]}
    assert survivors and retired
    for entity, linked in mem0.links(user_id="alice").items():
        assert not retired & set(linked) and len(set(linked)) == len(linked), entity
    assert [key for key in documents(redis) if b"_entities:" in key] >= [key for key in before if b"_entities:" in key]
    # Deleting the survivor cleans up after itself, as mem0 does.
    for id in survivors:
        mem0.delete(id=id)
    assert not any(survivors & set(linked) for linked in mem0.links(user_id="alice").values())


def test_an_undo_gives_every_field_entity_and_expiry_back(redis, mem0, fold):
    for id in tell(mem0, user_id="alice"):
        redis.expire(f"mem0:mem0:{id}", 5000)
    before = documents(redis)
    said = answers(mem0)
    [report] = fold.merge("alice")
    [merge] = report["merged"]
    assert documents(redis) != before
    left = redis.pttl(merge["result_key"])
    assert 4_000_000 < left <= 5_000_000
    fold("undo", merge["merge_id"])
    assert documents(redis) == before
    assert answers(mem0) == said


def test_an_edited_result_gets_no_second_memory_of_its_id(redis, mem0, fold):
    tell(mem0, user_id="alice")
    before = documents(redis)
    [report] = fold.merge("alice")
    [merge] = report["merged"]
    # Which of the two survives is a matter of their ids where one second made both.
    survivor = merge["result_key"].removeprefix("mem0:mem0:")
    mem0.update(id=survivor, text="User likes aisle seats")
    edited = documents(redis)
    with pytest.raises(MemfoldFailed, match="cannot be kept beside") as refused:
        fold("undo", merge["merge_id"], "--force")
    assert refused.value.code == 7
    assert documents(redis) == edited

    mem0.delete(id=survivor)
    fold("undo", merge["merge_id"], "--force")
    restored = {key: body for key, body in documents(redis).items() if b"entities" not in key}
    assert restored == {key: body for key, body in before.items() if b"entities" not in key}


def test_an_entity_that_was_edited_is_told_as_such_and_stays(redis, mem0, fold):
    first, second, _ = tell(mem0, user_id="alice")
    # The entity names the first, which is to retire.
    redis.hincrby(f"mem0:mem0:{second}", "created_at", -10)
    before = documents(redis)
    [report] = fold.merge("alice")
    [merge] = report["merged"]
    assert merge["retired"] == [f"mem0:mem0:{first}"]
    # mem0 itself lets the entity name one memory more.
    mem0.add(text="User has a dog", link=True, user_id="alice")
    changed = documents(redis)
    [entity] = [key for key, d in changed.items() if b"_entities:" in key and d.body[b"memory"] == b"User"]
    with pytest.raises(MemfoldFailed, match="leaves mem0:mem0_entities:.* as it is") as refused:
        fold("undo", merge["merge_id"])
    assert refused.value.code == 7 and "beside" not in refused.value.stderr
    assert documents(redis) == changed

    told = fold("undo", merge["merge_id"], "--force")
    assert f"{entity.decode()} stays as it was edited since" in told
    after = documents(redis)
    assert after[entity] == changed[entity]
    memories = [key for key in before if b"_entities:" not in key]
    assert {key: after[key] for key in memories} == {key: before[key] for key in memories}


def test_users_agents_and_days_stay_apart(redis, mem0, fold):
    for user in USERS:
        mem0.add(text=SEATS, user_id=user)
    mem0.add(text=SEATS, user_id="alice", agent_id="a")
    mem0.add(text=SEATS, user_id="alice", run_id="a")
    mem0.add(text=SEATS, user_id="alice", expiration_date="2099-01-01")
    mem0.add(text=SEATS, agent_id="a")
    # mem0 trims ids; others that write the same store need not.
    [key] = [key for key, document in documents(redis).items() if document.body.get(b"user_id") == b"alic"]
    blank = key[:-12] + b"ffffffffffff"
    redis.copy(key, blank)
    redis.hset(blank, mapping={"user_id": "alice ", "memory_id": blank.rpartition(b":")[2]})
    before = documents(redis)
    for user in (*USERS, "alice "):
        [report] = fold.merge(user)
        assert report["merged"] == [], user
    assert documents(redis) == before
    # And each with a twin of its own.
    for user in USERS:
        mem0.add(text=SEATS_AGAIN, user_id=user)
    reports = fold.merge()
    assert len([merge for report in reports for merge in report["merged"]]) == len(USERS)
    users = [document.body.get(b"user_id", b"") for document in documents(redis).values()]
    assert sorted(users) == sorted([b"", b"alice ", *[user.encode() for user in USERS], b"alice", b"alice", b"alice"])


def test_records_that_mem0_cannot_read_are_left_alone(redis, mem0, fold):
    ids = [mem0.add(text=SEATS, user_id="alice") for _ in range(4)]
    redis.hdel(f"mem0:mem0:{ids[0]}", "hash")
    redis.hset(f"mem0:mem0:{ids[1]}", "metadata", "oops")
    redis.hset(f"mem0:mem0:{ids[2]}", "created_at", "1796000636.5")
    before = documents(redis)
    [report] = fold.merge("alice")
    assert report["merged"] == []
    reasons = {left["key"]: left["reason"] for left in report["plan"]["left_alone"]}
    assert reasons == {
        f"mem0:mem0:{ids[0]}": "not-a-memory",
        f"mem0:mem0:{ids[1]}": "malformed",
        f"mem0:mem0:{ids[2]}": "malformed",
    }
    assert documents(redis) == before


@pytest.mark.parametrize("name", ["data", "hash", "created_at", "user_id"])
def test_metadata_that_mem0_takes_for_the_memory_itself_reach_no_other(redis, mem0, fold, name):
    ids = [mem0.add(text=text, user_id="alice") for text in (SEATS, SEATS_AGAIN, SEATS)]
    strange = f"mem0:mem0:{ids[2]}"
    redis.hset(strange, "metadata", json.dumps({name: "strange"}))
    said = mem0.get(id=ids[2])
    assert "strange" in said.values()
    [report] = fold.merge("alice")
    [merge] = report["merged"]
    assert strange not in (merge["result_key"], *merge["retired"])
    assert {left["key"]: left["reason"] for left in report["plan"]["left_alone"]} == {strange: "malformed"}
    got = mem0.get(id=merge["result_key"].removeprefix("mem0:mem0:"))
    assert (got["memory"], got["user_id"]) == (SEATS_AGAIN, "alice")
    assert mem0.get(id=ids[2]) == said


def test_metadata_with_a_block_of_code_are_left_alone(redis, mem0, fold):
    """mem0 takes what is in the block for the metadata, and cannot read it."""
    ids = [mem0.add(text=SEATS, user_id="alice", metadata={"code": code}) for code in ("```a```", "b", "c")]
    with pytest.raises(LibraryError):
        mem0.get(id=ids[0])
    [report] = fold.merge("alice")
    assert [left["key"] for left in report["plan"]["left_alone"]] == [f"mem0:mem0:{ids[0]}"]
    assert len(report["merged"]) == 1
    redis.delete(f"mem0:mem0:{ids[0]}")
    assert len(mem0.get_all(user_id="alice")) == 1


def test_memories_of_nobody_are_found_and_told_but_left_out_unless_named(redis, mem0, fold):
    for text in (SEATS, SEATS_AGAIN):
        mem0.add(text=text, agent_id="a")
        mem0.add(text=text, user_id="alice")
    told = fold.json("merge", "--all-users", "--dry-run")
    assert [plan["user"] for plan in told["users"]] == ["alice"] and told["left_out"] == [""]
    fold("merge", "--all-users", "--dry-run")
    assert 'left out, as ids that several may share: ""' in fold.stderr
    reports = fold.merge("", "alice")
    assert [len(report["merged"]) for report in reports] == [1, 1]
    assert len(mem0.get_all(agent_id="a")) == 1


def test_mem0_starts_again_and_again_during_merges(redis, mem0, fold, start_mem0):
    """Each start drops its indexes and makes them anew."""
    for number in range(12):
        mem0.add(text=f"User visited town number {number} in spring", user_id=f"user-{number}")
        mem0.add(text=f"user visited town number {number} in spring.", user_id=f"user-{number}")
    stop = threading.Event()

    def restart():
        while not stop.is_set():
            mem0.restart()

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        for number in range(12):
            # 3: there was no index, or it was being built. 4: a result was not seen. 8: nobody was seen.
            fold("merge", "--user", f"user-{number}", codes=(0, 3, 4, 8))
            said = documents(redis).values()
            assert any(f"number {number} " in document.body[b"memory"].decode() for document in said)
    finally:
        stop.set()
        thread.join()
    indexed(redis, "mem0")
    fold.merge()
    texts = sorted(json.dumps(document.body[b"memory"].decode().lower()) for document in documents(redis).values())
    assert len(texts) == 12
    assert all(len(mem0.get_all(user_id=f"user-{number}")) == 1 for number in range(12))


def test_the_file_that_inspect_writes_works_unchanged(redis, mem0, fold):
    tell(mem0, user_id="alice")
    del fold.settings["MEMFOLD_LAYOUT"]
    fold("inspect", "--write-config")  # memfold.toml in the folder in which memfold runs
    assert (fold.home / "memfold.toml").read_text().endswith('\nlayout = "mem0"\nindex = "mem0"\n')
    entities = next(index for index in fold.json("inspect")["indexes"] if index["name"] == "mem0_entities")
    assert not entities["served"]
    [report] = fold.merge("alice")
    assert len(report["merged"]) == 1


def test_doctor_finds_the_store_fit(redis, mem0, fold):
    tell(mem0, user_id="alice")
    checks = {check["name"]: check for check in fold.json("doctor")["checks"]}
    assert "matches" in checks["match"]["found"]
    assert checks["fields"]["status"] == "ok"
