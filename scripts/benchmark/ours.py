"""Runs of memfold, measured from outside."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from redis import Redis

from data import THRESHOLD
from server import INDEX, ROOT
from ways import row_of, server_cost

MEMFOLD = ROOT / "target/release/memfold"


@dataclass
class Run:
    """What a run cost, and the pairs of rows within its groups."""

    wall_s: float
    server_cpu_s: float
    client_cpu_s: float
    commands: int
    peak_rss_mb: float
    pairs: np.ndarray
    # With --stats: from the start of the process to the groups that are near each other, before they are judged.
    found_s: float | None = None


def memfold(client: Redis, url: str, *arguments: str, watched: bool = False) -> Run:
    """`memfold merge`: the groups are those that it merges and those that it leaves with a reason.

    Memory is watched in runs of its own, since looking at it takes a good part of a core.
    """
    command = [MEMFOLD, "merge", *arguments, "--json", "--distance", "stored", "--threshold", str(THRESHOLD)]
    environment = os.environ | {"MEMFOLD_REDIS_URL": url, "MEMFOLD_INDEX": INDEX, "MEMFOLD_SUMMARIZER": "extractive"}
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
        before, start = server_cost(client), time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=errors)
        watcher = PeakMemory(process.pid) if watched else None
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        cost = server_cost(client) - before
        peak = watcher.stop() if watcher else 0
        output.seek(0)
        said = output.read()
        if not said:
            errors.seek(0)
            reason = errors.read().decode(errors="replace")
            sys.exit(f"bench: memfold ended with code {process.returncode} and printed nothing:\n{reason}")
    client_cpu = usage.ru_utime + usage.ru_stime
    document = json.loads(said)
    seconds = document.get("seconds")
    found = seconds and seconds["starting"] + seconds["reading"] + seconds["comparing"]
    # Without the INFO that opened the measurement.
    return Run(wall, cost[0], client_cpu, int(cost[1]) - 1, peak, pairs(document["users"]), found)


def pairs(users: list) -> np.ndarray:
    found = []
    for user in users:
        if "error" in user:
            sys.exit(f"bench: memfold could not plan: {user['error']}")
        plan = user.get("plan", user)
        groups = [merge["sources"] for merge in plan["merges"]] + [left["members"] for left in plan["groups_left"]]
        for group in groups:
            rows = [row_of(source["key"]) for source in group]
            found += [(a, b) for a in rows for b in rows if a < b]
    return np.array(found, np.int64).reshape(-1, 2)


class PeakMemory:
    """Peak resident memory of a process by its own account (VmHWM), asked every millisecond.

    The resource usage that `wait` returns is no use here: it counts what the parent held when it started the child.
    """

    def __init__(self, pid: int):
        self.status = Path(f"/proc/{pid}/status")
        self.peak = 0.0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.done.wait(0.001):
            try:
                words = self.status.read_text().split()
            except OSError:
                return
            if "VmHWM:" in words:
                self.peak = max(self.peak, int(words[words.index("VmHWM:") + 1]) / 1024)

    def stop(self) -> float:
        self.done.set()
        self.thread.join()
        return self.peak
