"""LangGraph's RedisStore as agents use it, and what it answers."""

from redis import Redis

from langgraph.store.redis import RedisStore

# RediSearch before 2.10.13 does not find quoted texts with escapes by its newer query language.
OLD_DIALECT = 1


class Store(RedisStore):
    """The library's store; `get` asks in the query language in which old servers find what it asks for."""

    def _batch_get_ops(self, get_ops, results):
        search = self.store_index.search
        self.store_index.search = lambda query, *rest, **named: search(query.dialect(OLD_DIALECT), *rest, **named)
        try:
            super()._batch_get_ops(get_ops, results)
        finally:
            del self.store_index.search


def store(redis: Redis, embed, fields: list[str] | None = None, vectors: str | None = None, **options) -> Store:
    """A store that has started; `embed` makes vectors of a list of texts, which lie under `vectors`."""
    config = {"dims": 384, "embed": embed, "distance_type": "cosine", **({"fields": fields} if fields else {}), **options}
    ttl = config.pop("ttl", None)
    # A client of its own: the library changes how a client reads answers.
    prefix = {"vector_prefix": vectors} if vectors else {}
    made = Store(Redis(connection_pool=redis.connection_pool), index=config, ttl=ttl, **prefix)
    made.setup()
    return made


def answers(made: Store, namespace: tuple[str, ...], query: str, keys: list[str]) -> dict:
    """All that an agent can ask about a namespace, without times and ids."""
    get = {key: made.get(namespace, key) for key in keys}
    return {
        "get": {key: item and item.value for key, item in get.items()},
        "list": sorted((item.key, str(item.value)) for item in made.search(namespace, limit=100)),
        "search": [(item.key, item.value, round(item.score, 4)) for item in made.search(namespace, query=query, limit=2)],
    }
