"""Agents write, workers merge, and everything around them fails; in the end every fact must be there. See scripts/soak."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import measure
from agents import Agent, Book, User, create_index
from check import Store, Verdict, check, check_index, learn
from cluster import Cluster, wait_until
from faults import LEASE_SECONDS, Faults
from net import Llm, Net, Way
from workers import Worker

AGENTS = 2
RATE = 25.0
# The longest that all writing is held while the store is read.
PAUSE_MS = 60_000
SETTINGS = {
    "CONFIG": os.devnull,
    "DISTANCE": "stored",
    "WRITE_VECTOR": "centroid",
    "LLM_MODEL": "stub",
    "LLM_TIMEOUT": "5s",
    "REDIS_TIMEOUT": "8s",
    "PERIOD": "500ms",
    "PROBE_EVERY": "500ms",
    "LEASE_TTL": f"{LEASE_SECONDS}s",
    "MAX_RETIRE": "1000000",
    "MAX_RETIRE_DAY": "1000000",
    "MASS_PERCENT": "100",
    "MAX_LATENCY": "60s",
    "MAX_MEMORY_PERCENT": "255",
    "UNDO_WINDOW": "60s",
    "LEDGER_DAYS": "1",
    "LOG": "info",
}


class Soak:
    """One run, from empty servers to the last check."""

    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options = options
        self.folder = folder
        self.random = random.Random(options.seed)
        self.cluster = Cluster(options.parts, folder)
        self.net = Net()
        self.llm = Llm(self.net, options.seed)
        self.book = Book()
        self.users = [User(number) for number in range(options.users)]
        self.agents = [
            Agent(self.cluster, self.book, self.users[i::AGENTS], options.memories, RATE, options.seed + i)
            for i in range(AGENTS)
        ]
        settings = {f"MEMFOLD_{name}": value for name, value in SETTINGS.items()}
        settings["MEMFOLD_LLM_URL"] = f"http://127.0.0.1:{self.llm.port}"
        self.workers = [
            Worker(number, options.binary, folder, self.way(), settings)
            for number in range(options.workers)
        ]
        self.faults = Faults(self.cluster, self.workers, self.llm, options.seed)
        self.wrong = Verdict()
        self.checks = 0
        # Groups that the last merges left as they are, by reason.
        self.left: Counter[str] = Counter()
        self.store = Store()

    def way(self) -> Way:
        return Way(self.net, [server.port for server in self.cluster.servers], self.cluster.sentinel.port)

    def run(self):
        with self.cluster.connect() as redis:
            create_index(redis)
        for agent in self.agents:
            for user in agent.users:
                agent.fill(user, self.options.memories)
        for worker in self.workers:
            worker.start()
        for agent in self.agents:
            agent.start()
        self.strike()
        if not self.wrong.counts:
            self.end()

    def strike(self):
        """The faults, in random order over the time, each followed by a check."""
        options = self.options
        plan = ["kill"] * options.kills + ["failover"] * options.failovers + ["oom"] * options.ooms
        plan += ["restart"] * (options.failovers // 2 + 1) + ["cut"] * (options.kills // 4 + 1)
        plan += ["stop"] * (options.seconds // 60 + 1) + ["brownout"] * (options.seconds // 40 + 1)
        plan += ["forget"] * (options.seconds // 10) + ["reindex"] * (options.seconds // 60 + 1)
        self.random.shuffle(plan)
        began = told = time.monotonic()
        for number, fault in enumerate(plan):
            due = began + options.seconds * (number + 1) / (len(plan) + 1)
            time.sleep(max(0.0, due - time.monotonic()))
            moved = self.faults.strike(fault)
            self.inspect(fault, moved)
            if self.wrong.counts:
                return
            if time.monotonic() - told > 10:
                told = time.monotonic()
                self.tell(f"{told - began:.0f} s: fault {number + 1} of {len(plan)}")
        time.sleep(max(0.0, began + options.seconds - time.monotonic()))

    def inspect(self, after: str, moved: bool = False):
        """Holds all writing for a moment and checks the store."""
        for agent in self.agents:
            agent.pause()
        if moved:
            self.book.failed_over()
        with self.cluster.connect(60) as redis:
            redis.execute_command("CLIENT", "PAUSE", PAUSE_MS, "WRITE")
            try:
                self.store = Store.read(redis)
                found = check(self.store, self.book, self.users)
                if not int(info(redis)["indexing"]):
                    check_index(redis, self.store, found)
                in_step = self.replica_has(redis.info("replication")["master_repl_offset"])
            finally:
                redis.execute_command("CLIENT", "UNPAUSE")
        learn(self.store, self.book, in_step)
        self.checks += 1
        for kind, count in found.counts.items():
            self.complain(kind, f"after {after}: {found.examples[kind]}", count)
        for worker in self.workers:
            if (code := worker.ended()) is not None:
                self.complain("worker_ended", f"after {after}: exit code {code}, see {worker.log}")
        for agent in self.agents:
            if agent.error:
                raise agent.error
            agent.go_on()

    def replica_has(self, offset: int) -> bool:
        _, replica = self.cluster.now()
        try:
            wait_until("the replica has all", lambda: replica.replication()["slave_repl_offset"] >= offset, 3, 0.01)
        except TimeoutError:
            return False
        return True

    def complain(self, kind: str, what: str, count: int = 1):
        self.wrong.counts[kind] += count
        print(f"{kind} {count}: {what}", file=sys.stderr)

    def tell(self, when: str):
        merges = self.store.own.get("memfold:ledger", (0, 0))[0]
        print(
            f"{when}; {self.book.acknowledged} facts, {len(self.store.live)} memories, {merges} merges, "
            f"{len(self.store.retired)} originals kept, {self.llm.asked} questions to the LLM",
            file=sys.stderr,
            flush=True,
        )

    def end(self):
        """Without faults and agents all that is left is merged, and nobody stands in the way."""
        for agent in self.agents:
            agent.pause()
            agent.stopping = True
        time.sleep(2 * LEASE_SECONDS)
        for worker in self.workers:
            if problem := worker.stop():
                self.complain("worker_stop", f"{problem}, see {worker.log}")
            if panics := worker.panics():
                self.complain("panic", panics[0], len(panics))
            worker.process = None
        workers, self.workers = self.workers, []
        self.tell("the workers are gone")
        self.last_merges(workers[0])
        self.inspect("the last merges")
        texts = Counter((doc["user_id"], doc["content"]) for doc in self.store.live.values())
        for (user, text), count in texts.items():
            if count > 1:
                self.complain("unmerged", f"{user} has {text!r} {count} times")

    def last_merges(self, worker: Worker):
        env = {"PATH": os.environ["PATH"], **worker.settings, "MEMFOLD_LOG": "warn"}
        command = [worker.binary, "merge", "--all-users", "--json"]
        run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
        if run.returncode != 0:
            self.complain("command", f"memfold merge: exit code {run.returncode}\n{run.stderr[-2000:]}")
            return
        for user in json.loads(run.stdout)["users"]:
            for group in user["not_committed"] + user["plan"]["groups_left"]:
                if not self.left[group["reason"]]:
                    print(f"left {group['reason']}: {group['detail']}", file=sys.stderr)
                self.left[group["reason"]] += 1

    def close(self):
        for agent in self.agents:
            agent.stopping = True
            agent.may_go.set()
        for worker in self.workers:
            if worker.process and worker.ended() is None:
                worker.kill()
        self.cluster.close()

    def report(self) -> bool:
        done = sum((agent.done for agent in self.agents), Counter())
        print("agents:", ", ".join(f"{what} {count}" for what, count in sorted(done.items())))
        print("faults:", ", ".join(f"{what} {count}" for what, count in sorted(self.faults.counts.items())))
        print(f"checks: {self.checks}; LLM: {self.llm.asked} questions, {self.llm.failed} of them failed")
        print("left at the end:", ", ".join(f"{reason} {count}" for reason, count in self.left.items()) or "nothing")
        print("found:", ", ".join(f"{kind} {count}" for kind, count in self.wrong.counts.items()) or "nothing wrong")
        wrong, counts = self.wrong.counts, self.faults.counts
        lost = wrong["lost"] + wrong["hidden"]
        print(
            f"facts={self.book.acknowledged} facts_lost={lost} facts_mixed={wrong['mixed']} "
            f"merged_twice={wrong['merged_twice']} kills={counts['kill']} failovers={counts['failover']} "
            f"ooms={counts['oom']}"
        )
        return not +wrong


def info(redis) -> dict:
    answer = redis.execute_command("FT.INFO", "agent_memories")
    return {name.decode(): value for name, value in zip(answer[::2], answer[1::2]) if isinstance(name, bytes)}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    number = {"type": int, "metavar": "N"}
    parser.add_argument("--seconds", default=60, **number, help="how long at least (default: 60)")
    parser.add_argument("--kills", **number, help="SIGKILLs of workers (default: one in 3 seconds)")
    parser.add_argument("--failovers", **number, help="changes of the primary (default: one in 15 seconds)")
    parser.add_argument("--ooms", **number, help="times without memory for writes (default: one in 30 seconds)")
    parser.add_argument("--workers", default=2, **number, help="worker processes (default: 2)")
    parser.add_argument("--users", **number, help="users (default: 40; with --latency 1000)")
    parser.add_argument("--memories", **number, help="memories of a user at first (default: 20; with --latency 100)")
    parser.add_argument("--seed", default=1, **number, help="of all that is random here (default: 1)")
    parser.add_argument("--latency", action="store_true", help="measure an agent's searches with and without a worker")
    parser.add_argument("--idle-users", **number, help="measure what a worker costs beside so many users at rest")
    parser.add_argument("--parts", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--binary", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    defaults = {"kills": options.seconds // 3, "failovers": options.seconds // 15, "ooms": options.seconds // 30}
    defaults |= {"users": 1000, "memories": 100} if options.latency else {"users": 40, "memories": 20}
    for name, default in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, default)
    return options


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = Path(tempfile.mkdtemp(prefix="memfold-soak-"))
    print(f"seed {options.seed}; logs and data in {folder}", file=sys.stderr)
    if options.latency:
        return measure.latency(options, folder)
    if options.idle_users:
        return measure.idle(options, folder)
    soak = Soak(options, folder)
    try:
        soak.run()
    finally:
        soak.close()
    return 0 if soak.report() else 1


if __name__ == "__main__":
    sys.exit(main())
