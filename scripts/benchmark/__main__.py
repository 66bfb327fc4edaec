"""Measures memfold against other ways to find near memories in Redis. Run by scripts/bench."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import plots
import report
from data import DIMS, Memories, missed_and_wrong, synthetic, true_pairs
from ours import memfold
from server import IDLE_USER, load, places, put, redis_server

HERE = Path(__file__).resolve().parent
PEERS = ("published_pattern", "range_queries", "numpy_blocks", "faiss_range_search", "semhash")
# How many memories the ways that ask the index once a memory are run for; the rest is scaled.
SAMPLE = 1_000


class Bench:
    """The rows measured so far, and how to measure more."""

    def __init__(self, client, url: str, options: argparse.Namespace):
        self.client, self.url, self.options = client, url, options
        self.rows: list[dict] = []

    def note(self, case: str, memories: Memories, index: str, true: np.ndarray | None, run: dict, found=None):
        row = dict.fromkeys(report.COLUMNS)
        row |= {"case": case, "n": len(memories), "dims": DIMS, "index": index} | run
        row |= {"pairs_true": None if true is None else len(true)}
        if found is not None:
            row["pairs_missed"], row["pairs_wrong"] = missed_and_wrong(true, found)
        self.rows.append(row)
        print(f"{case:32} {len(memories):>9,} {index:10} {row['wall_s']:10.3f} s", file=sys.stderr, flush=True)

    def ours(self, case: str, memories: Memories, index: str, true: np.ndarray, *arguments: str, runs: int):
        """memfold's medians; its memory is watched in a run of its own where that changes nothing."""
        done = [memfold(self.client, self.url, *arguments) for _ in range(runs)]
        names = ("wall_s", "server_cpu_s", "client_cpu_s", "commands")
        run = {name: statistics.median(getattr(one, name) for one in done) for name in names}
        if "--dry-run" in arguments:
            run["peak_rss_mb"] = memfold(self.client, self.url, *arguments, watched=True).peak_rss_mb
        self.note(case, memories, index, true, run, done[-1].pairs)

    def peer(self, group: str, way: str, memories: Memories, index: str, true: np.ndarray, user: str):
        storage = index.split()[1].lower()
        with tempfile.NamedTemporaryFile(suffix=".npy") as pairs:
            sample = SAMPLE if len(memories.rows(0)) > self.options.whole else len(memories)
            command = [sys.executable, HERE / "ways.py", way, self.url, storage, user, str(sample), pairs.name]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=self.options.limit)
            except subprocess.TimeoutExpired:
                self.note(f"{group}/{way.replace('_', '-')}", memories, index, true, {"wall_s": self.options.limit, "cut": True})
                return
            if done.returncode:
                sys.exit(f"bench: {way} failed")
            run = json.loads(done.stdout)
            run["estimated"] = run.pop("share") < 1
            found = None if run["estimated"] else np.load(pairs.name)
        self.note(f"{group}/{way.replace('_', '-')}", memories, index, true, run, found)

    def one_user(self, n: int, algorithm: str, storage: str):
        """All memories are one user's: planning by every way, then merging what is equal."""
        index = f"{algorithm.upper()} {storage.upper()}"
        memories = synthetic(n, self.options.seed)
        true = true_pairs(memories.vectors)
        load(self.client, memories, algorithm, storage, same=False)
        plan = ("--user", memories.user(0), "--dry-run")
        memfold(self.client, self.url, *plan)  # once unmeasured, so that files are in the cache
        idle = memfold(self.client, self.url, "--user", IDLE_USER, "--dry-run", watched=True)
        self.note("idle/memfold", memories, index, None, vars(idle) | {"pairs": None})
        self.ours("plan/memfold", memories, index, true, *plan, runs=self.options.runs)
        for way in self.peers(n, algorithm):
            self.peer("plan", way, memories, index, true, memories.user(0))
        if n <= self.options.whole or algorithm == "flat":
            load(self.client, memories, algorithm, storage, same=True)
            self.ours("merge/memfold", memories, index, true, "--user", memories.user(0), runs=1)

    def peers(self, n: int, algorithm: str) -> tuple[str, ...]:
        """What only fetches is the same on every index, and takes long for many memories."""
        return PEERS if n <= self.options.whole or algorithm == "flat" else PEERS[:2]

    def some_new(self, n: int, new: int):
        """A user whose memories were looked at before, and some new ones since then; the same without anything remembered."""
        memories = synthetic(n + new, self.options.seed)
        true = true_pairs(memories.vectors)
        load(self.client, memories, "flat", "hash", same=False, count=n)
        merge = ("--user", memories.user(0))
        memfold(self.client, self.url, *merge)
        put(self.client, memories, "hash", False, places(memories, range(n, n + new)))
        remembered = self.client.keys("memfold:compared:*")
        if not remembered:
            sys.exit("bench: nothing was remembered of the first run")
        self.ours(f"{new} new/memfold", memories, "FLAT HASH", true, *merge, runs=1)
        self.client.delete(*remembered)
        self.ours(f"{new} new/memfold-from-scratch", memories, "FLAT HASH", true, *merge, runs=1)

    def one_of_many(self, n: int, users: int, algorithm: str, storage: str):
        """One user among many in one index."""
        index = f"{algorithm.upper()} {storage.upper()}"
        memories = synthetic(n, self.options.seed, users)
        rows = memories.rows(0)
        true = rows[true_pairs(memories.vectors[rows])]
        load(self.client, memories, algorithm, storage, same=False)
        plan = ("--user", memories.user(0), "--dry-run")
        memfold(self.client, self.url, *plan)
        self.ours("one user of many/memfold", memories, index, true, *plan, runs=self.options.runs)
        self.peer("one user of many", "range_queries", memories, index, true, memories.user(0))

    def all_users(self, n: int, users: int):
        """Everybody, one after the other."""
        memories = synthetic(n, self.options.seed, users)
        true = [memories.rows(user)[true_pairs(memories.vectors[memories.rows(user)])] for user in range(users)]
        load(self.client, memories, "flat", "hash", same=False)
        case = f"all {users:,} users/memfold"
        self.ours(case, memories, "FLAT HASH", np.vstack(true), "--all-users", "--dry-run", runs=1)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 memories, in a few minutes")
    parser.add_argument("--sizes", help="numbers of memories of one user, separated by commas")
    parser.add_argument("--indexes", default="flat-hash,flat-json,hnsw-hash,hnsw-json")
    parser.add_argument("--many", action="store_true", help="only the cases of many users")
    parser.add_argument("--runs", type=int, default=3, help="measured runs of memfold; medians are shown")
    parser.add_argument("--whole", type=int, default=10_000, help="of more memories, slow ways are sampled or left out")
    parser.add_argument("--limit", type=int, default=600, help="seconds after which another way is ended")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows there")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="also draw how the costs grow, as SVG files there")
    parser.add_argument("--drawn-from", type=Path, metavar="FILE", help="measure nothing: only draw what --json has written")
    options = parser.parse_args()
    if options.drawn_from:
        plots.draw(json.loads(options.drawn_from.read_text()), options.plots or options.drawn_from.parent)
        return
    sizes = options.sizes or ("1000,10000" if options.quick else "1000,10000,100000")
    with redis_server() as (client, url):
        bench = Bench(client, url, options)
        facts = report.facts(client)
        for index in [] if options.many else options.indexes.split(","):
            for n in map(int, sizes.split(",")):
                bench.one_user(n, *index.split("-"))
        if options.many or not (options.quick or options.sizes):
            bench.some_new(100_000, 100)
            bench.one_of_many(100_000, 100, "flat", "hash")
            bench.all_users(10_000, 100)
            bench.all_users(1_000_000, 10_000)
    print(f"{facts}\n\n{report.table(bench.rows)}")
    if options.json:
        options.json.write_text(json.dumps(bench.rows, indent=2) + "\n")
    if options.plots:
        plots.draw(bench.rows, options.plots)


if __name__ == "__main__":
    main()
