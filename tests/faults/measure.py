"""What a worker costs: an agent's searches with and without one, and a worker beside many users at rest."""

import argparse
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from agents import Agent, Book, User, create_index, knn, topic_vector
from cluster import Alone, wait_until
from redis import Redis

WINDOW_SECONDS = 5
WINDOWS = 6
SEARCHES_PER_SECOND = 200
WRITES_PER_SECOND = 20
SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "longest": 1.0}
# Least ratio of the 99th percentiles that is too much.
SLOWER_MOST = 1.2
# A worker at rest looks for users so often.
PROBE_SECONDS = 120


def start_worker(options: argparse.Namespace, server: Alone, folder: Path, **settings: str) -> subprocess.Popen:
    """With settings as they are by default, but for distances of the stored vectors, so that no model is loaded."""
    settings = {"config": os.devnull, "distance": "stored", "log": "warn", **settings}
    env = {f"MEMFOLD_{name.upper()}": value for name, value in settings.items()}
    env |= {"PATH": os.environ["PATH"], "MEMFOLD_REDIS_URL": f"redis://127.0.0.1:{server.primary}"}
    with open(folder / "worker.log", "a") as log:
        # As docker/memfold.service starts it.
        return subprocess.Popen(
            [options.binary, "worker"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0)),
        )


def end(worker: subprocess.Popen | None):
    if worker and worker.poll() is None:
        worker.send_signal(signal.SIGCONT)
        worker.terminate()
        worker.wait(30)


def latency(options: argparse.Namespace, folder: Path) -> int:
    """An agent searches at a steady rate, others write, and a worker works and is stopped in turns: first while it has
    all users before it, then when only what is written keeps it busy."""
    server = Alone(options.parts, folder)
    users = [User(number) for number in range(options.users)]
    with server.connect() as redis:
        create_index(redis)
    writer = Agent(server, Book(), users, options.memories, WRITES_PER_SECOND, options.seed)
    for user in users:
        writer.fill(user, options.memories)
    ratios, worker = [], None
    try:
        with server.connect() as redis:
            worker = start_worker(options, server, folder, mass_percent="100", period="1m", probe_every="30s")
            wait_until("the worker works", lambda: redis.xlen("memfold:ledger") > 0)
            writer.start()
            ratios.append(compare("with a backlog", redis, worker, users, writer.random))
            # Until it has seen all users.
            worker.send_signal(signal.SIGCONT)
            wait_until("all users were read", lambda: known(redis) >= len(users), 1800, 1)
            ratios.append(compare("with what is written", redis, worker, users, writer.random))
            slowest = ", ".join(f"{name} {ms:.1f} ms" for ms, name in long_commands(redis))
            print(f"commands that hold up the server longest, p99: {slowest}")
    finally:
        writer.stopping = True
        end(worker)
        server.close()
    backlog, steady = ratios
    print(f"users={len(users)} memories={options.memories} p99_ratio={steady:.2f} p99_ratio_with_backlog={backlog:.2f}")
    return 0 if steady <= SLOWER_MOST else 1


def compare(when: str, redis: Redis, worker: subprocess.Popen, users: list[User], chance: random.Random) -> float:
    """How many times longer the slowest of a hundred searches take while the worker works."""
    times: dict[bool, list[float]] = {False: [], True: []}
    busy: dict[bool, Counter] = {False: Counter(), True: Counter()}
    before = redis.xlen("memfold:ledger")
    for _ in range(WINDOWS):
        for works in (False, True):
            worker.send_signal(signal.SIGCONT if works else signal.SIGSTOP)
            time.sleep(0.1)
            spent = commands(redis)
            times[works] += search(redis, users, chance)
            for name, (count, us) in commands(redis).items():
                count_before, us_before = spent.get(name, (0, 0))
                busy[works][name] += us - us_before
                busy[works][f"calls of {name}"] += count - count_before
    merges = redis.xlen("memfold:ledger") - before
    print(f"{when}, the server's time beside a worker: {more(busy[False], busy[True])}")
    for name, found in (("without", times[False]), ("beside", times[True])):
        parts = [f"{label} {percentile(found, share):.2f} ms" for label, share in SHARES.items()]
        print(f"{when} ({merges} merges), {name} a worker: {len(found)} searches, {', '.join(parts)}")
    return percentile(times[True], 0.99) / percentile(times[False], 0.99)


def more(without: Counter, beside: Counter) -> str:
    """What a worker costs the server, by command: its share of the time, calls a second, microseconds a call."""
    seconds, parts = WINDOWS * WINDOW_SECONDS, []
    for name in sorted(beside, key=lambda name: without[name] - beside[name]):
        calls = beside[f"calls of {name}"] - without[f"calls of {name}"]
        us = beside[name] - without[name]
        if calls > 0 and us > 0.0005 * seconds * 1e6:
            parts.append(f"{name} {us / seconds / 1e4:.1f} % ({calls / seconds:.0f}/s, {us / calls:.0f} us)")
    return ", ".join(parts)


def long_commands(redis: Redis) -> list[tuple[float, str]]:
    """The slowest of all commands: one in a hundred takes so many milliseconds or more."""
    stats = redis.info("latencystats")
    prefix = "latency_percentiles_usec_"
    found = ((times["p99"] / 1000, name.removeprefix(prefix)) for name, times in stats.items())
    return sorted(found, reverse=True)[:8]


def search(redis: Redis, users: list[User], chance: random.Random) -> list[float]:
    """Milliseconds that searches took, at a steady rate for a while."""
    times = []
    began = time.perf_counter()
    while (now := time.perf_counter()) < began + WINDOW_SECONDS:
        due = began + len(times) / SEARCHES_PER_SECOND
        time.sleep(max(0.0, due - now))
        user, vector = chance.choice(users), topic_vector(chance.randrange(8), chance)
        before = time.perf_counter()
        knn(redis, user, vector)
        times.append((time.perf_counter() - before) * 1000)
    return times


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def idle(options: argparse.Namespace, folder: Path) -> int:
    """A worker beside users to whom nobody writes: commands and memory."""
    count, worker = options.idle_users, None
    server = Alone(options.parts, folder)
    try:
        with server.connect() as redis:
            create_index(redis)
            agent = Agent(server, Book(), [], 1, 1, options.seed)
            pipe = redis.pipeline(transaction=False)
            for number in range(count):
                key, document, _ = agent.memory(User(number))
                pipe.execute_command("JSON.SET", key, "$", json.dumps(document))
                if number % 1000 == 999:
                    pipe.execute()
            pipe.execute()
            # Once it has seen them all.
            began = time.monotonic()
            worker = start_worker(options, server, folder, concurrency="8", probe_every="5s")
            wait_until("all users were read", lambda: known(redis) >= count, 3600, 2)
            print(f"all {count} users were read once in {time.monotonic() - began:.0f} s")
            print(f"rss_mib={rss_mib(worker):.1f} while reading them")
            end(worker)
            worker = start_worker(options, server, folder, probe_every=f"{PROBE_SECONDS}s")
            time.sleep(20)
            before, began = commands(redis), time.monotonic()
            time.sleep(2 * PROBE_SECONDS)
            after, minutes = commands(redis), (time.monotonic() - began) / 60
            rss = rss_mib(worker)
    finally:
        end(worker)
        server.close()
    made = {name: after[name][0] - before.get(name, (0, 0))[0] for name in after}
    busy = sum(after[name][1] - before.get(name, (0, 0))[1] for name in after) / 1e6 / (minutes * 60)
    often = sorted(((count, name) for name, count in made.items() if count), reverse=True)
    print("commands:", ", ".join(f"{name} {count / minutes:.1f}/min" for count, name in often))
    print(f"idle_users={count} commands_per_minute={sum(made.values()) / minutes:.0f} server_busy={busy:.3%} rss_mib={rss:.1f}")
    return 0


def known(redis: Redis) -> int:
    """Users of which something is remembered."""
    return sum(1 for _ in redis.scan_iter(match="memfold:state:*", count=10_000))


def commands(redis: Redis) -> dict[str, tuple[int, int]]:
    """Calls and microseconds by command, without those of the measuring itself."""
    stats = redis.info("commandstats")
    names = (name for name in stats if name not in ("cmdstat_info", "cmdstat_scan"))
    return {name.removeprefix("cmdstat_"): (stats[name]["calls"], stats[name]["usec"]) for name in names}


def rss_mib(process: subprocess.Popen) -> float:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
