"""The published agent and memfold on one store: the agent must not notice that memories were merged, nor that they come back."""

import json
import re
from datetime import datetime, timedelta

import pytest
import ulid
from conftest import MemfoldFailed
from recipe import EDITIONS, Edition, MemoryType
from redisvl.query import FilterQuery
from redisvl.query.filter import Tag
from store import Document, documents, indexed, retired

EPISODIC, SEMANTIC = MemoryType.EPISODIC, MemoryType.SEMANTIC

WINDOW = "User prefers window seats on flights"
START = datetime(2026, 1, 5, 9, 15, 0, 250300)

by_edition = pytest.mark.parametrize("edition", EDITIONS, ids=lambda edition: edition.name)


class Diary:
    """A clock that moves on by a day and a bit whenever it is read."""

    def __init__(self):
        self.next = START

    def __call__(self) -> datetime:
        now, self.next = self.next, self.next + timedelta(days=1, hours=1)
        return now


@pytest.fixture
def diarist(new_agent):
    """Makes agents that store one memory a day."""
    return lambda edition=EDITIONS[0], **options: new_agent(edition, now=Diary(), **options)


def store_repetitions(agent, user: str = "tyler"):
    """One preference three times, told in three threads: the recipe's own check finds no repetition in another thread."""
    metadata = {"source": "chat", "confidence": 0.9, "note": None, "tags": ["seat", "a|b,c"]}
    agent.store_memory(WINDOW, SEMANTIC, user, "t-1", json.dumps(metadata))
    agent.store_memory("user prefers window seats on flights.", SEMANTIC, user, "t-2", str({"source": "email", "trip": "Lisbon"}))
    agent.store_memory(WINDOW, SEMANTIC, user, "t-3")


def store_other_memories(agent, user: str = "tyler"):
    """Nothing here may be merged with anything."""
    agent.store_memory("User prefers aisle seats on flights", SEMANTIC, user, "t-4", '{"source": "chat"}')
    agent.store_memory("User doesn't prefer window seats on flights", SEMANTIC, user, "t-5")
    agent.store_memory(WINDOW, EPISODIC, user, "t-6")
    agent.store_memory("User is allergic to peanuts", SEMANTIC, user, "t-7", "")
    agent.store_memory("User is allergic to walnuts", SEMANTIC, user, "t-8", "oops{")


def store_everything(agent):
    for user in ("tyler", "mira"):
        store_repetitions(agent, user)
        store_other_memories(agent, user)


def merged_by(report: dict) -> list[dict]:
    assert report["not_committed"] == []
    return report["merged"]


def new_and_changed(before: dict[bytes, Document], after: dict[bytes, Document]) -> dict[bytes, Document]:
    return {key: document for key, document in after.items() if before.get(key) != document}


def key_of(agent, before: dict[bytes, Document], text: str, **fields) -> bytes:
    """The key of the oldest memory with this text."""
    wanted = {"content": text, **fields}
    found = [(d.fields()["created_at"], key) for key, d in before.items() if wanted.items() <= d.fields().items()]
    return min(found)[1]


@by_edition
def test_the_merged_memory_is_one_that_the_agent_reads(redis, diarist, memfold, edition: Edition):
    agent = diarist(edition)
    store_everything(agent)
    before = documents(redis)
    first = key_of(agent, before, WINDOW, user_id="tyler", memory_type="semantic")

    [report] = memfold.merge("tyler")

    [done] = merged_by(report)
    after = documents(redis)
    assert done["result_key"].encode() == first
    assert new_and_changed(before, after).keys() == {first}
    assert len(before) - len(after) == 2
    assert indexed(redis) == after.keys()

    # As the agent sees it.
    memories = agent.retrieve_memories(WINDOW, SEMANTIC, "tyler", distance_threshold=0.05)
    [memory] = [memory for memory in memories if memory.id == first.decode()]
    assert memory.content.rstrip(".").casefold() == WINDOW.casefold()
    assert memory.created_at == START
    assert (memory.user_id, memory.memory_type) == ("tyler", SEMANTIC)
    assert isinstance(memory.memory_id, ulid.ULID)
    check_metadata(memory.metadata)

    # As it is stored: every member that the merge has no business with is as it was.
    old, new = before[first].fields(), after[first].fields()
    assert old.keys() == new.keys()
    assert {name for name in old if old[name] != new[name]} <= {"content", "metadata"}
    assert isinstance(new["metadata"], str)
    if edition.keeps_thread:
        assert new["thread_id"] == "t-1"
        assert "t-2" in new["metadata"] and "t-3" in new["metadata"]


def check_metadata(text: str):
    """What the sources' metadata said is all there, in JSON."""
    metadata = json.loads(text)
    assert metadata["consolidated"] is True
    assert metadata["source_count"] == 3
    assert metadata["confidence"] == 0.9
    assert "note" in metadata and metadata["note"] is None
    assert metadata["tags"] == ["seat", "a|b,c"]
    assert metadata["trip"] == "Lisbon"
    assert "chat" in text and "email" in text


def test_no_other_index_loses_a_memory(redis, agent, memfold):
    """The recipe's prefix has no colon, so its index holds what lies under every longer one, too."""
    schema = "SCHEMA $.content AS content TEXT $.user_id AS user_id TAG".split()
    redis.execute_command("FT.CREATE", "team", "ON", "JSON", "PREFIX", 1, "memory_team:", *schema)
    agent.store_memory(WINDOW, SEMANTIC, "tyler", "t-1")
    [own] = documents(redis)
    redis.copy(own, "memory_team:1")
    before = documents(redis)
    assert indexed(redis) == before.keys()

    [report] = memfold.merge("tyler")

    assert documents(redis) == before and report["merged"] == []
    [left] = report["not_committed"]
    assert left["reason"] == "unwritable" and "index team" in left["detail"]
    # Among those of the team there is nothing to lose.
    redis.copy(own, "memory_team:2")
    redis.delete(own)
    assert len(memfold.merge("tyler")[0]["merged"]) == 1


@by_edition
def test_what_the_agent_passes_over_hides_nothing_that_it_could_read(redis, diarist, memfold, edition: Edition):
    agent = diarist(edition)
    store_repetitions(agent)
    first = key_of(agent, documents(redis), WINDOW)
    # Another writer's: the agent passes over what has no id.
    redis.hdel(first, "memory_id") if edition.storage_type == "hash" else redis.json().delete(first, "$.memory_id")
    before = documents(redis)
    assert first.decode() not in {memory.id for memory in agent.retrieve_memories(WINDOW, SEMANTIC, "tyler")}

    [report] = memfold.merge("tyler")

    [done] = merged_by(report)
    assert done["result_key"].encode() == first
    assert [memory.id for memory in agent.retrieve_memories(WINDOW, SEMANTIC, "tyler")] == [first.decode()]
    memfold("undo", done["merge_id"])
    assert documents(redis) == before


@by_edition
def test_the_agent_goes_on_with_the_merged_store(redis, diarist, memfold, edition: Edition):
    agent = diarist(edition)
    store_everything(agent)
    [report] = memfold.merge("tyler")
    key = merged_by(report)[0]["result_key"]
    after = documents(redis)

    # Its own check for repetitions sees the merged memory.
    agent.store_memory("User prefers window seats on flights!", SEMANTIC, "tyler")
    assert documents(redis) == after
    # It stores what is new.
    agent.store_memory("User has a dog called Biscuit", SEMANTIC, "tyler")
    assert len(documents(redis)) == len(after) + 1
    # Its tool finds it, though only for users that it can name.
    assert f"- [{SEMANTIC}] {WINDOW}" in agent.retrieve_memories_tool(WINDOW, [SEMANTIC], config={"user_id": "tyler"})
    # Plain filters, page by page.
    query = FilterQuery(
        filter_expression=(Tag("user_id") == "tyler") & (Tag("memory_type") == "semantic"),
        return_fields=["content", "metadata", "embedding"],
    )
    found = {row["id"] for page in agent.index.paginate(query, page_size=2) for row in page}
    ours = {name for name, document in documents(redis).items() if document.fields()["user_id"] == "tyler"}
    assert key in found
    assert len(found) == len(ours) - 1  # one is episodic
    # By its id.
    fetched = agent.index.fetch(key.removeprefix("memory:"))
    assert fetched["content"].rstrip(".").casefold() == WINDOW.casefold()
    # It starts again, which makes the index anew.
    agent.start()
    assert indexed(redis) == documents(redis).keys()
    assert key in {memory.id for memory in agent.retrieve_memories(WINDOW, SEMANTIC, "tyler", distance_threshold=0.05)}
    # It deletes the merged memory.
    assert agent.delete_memory(key) == 1
    assert key.encode() not in documents(redis)


@by_edition
def test_an_undo_gives_every_byte_back(redis, diarist, memfold, edition: Edition):
    agent = diarist(edition)
    store_everything(agent)
    before = documents(redis)
    reports = memfold.merge()
    assert sorted(report["plan"]["user"] for report in reports) == ["mira", "tyler"]
    assert all(len(merged_by(report)) == 1 for report in reports)
    assert len(retired(redis)) > 0

    [run_id] = {report["run_id"] for report in reports}
    memfold("undo", "--run", run_id)

    assert documents(redis) == before
    assert indexed(redis) == before.keys()
    assert retired(redis) == []


def test_one_merge_is_undone_by_its_id_and_not_made_again(redis, diarist, memfold):
    agent = diarist()
    store_everything(agent)
    before = documents(redis)
    reports = {report["plan"]["user"]: report for report in memfold.merge("tyler", "mira")}
    after = documents(redis)

    memfold("undo", merged_by(reports["tyler"])[0]["merge_id"])

    def of(user: str, found: dict[bytes, Document]) -> dict[bytes, Document]:
        return {key: document for key, document in found.items() if document.fields()["user_id"] == user}

    now = documents(redis)
    assert of("tyler", now) == of("tyler", before)
    assert of("mira", now) == of("mira", after)
    [again] = memfold.merge("tyler")
    assert again["merged"] == []
    assert documents(redis) == now


def test_a_dry_run_and_a_second_run_change_nothing(redis, diarist, memfold):
    store_everything(diarist())
    before = documents(redis)
    [planned] = memfold.merge("tyler", options=("--dry-run",))
    assert documents(redis) == before
    assert len(planned["merges"]) == 1
    memfold.merge("tyler")
    after = documents(redis)
    [report] = memfold.merge("tyler")
    assert report["merged"] == []
    assert documents(redis) == after


def test_an_undo_after_the_agent_deleted_the_merged_memory(redis, diarist, memfold):
    agent = diarist()
    store_everything(agent)
    before = documents(redis)
    [report] = memfold.merge("tyler")
    [done] = merged_by(report)
    agent.delete_memory(done["result_key"])
    memfold("undo", done["merge_id"])
    assert documents(redis) == before


def test_an_undo_is_refused_when_the_agent_rewrote_the_merged_memory(redis, diarist, memfold):
    agent = diarist()
    store_everything(agent)
    [report] = memfold.merge("tyler")
    [done] = merged_by(report)
    agent.redis.json().set(done["result_key"], "$.content", "User only takes window seats")
    edited = documents(redis)

    with pytest.raises(MemfoldFailed) as failed:
        memfold("undo", done["merge_id"])

    assert failed.value.code == 7
    assert done["result_key"] in failed.value.stderr
    assert documents(redis) == edited


@by_edition
def test_expiries_are_kept_and_come_back(redis, diarist, memfold, edition: Edition):
    agent = diarist(edition)
    day = 24 * 3600
    agent.store_memory(WINDOW, SEMANTIC, "tyler", "t-1", ttl=day)
    agent.store_memory("user prefers window seats on flights.", SEMANTIC, "tyler", "t-2", ttl=day)
    agent.store_memory(WINDOW, SEMANTIC, "tyler", "t-3", ttl=30 * day)
    agent.store_memory(WINDOW, SEMANTIC, "tyler", "t-4")
    before = documents(redis)

    [report] = memfold.merge("tyler")

    # Only those that would have gone at the same time are one now, and that goes no sooner and no later.
    [done] = merged_by(report)
    after = documents(redis)
    gone = before.keys() - after.keys()
    assert len(gone) == 1
    sources = [before[key] for key in (done["result_key"].encode(), *gone)]
    lifetimes = [source.expires_at for source in sources]
    assert max(lifetimes) - min(lifetimes) < 5000
    assert min(lifetimes) <= after[done["result_key"].encode()].expires_at <= max(lifetimes)
    untouched = before.keys() - gone - {done["result_key"].encode()}
    assert all(after[key] == before[key] for key in untouched)

    memfold("undo", done["merge_id"])

    assert documents(redis) == before


def test_users_that_the_agent_cannot_ask_for(redis, diarist, memfold):
    """Their names are syntax in its filters; some are one name to the index."""
    agent = diarist()
    users = ["alice@example.com", "Alice@example.com", "b0c5-11", "o'neil|x}", "a,b", "a", "用户一"]
    for user in users:
        store_repetitions(agent, user)
    before = documents(redis)
    assert len(before) == 3 * len(users)
    for user in users:
        kept = documents(redis)
        [report] = memfold.merge(user)
        [done] = merged_by(report)
        touched = [key for key, document in kept.items() if documents(redis).get(key) != document]
        assert len(touched) == 3, user
        assert {kept[key].fields()["user_id"] for key in touched} == {user}
        assert before[done["result_key"].encode()].fields()["user_id"] == user
    assert len(documents(redis)) == len(users)


def test_what_the_tool_wrote_for_everybody(redis, agent, memfold):
    """`system` is nobody's own: only merged when named."""
    for thread, metadata in (("t-1", {"source": "chat", "count": 0}), ("t-2", {"source": "form"}), ("t-3", None)):
        agent.store_memory_tool(WINDOW, SEMANTIC, metadata, {"thread_id": thread})
    before = documents(redis)
    assert {document.fields()["user_id"] for document in before.values()} == {"system"}

    memfold("merge", "--all-users")
    assert documents(redis) == before

    [report] = memfold.merge("system")
    [done] = merged_by(report)
    [document] = documents(redis).values()
    metadata = json.loads(document.fields()["metadata"])
    assert metadata["count"] == 0
    assert metadata["source_count"] == 3
    assert "chat" in document.fields()["metadata"] and "form" in document.fields()["metadata"]
    assert WINDOW in agent.retrieve_memories_tool(WINDOW, [SEMANTIC])

    memfold("undo", done["merge_id"])
    assert documents(redis) == before


@by_edition
def test_members_that_the_recipe_does_not_know_are_kept(redis, diarist, memfold, edition: Edition):
    agent = diarist(edition)
    store_repetitions(agent)
    extra = {"app_version": "7.10", "ünknown": "a\tb"}
    for key in documents(redis):
        if edition.storage_type == "hash":
            redis.hset(key, mapping=extra)
        else:
            nested = {"empty": {}, "none": [], "big": 12345678901234567890, "tiny": 1e-7, "off": False}
            redis.execute_command("JSON.SET", key, "$.app", json.dumps({**extra, **nested}))
    before = documents(redis)

    [report] = memfold.merge("tyler")

    [done] = merged_by(report)
    [document] = documents(redis).values()
    old = before[done["result_key"].encode()].fields()
    new = document.fields()
    for name in ("app", *extra):
        assert new.get(name) == old.get(name)
    memfold("undo", done["merge_id"])
    assert documents(redis) == before


def test_neighbours_under_the_same_prefix_are_left_alone(redis, diarist, memfold):
    """The recipe's worker keeps its bookmark there, and other things may share the prefix."""
    agent = diarist()
    store_repetitions(agent)
    redis.set("memory_worker:tyler:last_processed_message_id", "1526919030474-55")
    redis.hset("memory:sessions", mapping={"user_id": "tyler", "content": WINDOW})
    redis.execute_command("JSON.SET", "memory:note", "$", json.dumps({"user_id": "tyler", "title": WINDOW}))
    before = documents(redis)
    [report] = memfold.merge("tyler")
    merged_by(report)
    after = documents(redis)
    for key in (b"memory_worker:tyler:last_processed_message_id", b"memory:sessions", b"memory:note"):
        assert after[key] == before[key]
    assert len(after) == 4


def test_memfold_recognises_its_model_in_the_agents_vectors(new_agent, minilm, memfold):
    for embed, distance in ((minilm.embed, "stored"), (minilm.embed_cls, "onnx")):
        agent = new_agent(embed=embed)
        agent.redis.flushdb()
        agent.start()
        store_everything(agent)
        [planned] = memfold.merge("tyler", options=("--dry-run",))
        assert planned["distance"] == distance


@pytest.mark.parametrize("storage_type", ["json", "hash"])
@pytest.mark.parametrize(
    ("algorithm", "datatype"), [("hnsw", "float32"), ("flat", "float64"), ("flat", "float16"), ("hnsw", "bfloat16")]
)
def test_other_kinds_of_index(redis, diarist, memfold, storage_type, algorithm, datatype):
    edition = Edition("other", storage_type=storage_type, algorithm=algorithm, datatype=datatype)
    agent = diarist(edition)
    store_everything(agent)
    before = documents(redis)
    [report] = memfold.merge("tyler")
    [done] = merged_by(report)
    assert report["plan"]["distance"] == "stored"
    after = documents(redis)
    assert len(before) - len(after) == 2
    found = agent.retrieve_memories(WINDOW, SEMANTIC, "tyler", distance_threshold=0.05)
    assert done["result_key"] in {memory.id for memory in found}
    memfold("undo", done["merge_id"])
    assert documents(redis) == before
    found = agent.retrieve_memories(WINDOW, SEMANTIC, "tyler", distance_threshold=0.05)
    assert done["result_key"] in {memory.id for memory in found}


@by_edition
def test_generations_add_up_and_are_undone_together(redis, diarist, memfold, edition: Edition):
    agent = diarist(edition)
    store_repetitions(agent)
    first = documents(redis)
    [one] = merged_by(memfold.merge("tyler")[0])
    agent.store_memory("User prefers window seats on flights. ", SEMANTIC, "tyler", "t-9", '{"source": "form", "count": 0}')
    second = documents(redis)
    [two] = merged_by(memfold.merge("tyler")[0])
    [document] = documents(redis).values()
    metadata = json.loads(document.fields()["metadata"])
    assert metadata["source_count"] == 4
    assert metadata["trip"] == "Lisbon"
    assert metadata["count"] == 0
    assert all(source in document.fields()["metadata"] for source in ("chat", "email", "form"))
    assert document.fields()["created_at"] == START.isoformat()

    with pytest.raises(MemfoldFailed) as failed:
        memfold("undo", one["merge_id"])
    assert failed.value.code == 7
    assert two["merge_id"] in failed.value.stderr

    memfold("undo", one["merge_id"], "--cascade")
    now = documents(redis)
    latest = second.keys() - first.keys()
    assert {key: document for key, document in now.items() if key not in latest} == first
    assert {key: now[key] for key in latest} == {key: second[key] for key in latest}


@pytest.mark.parametrize(
    "metadata",
    ["", "{}", "null", "[]", "[1, 2]", "5", '"text"', "oops{", "{'a': 1", "{'tags': ('x', 'y'), 'none': None}", '{"a": {"b": [0, ""]}}']
    + ["x" * 100_000, "日本語", '{"source_count": "many", "consolidated": "no", "merge_id": 7, "sources": null}'],
    ids=lambda text: text[:24],
)
@pytest.mark.parametrize("position", [0, 1])
def test_metadata_of_any_shape(redis, diarist, memfold, metadata, position):
    """It must stay a string that the agent reads, and hold what was in it; or the memories stay as they are."""
    agent = diarist()
    metadatas = ['{"source": "chat"}', '{"source": "chat"}']
    metadatas[position] = metadata
    for thread, text in enumerate(metadatas):
        agent.store_memory(WINDOW, SEMANTIC, "tyler", f"t-{thread}", text)
    before = documents(redis)
    assert len(before) == 2

    [report] = json.loads(memfold("merge", "--user", "tyler", "--json", codes=(0, 4)))["users"]

    if not report["merged"]:
        assert documents(redis) == before
        assert report["not_committed"][0]["reason"] == "unwritable"
        return
    [memory] = agent.retrieve_memories(WINDOW, SEMANTIC, "tyler")
    assert "chat" in memory.metadata
    merged = json.loads(memory.metadata)
    assert merged["consolidated"] is True
    assert merged["source_count"] == 2
    for word in words(metadata):
        assert word in json.dumps(merged, ensure_ascii=False)
    memfold("undo", report["merged"][0]["merge_id"])
    assert documents(redis) == before


def words(metadata: str) -> list[str]:
    """What must be found again, however it is written."""
    return re.findall(r"\w+", metadata.replace("None", "null"))
