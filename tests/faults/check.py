"""The whole store at one moment, and what must hold of it."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha1

from agents import FACT, INDEX, USER_WORD, Book, State, User
from redis import Redis

NAMESPACE = "memfold:"
LAYOUT = "redisvl"
# Keys of which there is one, and kinds of keys that must expire by themselves.
SINGLE = {"ledger", "fence", "requests", "workers", "runs", "memory"}
EXPIRING = {"merge", "into", "undo", "lease", "state", "worker", "turn", "spent", "counts"}


@dataclass
class Store:
    """All keys, read while nothing writes."""

    live: dict[str, dict] = field(default_factory=dict)
    retired: dict[str, dict] = field(default_factory=dict)
    # memfold's other keys: value and expiry in ms since the epoch.
    own: dict[str, tuple[object, int]] = field(default_factory=dict)
    # Facts by the keys that hold them.
    live_facts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    retired_facts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    words: dict[str, set[str]] = field(default_factory=dict)
    now_ms: int = 0

    @staticmethod
    def read(redis: Redis) -> "Store":
        store = Store()
        seconds, micros = redis.time()
        store.now_ms = seconds * 1000 + micros // 1000
        keys = sorted({key.decode() for key in redis.scan_iter(count=2000)})
        documents = [key for key in keys if key.startswith("memory:") or key.startswith(NAMESPACE + "undo:")]
        for key, text in read_all(redis, [("JSON.GET", key) for key in documents]):
            if text is not None:
                store._take(key, text.decode())
        others = [key for key in keys if key.startswith(NAMESPACE) and not key.startswith(NAMESPACE + "undo:")]
        kinds = [kind for _, kind in read_all(redis, [("TYPE", key) for key in others])]
        reading = {b"string": ("GET",), b"zset": ("ZRANGE", 0, -1), b"stream": ("XLEN",)}
        commands = [(reading[kind][0], key, *reading[kind][1:]) for key, kind in zip(others, kinds) if kind in reading]
        expiries = dict(read_all(redis, [("PEXPIRETIME", key) for key in keys if key.startswith(NAMESPACE)]))
        for key, value in read_all(redis, commands):
            # -2: it expired since it was found.
            if expiries[key] != -2:
                store.own[key] = (value, expiries[key])
        for key in store.retired:
            if expiries[key] != -2:
                store.own[key] = (None, expiries[key])
        return store

    def _take(self, key: str, text: str):
        document = json.loads(text)
        retired = key.startswith(NAMESPACE)
        (self.retired if retired else self.live)[key] = document
        facts = self.retired_facts if retired else self.live_facts
        for fact in set(FACT.findall(text)):
            facts[fact].append(key)
        self.words[key] = set(USER_WORD.findall(text))


def read_all(redis: Redis, commands: list[tuple]) -> list[tuple]:
    """Key and answer of each command."""
    answers = []
    for start in range(0, len(commands), 1000):
        pipe = redis.pipeline(transaction=False)
        for command in commands[start : start + 1000]:
            pipe.execute_command(*command)
        answers += pipe.execute()
    return [(command[1], answer) for command, answer in zip(commands, answers)]


@dataclass
class Verdict:
    """What is wrong, each with an example."""

    counts: Counter = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, kind: str, example: str):
        self.counts[kind] += 1
        self.examples.setdefault(kind, example)


def check(store: Store, book: Book, users: list[User]) -> Verdict:
    verdict = Verdict()
    check_facts(store, book, verdict)
    check_users(store, book, {user.id: user for user in users}, verdict)
    check_merges(store, verdict)
    check_own(store, {user.id for user in users}, verdict)
    return verdict


def check_facts(store: Store, book: Book, verdict: Verdict):
    for word, fact in book.facts.items():
        live, retired = store.live_facts.get(word, []), store.retired_facts.get(word, [])
        if fact.state in (State.ACKED, State.SAFE):
            if not live and not retired:
                verdict.add("lost", f"{word} of {fact.user}")
            elif not live:
                # It can be brought back, but no merge may take it out of sight.
                verdict.add("hidden", f"{word} of {fact.user} is in {retired[0]} alone")
        if fact.state in (State.LEFT, State.GONE) and live:
            verdict.add("revived", f"{word} of {fact.user}, deleted, is in {live[0]}")
        if len(live) > 1:
            verdict.add("merged_twice", f"{word} of {fact.user} is in {live}")


def check_users(store: Store, book: Book, users: dict[str, User], verdict: Verdict):
    for documents, facts in ((store.live, store.live_facts), (store.retired, store.retired_facts)):
        for word, keys in facts.items():
            owner = book.facts[word].user if word in book.facts else None
            for key in keys:
                if documents[key]["user_id"] != owner:
                    verdict.add("mixed", f"{word} of {owner} is in {key} of {documents[key]['user_id']}")
        for key, document in documents.items():
            user = users.get(document["user_id"])
            if user is None or store.words[key] - {user.word}:
                verdict.add("mixed", f"{key} of {document['user_id']} speaks of {store.words[key]}")


def check_merges(store: Store, verdict: Verdict):
    """No original went into two results that both stand."""
    into: dict[tuple, str] = {}
    for key, document in store.live.items():
        metadata = json.loads(document["metadata"])
        for source in metadata.get("sources", []) if metadata.get("consolidated") is True else []:
            leaf = (source["id"], source["digest"])
            if into.setdefault(leaf, key) != key:
                verdict.add("merged_twice", f"{leaf} is in {into[leaf]} and {key}")


def check_own(store: Store, users: set[str], verdict: Verdict):
    """Every key of memfold belongs to something that is there, and goes by itself."""
    partitions = {sha1(f"{LAYOUT}\n{INDEX}\n{user}".encode()).hexdigest() for user in users}
    records = {
        key.split(":", 2)[2]: json.loads(value)
        for key, (value, _) in store.own.items()
        if key.startswith(NAMESPACE + "merge:")
    }
    workers = store.own.get(NAMESPACE + "workers", ([], -1))[0]
    for key, (value, expires_at) in store.own.items():
        kind, _, rest = key.removeprefix(NAMESPACE).partition(":")
        if kind in EXPIRING and expires_at < 0:
            verdict.add("ownerless", f"{key} never expires")
        match kind:
            case "undo":
                record = records.get(rest.split(":")[0])
                sources = [source["key"] for source in record["merge"]["sources"]] if record else []
                known = record and record["state"] == "merged" and any(rest.endswith(f"{{{s}}}") for s in sources)
            case "into":
                known = rest in records and value.decode() in records
            case "veto":
                known = value.decode() in records
            case "lease" | "state":
                known = rest in partitions
            case "spent":
                known = ":" not in rest.split(":", 1)[1] or rest.rsplit(":", 1)[1] in partitions
            case "worker":
                known = rest.encode() in workers
            case "merge" | "turn" | "counts":
                known = True
            case _:
                known = kind in SINGLE and not rest
        if not known:
            verdict.add("ownerless", f"{key} belongs to nothing ({value!r:.200})")
    for merge_id, record in records.items():
        until = record["merge"].get("undo_until")
        if record["state"] == "merged" and until and ms(until) > store.now_ms + 2000:
            for source in record["merge"]["sources"]:
                if f"{NAMESPACE}undo:{merge_id}:{{{source['key']}}}" not in store.retired:
                    verdict.add("lost", f"the original {source['key']} of merge {merge_id}, within its undo window")


def ms(time: str) -> int:
    return int(datetime.fromisoformat(time).timestamp() * 1000)


def learn(store: Store, book: Book, replicated: bool):
    """Nothing is under way and all is read: what was not known is known now."""
    for word, fact in book.facts.items():
        there = word in store.live_facts
        if fact.state is State.UNSURE:
            fact.state = State.ACKED if there else State.LEFT
    if replicated:
        book.reached_replica(book.facts)


def check_index(redis: Redis, store: Store, verdict: Verdict):
    """Every memory is found by its vector."""
    blob = b"\x00\x00\x80\x3f" + bytes(4 * 31)
    query = f"*=>[KNN {len(store.live) + 100} @embedding $vector]"
    command = ["FT.SEARCH", INDEX, query, "PARAMS", 2, "vector", blob, "NOCONTENT"]
    found = redis.execute_command(*command, "LIMIT", 0, len(store.live) + 100, "DIALECT", 2)
    missing = store.live.keys() - {key.decode() for key in found[1:]}
    for key in missing:
        verdict.add("invisible", f"{key} is not found by the index")
