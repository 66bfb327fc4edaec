"""Agents that write while memfold works, and the book in which stands every fact they were told is stored.

A fact is a word of its own (`zq…k`), in the text of a memory or in its metadata; each user has a word too (`Zu…`).
"""

import json
import math
import random
import re
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from functools import lru_cache

from cluster import Alone, Cluster
from redis import Redis
from redis.exceptions import RedisError
from ulid import ULID

INDEX = "agent_memories"
DIMS = 32
FACT = re.compile(r"zq[a-z]+k")
USER_WORD = re.compile(r"Zu[a-z]+")
SYLLABLES = [c + v + d for c in "bdfglmnprt" for v in "aou" for d in "lmnr"]
ADJECTIVES = "green warm sweet bitter fresh salted roasted dark mild spiced creamy crisp smoky tart thick plain".split()
NOUNS = "tea coffee cocoa juice soup milk broth cider bread cheese porridge salad rice pasta curry stew".split()

# An edit or a deletion of exactly what the agent has read.
SET_IF = """
if redis.call('JSON.GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('UNLINK', KEYS[1]) else redis.call('JSON.MERGE', KEYS[1], '$', ARGV[2]) end
return 1
"""


class State(Enum):
    """What the agent knows of a fact."""

    UNSURE = "no answer: it may be stored or not"
    ACKED = "the primary has it on disk"
    SAFE = "the replica has it too"
    LEFT = "the primary has deleted it"
    GONE = "the replica has deleted it too"


@dataclass
class Fact:
    user: str
    state: State = State.UNSURE


class Book:
    """Every fact ever written. Written to by agents, each for users of its own; read while they pause."""

    def __init__(self):
        self.facts: dict[str, Fact] = {}
        self.acknowledged = 0
        self.lock = threading.Lock()

    def new(self, user: str) -> str:
        with self.lock:
            word = f"zq{spell(len(self.facts), 4)}k"
            self.facts[word] = Fact(user)
            return word

    def set(self, words, state: State):
        for word in words:
            fact = self.facts[word]
            if state is State.ACKED and fact.state is State.UNSURE:
                with self.lock:
                    self.acknowledged += 1
            fact.state = state

    def reached_replica(self, words):
        after = {State.ACKED: State.SAFE, State.LEFT: State.GONE}
        for word in words:
            fact = self.facts[word]
            fact.state = after.get(fact.state, fact.state)

    def failed_over(self):
        """What only the old primary was known to have is not known any more."""
        for fact in self.facts.values():
            if fact.state in (State.ACKED, State.LEFT):
                fact.state = State.UNSURE


def spell(number: int, length: int) -> str:
    """Another word for each number."""
    number = number * 7919 % len(SYLLABLES) ** length
    parts = []
    for _ in range(length):
        number, rest = divmod(number, len(SYLLABLES))
        parts.append(SYLLABLES[rest])
    return "".join(parts)


@dataclass(frozen=True)
class User:
    """`id` as stored: users that differ in case alone stand side by side, which an index takes for one."""

    number: int

    @property
    def id(self) -> str:
        name = f"agent {self.number // 2}, of us"
        return name if self.number % 2 else name.capitalize()

    @property
    def word(self) -> str:
        return f"Zu{spell(self.number, 3)}"


def topic_vector(topic: int, noise: random.Random) -> list[float]:
    """Vectors of one topic are near each other, those of two are far."""
    vector = unit(x + noise.gauss(0, 0.003) for x in middle(topic))
    return [round(x, 6) for x in vector]


@lru_cache(maxsize=1000)
def middle(topic: int) -> list[float]:
    fixed = random.Random(topic)
    return unit(fixed.gauss(0, 1) for _ in range(DIMS))


def unit(vector: Iterable[float]) -> list[float]:
    vector = list(vector)
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]


def create_index(redis: Redis):
    """What the recipe does at each start: the index is made anew, documents stay."""
    fields = ["content TEXT", "memory_type TAG", "metadata TEXT", "created_at TEXT", "user_id TAG", "memory_id TAG"]
    schema = []
    for field in fields:
        name, kind = field.split()
        schema += [f"$.{name}", "AS", name, kind]
    schema += ["$.embedding", "AS", "embedding", "VECTOR", "FLAT", 6]
    schema += ["TYPE", "FLOAT32", "DISTANCE_METRIC", "COSINE", "DIM", DIMS]
    try:
        redis.execute_command("FT.DROPINDEX", INDEX)
    except RedisError as error:
        if "no such index" not in str(error).lower() and "unknown index" not in str(error).lower():
            raise
    redis.execute_command("FT.CREATE", INDEX, "ON", "JSON", "PREFIX", 1, "memory", "SCHEMA", *schema)


class Agent(threading.Thread):
    """Stores, edits, deletes and searches for its users, and waits for the replica after each write."""

    def __init__(
        self, cluster: Cluster | Alone, book: Book, users: list[User], memories: int, rate: float, seed: int
    ):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.book = book
        self.users = users
        self.memories = memories
        self.rate = rate
        self.random = random.Random(seed)
        self.keys: dict[User, list[str]] = {user: [] for user in users}
        self.stored: Counter[User] = Counter()
        self.done: Counter[str] = Counter()
        # Words of which the replica has not told yet, on this connection.
        self.waiting: list[str] = []
        self.redis: Redis | None = None
        self.port = 0
        self.may_go = threading.Event()
        self.may_go.set()
        self.paused = threading.Event()
        self.stopping = False
        self.error: Exception | None = None

    def run(self):
        try:
            while not self.stopping:
                if not self.may_go.is_set():
                    self.paused.set()
                    self.may_go.wait()
                    self.paused.clear()
                began = time.monotonic()
                self.step()
                time.sleep(max(0.0, 1 / self.rate - (time.monotonic() - began)))
        except Exception as error:  # told to the main thread
            self.error = error
        self.paused.set()

    def pause(self):
        self.may_go.clear()
        while not self.paused.wait(1):
            if not self.is_alive():
                break

    def go_on(self):
        self.paused.clear()
        self.may_go.set()

    def step(self):
        try:
            if self.redis is None or self.port != self.cluster.primary:
                self.connect()
            self.act(self.random.choice(self.users))
            if self.cluster.replicated and self.redis.wait(1, 300) >= 1:
                self.book.reached_replica(self.waiting)
                self.waiting.clear()
        except (RedisError, OSError) as error:
            self.done[f"error {type(error).__name__}"] += 1
            # The answer of another command must not be taken for that of the next.
            self.redis = None

    def connect(self):
        self.waiting.clear()
        self.port = self.cluster.primary
        self.redis = self.cluster.connect()

    def act(self, user: User):
        chance = self.random.random()
        live = len(self.keys[user])
        if chance < 0.55 or live == 0:
            self.add(user)
        elif chance < 0.70:
            self.edit(user)
        elif chance < 0.85 or live > 2 * self.memories:
            self.delete(user)
        else:
            self.search(user)

    def memory(self, user: User) -> tuple[str, dict, str]:
        """Key, document and fact of a new memory; topics come and go."""
        self.stored[user] += 1
        topic = self.topic(user)
        fact = self.book.new(user.id)
        if topic % 2:
            text, metadata = f"{user.word} likes {food(topic)} with {fact}", {}
        else:
            text = f"{user.word} likes {food(topic)}"
            metadata = {fact: True} if self.random.random() < 0.5 else {"note": fact}
        document = {
            "content": text,
            "memory_type": "semantic",
            "metadata": json.dumps(metadata),
            "created_at": datetime.now(timezone.utc).isoformat(),
            "user_id": user.id,
            "memory_id": str(ULID()),
            "embedding": topic_vector(topic, self.random),
        }
        return f"memory:{ULID()}", document, fact

    def topic(self, user: User) -> int:
        return self.stored[user] // 10 + self.random.randrange(6)

    def add(self, user: User):
        key, document, fact = self.memory(user)
        self.keys[user].append(key)
        self.redis.execute_command("JSON.SET", key, "$", json.dumps(document))
        self.acked("add", [fact])

    def fill(self, user: User, count: int):
        """The memories that are there at first."""
        self.connect()
        pipe, facts = self.redis.pipeline(transaction=False), []
        for _ in range(count):
            key, document, fact = self.memory(user)
            self.keys[user].append(key)
            pipe.execute_command("JSON.SET", key, "$", json.dumps(document))
            facts.append(fact)
        pipe.execute()
        self.acked("add", facts)

    def edit(self, user: User):
        """Another text in a memory that is there: the facts in the old one are given up."""
        key, old = self.pick(user)
        if old is None:
            return
        topic = self.topic(user) | 1
        fact = self.book.new(user.id)
        change = {
            "content": f"{user.word} likes {food(topic)} with {fact}",
            "embedding": topic_vector(topic, self.random),
        }
        given_up = FACT.findall(json.loads(old)["content"])
        if self.set_if(key, old, json.dumps(change), given_up):
            self.acked("edit", [fact])

    def delete(self, user: User):
        key, old = self.pick(user)
        if old is not None and self.set_if(key, old, "", FACT.findall(old)):
            self.keys[user].remove(key)
            self.done["delete"] += 1

    def set_if(self, key: str, old: str, new: str, given_up: list[str]) -> bool:
        before = {word: self.book.facts[word].state for word in given_up}
        # Without an answer nobody knows.
        self.book.set(given_up, State.UNSURE)
        if not self.redis.eval(SET_IF, 1, key, old, new):
            for word, state in before.items():
                self.book.facts[word].state = state
            self.done["refused"] += 1
            return False
        self.book.set(given_up, State.LEFT)
        self.waiting += given_up
        return True

    def pick(self, user: User) -> tuple[str, str | None]:
        key = self.random.choice(self.keys[user])
        old = self.redis.execute_command("JSON.GET", key)
        if old is None:
            # It was merged into another.
            self.keys[user].remove(key)
        return key, old.decode() if old is not None else None

    def search(self, user: User):
        vector = topic_vector(self.topic(user), self.random)
        knn(self.redis, user, vector)
        self.done["search"] += 1

    def acked(self, what: str, facts: list[str]):
        self.book.set(facts, State.ACKED)
        self.waiting += facts
        self.done[what] += len(facts)


def food(topic: int) -> str:
    return f"{ADJECTIVES[topic // 2 % 16]} {NOUNS[topic // 32 % 16]}"


def knn(redis: Redis, user: User, vector: list[float]):
    """An agent's search: the nearest memories of a user."""
    blob = struct.pack(f"<{len(vector)}f", *vector)
    query = "(@user_id:{$user})=>[KNN 5 @embedding $vector]"
    command = ["FT.SEARCH", INDEX, query, "PARAMS", 4, "user", user.id, "vector", blob]
    return redis.execute_command(*command, "RETURN", 2, "content", "user_id", "DIALECT", 2)
