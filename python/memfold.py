"""Asks the workers of memfold to look after a user soon. One file and redis-py: copy it to where your agent can import it.

    import memfold

    memfold.request("alice")                        # redis://127.0.0.1:6379
    memfold.request("alice", "redis://host:6379")
    memfold.request("alice", client)                # a redis.Redis that you have
    memfold.failed("alice", 3, client)              # alice's agent failed three times in a row

A request waits in the stream memfold:requests until a worker has time; it costs the agent one round trip. With asyncio, pass
a redis.asyncio.Redis and await the answer:

    await memfold.request("alice", client)

Nothing is read or changed but that stream: `+xadd ~memfold:requests` is all that the account needs.
"""

from __future__ import annotations

from typing import Any, Union

import redis

__all__ = ["failed", "request"]

STREAM = "memfold:requests"
# Requests that may wait; then the oldest go. Users that are due are found again by themselves.
MOST = 100_000

Client = Union[str, Any]


def request(user: str, client: Client = "redis://127.0.0.1:6379", *, index: str | None = None) -> Any:
    """Asks for `user`, named exactly as its memories name it. Answers the id of the request.

    `client` is a URL, a redis.Redis, or a redis.asyncio.Redis, whose answer is to be awaited. `index` names one store where
    several are looked after; by default all workers are asked.
    """
    return _add(client, {"user": user, "reason": "request"}, index)


def failed(user: str, times: int, client: Client = "redis://127.0.0.1:6379", *, index: str | None = None) -> Any:
    """Tells that the agent of `user` has failed `times` in a row: workers look after it from --after-failures on."""
    return _add(client, {"user": user, "reason": "failures", "failures": times}, index)


def _add(client: Client, fields: dict[str, Any], index: str | None) -> Any:
    if not isinstance(fields["user"], str):
        raise TypeError(f"the user is to be text as it is stored, not {type(fields['user']).__name__}")
    if index is not None:
        fields["index"] = index
    if isinstance(client, str):
        with redis.Redis.from_url(client, decode_responses=True) as own:
            return _add(own, fields, None)
    answer = client.xadd(STREAM, fields, maxlen=MOST, approximate=True)
    return answer.decode() if isinstance(answer, bytes) else answer
