"""mem0 on Redis, called by the tests. Arguments: the server's URL, the embedding server's URL, a folder for its own files."""

import os
import sys

from serve import serve

redis_url, embed_url, folder = sys.argv[1:]
# Without these, it would ask for its own server and use the home folder.
os.environ.update(MEM0_TELEMETRY="False", MEM0_DIR=folder, OPENAI_API_KEY="none")

import mem0.memory.main as mem0_main  # noqa: E402
from mem0 import Memory  # noqa: E402


def entities(text: str) -> list[tuple[str, str]]:
    """In the place of a language model for names, which would be another 40 MB: the words with a capital."""
    return [("TOPIC", word.strip(".,")) for word in text.split() if word[:1].isupper()]


mem0_main.extract_entities = entities
mem0_main.extract_entities_batch = lambda texts: [entities(text) for text in texts]


def start() -> Memory:
    store = {"collection_name": "mem0", "embedding_model_dims": 384, "redis_url": redis_url}
    embedder = {"model": "e5-query", "openai_base_url": embed_url, "embedding_dims": 384}
    # Only asked where memories are to be drawn from a conversation, which is not done here.
    llm = {"model": "none", "openai_base_url": "http://127.0.0.1:9/v1"}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "redis", "config": store},
            "embedder": {"provider": "openai", "config": embedder},
            "llm": {"provider": "openai", "config": llm},
            "history_db_path": f"{folder}/history.db",
        }
    )
    memory.entity_store  # noqa: B018 # made at first use
    return memory


memory = start()


def restart():
    global memory
    memory = start()


def add(text: str, link: bool = False, **scope) -> str:
    [added] = memory.add(text, infer=False, **scope)["results"]
    if link:
        filters = {name: scope[name] for name in ("user_id", "agent_id", "run_id") if name in scope}
        memory._link_entities_for_memory(added["id"], text, filters)
    return added["id"]


def links(user_id: str) -> dict[str, list[str]]:
    """The memories that each entity names."""
    [rows] = memory.entity_store.list(filters={"user_id": user_id}, top_k=1000)
    return {row.payload["data"]: row.payload["linked_memory_ids"] for row in rows}


serve(
    {
        "restart": restart,
        "add": add,
        "links": links,
        "get": lambda id: memory.get(id),
        "get_all": lambda **filters: memory.get_all(filters=filters, top_k=100)["results"],
        "search": lambda query, top_k, **filters: memory.search(query, filters=filters, top_k=top_k)["results"],
        "update": lambda id, text: memory.update(id, text),
        "delete": lambda id: memory.delete(id),
    }
)
