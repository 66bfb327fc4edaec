"""The memory of the published LangGraph + redisvl agent: its schema and its own functions.

They do what the recipe's functions do, its faults included. Three things differ: the functions are methods, because a test needs
more than one agent; a clock can be put in; and the embedding model is MiniLM (384 numbers) in place of a paid one (1536).

Faults that matter to whoever shares the store with such an agent:

- `thread_id` is used as a filter but is no field of the index: with a thread, `similar_memory_exists` finds nothing, and every
  repetition is stored.
- The filter of `retrieve_memories` is put together without escaping: `alice@example.com` is a syntax error.
- The tool stores `str(dict)` as metadata, which is no JSON, and stores everything for the user `system`.
- A document that `StoredMemory` does not accept is skipped in silence.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import ulid
from pydantic import BaseModel, Field
from redis import Redis
from redisvl.index import SearchIndex
from redisvl.query import VectorRangeQuery
from redisvl.query.filter import Tag
from redisvl.redis.utils import array_to_buffer
from redisvl.schema import IndexSchema

logger = logging.getLogger(__name__)

SYSTEM_USER_ID = "system"


class MemoryType(str, Enum):
    EPISODIC = "episodic"
    SEMANTIC = "semantic"


class Memory(BaseModel):
    content: str
    memory_type: MemoryType
    metadata: str


class StoredMemory(Memory):
    id: str  # the Redis key
    memory_id: ulid.ULID = Field(default_factory=lambda: ulid.ULID())
    created_at: datetime = Field(default_factory=datetime.now)
    user_id: str | None = None
    thread_id: str | None = None
    memory_type: MemoryType | None = None


def schema(
    prefix: str = "memory", storage_type: str = "json", algorithm: str = "flat", datatype: str = "float32"
) -> IndexSchema:
    vector = {"algorithm": algorithm, "dims": 384, "distance_metric": "cosine", "datatype": datatype}
    return IndexSchema.from_dict(
        {
            "index": {
                "name": "agent_memories",
                "prefix": prefix,
                "key_separator": ":",
                "storage_type": storage_type,
            },
            "fields": [
                {"name": "content", "type": "text"},
                {"name": "memory_type", "type": "tag"},
                {"name": "metadata", "type": "text"},
                {"name": "created_at", "type": "text"},
                {"name": "user_id", "type": "tag"},
                {"name": "memory_id", "type": "tag"},
                {"name": "embedding", "type": "vector", "attrs": vector},
            ],
        }
    )


@dataclass(frozen=True)
class Edition:
    """How one edition of the recipe, with the redisvl of its time, lays memories out."""

    name: str
    prefix: str = "memory"
    # When it loads JSON, the later edition drops members that the schema does not name, such as thread_id.
    validate_on_load: bool = True
    # Until 0.8, redisvl put its separator after a prefix that ended in one: memory::ID.
    double_separator: bool = False
    storage_type: str = "json"
    # The recipe's own index is flat and float32.
    algorithm: str = "flat"
    datatype: str = "float32"

    @property
    def keeps_thread(self) -> bool:
        return self.storage_type == "hash" or not self.validate_on_load

    def schema(self) -> IndexSchema:
        return schema(self.prefix, self.storage_type, self.algorithm, self.datatype)


EDITIONS = [
    Edition("later"),
    Edition("first", prefix="memory:", validate_on_load=False),
    Edition("first-old-redisvl", prefix="memory:", validate_on_load=False, double_separator=True),
    Edition("hash", storage_type="hash"),
]


@dataclass
class Agent:
    """One agent process on one index."""

    redis: Redis
    embed: Callable[[str], list[float]]
    edition: Edition = EDITIONS[0]
    now: Callable[[], datetime] = datetime.now
    index: SearchIndex = field(init=False)

    def __post_init__(self):
        self.index = SearchIndex(
            schema=self.edition.schema(),
            redis_client=self.redis,
            validate_on_load=self.edition.validate_on_load,
        )

    def start(self):
        """What the recipe does at every start: the index is made anew, documents stay."""
        self.index.create(overwrite=True)

    def similar_memory_exists(
        self,
        content: str,
        memory_type: MemoryType,
        user_id: str = SYSTEM_USER_ID,
        thread_id: str | None = None,
        distance_threshold: float = 0.1,
    ) -> bool:
        filters = (Tag("user_id") == user_id) & (Tag("memory_type") == memory_type)
        if thread_id:
            filters = filters & (Tag("thread_id") == thread_id)
        query = VectorRangeQuery(
            vector=self.embed(content),
            dtype=self.edition.datatype,
            num_results=1,
            vector_field_name="embedding",
            filter_expression=filters,
            distance_threshold=distance_threshold,
            return_fields=["id"],
        )
        return bool(self.index.query(query))

    def store_memory(
        self,
        content: str,
        memory_type: MemoryType,
        user_id: str = SYSTEM_USER_ID,
        thread_id: str | None = None,
        metadata: str | None = None,
        ttl: int | None = None,
    ):
        if metadata is None:
            metadata = "{}"
        if self.similar_memory_exists(content, memory_type, user_id, thread_id):
            logger.info("Similar memory found, skipping storage")
            return
        memory_data = {
            "user_id": user_id or SYSTEM_USER_ID,
            "content": content,
            "memory_type": memory_type.value,
            "metadata": metadata,
            "created_at": self.now().isoformat(),
            "embedding": self.embed(content),
            "memory_id": str(ulid.ULID()),
            "thread_id": thread_id,
        }
        try:
            self.load(memory_data, ttl)
        except Exception as e:
            logger.error("Error storing memory %s", e)

    def load(self, memory: dict, ttl: int | None = None) -> str:
        """`index.load` of one memory as the edition's redisvl did it; returns the key."""
        if self.edition.storage_type == "hash":
            # A hash holds no null, and its vectors are bytes.
            memory = {name: value for name, value in memory.items() if value is not None}
            memory["embedding"] = array_to_buffer(memory["embedding"], self.edition.datatype)
        keys = [f"{self.edition.prefix}:{ulid.ULID()}"] if self.edition.double_separator else None
        return self.index.load([memory], keys=keys, ttl=ttl)[0]

    def retrieve_memories(
        self,
        query: str,
        memory_type: MemoryType | list[MemoryType] | None = None,
        user_id: str = SYSTEM_USER_ID,
        thread_id: str | None = None,
        distance_threshold: float = 0.1,
        limit: int = 5,
    ) -> list[StoredMemory]:
        vector_query = VectorRangeQuery(
            vector=self.embed(query),
            dtype=self.edition.datatype,
            return_fields=[
                "content",
                "memory_type",
                "metadata",
                "created_at",
                "memory_id",
                "thread_id",
                "user_id",
            ],
            num_results=limit,
            vector_field_name="embedding",
            dialect=2,
            distance_threshold=distance_threshold,
        )
        base_filters = [f"@user_id:{{{user_id or SYSTEM_USER_ID}}}"]
        if memory_type:
            if isinstance(memory_type, list):
                base_filters.append(f"@memory_type:{{{'|'.join(memory_type)}}}")
            else:
                base_filters.append(f"@memory_type:{{{memory_type.value}}}")
        if thread_id:
            base_filters.append(f"@thread_id:{{{thread_id}}}")
        vector_query.set_filter(" ".join(base_filters))

        memories = []
        for doc in self.index.query(vector_query):
            try:
                memories.append(
                    StoredMemory(
                        id=doc["id"],
                        memory_id=doc["memory_id"],
                        created_at=doc["created_at"],
                        user_id=doc.get("user_id"),
                        thread_id=doc.get("thread_id"),
                        memory_type=MemoryType(doc["memory_type"]),
                        content=doc["content"],
                        metadata=doc["metadata"],
                    )
                )
            except Exception as e:
                logger.error("Error parsing memory: %s", e)
                continue
        return memories

    def delete_memory(self, key: str) -> int:
        return self.index.drop_keys([key])

    def store_memory_tool(self, content: str, memory_type: MemoryType, metadata: dict | None = None, config=None) -> str:
        config = config or {}
        # The user that LangGraph passes is in config["configurable"], so this finds none.
        user_id = config.get("user_id", SYSTEM_USER_ID)
        thread_id = config.get("thread_id")
        self.store_memory(
            content=content,
            memory_type=memory_type,
            user_id=user_id,
            thread_id=thread_id,
            metadata=str(metadata) if metadata else None,
        )
        return f"Successfully stored {memory_type} memory: {content}"

    def retrieve_memories_tool(self, query: str, memory_type: list[MemoryType], limit: int = 5, config=None) -> str:
        config = config or {}
        user_id = config.get("user_id", SYSTEM_USER_ID)
        stored = self.retrieve_memories(
            query=query, memory_type=memory_type, user_id=user_id, limit=limit, distance_threshold=0.3
        )
        lines = ["Long-term memories:"] if stored else []
        lines.extend(f"- [{memory.memory_type}] {memory.content}" for memory in stored)
        return "\n".join(lines) if lines else "No memories found."
