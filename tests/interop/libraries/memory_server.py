"""The long-term memory of the Redis Agent Memory Server, called by the tests. Arguments: the server's URL, the embedding server's URL."""

import asyncio
import json
import os
import sys
import urllib.request

from serve import serve

redis_url, embed_url = sys.argv[1:]
os.environ.update(
    REDIS_URL=redis_url,
    REDISVL_VECTOR_DIMENSIONS="384",
    EMBEDDING_MODEL="openai/e5-query",  # of a model that it knows, it would ask the dimensions
    OPENAI_API_KEY="none",
    LITELLM_LOCAL_MODEL_COST_MAP="True",
    ENABLE_DISCRETE_MEMORY_EXTRACTION="false",
    USE_DOCKET="false",
)

from agent_memory_server import long_term_memory as server  # noqa: E402
from agent_memory_server import memory_vector_db_factory as factory  # noqa: E402
from agent_memory_server.filters import Namespace, SessionId, UserId  # noqa: E402
from agent_memory_server.models import MemoryRecord  # noqa: E402


class Embeddings:
    """The embedding server, without the library that would find it on the internet."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        body = json.dumps({"model": "e5-query", "input": texts}).encode()
        request = urllib.request.Request(f"{embed_url}/embeddings", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return [item["embedding"] for item in json.load(answer)["data"]]

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]


class NoTasks:
    """Topics and entities would be drawn from a memory by an LLM."""

    def add_task(self, *_args, **_options):
        pass


server.get_background_tasks = NoTasks
factory._memory_vector_db = factory.create_redis_memory_vector_db(Embeddings())
loop = asyncio.new_event_loop()


def plain(memory) -> dict | None:
    return memory and json.loads(memory.model_dump_json())


def add(**fields) -> str:
    memory = MemoryRecord(**{"memory_type": "semantic", "discrete_memory_extracted": "t", **fields})
    loop.run_until_complete(server.index_long_term_memories([memory]))
    return memory.id


def search(query: str, limit: int, user_id: str, namespace: str | None = None, session_id: str | None = None) -> list[dict]:
    found = server.search_long_term_memories(
        query,
        user_id=UserId(eq=user_id),
        namespace=namespace and Namespace(eq=namespace),
        session_id=session_id and SessionId(eq=session_id),
        limit=limit,
    )
    return [plain(memory) for memory in loop.run_until_complete(found).memories]


def start():
    """Makes the index if there is none."""
    loop.run_until_complete(factory._memory_vector_db.index.create(overwrite=True))


serve(
    {
        "start": start,
        "add": add,
        "search": search,
        "get": lambda id: plain(loop.run_until_complete(server.get_long_term_memory_by_id(id))),
        "update": lambda id, **fields: plain(loop.run_until_complete(server.update_long_term_memory(id, fields))),
        "delete": lambda id: loop.run_until_complete(server.delete_long_term_memories([id])),
        "hash": lambda **fields: server.generate_memory_hash(MemoryRecord(**fields)),
        "count": lambda user_id: loop.run_until_complete(server.count_long_term_memories(user_id=user_id)),
    }
)
