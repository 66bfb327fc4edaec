"""A store seen from outside: every document as its exact bytes."""

import json
import time
from dataclasses import dataclass

from redis import Redis

NAMESPACE = b"memfold:"


@dataclass(frozen=True)
class Document:
    """A key as it is stored."""

    kind: bytes
    # The text of JSON.GET or GET, or the fields of HGETALL.
    body: bytes | dict[bytes, bytes]
    # Milliseconds since the epoch; -1 = kept for ever.
    expires_at: int

    def fields(self) -> dict:
        """The document's members, without the vector."""
        if self.kind == b"hash":
            fields = {name.decode(): value for name, value in self.body.items()}
            fields.pop("embedding", None)
            return {name: value.decode() for name, value in fields.items()}
        fields = json.loads(self.body)
        fields.pop("embedding", None)
        return fields


def documents(redis: Redis) -> dict[bytes, Document]:
    """Every key but memfold's own; `redis` must not decode."""
    return {key: document(redis, key) for key in keys(redis)}


def keys(redis: Redis) -> list[bytes]:
    """The keys of `documents`, none of which is read: in a store that a worker is changing it may be gone by then."""
    return sorted({key for key in redis.scan_iter(count=1000) if not key.startswith(NAMESPACE)})


def document(redis: Redis, key: bytes) -> Document:
    kind = redis.type(key)
    read = {b"hash": "HGETALL", b"ReJSON-RL": "JSON.GET", b"string": "GET"}[kind]
    return Document(kind, redis.execute_command(read, key), redis.execute_command("PEXPIRETIME", key))


def retired(redis: Redis) -> list[bytes]:
    """Documents that memfold keeps for an undo."""
    kinds = (b"hash", b"ReJSON-RL")
    return [key for key in redis.scan_iter(match=NAMESPACE + b"*", count=1000) if redis.type(key) in kinds]


def indexed(redis: Redis, index: str = "agent_memories") -> set[bytes]:
    """Keys that the index finds by their vectors, once it is not being built any more."""
    deadline = time.monotonic() + 60
    while int(info(redis, index)[b"indexing"]):
        assert time.monotonic() < deadline, "the index was not built within a minute"
        time.sleep(0.01)
    query = "*=>[KNN 10000 @embedding $vector]"
    # Which vector it is does not matter: every document with one is a neighbour.
    vector = b"\x00\x00\x80\x3f" + bytes(4 * 383)
    answer = redis.execute_command(
        "FT.SEARCH", index, query, "PARAMS", 2, "vector", vector, "NOCONTENT", "LIMIT", 0, 10000, "DIALECT", 2
    )
    if isinstance(answer, dict):
        return {row[b"id"] for row in answer[b"results"]}
    return set(answer[1:])


def info(redis: Redis, index: str) -> dict:
    answer = redis.execute_command("FT.INFO", index)
    return answer if isinstance(answer, dict) else dict(zip(answer[::2], answer[1::2], strict=True))
