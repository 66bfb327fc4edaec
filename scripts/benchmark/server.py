"""A Redis with search of one's own, and memories in it as the recipe's agent would store them."""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from redis import Redis
from redis.exceptions import ConnectionError as NotConnected
from redisvl.index import SearchIndex

from data import DIMS, Memories

ROOT = Path(__file__).resolve().parent.parent.parent
PARTS = ROOT / ".memfold"
INDEX = "bench_memories"
TYPE = "semantic"
IDLE_USER = "idle"


@contextmanager
def redis_server():
    """A server with search and JSON on a free port, its data in memory alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="memfold-bench-")
    command = [PARTS / "redis/bin/redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", folder]
    command += ["--save", "", "--appendonly", "no", "--logfile", f"{folder}/log"]
    # Without its limit of half a second a query, which a slow machine would meet.
    command += ["--loadmodule", PARTS / "redis/lib/redisearch.so", "TIMEOUT", "60000"]
    command += ["--loadmodule", PARTS / "redis/lib/rejson.so"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        client = Redis(port=port, protocol=2)
        deadline = time.monotonic() + 60
        while True:
            try:
                client.ping()
                break
            except NotConnected:
                if server.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"bench: the server did not start: see {folder}/log")
                time.sleep(0.05)
        yield client, f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()
    shutil.rmtree(folder)


def schema(algorithm: str, storage: str) -> dict:
    """The recipe's index."""
    vector = {"algorithm": algorithm, "dims": DIMS, "distance_metric": "cosine", "datatype": "float32"}
    kinds = {"content": "text", "memory_type": "tag", "metadata": "text", "created_at": "text", "user_id": "tag"}
    fields = [{"name": name, "type": kind} for name, kind in (kinds | {"memory_id": "tag"}).items()]
    return {
        "index": {"name": INDEX, "prefix": "memory", "key_separator": ":", "storage_type": storage},
        "fields": [*fields, {"name": "embedding", "type": "vector", "attrs": vector}],
    }


def load(client: Redis, memories: Memories, algorithm: str, storage: str, same: bool, count: int | None = None) -> None:
    """Fills the server with the first `count` memories (all), and gives a user of two memories that have nothing in common
    beside them."""
    client.flushall()
    SearchIndex.from_dict(schema(algorithm, storage), redis_client=client).create(overwrite=True)
    n = len(memories) if count is None else count
    idle = [(f"memory:idle-{row}", row * (n - 1), IDLE_USER) for row in range(2)]
    put(client, memories, storage, same, [*places(memories, range(n)), *idle])
    while (info := client.ft(INDEX).info()) and (int(info["indexing"]) or int(info["num_docs"]) < n + 2):
        time.sleep(0.05)
    if int(info["num_docs"]) != n + 2 or int(info["hash_indexing_failures"]):
        sys.exit(f"bench: the index holds {info['num_docs']} of {n + 2} memories")


def places(memories: Memories, rows: range):
    """Where memories are stored: key, row and user of each."""
    return ((f"memory:{row:07}", row, memories.user(row)) for row in rows)


def put(client: Redis, memories: Memories, storage: str, same: bool, places) -> None:
    """Stores memories at their places."""
    pipe = client.pipeline(transaction=False)
    for key, row, user in places:
        vector = memories.vectors[row]
        at = datetime.fromtimestamp(1_750_000_000 + row, UTC).replace(tzinfo=None)
        document = {
            "content": memories.text(row, same),
            "memory_type": TYPE,
            "metadata": "{}",
            "created_at": at.isoformat(),
            "user_id": user,
            "memory_id": f"{row:026}",
            "embedding": vector.tobytes() if storage == "hash" else vector.tolist(),
        }
        if storage == "hash":
            pipe.hset(key, mapping=document)
        else:
            pipe.json().set(key, "$", document)
        if len(pipe) == 500:
            pipe.execute()
    pipe.execute()
