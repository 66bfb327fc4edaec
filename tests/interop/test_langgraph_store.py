"""LangGraph's RedisStore and memfold on one store: the agent finds one memory where it had several, and later all of them again."""

import json
import threading
import time

import pytest
from conftest import MemfoldFailed
from langgraph_store import answers, store
from store import document, documents

ALICE = ("memories", "alice")
WINDOW = "User prefers window seats on flights"
OTHERS = {
    "o1": "User prefers aisle seats on flights",
    "o2": "User does not prefer window seats on flights",
    "o3": "User is allergic to peanuts",
}
REPEATED = {"a1": WINDOW, "a2": "user prefers window seats on flights.", "a3": WINDOW}
SHAPES = {
    "tool": lambda text: {"content": text},
    "manager": lambda text: {"kind": "Memory", "content": {"content": text}},
}


@pytest.fixture
def memfold(memfold):
    memfold.settings |= {"MEMFOLD_LAYOUT": "langgraph-store"}
    del memfold.settings["MEMFOLD_INDEX"]
    return memfold


@pytest.fixture
def embed(minilm):
    return lambda texts: [minilm.embed(text) for text in texts]


def put_all(made, shape, namespace=ALICE, texts=REPEATED | OTHERS, **options):
    for key, text in texts.items():
        made.put(namespace, key, shape(text), **options)
        time.sleep(0.002)  # times are told in microseconds; the first is to be the oldest for sure


def merged_keys(report: dict) -> tuple[str, list[str]]:
    assert report["not_committed"] == [], report["not_committed"]
    [done] = report["merged"]
    return done["result_key"], done["retired"]


@pytest.mark.parametrize("storage", ["json", "hash"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_library_answers_as_if_it_had_held_the_merged_memory_alone(redis, embed, memfold, shape, storage):
    made = store(redis, embed, vector_storage_type=storage)
    put_all(made, shape)
    before = documents(redis)

    [report] = memfold.merge("alice")

    merged_keys(report)
    assert len(documents(redis)) == len(before) - 4, "both keys of each retired item are gone"
    kept = made.get(ALICE, "a1").value
    keys = [*REPEATED, *OTHERS]
    queries = ["Which seat?", "peanuts"]
    found = [answers(made, ALICE, query, keys) for query in queries]

    # What the agent does next finds the same store as memfold left it.
    assert made.get(ALICE, "a2") is None and made.get(ALICE, "a3") is None
    assert memfold.merge("alice")[0]["merged"] == []
    [merge] = report["merged"]
    memfold("undo", merge["merge_id"])
    assert documents(redis) == before

    redis.flushall()
    alone = store(redis, embed, vector_storage_type=storage)
    put_all(alone, shape, texts=OTHERS)
    alone.put(ALICE, "a1", kept)
    assert found == [answers(alone, ALICE, query, keys) for query in queries]


def test_the_agent_updates_and_deletes_the_merged_item(redis, embed, memfold):
    made = store(redis, embed)
    put_all(made, SHAPES["tool"])
    memfold.merge("alice")

    made.put(ALICE, "a1", {"content": "User prefers seats by the window"})
    assert made.get(ALICE, "a1").value == {"content": "User prefers seats by the window"}
    made.put(ALICE, "a2", {"content": "User has a dog"})
    assert made.get(ALICE, "a2").value == {"content": "User has a dog"}
    for key in ("a1", "a2", *OTHERS):
        made.delete(ALICE, key)
    assert documents(redis) == {}, "nothing of an item is left, no vector either"
    assert made.search(ALICE, query="seats", limit=2) == []


def test_an_item_that_was_written_again_is_not_doubled_by_undo(redis, embed, memfold):
    made = store(redis, embed)
    put_all(made, SHAPES["tool"])
    [report] = memfold.merge("alice")
    merge_id = report["merged"][0]["merge_id"]

    made.put(ALICE, "a3", {"content": "User has a dog"})
    before = documents(redis)
    with pytest.raises(MemfoldFailed, match="written again") as refused:
        memfold("undo", merge_id)
    assert refused.value.code == 7
    assert documents(redis) == before

    made.delete(ALICE, "a3")
    memfold("undo", merge_id)
    assert made.get(ALICE, "a3").value == {"content": WINDOW}


def test_expiry_is_kept_on_both_keys(redis, embed, memfold):
    made = store(redis, embed, ttl={"default_ttl": 60, "refresh_on_read": True})
    put_all(made, SHAPES["tool"], ttl=60)
    before = documents(redis)
    assert all(document.expires_at > 0 for document in before.values())

    [report] = memfold.merge("alice")

    merged_keys(report)
    after = documents(redis)
    assert all(document.expires_at > 0 for document in after.values())
    # Reading makes an item live longer, which is no change of it.
    assert made.get(ALICE, "a1").value["content"].lower().startswith("user prefers window")
    memfold("undo", report["merged"][0]["merge_id"])
    assert documents(redis) == before


USERS = ["alice", "Alice", "alice ", "alice,bob", "alices", "ali", "alice@x-y", "users", "user"]


def test_users_with_similar_names_never_meet(redis, embed, memfold):
    made = store(redis, embed)
    # The library itself deletes an item of `alice` when one of `Alice` with the same key is put.
    for number, user in enumerate(USERS):
        put_all(made, SHAPES["tool"], ("memories", user), {f"{key}-{number}": text for key, text in REPEATED.items()})
    before = documents(redis)

    reports = {report["user"]: report for report in memfold.merge(*USERS)}

    owner = {key: json.loads(d.body)["prefix"] for key, d in before.items()}
    for user in USERS:
        result, retired = merged_keys(reports[user])
        assert len({owner[key.encode()] for key in [result, *retired]}) == 1
        assert len(retired) == 2
    assert memfold.json("inspect") is not None
    again = memfold.merge()
    assert {report["user"] for report in again} == set(USERS)


def test_hundreds_of_namespaces_are_all_found(redis, minilm, memfold):
    vector = minilm.embed("a")
    made = store(redis, lambda texts: [vector] * len(texts))
    users = [f"u{number}" for number in range(250)]
    for user in users:
        made.put(("memories", user), f"k-{user}", {"content": "User likes tea"})
    # A query by the prefix that all have in common is cut, without a word.
    cut = redis.execute_command("FT.SEARCH", "store", "@prefix:memories*", "LIMIT", 0, 0, "DIALECT", 2)
    assert (cut[b"total_results"] if isinstance(cut, dict) else cut[0]) < len(users)
    plans = memfold.merge(options=("--dry-run", "--distance", "stored"))
    assert {plan["user"] for plan in plans} == set(users)


def test_what_is_no_plain_memory_is_left_alone(redis, embed, memfold):
    made = store(redis, embed)
    value = {"content": {"name": "Ann", "age": 60}}
    for key in ("s1", "s2"):
        made.put(ALICE, key, value)
        made.put(ALICE, f"{key}-none", {"content": "User likes tea"}, index=False)
        made.put(("elsewhere", "alice"), f"{key}-x", {"content": "User likes tea"})
    made.put(ALICE, "m1", {"kind": "Memory", "content": {"content": "User likes tea"}})
    made.put(ALICE, "t1", {"content": "User likes tea"})
    made.put(ALICE, "lost", {"content": "User likes tea"})
    [lost] = [key for key, d in documents(redis).items() if json.loads(d.body)["key"] == "lost" and b"vectors" not in key]
    redis.delete(lost)
    before = documents(redis)

    [report] = memfold.merge("alice")

    assert report["merged"] == []
    reasons = sorted(left["reason"] for left in report["plan"]["left_alone"])
    assert reasons == ["no-vector", "no-vector", "orphan", "structured", "structured"]
    assert documents(redis) == before


def test_items_that_others_damaged_are_left_alone(redis, embed, memfold):
    """Texts for times and unescaped namespaces break or hide an item in the library; a merge must not draw others in."""
    made = store(redis, embed)
    put_all(made, SHAPES["tool"], texts=REPEATED | {"iso": WINDOW, "bare": WINDOW, "packed": WINDOW})
    keys = {json.loads(d.body)["key"]: key for key, d in documents(redis).items() if b"vectors" not in key}
    redis.json().set(keys["iso"], "$.updated_at", "2026-01-02T03:04:05Z")
    redis.json().set(keys["bare"], "$.prefix", "memories.alice")
    redis.json().set(keys["packed"], "$.value", {"__serde_type__": "json", "__serde_data__": json.dumps({"text": WINDOW})})
    damaged = {keys[name]: document(redis, keys[name]) for name in ("iso", "bare", "packed")}

    [report] = memfold.merge("alice")

    kept, retired = merged_keys(report)
    assert {kept.encode(), *(key.encode() for key in retired)}.isdisjoint(damaged)
    assert {key: document(redis, key) for key in damaged} == damaged
    reasons = {left["reason"] for left in report["plan"]["left_alone"]}
    assert {"malformed", "structured"} <= reasons
    assert made.get(ALICE, "a1").value["content"]


def test_a_put_while_memfold_works_wins(redis, embed, memfold, tmp_path):
    made = store(redis, embed)
    put_all(made, SHAPES["tool"])
    plan = tmp_path / "plan.json"
    memfold("merge", "--user", "alice", "--dry-run", "--plan-out", str(plan))

    made.put(ALICE, "a2", {"content": "User has a dog"})
    before = documents(redis)
    report = memfold.json("apply", str(plan), codes=(4,))["users"][0]

    assert [left["reason"] for left in report["not_committed"]] == ["changed"]
    assert documents(redis) == before


def test_a_get_that_prolongs_items_between_plan_and_commit_stops_nothing(redis, embed, memfold, tmp_path):
    made = store(redis, embed, ttl={"default_ttl": 60, "refresh_on_read": True})
    put_all(made, SHAPES["tool"], ttl=60)
    for key in documents(redis):
        redis.expire(key, 1000)
    plan = tmp_path / "plan.json"
    memfold("merge", "--user", "alice", "--dry-run", "--plan-out", str(plan))

    for key in REPEATED:
        assert made.get(ALICE, key).value == {"content": REPEATED[key]}
    prolonged = [key for key in documents(redis) if redis.ttl(key) > 3500]
    assert len(prolonged) == 2 * len(REPEATED), "the library has prolonged both keys of each"
    [report] = memfold.json("apply", str(plan))["users"]

    kept, _ = merged_keys(report)
    left = documents(redis)
    assert kept.encode() in left and len(left) == 2 * (1 + len(OTHERS))
    assert all(0 < redis.ttl(key) <= 3600 for key in left)
    assert redis.ttl(kept) > 3500 and redis.ttl(kept.replace("store:", "store_vectors:")) > 3500


def test_an_agent_that_reads_and_writes_all_the_while(redis, embed, memfold):
    """Each read prolongs an item, and each write replaces both of its keys."""
    options = {"ttl": {"default_ttl": 60, "refresh_on_read": True}}
    made, busy = store(redis, embed, **options), store(redis, embed, **options)
    users = [("memories", f"user{number}") for number in range(6)]
    for namespace in users:
        keyed = {f"{key}-{namespace[1]}": text for key, text in (REPEATED | {"d": "User has a dog"}).items()}
        put_all(made, SHAPES["tool"], namespace, keyed, ttl=60)
    stop, written, failed = threading.Event(), {}, []

    def agent():
        try:
            while not stop.is_set():
                for namespace in users:
                    for key in REPEATED:
                        busy.get(namespace, f"{key}-{namespace[1]}")
                    text = f"User has dog number {len(written)}"
                    busy.put(namespace, f"d-{namespace[1]}", {"content": text}, ttl=60)
                    written[namespace] = text
        except Exception as error:  # noqa: BLE001 # told by the test itself
            failed.append(error)

    thread = threading.Thread(target=agent)
    thread.start()
    try:
        for _ in range(2):
            memfold.merge(*(namespace[1] for namespace in users))
    finally:
        stop.set()
        thread.join()
    assert not failed, failed
    memfold.merge(*(namespace[1] for namespace in users))

    left = documents(redis)
    assert all(document.expires_at > 0 for document in left.values()), "no item lives for ever"
    ends = [{key.split(b":")[1] for key in left if key.startswith(prefix)} for prefix in (b"store:", b"store_vectors:")]
    assert ends[0] == ends[1], "each item has its vector, and each vector its item"
    for namespace in users:
        texts = sorted(item.value["content"] for item in made.search(namespace, limit=20))
        assert texts == sorted([made.get(namespace, f"a1-{namespace[1]}").value["content"], written[namespace]])


def test_of_several_fields_the_one_of_the_vector_is_the_text(redis, embed, memfold):
    """All fields of an item have one key for their vectors: that of the last is left."""
    made = store(redis, embed, fields=["text", "context"])
    same = {"text": "At home"}
    made.put(ALICE, "s1", same | {"context": WINDOW})
    made.put(ALICE, "s2", same | {"context": WINDOW.lower() + "."})
    # What is not in the vector must be equal.
    made.put(ALICE, "s3", {"text": "At work", "context": WINDOW})
    made.put(ALICE, "s4", {"text": ["At home"], "context": WINDOW})
    # Without the last field, the vector is of the other one.
    made.put(ALICE, "s5", {"text": WINDOW})
    before = documents(redis)
    vectors = [json.loads(d.body) for key, d in before.items() if b"store_vectors:" in key]
    assert {vector["field_name"] for vector in vectors if vector["key"] != "s5"} == {"context"}

    [report] = memfold.merge("alice")

    merged_keys(report)
    # The one said last is kept.
    assert made.get(ALICE, "s1").value == same | {"context": WINDOW.lower() + "."}
    assert [made.get(ALICE, key) is None for key in ("s2", "s3", "s4", "s5")] == [True, False, False, False]
    found = made.search(ALICE, query=WINDOW, limit=10)
    assert sorted(item.key for item in found) == ["s1", "s3", "s4", "s5"]
    memfold("undo", report["merged"][0]["merge_id"])
    assert documents(redis) == before


def test_a_path_to_several_texts_is_left_alone(redis, embed, memfold):
    made = store(redis, embed, fields=["facts[*].t"])
    for key in ("l1", "l2"):
        made.put(ALICE, key, {"facts": [{"t": "User likes tea"}, {"t": WINDOW}]})
    before = documents(redis)
    [report] = memfold.merge("alice")
    assert [left["reason"] for left in report["plan"]["left_alone"]] == ["structured", "structured"]
    assert documents(redis) == before


def test_a_field_of_the_value_is_embedded_where_the_index_says_so(redis, embed, memfold):
    made = store(redis, embed, fields=["text"])
    put_all(made, lambda text: {"text": text, "source": "chat"})
    [report] = memfold.merge("alice")
    merged_keys(report)
    assert made.get(ALICE, "a1").value["source"] == "chat"
    assert [item.key for item in made.search(ALICE, query=WINDOW, limit=2)][0] == "a1"
    assert made.search(ALICE, query=WINDOW, limit=10, filter={"source": "chat"})[0].key == "a1"


@pytest.mark.parametrize(
    ("namespace", "options", "lines"),
    [
        (("memories", "{}"), {}, ['namespace = "memories/{user}"']),
        (("app", "{}", "facts"), {}, ['namespace = "app/{user}/facts"']),
        (("memories", "{}"), {"vectors": "mem_vec"}, ['namespace = "memories/{user}"', 'vector_index = "mem_vec"']),
    ],
)
def test_the_file_that_inspect_writes_works_unchanged(redis, embed, memfold, namespace, options, lines):
    made = store(redis, embed, **options)
    for user in ("alice", "bob"):
        labels = tuple(label.format(user) for label in namespace)
        put_all(made, SHAPES["tool"], labels, {f"{key}-{user}": text for key, text in REPEATED.items()})
    del memfold.settings["MEMFOLD_LAYOUT"]
    memfold("inspect", "--write-config")
    written = (memfold.home / "memfold.toml").read_text().splitlines()
    assert {'layout = "langgraph-store"', 'index = "store"', *lines} <= set(written)
    for report in memfold.merge():
        merged_keys(report)


def test_doctor_says_what_it_would_read_and_leave(redis, embed, memfold):
    made = store(redis, embed)
    put_all(made, SHAPES["manager"])
    made.put(ALICE, "s1", {"kind": "Profile", "content": {"name": "Ann", "age": 60}})
    made.put(("elsewhere", "alice"), "x1", {"content": "User likes tea"})
    before = documents(redis)

    checks = memfold.json("doctor", codes=(0, 1))["checks"]

    names = ("memories", "left alone", "layout", "match")
    told = {name: [check["found"] for check in checks if check["name"] == name] for name in names}
    # What is embedded is the value around the text as well.
    assert told["match"][0].startswith("the model matches"), told["match"]
    assert [check["status"] for check in checks if check["name"] == "fields"] == ["ok"]
    assert told["memories"] == ["6 memories of 1 user"]
    assert [found.split(":")[0] for found in told["left alone"]] == ["1 not-a-memory", "1 structured"]
    assert "updated_at" in told["layout"][0]
    assert documents(redis) == before
