"""Long-term memory of an agent in Redis, in two ways: LangGraph's RedisStore, and an index of redisvl.

Both do what agents do: whatever the user states is stored, every time.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import onnxruntime
from redis import Redis
from redisvl.index import SearchIndex
from redisvl.query import VectorQuery
from redisvl.query.filter import Tag
from tokenizers import Tokenizer
from ulid import ULID

from langgraph.store.redis import RedisStore


class MiniLM:
    """all-MiniLM-L6-v2, from the folder that scripts/setup fills."""

    dims = 384

    def __init__(self, folder: Path):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(256)
        self.tokenizer.no_padding()
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
        self.inputs = {tensor.name for tensor in self.session.get_inputs()}

    def __call__(self, text: str) -> list[float]:
        found = self.tokenizer.encode(text)
        feed = {"input_ids": found.ids, "attention_mask": found.attention_mask, "token_type_ids": found.type_ids}
        feed = {name: np.array([ids], dtype=np.int64) for name, ids in feed.items() if name in self.inputs}
        mean = self.session.run(None, feed)[0][0].mean(axis=0)
        return (mean / np.linalg.norm(mean)).tolist()


class Store(RedisStore):
    """RedisStore for servers with RediSearch 2.10.4 to 2.10.12 too.

    They do not find quoted texts with escapes by the newer query language, and `get` would return nothing. Elsewhere the class of
    the library will do.
    """

    def _batch_get_ops(self, get_ops, results):
        search = self.store_index.search
        self.store_index.search = lambda query, *rest, **named: search(query.dialect(1), *rest, **named)
        try:
            super()._batch_get_ops(get_ops, results)
        finally:
            del self.store_index.search


class StoreMemory:
    """Items of a RedisStore under ("memories", user)."""

    settings = {"MEMFOLD_LAYOUT": "langgraph-store", "MEMFOLD_NAMESPACE": "memories/{user}"}

    def __init__(self, redis_url: str, embed: MiniLM):
        index = {"dims": embed.dims, "embed": lambda texts: [embed(text) for text in texts], "fields": ["content"]}
        self.store = Store(Redis.from_url(redis_url), index=index)
        self.store.setup()

    def remember(self, user: str, text: str, at: datetime):
        self.store.put(("memories", user), str(ULID()), {"content": text})

    def recall(self, user: str, text: str, most: int) -> list[str]:
        return [item.value["content"] for item in self.store.search(("memories", user), query=text, limit=most)]

    def everything(self, user: str) -> list[str]:
        return [item.value["content"] for item in self.store.search(("memories", user), limit=1000)]


class RecipeMemory:
    """Documents of the LangGraph + redisvl recipe."""

    settings = {"MEMFOLD_LAYOUT": "redisvl", "MEMFOLD_INDEX": "agent_memories"}

    def __init__(self, redis_url: str, embed: MiniLM):
        self.embed = embed
        vector = {"algorithm": "flat", "dims": embed.dims, "distance_metric": "cosine", "datatype": "float32"}
        kinds = {"content": "text", "memory_type": "tag", "metadata": "text", "created_at": "text", "user_id": "tag", "memory_id": "tag"}
        fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
        fields.append({"name": "embedding", "type": "vector", "attrs": vector})
        schema = {"index": {"name": "agent_memories", "prefix": "memory", "storage_type": "json"}, "fields": fields}
        self.index = SearchIndex.from_dict(schema, redis_url=redis_url)
        self.index.create(overwrite=True)

    def remember(self, user: str, text: str, at: datetime):
        id = str(ULID())
        memory = {
            "content": text,
            "memory_type": "semantic",
            "metadata": json.dumps({"source": "chat"}),
            "created_at": at.astimezone(UTC).isoformat(),
            "user_id": user,
            "memory_id": id,
            "embedding": self.embed(text),
        }
        self.index.load([memory], keys=[f"memory:{id}"])

    def find(self, user: str, text: str, most: int) -> list[str]:
        query = VectorQuery(self.embed(text), "embedding", ["content"], Tag("user_id") == user, num_results=most)
        return [found["content"] for found in self.index.query(query)]

    recall = find

    def everything(self, user: str) -> list[str]:
        return self.find(user, "anything", 1000)
