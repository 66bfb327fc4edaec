"""python/memfold.py, the helper for agents: what it asks for, a real worker does."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest
import redis as redis_py
from conftest import BINARY
from recipe import MemoryType
from store import keys

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
import memfold as helper  # noqa: E402

STREAM = "memfold:requests"


@pytest.fixture
def worker(memfold, redis, agent):
    """A worker that finds nobody by itself, after its first look."""
    settings = memfold.settings | {"MEMFOLD_PROBE_EVERY": "1h", "MEMFOLD_MAX_LATENCY": "30s", "HOME": str(memfold.home)}
    log = open(memfold.home / "worker.log", "w")
    process = subprocess.Popen([BINARY, "worker"], env=settings, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    until(lambda: redis.exists("memfold:turn:sweep:redisvl:agent_memories"))
    yield process
    process.terminate()
    process.wait(timeout=30)
    log.close()


def until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def asked(redis) -> list[dict[bytes, bytes]]:
    return [fields for _, fields in redis.xrange(STREAM)]


def test_a_worker_does_what_is_asked_for(worker, redis, agent):
    for thread in ("t-1", "t-2"):
        agent.store_memory("User prefers window seats on flights", MemoryType.SEMANTIC, "tyler 用户", thread)
    before = len(keys(redis))
    helper.request("tyler 用户", redis)
    until(lambda: len(keys(redis)) == before - 1)


def test_a_url_and_both_kinds_of_clients_do(redis, redis_url):
    decoded = redis_py.Redis.from_url(redis_url, decode_responses=True)

    async def by_asyncio():
        client = redis_py.asyncio.Redis.from_url(redis_url)
        try:
            return await helper.request("alice", client)
        finally:
            await client.aclose()

    ids = [
        helper.request("alice", redis_url),
        helper.request("alice", redis),
        helper.request("alice", decoded),
        asyncio.run(by_asyncio()),
    ]
    assert [id_.decode() if isinstance(id_, bytes) else id_ for id_ in ids] == [id_.decode() for id_, _ in redis.xrange(STREAM)]
    assert asked(redis) == [{b"user": b"alice", b"reason": b"request"}] * 4


def test_failures_and_the_store_are_named(redis, redis_url):
    helper.failed("alice", 3, redis, index="agent_memories")
    helper.request("", redis_url, index="agent_memories")
    assert asked(redis) == [
        {b"user": b"alice", b"reason": b"failures", b"failures": b"3", b"index": b"agent_memories"},
        {b"user": b"", b"reason": b"request", b"index": b"agent_memories"},
    ]
    for wrong in (None, 7, b"alice"):
        with pytest.raises(TypeError):
            helper.request(wrong, redis)
    assert len(asked(redis)) == 2


def test_an_account_with_nothing_but_that_may_use_it(redis, redis_url):
    redis.execute_command("ACL", "SETUSER", "agent", "on", ">secret", "resetkeys", "~memfold:requests", "-@all", "+xadd")
    try:
        helper.request("alice", redis_url.replace("redis://", "redis://agent:secret@"))
    finally:
        redis.execute_command("ACL", "DELUSER", "agent")
    assert len(asked(redis)) == 1
