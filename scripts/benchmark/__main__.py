"""Measures memfold against other ways to find near memories in Redis. Run by scripts/bench."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import gates
import join
import plots
import report
import sentences
from data import DIMS, Memories, missed_and_wrong, synthetic, true_pairs
from ours import memfold
from server import IDLE_USER, load, places, put, redis_server

HERE = Path(__file__).resolve().parent
PEERS = ("published_pattern", "range_queries", "numpy_blocks", "faiss_range_search", "semhash")
# How many memories the ways that ask the index once a memory are run for; the rest is scaled.
SAMPLE = 1_000
# More runs of memfold where a gate is missed: the machine may have had other work.
COSTS = ("wall_s", "server_cpu_s", "client_cpu_s", "commands")
MORE_RUNS = 5
# Indexes of which all ways are measured also of many memories. JSON documents are read in the same way from both kinds.
WHOLE_INDEXES = ("flat-hash", "hnsw-hash", "hnsw-json")


class Bench:
    """The rows measured so far, and how to measure more."""

    def __init__(self, client, url: str, options: argparse.Namespace):
        self.client, self.url, self.options = client, url, options
        self.rows: list[dict] = []
        self.failed: list[str] = []
        self.made: dict[tuple[int, int], tuple[Memories, np.ndarray]] = {}

    def memories(self, n: int, users: int = 1) -> tuple[Memories, np.ndarray]:
        """Memories and all pairs that are within the threshold, of one user each; made once."""
        if (n, users) not in self.made:
            memories = synthetic(n, self.options.seed, users)
            rows = [memories.rows(user) for user in range(users)]
            true = np.vstack([own[true_pairs(memories.vectors[own])] for own in rows])
            self.made[n, users] = memories, true
        return self.made[n, users]

    def note(self, case: str, memories: Memories, index: str, true: np.ndarray | None, run: dict, found=None):
        row = dict.fromkeys(report.COLUMNS)
        row |= {"case": case, "n": len(memories), "dims": DIMS, "index": index} | run
        row |= {"pairs_true": None if true is None else len(true)}
        if found is not None:
            row["pairs_missed"], row["pairs_wrong"] = missed_and_wrong(true, found)
        if "best" in run:
            row["best"] = run["best"]
        self.rows.append(row)
        print(f"{case:32} {len(memories):>9,} {index:10} {row['wall_s']:10.3f} s", file=sys.stderr, flush=True)

    def ours(self, case: str, memories: Memories, index: str, true: np.ndarray, *arguments: str, runs: int):
        """memfold's medians; its memory is watched in a run of its own where that changes nothing."""
        done = [memfold(self.client, self.url, *arguments) for _ in range(runs)]
        run = {name: statistics.median(getattr(one, name) for one in done) for name in COSTS}
        run["best"] = {name: min(getattr(one, name) for one in done) for name in COSTS}
        if "--dry-run" in arguments:
            run["peak_rss_mb"] = memfold(self.client, self.url, *arguments, watched=True).peak_rss_mb
        self.note(case, memories, index, true, run, done[-1].pairs)

    def again(self, case: str, n: int, index: str, *arguments: str):
        """Where memfold seems slower than it must be in a case: the best of more runs."""
        ours = next(row for row in self.rows if (row["case"], row["n"], row["index"]) == (case, n, index))
        for _ in range(MORE_RUNS):
            if not gates.missed(self.rows, ours):
                return
            one = memfold(self.client, self.url, *arguments)
            # A run itself tells how long it took to find.
            cost = {"wall_s": one.found_s} if case == "find/memfold" else vars(one)
            best = ours.get("best", ours)
            ours["best"] = {name: min(best[name], cost[name]) for name in cost if name in COSTS and best[name] is not None}

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
                print(f"bench: {way} failed, and is left out", file=sys.stderr, flush=True)
                self.failed.append(way)
                return
            run = json.loads(done.stdout)
            run["estimated"] = run.pop("share") < 1
            found = None if run["estimated"] else np.load(pairs.name)
        self.note(f"{group}/{way.replace('_', '-')}", memories, index, true, run, found)

    def save(self):
        """Writes the rows down, so that a long run that is ended leaves what it has."""
        if self.options.json:
            self.options.json.write_text(json.dumps(self.rows, indent=2) + "\n")

    def one_user(self, n: int, algorithm: str, storage: str):
        """All memories are one user's: planning by every way, then merging what is equal."""
        index = f"{algorithm.upper()} {storage.upper()}"
        memories, true = self.memories(n)
        load(self.client, memories, algorithm, storage, same=False)
        plan = ("--user", memories.user(0), "--dry-run")
        memfold(self.client, self.url, *plan)  # once unmeasured, so that files are in the cache
        idle = memfold(self.client, self.url, "--user", IDLE_USER, "--dry-run", watched=True)
        cost = {name: value for name, value in vars(idle).items() if name in report.COLUMNS}
        self.note("idle/memfold", memories, index, None, cost)
        self.ours("plan/memfold", memories, index, true, *plan, runs=self.options.runs)
        found = [memfold(self.client, self.url, *plan, "--stats") for _ in range(self.options.runs)]
        seconds = statistics.median(one.found_s for one in found)
        self.note("find/memfold", memories, index, true, {"wall_s": seconds}, found[-1].pairs)
        for way in self.peers(n, algorithm, storage):
            self.peer("plan", way, memories, index, true, memories.user(0))
        self.again("plan/memfold", n, index, *plan)
        self.again("find/memfold", n, index, *plan, "--stats")
        if n <= self.options.whole or (algorithm, storage) == ("flat", "hash"):
            load(self.client, memories, algorithm, storage, same=True)
            self.ours("merge/memfold", memories, index, true, "--user", memories.user(0), runs=1)

    def peers(self, n: int, algorithm: str, storage: str) -> tuple[str, ...]:
        """Of many memories no more than says something new: what only fetches is the same on every index."""
        if n <= self.options.whole or (algorithm, storage) == ("flat", "hash"):
            return PEERS
        return PEERS[:2] if storage == "hash" else ("range_queries",)

    def join(self, whole: bool):
        """The join alone; the slower the ways, the less often."""
        sizes = "1000,10000,100000" if whole else "1000,10000"
        self.rows += join.measured(sizes, sentences.vectors() if whole else None)
        if any(gate.name.startswith("join") for gate in gates.missed(self.rows)):
            join.best_of(self.rows, join.measured("1000,10000"))

    def some_new(self, n: int, new: int):
        """A user whose memories were looked at before, and some new ones since then; the same without anything remembered."""
        memories, true = self.memories(n + new)
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
        memories, true = self.memories(n, users)
        true = true[true[:, 0] % users == 0]  # the first user's
        load(self.client, memories, algorithm, storage, same=False)
        plan = ("--user", memories.user(0), "--dry-run")
        memfold(self.client, self.url, *plan)
        self.ours("one user of many/memfold", memories, index, true, *plan, runs=self.options.runs)
        self.peer("one user of many", "range_queries", memories, index, true, memories.user(0))
        self.again("one user of many/memfold", n, index, *plan)

    def all_users(self, n: int, users: int):
        """Everybody, one after the other."""
        memories, true = self.memories(n, users)
        load(self.client, memories, "flat", "hash", same=False)
        case = f"all {users:,} users/memfold"
        self.ours(case, memories, "FLAT HASH", true, "--all-users", "--dry-run", runs=1 if n > self.options.whole else self.options.runs)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 memories, in a few minutes")
    parser.add_argument("--sizes", help="numbers of memories of one user, separated by commas")
    parser.add_argument("--indexes", help="all four, or with --quick those of HASHes")
    parser.add_argument("--many", action="store_true", help="only the cases of many users")
    parser.add_argument("--join", action="store_true", help="only the join, beside products of matrices")
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
    indexes = options.indexes or ("flat-hash,hnsw-hash" if options.quick else "flat-hash,flat-json,hnsw-hash,hnsw-json")
    whole = not (options.quick or options.sizes or options.many or options.join)
    with redis_server() as (client, url):
        bench = Bench(client, url, options)
        facts = report.facts(client)
        if whole or options.quick or options.join:
            bench.join(whole or options.join)
        if whole or options.quick or options.sizes:
            for n in map(int, (options.sizes or ("1000,10000" if options.quick else "1000,10000,100000")).split(",")):
                # Small ones first: what is missed shows early.
                for index in indexes.split(","):
                    if n <= options.whole or index in WHOLE_INDEXES:
                        bench.one_user(n, *index.split("-"))
                        bench.save()
                bench.made.clear()
        if whole or options.many:
            for case in (
                lambda: bench.some_new(100_000, 100),
                lambda: bench.one_of_many(100_000, 100, "flat", "hash"),
                lambda: bench.all_users(10_000, 100),
                lambda: bench.all_users(1_000_000, 10_000),
            ):
                case()
                bench.made.clear()
                bench.save()
    print(f"{facts}\n\n{report.table(bench.rows)}\n\n## Gates\n\n{gates.table(bench.rows)}")
    bench.save()
    if options.plots:
        plots.draw(bench.rows, options.plots)
    wrong = [f"{way} failed" for way in bench.failed] + [f"missed: {gate.name}" for gate in gates.missed(bench.rows)]
    if wrong:
        sys.exit("bench: " + "; ".join(wrong))


if __name__ == "__main__":
    main()
