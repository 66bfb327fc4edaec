"""langchain-redis and memfold on one store: the library must answer as if it had held only the merged memory."""

import json

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_redis import RedisConfig, RedisVectorStore
from redisvl.query.filter import Tag
from redisvl.schema import IndexSchema
from store import documents, indexed, retired

WINDOW = "User prefers window seats on flights"
SCHEMA = [
    {"name": "user_id", "type": "tag"},
    {"name": "memory_type", "type": "tag"},
    {"name": "tags", "type": "tag"},
    {"name": "confidence", "type": "numeric"},
]

by_storage = pytest.mark.parametrize("storage", ["hash", "json"])


class Model(Embeddings):
    def __init__(self, minilm):
        self.minilm = minilm

    def embed_query(self, text):
        return self.minilm.embed(text)

    def embed_documents(self, texts):
        return [self.minilm.embed(text) for text in texts]


@pytest.fixture
def new_store(redis, redis_url, minilm):
    """Makes stores of the library, each over an index of its own."""

    def make(storage="hash", name="lc_mem", ttl=None, schema=SCHEMA, **config) -> RedisVectorStore:
        fields = [{**field} for field in schema]  # the library writes into them
        config = {"index_name": name, "redis_url": redis_url, "storage_type": storage, "metadata_schema": fields} | config
        return RedisVectorStore(Model(minilm), RedisConfig(**config), ttl=ttl)

    return make


@pytest.fixture
def memfold(memfold):
    memfold.settings |= {"MEMFOLD_INDEX": "lc_mem", "MEMFOLD_LAYOUT": "langchain-redis"}
    return memfold


def put(store: RedisVectorStore, id: str, text: str, **metadata) -> str:
    metadata = {"user_id": "tyler", "memory_type": "semantic", **metadata}
    [stored] = store.add_texts([text], [metadata], ids=[id])
    return stored


def put_repetitions(store: RedisVectorStore, user="tyler", id=""):
    """One preference three times, with metadata of every kind that the library can write into a hash."""
    at = "2026-01-0{}T09:15:00.250300"
    one = {"created_at": at.format(5), "tags": ["seat", "a,b"], "confidence": 0.9, "note": None}
    two = {"created_at": at.format(7), "source": "email", "confidence": 0.25, "big": 1e22}
    three = {"created_at": at.format(6), "trip": "Lissabon é", "n": 12345678901234567890}
    put(store, f"{id}w1", WINDOW, user_id=user, **one)
    put(store, f"{id}w2", f"{WINDOW}.", user_id=user, **two)
    put(store, f"{id}w3", WINDOW, user_id=user, **three)


def put_others(store: RedisVectorStore):
    """Nothing here may be merged with anything."""
    put(store, "o1", "User prefers aisle seats on flights")
    put(store, "o2", "User doesn't prefer window seats on flights", tags=[])
    put(store, "o3", WINDOW, memory_type="episodic")
    put(store, "o4", "User is allergic to peanuts", confidence=1)
    put(store, "o5", WINDOW, user_id="mira")


def ids_of(redis, prefix: bytes = b"lc_mem:") -> list[str]:
    return sorted(key.removeprefix(prefix).decode() for key in redis.scan_iter(match=prefix + b"*"))


def merge(memfold, user="tyler", **run) -> dict:
    [report] = memfold.merge(user, **run)
    assert report["not_committed"] == []
    return report


def of(found: list[Document]) -> list[tuple]:
    return [(document.page_content, document.metadata) for document in found]


def answers(store: RedisVectorStore, ids: list[str]) -> dict:
    """What the library says of a store, in every way that it can be asked."""
    tyler = Tag("user_id") == "tyler"
    scored = store.similarity_search_with_score(WINDOW, k=2, filter=tyler)
    return {
        "get": sorted((document.id, document.page_content, document.metadata) for document in store.get_by_ids(ids)),
        "search": of(store.similarity_search(WINDOW, k=2)),
        "filter": of(store.similarity_search("allergies", k=10, filter=tyler)),
        "tags": of(store.similarity_search(WINDOW, k=2, filter=Tag("tags") == "seat")),
        "range": of(store.similarity_search(WINDOW, k=10, filter=tyler, distance_threshold=0.2)),
        "score": [(document.page_content, round(score, 5)) for document, score in scored],
        "all": sorted(document.page_content for document in store.similarity_search(WINDOW, k=2, return_all=True)),
        "mmr": of(store.max_marginal_relevance_search(WINDOW, k=2, fetch_k=5)),
    }


@by_storage
def test_the_library_answers_as_if_it_had_held_only_the_merged_memory(redis, new_store, memfold, storage):
    store = new_store(storage)
    put_repetitions(store)
    put_others(store)
    before = documents(redis)

    report = merge(memfold)

    [done] = report["merged"]
    assert done["result_key"] == "lc_mem:w1"
    assert sorted(done["retired"]) == ["lc_mem:w2", "lc_mem:w3"]
    after = documents(redis)
    assert {key for key in before if before[key] != after.get(key)} == {b"lc_mem:w1", b"lc_mem:w2", b"lc_mem:w3"}
    assert indexed(redis, "lc_mem") == after.keys()
    ids = ids_of(redis)
    [merged] = store.get_by_ids(["w1"])
    assert merged.page_content.rstrip(".") == WINDOW
    check_metadata(merged.metadata)

    # Another store of the library, which never held anything else: it is given what the first one answers.
    alone = new_store(storage, name="alone")
    for id in ids:
        [document] = store.get_by_ids([id])
        assert alone.add_documents([document], ids=[id]) == [id]
    assert answers(store, ids) == answers(alone, ids)
    same_record(redis, "w1", storage)


def same_record(redis, id: str, storage: str):
    """The record is, member by member, the one that the library would have written."""
    ours, theirs = (documents(redis)[f"{index}:{id}".encode()] for index in ("lc_mem", "alone"))
    assert ours.kind == theirs.kind
    (ours, our_vector), (theirs, their_vector) = parted(ours), parted(theirs)
    assert (ours.pop("_index_name"), theirs.pop("_index_name")) == ("lc_mem", "alone")
    assert json.loads(ours.pop("_metadata_json")) == json.loads(theirs.pop("_metadata_json"))
    assert ours == theirs
    np.testing.assert_array_equal(our_vector, their_vector)


def parted(document) -> tuple[dict, np.ndarray]:
    if document.kind == b"hash":
        return document.fields(), np.frombuffer(document.body[b"embedding"], dtype="<f4")
    return document.fields(), np.array(json.loads(document.body)["embedding"], dtype="f4")


def check_metadata(metadata: dict):
    """What the sources' metadata said is all there; what memfold adds is one text."""
    provenance = json.loads(metadata.pop("memfold"))
    assert provenance["consolidated"] is True
    assert provenance["source_count"] == 3
    assert sorted(leaf["id"] for leaf in provenance["sources"]) == ["lc_mem:w1", "lc_mem:w2", "lc_mem:w3"]
    assert {said["value"] for said in provenance["memfold"]["values"]["confidence"]} == {0.9, 0.25}
    assert metadata == {
        "user_id": "tyler",
        "memory_type": "semantic",
        "created_at": "2026-01-05T09:15:00.250300",
        "tags": ["seat", "a,b"],
        "confidence": 0.9,
        "note": None,
        "source": "email",
        "big": 1e22,
        "trip": "Lissabon é",
        "n": 12345678901234567890,
    }


@by_storage
def test_the_library_goes_on_with_the_merged_store(redis, new_store, memfold, storage):
    store = new_store(storage)
    put_repetitions(store)
    merge(memfold)
    [merged] = store.get_by_ids(["w1", "w2", "w3"])

    # It updates the merged memory, with all the metadata that it has; memfold still knows what it is.
    changed = Document(page_content="User prefers window seats on long flights", metadata=merged.metadata)
    assert store.add_documents([changed], ids=["w1"]) == ["w1"]
    assert of(store.similarity_search(WINDOW, k=2)) == of([changed])
    put(store, "w4", "user prefers window seats on long flights", created_at="2026-02-01T00:00:00")
    report = merge(memfold)
    assert [done["result_key"] for done in report["merged"]] == ["lc_mem:w1"]
    [merged] = store.get_by_ids(["w1", "w4"])
    provenance = json.loads(merged.metadata["memfold"])
    assert provenance["source_count"] == 4
    assert len(provenance["sources"]) == 4

    # It deletes it.
    assert store.delete(["w2"]) is False
    assert store.delete(["w1"]) is True
    assert store.similarity_search(WINDOW, k=2) == []


@by_storage
def test_an_undo_gives_every_byte_and_expiry_back(redis, new_store, memfold, storage):
    store = new_store(storage, ttl=5000)
    put_repetitions(store)
    put_others(store)
    put_repetitions(new_store(storage), id="forever-")
    before = documents(redis)
    assert {document.expires_at > 0 for document in before.values()} == {True, False}

    report = merge(memfold)

    assert {done["result_key"] for done in report["merged"]} == {"lc_mem:w1", "lc_mem:forever-w1"}
    after = documents(redis)
    assert after[b"lc_mem:w1"].expires_at > 0 and after[b"lc_mem:forever-w1"].expires_at == -1
    memfold("undo", "--run", report["run_id"])
    assert documents(redis) == before
    assert indexed(redis, "lc_mem") == before.keys()
    assert retired(redis) == []
    assert merge(memfold)["merged"] == []


@by_storage
def test_users_that_look_alike_share_no_memory(redis, new_store, memfold, storage):
    users = ["tyler", "Tyler", "tyler ", " tyler", "tyler,x", "tyl", "tyler|x", "x", "tyler\\", "{tyler}", "ty*"]
    store = new_store(storage)
    for n, user in enumerate(users):
        put(store, f"{n}-a", WINDOW, user_id=user)
        put(store, f"{n}-b", WINDOW, user_id=user)
    before = documents(redis)

    for n, user in enumerate(users):
        [done] = merge(memfold, user)["merged"]
        assert {done["result_key"], *done["retired"]} == {f"lc_mem:{n}-a", f"lc_mem:{n}-b"}

    assert ids_of(redis) == sorted(f"{n}-a" for n in range(len(users)))
    for report in memfold.json("history", "--limit", "50")["entries"]:
        memfold("undo", report["merge_id"])
    assert documents(redis) == before


@by_storage
def test_keys_of_older_versions_stay_what_they_are(redis, new_store, memfold, storage):
    store = new_store(storage)
    assert store.config.legacy_key_format
    put_repetitions(store)
    # Until redisvl 0.9 the library wrote lc_mem::ID for a memory without an id of its own.
    for id in ("w1", "w2"):
        redis.rename(f"lc_mem:{id}", f"lc_mem::{id}")
    before = documents(redis)

    report = merge(memfold)

    assert [done["result_key"] for done in report["merged"]] == ["lc_mem::w1"]
    assert documents(redis).keys() == {b"lc_mem::w1"}
    assert len(store.similarity_search(WINDOW, k=2)) == 1
    memfold("undo", "--run", report["run_id"])
    assert documents(redis) == before


@by_storage
def test_two_indexes_over_one_prefix_keep_apart(redis, new_store, memfold, storage):
    one, two = (new_store(storage, name=name, key_prefix="shared") for name in ("lc_mem", "lc_other"))
    put(one, "a", WINDOW)
    put(two, "b", WINDOW)
    before = documents(redis)
    report = merge(memfold)
    assert report["merged"] == [] and documents(redis) == before
    [left] = report["plan"]["left_alone"]
    assert (left["key"], left["reason"]) == ("shared:b", "not-a-memory")


@by_storage
def test_what_the_library_would_not_find_or_read_otherwise_is_left_alone(redis, new_store, memfold, storage):
    store = new_store(storage)
    for id in ("ok1", "ok2", "unnamed", "typed", "broken", "bare", "foreign"):
        put(store, id, WINDOW)
    edit(redis, storage, "unnamed", "_index_name", None)
    edit(redis, storage, "typed", "memory_type", "episodic")
    edit(redis, storage, "foreign", "user_id", "mira")  # the index has it for her, and so it is not even listed here
    edit(redis, storage, "broken", "_metadata_json", "{oops")
    edit(redis, storage, "bare", "_metadata_json", None)
    before = documents(redis)

    report = merge(memfold)

    assert [done["retired"] for done in report["merged"]] == [["lc_mem:ok2"]]
    left = {entry["key"]: entry["reason"] for entry in report["plan"]["left_alone"]}
    assert left == {f"lc_mem:{id}": "malformed" for id in ("unnamed", "typed", "broken", "bare")}
    after = documents(redis)
    assert all(after[key] == before[key] for key in after if key != b"lc_mem:ok1")


def edit(redis, storage: str, id: str, field: str, value):
    key = f"lc_mem:{id}"
    if storage == "json":
        command = ("JSON.DEL", key, f"$.{field}") if value is None else ("JSON.SET", key, f"$.{field}", json.dumps(value))
    else:
        command = ("HDEL", key, field) if value is None else ("HSET", key, field, value)
    redis.execute_command(*command)


@by_storage
def test_a_schema_without_metadata_json_is_served(redis, redis_url, memfold, minilm, storage):
    """Such an index is made from a schema of one's own: metadata are the fields alone then."""
    vector = {"dims": 384, "distance_metric": "cosine", "algorithm": "flat", "datatype": "float32"}
    schema = IndexSchema.from_dict(
        {
            "index": {"name": "lc_mem", "prefix": "lc_mem", "storage_type": storage},
            "fields": [
                {"name": "text", "type": "text"},
                {"name": "embedding", "type": "vector", "attrs": vector},
                *SCHEMA,
            ],
        }
    )
    config = RedisConfig.from_schema(schema, redis_url=redis_url)
    store = RedisVectorStore(Model(minilm), config)
    put_repetitions(store)
    before = documents(redis)
    report = merge(memfold)
    assert [done["result_key"] for done in report["merged"]] == ["lc_mem:w1"]
    [document] = store.similarity_search(WINDOW, k=2, filter=Tag("user_id") == "tyler")
    assert document.metadata["tags"] == "seat|a,b" and document.metadata["confidence"] == 0.9
    [document] = store.get_by_ids(["w1", "w2"])
    assert document.metadata["trip"] == "Lissabon é"
    assert json.loads(document.metadata["memfold"])["source_count"] == 3
    assert store.add_documents([document], ids=["w1"]) == ["w1"]
    memfold("undo", "--run", report["run_id"], "--force")
    documents_now = documents(redis)
    assert all(documents_now[key] == before[key] for key in before)


@by_storage
def test_the_file_that_inspect_writes_works_unchanged(redis, new_store, memfold, storage):
    store = new_store(storage)
    put_repetitions(store)
    for name in ("MEMFOLD_INDEX", "MEMFOLD_LAYOUT"):
        del memfold.settings[name]
    memfold("inspect", "--write-config")  # memfold.toml in the folder in which memfold runs
    assert 'layout = "langchain-redis"' in (memfold.home / "memfold.toml").read_text()
    assert [done["result_key"] for done in merge(memfold)["merged"]] == ["lc_mem:w1"]


def test_users_of_an_index_without_a_user_field_are_found_by_their_records(redis, new_store, memfold):
    store = new_store(schema=[])
    put_repetitions(store)
    put_repetitions(store, user="Tyler", id="T")
    assert [done["result_key"] for done in merge(memfold)["merged"]] == ["lc_mem:w1"]
    assert [done["result_key"] for done in merge(memfold, "Tyler")["merged"]] == ["lc_mem:Tw1"]
