"""The checker itself: each thing that can be wrong is found."""

import json
from types import SimpleNamespace

import pytest
from agents import Book, State, User
from check import Store, check, learn

ALICE, BOB = User(0), User(1)
RECORD = json.dumps({"state": "merged", "merge": {"sources": [{"key": "memory:1"}, {"key": "memory:2"}]}}).encode()


@pytest.fixture
def world():
    """A merged memory of two, as it should be."""
    book = Book()
    facts = [book.new(ALICE.id), book.new(ALICE.id)]
    book.set(facts, State.SAFE)
    store = Store(now_ms=1)
    put(store, "memory:1", ALICE, *facts, sources=["a", "b"])
    put(store, "memfold:undo:M:{memory:1}", ALICE, facts[0])
    put(store, "memfold:undo:M:{memory:2}", ALICE, facts[1])
    store.own["memfold:merge:M"] = (RECORD, 99)
    store.own["memfold:ledger"] = (1, -1)
    return SimpleNamespace(store=store, book=book, facts=facts)


def put(store: Store, key: str, user: User, *facts: str, sources: list[str] | None = None):
    metadata = {}
    if sources:
        metadata = {"consolidated": True, "sources": [{"id": id, "digest": "d"} for id in sources]}
    document = {
        "content": f"{user.word} likes tea with {', '.join(facts)}",
        "user_id": user.id,
        "metadata": json.dumps(metadata),
    }
    store._take(key, json.dumps(document))
    if key.startswith("memfold:"):
        store.own[key] = (None, 99)


def found(world) -> dict:
    return dict(check(world.store, world.book, [ALICE, BOB]).counts)


def test_nothing_is_wrong_with_a_merge_as_it_should_be(world):
    assert found(world) == {}


@pytest.mark.parametrize("state", [State.ACKED, State.SAFE])
def test_a_fact_that_is_nowhere_is_lost(world, state):
    world.book.set([world.book.new(ALICE.id)], state)
    assert found(world) == {"lost": 1}


def test_a_fact_without_an_answer_may_be_nowhere(world):
    world.book.new(ALICE.id)
    assert found(world) == {}


def test_a_fact_in_the_undo_store_alone_is_hidden(world):
    world.book.set([fact := world.book.new(ALICE.id)], State.SAFE)
    put(world.store, "memfold:undo:M:{memory:2}", ALICE, fact)
    assert found(world) == {"hidden": 1}


def test_a_deleted_fact_must_stay_away(world):
    world.book.set(world.facts[:1], State.GONE)
    assert found(world) == {"revived": 1}


def test_a_fact_in_two_memories_was_merged_twice(world):
    put(world.store, "memory:2", ALICE, world.facts[0])
    assert found(world) == {"merged_twice": 1}


def test_an_original_in_two_results_was_merged_twice(world):
    put(world.store, "memory:2", ALICE, sources=["b", "c"])
    assert found(world) == {"merged_twice": 1}


def test_a_fact_of_another_user_is_mixed(world):
    world.book.facts[world.facts[0]].user = BOB.id
    assert found(world) == {"mixed": 2}


def test_the_word_of_another_user_is_mixed(world):
    put(world.store, "memory:2", ALICE, world.facts[1])
    world.store.words["memory:2"].add(BOB.word)
    assert found(world)["mixed"] == 1


@pytest.mark.parametrize(
    "key, value, expires_at",
    [
        ("memfold:merge:M2", b'{"state": "undone", "merge": {}}', -1),
        ("memfold:into:M2", b"M", 99),
        ("memfold:into:M", b"M2", 99),
        ("memfold:veto:d", b"M2", -1),
        ("memfold:lease:0123", b"1:w", 99),
        ("memfold:state:0123", b"{}", 99),
        ("memfold:spent:20000:calls:0123", b"1", 99),
        ("memfold:worker:w", b"{}", 99),
        ("memfold:turn:sweep", b"w", -1),
        ("memfold:aside:M:{memory:1}", b"", -1),
        ("memfold:undo:M2:{memory:1}", None, 99),
        ("memfold:undo:M:{memory:3}", None, 99),
        ("memfold:halt", b"{}", -1),
        ("memfold:something", b"", 99),
    ],
)
def test_a_key_without_an_owner_is_found(world, key, value, expires_at):
    world.store.own[key] = (value, expires_at)
    assert found(world) == {"ownerless": 1}


def test_originals_are_kept_for_the_undo_window(world):
    record = json.loads(RECORD)
    record["merge"]["undo_until"] = "2100-01-01T00:00:00.123456789Z"
    world.store.own["memfold:merge:M"] = (json.dumps(record).encode(), 99)
    assert found(world) == {}
    record["merge"]["sources"].append({"key": "memory:3"})
    world.store.own["memfold:merge:M"] = (json.dumps(record).encode(), 99)
    assert found(world) == {"lost": 1}


def test_what_was_not_known_is_known_after_a_look(world):
    lost, there = world.book.new(ALICE.id), world.book.new(ALICE.id)
    put(world.store, "memory:9", ALICE, there)
    learn(world.store, world.book, replicated=True)
    assert (world.book.facts[lost].state, world.book.facts[there].state) == (State.GONE, State.SAFE)


def test_a_failover_takes_what_only_the_old_primary_had(world):
    world.book.set([fact := world.book.new(ALICE.id)], State.ACKED)
    world.book.failed_over()
    assert world.book.facts[fact].state is State.UNSURE
    assert world.book.facts[world.facts[0]].state is State.SAFE
