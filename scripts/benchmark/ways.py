"""The ways to find a user's near memories that memfold is compared with, each run in a process of its own:

    python ways.py WAY URL STORAGE USER SAMPLE PAIRS

WAY is a function of this file. SAMPLE is for how many of the memories the slow ways ask; the time of asking is scaled
to all. The pairs of rows go to the file PAIRS; what the run cost is printed as JSON.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
from redis import Redis
from redisvl.index import SearchIndex
from redisvl.query import CountQuery, FilterQuery, VectorRangeQuery
from redisvl.query.filter import Tag

from data import DIMS, THRESHOLD, unit
from server import INDEX, TYPE

PIPELINED = 100


def row_of(key: bytes | str) -> int:
    return int((key.decode() if isinstance(key, bytes) else key).removeprefix("memory:"))


class Asked:
    """The store, whom to ask about, and what it cost beyond what can be measured from outside."""

    def __init__(self, url: str, storage: str, user: str, sample: int):
        self.client = Redis.from_url(url, protocol=2)
        self.storage, self.user, self.sample = storage, user, sample
        self.sampled_s = 0.0
        self.share = 1.0

    def of(self, memories: list):
        """The memories to ask for, timed."""
        chosen = memories[: self.sample]
        self.share = min(self.share, len(chosen) / len(memories))
        start = time.perf_counter()
        yield from chosen
        self.sampled_s += time.perf_counter() - start

    def pages(self, index: SearchIndex, listing: FilterQuery) -> list:
        """The memories page by page, 10 a page; if they are more than to be asked for, an even choice of the pages, timed."""
        pages = -(-int(index.query(CountQuery(listing.filter))) // 10)
        step = max(1, pages * 10 // self.sample)
        self.share = len(range(0, pages, step)) / pages
        start = time.perf_counter()
        memories = []
        for page in range(0, pages, step):
            listing.paging(page * 10, 10)
            memories += index.query(listing)
        self.sampled_s += time.perf_counter() - start
        return memories

    def fetch(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and vectors of the user, by the fastest way that redis-py has."""
        query = ("FT.AGGREGATE", INDEX, "@user_id:{$user}", "LOAD", 2, "@__key", "@embedding")
        options = ("PARAMS", 2, "user", self.user, "DIALECT", 2, "TIMEOUT", 20_000, "WITHCURSOR", "COUNT", 1000)
        page, cursor = self.client.execute_command(*query, *options)
        keys, vectors = [], []
        while True:
            for row in page[1:]:
                fields = dict(zip(row[::2], row[1::2], strict=True))
                keys.append(row_of(fields[b"__key"]))
                vectors.append(fields[b"embedding"])
            if not cursor:
                break
            page, cursor = self.client.execute_command("FT.CURSOR", "READ", INDEX, cursor, "COUNT", 1000)
        if self.storage == "hash":
            matrix = np.frombuffer(b"".join(vectors), np.float32).reshape(-1, DIMS)
        else:
            matrix = np.array([json.loads(vector) for vector in vectors], np.float32)
        return np.array(keys), matrix


def published_pattern(asked: Asked) -> list:
    """How `consolidate_memories` of the recipe reads: all memories of a type in pages of 10, then one range query of 10
    results for each of them.

    Two changes, without which it finds nothing: the pages are kept (the original reads again with the query whose offset
    the paging has moved to the end), and on HASH the vector is not decoded as text. Of many memories, some of the pages are
    read, spread evenly, since a page costs the more the later it is.
    """
    index = SearchIndex.from_existing(INDEX, redis_client=asked.client)
    own = (Tag("user_id") == asked.user) & (Tag("memory_type") == TYPE)
    listing = FilterQuery(filter_expression=own)
    if asked.storage == "hash":
        fields = ("content", "memory_type", "metadata", "created_at", "memory_id", "embedding")
        listing.return_fields(*fields, skip_decode="embedding")
    pairs = []
    for memory in asked.of(asked.pages(index, listing)):
        query = VectorRangeQuery(
            vector=memory["embedding"],
            vector_field_name="embedding",
            num_results=10,
            distance_threshold=THRESHOLD,
            return_fields=["content", "metadata"],
            filter_expression=own & (Tag("memory_id") != memory["memory_id"]),
            dtype="float32",
        )
        pairs += [(row_of(memory["id"]), row_of(near["id"])) for near in index.query(query)]
    return pairs


def range_queries(asked: Asked) -> list:
    """One range query for each memory, as many at once as the server takes well, without a limit to the results."""
    rows, vectors = asked.fetch()
    query = f"@user_id:{{$user}} @embedding:[VECTOR_RANGE {THRESHOLD} $vector]"
    pairs = []
    starts = list(range(0, len(rows), PIPELINED))
    asked.sample = -(-asked.sample // PIPELINED)
    for start in asked.of(starts):
        pipe = asked.client.pipeline(transaction=False)
        for vector in vectors[start : start + PIPELINED]:
            params = ("PARAMS", 4, "user", asked.user, "vector", vector.tobytes())
            pipe.execute_command("FT.SEARCH", INDEX, query, "NOCONTENT", "LIMIT", 0, 10_000, *params, "DIALECT", 2)
        for row, near in zip(rows[start : start + PIPELINED], pipe.execute()):
            pairs += [(row, row_of(key)) for key in near[1:] if row_of(key) != row]
    return pairs


def numpy_blocks(asked: Asked) -> np.ndarray:
    """All vectors here, and the product with their transpose in blocks."""
    rows, vectors = asked.fetch()
    vectors = unit(vectors)
    found = []
    for start in range(0, len(rows), 1000):
        near = np.argwhere(vectors[start : start + 1000] @ vectors[start:].T >= 1 - THRESHOLD) + start
        found.append(near[near[:, 0] < near[:, 1]])
    return rows[np.vstack(found)]


def faiss_range_search(asked: Asked) -> np.ndarray:
    """All vectors here, in an exact index of faiss."""
    import faiss

    rows, vectors = asked.fetch()
    index = faiss.IndexFlatIP(DIMS)
    index.add(unit(vectors))
    limits, _, near = index.range_search(unit(vectors), 1 - THRESHOLD)
    a = np.repeat(np.arange(len(rows)), np.diff(limits.astype(int)))
    return rows[np.stack([a, near], 1)[a < near]]


def semhash(asked: Asked) -> np.ndarray:
    """All vectors here, in an approximate index as semhash makes it, asked as its deduplication does."""
    from semhash import SemHash

    rows, vectors = asked.fetch()
    index = SemHash.from_embeddings(vectors, [str(row) for row in rows], model=None).index
    near = [indices for indices, _ in index.query_threshold(index.vectors, threshold=1 - THRESHOLD)]
    a = np.repeat(np.arange(len(rows)), [len(indices) for indices in near])
    b = np.concatenate(near).astype(int)
    return rows[np.stack([a, b], 1)[a < b]]


def server_cost(client: Redis) -> np.ndarray:
    info = client.info("everything")
    return np.array([info["used_cpu_user"] + info["used_cpu_sys"], info["total_commands_processed"]])


def main(way: str, url: str, storage: str, user: str, sample: str, pairs: str):
    if way == "faiss_range_search":
        import faiss  # noqa: F401
    elif way == "semhash":
        import semhash as _  # noqa: F401
    asked = Asked(url, storage, user, int(sample))
    before, cpu, start = server_cost(asked.client), time.process_time(), time.perf_counter()
    found = globals()[way](asked)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    server_cpu, commands = server_cost(asked.client) - before
    rest = asked.sampled_s * (1 / asked.share - 1)  # what asking for the others would take
    scale = 1 + rest / wall
    np.save(pairs, np.array(found, np.int64).reshape(-1, 2))
    status = Path("/proc/self/status").read_text().split()
    print(
        json.dumps(
            {
                "wall_s": wall + rest,
                "server_cpu_s": server_cpu * scale,
                "client_cpu_s": cpu * scale,
                "commands": int((commands - 1) * scale),  # without the INFO that opened the measurement
                "peak_rss_mb": int(status[status.index("VmHWM:") + 1]) / 1024,
                "share": asked.share,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
