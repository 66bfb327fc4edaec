"""LangGraph's AsyncRedisStore, called by the tests. Arguments: the server's URL, the embedding server's URL."""

import asyncio
import json
import sys
import urllib.request

from langgraph.store.redis.aio import AsyncRedisStore
from serve import serve

redis_url, embed_url = sys.argv[1:]

# RediSearch before 2.10.13 does not find quoted texts with escapes by its newer query language.
OLD_DIALECT = 1


class Store(AsyncRedisStore):
    """The library's store; `aget` asks in the query language in which old servers find what it asks for."""

    async def _batch_get_ops(self, get_ops, results):
        search = self.store_index.search
        self.store_index.search = lambda query, *rest, **named: search(query.dialect(OLD_DIALECT), *rest, **named)
        try:
            await super()._batch_get_ops(get_ops, results)
        finally:
            del self.store_index.search


def embed_now(texts: list[str]) -> list[list[float]]:
    body = json.dumps({"model": "e5-query", "input": texts}).encode()
    request = urllib.request.Request(f"{embed_url}/embeddings", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return [item["embedding"] for item in json.load(answer)["data"]]


async def embed(texts: list[str]) -> list[list[float]]:
    return await asyncio.to_thread(embed_now, list(texts))


loop = asyncio.new_event_loop()
store: Store


async def start():
    global store
    store = Store(redis_url, index={"dims": 384, "embed": embed, "distance_type": "cosine"})
    await store.setup()


async def put(namespace: list[str], key: str, value: dict, ttl: float | None = None):
    await store.aput(tuple(namespace), key, value, **({"ttl": ttl} if ttl else {}))


async def get(namespace: list[str], key: str) -> dict | None:
    item = await store.aget(tuple(namespace), key)
    return item and item.value


async def search(namespace: list[str], query: str | None = None, limit: int = 100, filter: dict | None = None) -> list:
    found = await store.asearch(tuple(namespace), query=query, limit=limit, filter=filter)
    return [[item.key, item.value, item.score and round(item.score, 4)] for item in found]


async def delete(namespace: list[str], key: str):
    await store.adelete(tuple(namespace), key)


def awaited(call):
    return lambda **arguments: loop.run_until_complete(call(**arguments))


serve({call.__name__: awaited(call) for call in (start, put, get, search, delete)})
