"""Measures planning by memfold against the published recipe's access pattern. Run by scripts/bench."""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from redis import Redis
from redis.exceptions import ConnectionError as NotConnected
from redisvl.index import SearchIndex
from redisvl.query import FilterQuery, VectorRangeQuery
from redisvl.query.filter import Tag
from ulid import ULID

ROOT = Path(__file__).resolve().parent.parent
PARTS = ROOT / ".memfold"
MEMFOLD = ROOT / "target/release/memfold"

INDEX = "bench_memories"
USER = "bench"
IDLE_USER = "idle"
TYPE = "semantic"
DIMS = 384
THRESHOLD = 0.1
TOPICS = 50
WORDS = (
    "amber basil cedar delta ember fjord grove heath inlet jetty knoll lagoon meadow nectar orchard "
    "pebble quarry ridge saddle timber upland valley willow yarrow zephyr"
).split()


# --- data -------------------------------------------------------------------------------------------------------------


@dataclass
class Store:
    """Synthetic memories of one user, and the groups among them."""

    vectors: np.ndarray
    groups: set[frozenset[int]]

    def text(self, row: int) -> str:
        a, b = divmod(row, len(WORDS))
        return f"Note {row}: the {WORDS[a % len(WORDS)]} {WORDS[b]} was mentioned"


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def at_cosine(axis: np.ndarray, cosine: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Random unit rows, each at its cosine to the unit row of `axis`."""
    aside = random.standard_normal((len(cosine), DIMS))
    aside = unit(aside - (aside * axis).sum(-1, keepdims=True) * axis)
    return axis * cosine[:, None] + aside * np.sqrt(1 - cosine**2)[:, None]


def synthetic(n: int, seed: int) -> Store:
    """30 % of n rows in groups of 2 to 5; all from topics, within which cosines are 0.3 to 0.7.

    Members are within 0.04 of their centre, so that every two of them are within the threshold;
    `truth` makes sure that the groups are exactly the connected pairs within it.
    """
    random = np.random.default_rng(seed)
    topics = unit(random.standard_normal((TOPICS, DIMS)))

    def singles(count: int) -> np.ndarray:
        return at_cosine(topics[random.integers(TOPICS, size=count)], np.sqrt(random.uniform(0.3, 0.7, count)), random)

    sizes: list[int] = []
    while (grouped := sum(sizes)) < n * 3 // 10:
        sizes.append(int(random.integers(2, 6)))
    centres = np.repeat(singles(len(sizes)), sizes, axis=0)
    members = at_cosine(centres, 1 - random.uniform(0, 0.04, grouped), random)
    places = random.permutation(n)
    vectors = np.empty((n, DIMS), np.float32)
    vectors[places] = np.vstack([members, singles(n - grouped)])
    ends = np.cumsum(sizes)
    groups = {frozenset(places[end - size : end].tolist()) for size, end in zip(sizes, ends, strict=True)}
    if truth(vectors) != groups:
        sys.exit("bench: the synthetic groups are not apart: take another --seed")
    return Store(vectors, groups)


def truth(vectors: np.ndarray) -> set[frozenset[int]]:
    """The groups by brute force in double precision; fails where near rows are no clique."""
    rows = unit(vectors.astype(np.float64))
    near = {}
    for start in range(0, len(rows), 1000):
        hits = np.argwhere(1 - rows[start : start + 1000] @ rows.T <= THRESHOLD)
        for a, b in hits + [start, 0]:
            near.setdefault(int(a), set()).add(int(b))
    if any(near[b] != group for group in near.values() for b in group):
        return set()
    return {frozenset(group) for group in near.values() if len(group) > 1}


def components(pairs: list[tuple[int, int]]) -> set[frozenset[int]]:
    """Connected components of two rows and more."""
    parent: dict[int, int] = {}

    def root(row: int) -> int:
        while parent.setdefault(row, row) != row:
            row = parent[row]
        return row

    for a, b in pairs:
        parent[root(a)] = root(b)
    members: dict[int, set[int]] = {}
    for row in parent:
        members.setdefault(root(row), set()).add(row)
    return {frozenset(group) for group in members.values() if len(group) > 1}


# --- server -----------------------------------------------------------------------------------------------------------


@contextmanager
def redis_server():
    """A server with search and JSON on a free port, its data in memory alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="redis-", dir=PARTS / "bench")
    command = [PARTS / "redis/bin/redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", folder]
    command += ["--save", "", "--appendonly", "no", "--logfile", f"{folder}/log"]
    for module in ("redisearch.so", "rejson.so"):
        command += ["--loadmodule", PARTS / "redis/lib" / module]
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


def load(client: Redis, store: Store, storage: str) -> SearchIndex:
    """Fills the server with the store, as the recipe's agent would."""
    client.flushall()
    schema = {
        "index": {"name": INDEX, "prefix": "memory", "key_separator": ":", "storage_type": storage},
        "fields": [
            {"name": "content", "type": "text"},
            {"name": "memory_type", "type": "tag"},
            {"name": "metadata", "type": "text"},
            {"name": "created_at", "type": "text"},
            {"name": "user_id", "type": "tag"},
            {"name": "memory_id", "type": "tag"},
            {
                "name": "embedding",
                "type": "vector",
                "attrs": {"algorithm": "flat", "dims": DIMS, "distance_metric": "cosine", "datatype": "float32"},
            },
        ],
    }
    index = SearchIndex.from_dict(schema, redis_client=client)
    index.create(overwrite=True)

    def document(row: int, user: str) -> dict:
        vector = store.vectors[row]
        return {
            "content": store.text(row),
            "memory_type": TYPE,
            "metadata": "{}",
            "created_at": datetime.fromtimestamp(1_750_000_000 + row, UTC).replace(tzinfo=None).isoformat(),
            "user_id": user,
            "memory_id": str(ULID()),
            "embedding": vector.tobytes() if storage == "hash" else vector.tolist(),
        }

    n = len(store.vectors)
    documents = [document(row, USER) for row in range(n)] + [document(row, IDLE_USER) for row in range(2)]
    keys = [f"memory:{row:06}" for row in range(n)] + ["memory:idle-0", "memory:idle-1"]
    index.load(documents, keys=keys, batch_size=500)
    while (info := index.info()) and (int(info["indexing"]) or int(info["num_docs"]) < len(documents)):
        time.sleep(0.05)
    if int(info["num_docs"]) != len(documents) or int(info["hash_indexing_failures"]):
        sys.exit(f"bench: the index holds {info['num_docs']} of {len(documents)} memories")
    return index


def row_of(key: str) -> int:
    return int(key.removeprefix("memory:"))


# --- what is measured -------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """One measured run: seconds, the server's CPU seconds and commands, groups, peak memory in bytes."""

    wall: float = 0.0
    server_cpu: float = 0.0
    commands: int = 0
    groups: list[frozenset[int]] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    memory: int = 0


@contextmanager
def measured(client: Redis):
    def server() -> tuple[float, int]:
        info = client.info("everything")
        return info["used_cpu_user"] + info["used_cpu_sys"], info["total_commands_processed"]

    run = Run()
    cpu, commands = server()
    start = time.perf_counter()
    yield run
    run.wall = time.perf_counter() - start
    cpu_after, commands_after = server()
    run.server_cpu = cpu_after - cpu
    run.commands = commands_after - commands - 1  # without the INFO that opened the measurement


def published_pattern(client: Redis, index: SearchIndex, storage: str) -> Run:
    """How `consolidate_memories` of the recipe reads: all memories of a type in pages of 10, then one range query of
    10 results for each of them.

    Two changes, without which it finds nothing: the pages are kept (the original reads again with the query whose
    offset the paging has moved to the end), and on HASH the vector is not decoded as text. Groups are the connected
    components over its answers, which is kinder than its own loop: that builds groups round memories already deleted.
    """
    own = (Tag("user_id") == USER) & (Tag("memory_type") == TYPE)
    with measured(client) as run:
        listing = FilterQuery(filter_expression=own)
        if storage == "hash":
            fields = ("content", "memory_type", "metadata", "created_at", "memory_id", "embedding")
            listing.return_fields(*fields, skip_decode="embedding")
        memories = [memory for page in index.paginate(listing, page_size=10) for memory in page]
        listed = time.perf_counter()
        pairs = []
        for memory in memories:
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
        queried = time.perf_counter()
    run.parts = {"range queries": queried - listed}
    run.parts["paging"] = run.wall - run.parts["range queries"]
    run.groups = list(components(pairs))
    return run


def memfold(client: Redis, url: str, user: str, watched: bool = False) -> Run:
    """`memfold merge --dry-run`: the groups are those that it would merge and those that it leaves with a reason.

    Memory is watched in runs of its own, since looking at it takes a good part of a core.
    """
    command = [MEMFOLD, "merge", "--user", user, "--dry-run", "--json", "--distance", "stored"]
    command += ["--threshold", str(THRESHOLD)]
    environment = os.environ | {"MEMFOLD_REDIS_URL": url, "MEMFOLD_INDEX": INDEX}
    with tempfile.TemporaryFile() as errors, measured(client) as run:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors)
        watcher = PeakMemory(process.pid) if watched else None
        output = b""
        while chunk := os.read(process.stdout.fileno(), 1 << 16):
            if watcher:
                watcher.look()
            output += chunk
        code = process.wait()
        run.memory = watcher.stop() if watcher else 0
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    if not output:
        sys.exit(f"bench: memfold ended with code {code} and printed no plan:\n{said}")
    plan = json.loads(output)["users"][0]
    if "error" in plan:
        sys.exit(f"bench: memfold could not plan: {plan['error']}")
    members = [merge["sources"] for merge in plan["merges"]] + [left["members"] for left in plan["groups_left"]]
    if user == USER:
        run.groups = [frozenset(row_of(source["key"]) for source in group) for group in members]
    return run


class PeakMemory:
    """Peak resident memory of a process by its own account (VmHWM), asked every millisecond and on each output.

    The resource usage that `wait` returns is no use here: it counts what the parent held when it started the child.
    """

    def __init__(self, pid: int):
        self.status = Path(f"/proc/{pid}/status")
        self.peak = 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.done.wait(0.001):
            self.look()

    def look(self):
        try:
            lines = self.status.read_text().splitlines()
        except OSError:
            return
        of_interest = [line.split() for line in lines if line.startswith("VmHWM:")]
        self.peak = max([self.peak] + [int(words[1]) * 1024 for words in of_interest])

    def stop(self) -> int:
        self.done.set()
        self.thread.join()
        return self.peak


# --- report -----------------------------------------------------------------------------------------------------------


def scored(runs: list[Run], store: Store) -> dict:
    """Medians over the runs, and the groups of the last one against the known ones."""
    groups = runs[-1].groups
    right = len(store.groups & set(groups))
    return {
        "wall_s": statistics.median(run.wall for run in runs),
        "server_cpu_s": statistics.median(run.server_cpu for run in runs),
        "commands": statistics.median(run.commands for run in runs),
        "groups_right": right,
        "groups_missed": len(store.groups) - right,
        "groups_wrong": len(groups) - right,
        "peak_memory_bytes": max(run.memory for run in runs),
        "parts_s": {part: statistics.median(run.parts[part] for run in runs) for part in runs[0].parts},
        "runs": len(runs),
    }


def compare(client: Redis, url: str, n: int, options: argparse.Namespace) -> dict:
    store = synthetic(n, options.seed)
    index = load(client, store, options.storage)
    memfold(client, url, USER)  # once unmeasured, so that files are in the cache
    idle = min(memfold(client, url, IDLE_USER, watched=True).memory for _ in range(3))
    peak = max(memfold(client, url, USER, watched=True).memory for _ in range(3))
    ours = scored([memfold(client, url, USER) for _ in range(options.runs)], store) | {"peak_memory_bytes": peak}
    theirs = scored([published_pattern(client, index, options.storage) for _ in range(options.runs)], store)
    return {
        "memories": n,
        "storage": options.storage,
        "groups": len(store.groups),
        "vector_bytes": store.vectors.nbytes,
        "idle_memory_bytes": idle,
        "memory_over_idle_in_vectors": (ours["peak_memory_bytes"] - idle) / store.vectors.nbytes,
        "times_faster": theirs["wall_s"] / ours["wall_s"],
        "memfold": ours,
        "published_pattern": theirs,
    }


def show(result: dict):
    print(f"\n{result['memories']} memories on {result['storage'].upper()}, FLAT, {result['groups']} groups of 2 to 5")
    print(f"{'':20}{'wall s':>10}{'server CPU s':>14}{'commands':>10}{'right':>8}{'missed':>8}{'wrong':>8}")
    columns = ("wall_s", "server_cpu_s", "commands", "groups_right", "groups_missed", "groups_wrong")
    for name, label in (("published_pattern", "published pattern"), ("memfold", "memfold")):
        wall, cpu, commands, right, missed, wrong = (result[name][column] for column in columns)
        print(f"{label:20}{wall:>10.3f}{cpu:>14.3f}{commands:>10.0f}{right:>8}{missed:>8}{wrong:>8}")
    theirs, ours = result["published_pattern"], result["memfold"]
    ratios = [theirs[column] / ours[column] if ours[column] else float("inf") for column in columns[:3]]
    print(f"{'times less':20}{ratios[0]:>10.1f}{ratios[1]:>14.1f}{ratios[2]:>10.1f}")
    parts = ", ".join(f"{part} {seconds:.2f} s" for part, seconds in theirs["parts_s"].items())
    peak, idle, vectors = ours["peak_memory_bytes"], result["idle_memory_bytes"], result["vector_bytes"]
    print(f"published pattern: {parts}")
    print(
        f"memfold's peak memory: {peak / 2**20:.1f} MiB, {idle / 2**20:.1f} MiB with nothing to do: "
        f"{(peak - idle) / 2**20:.1f} MiB more, {result['memory_over_idle_in_vectors']:.2f} times the vectors"
    )


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--sizes", default="1000,10000", help="numbers of memories, separated by commas")
    parser.add_argument("--storage", choices=("hash", "json"), default="hash")
    parser.add_argument("--runs", type=int, default=3, help="measured runs of each side; medians are shown")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    (PARTS / "bench").mkdir(parents=True, exist_ok=True)
    results = []
    with redis_server() as (client, url):
        for n in (int(size) for size in options.sizes.split(",")):
            results.append(compare(client, url, n, options))
            show(results[-1])
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = PARTS / "bench" / f"{options.storage}-{stamp}.json"
    kept.write_text(json.dumps({"processors": os.cpu_count(), "seed": options.seed, "results": results}, indent=2) + "\n")
    print(f"\nkept in {kept.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
