"""The faults. Each strikes, waits until what it struck works again, and leaves the rest to the check."""

import random
import signal
import threading
import time
from collections import Counter

from agents import create_index
from cluster import DOWN_AFTER_MS, NEVER_MS, Cluster, client, wait_until
from net import Llm
from redis.exceptions import RedisError
from workers import Worker

LEASE_SECONDS = 3


class Faults:
    """By name; a fault says whether the primary may have changed."""

    def __init__(self, cluster: Cluster, workers: list[Worker], llm: Llm, seed: int):
        self.cluster = cluster
        self.workers = workers
        self.llm = llm
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def strike(self, name: str) -> bool:
        moved = getattr(self, name)()
        self.counts[name] += 1
        return bool(moved)

    def some(self, most: float) -> float:
        return self.random.uniform(0, most)

    def kill(self):
        """SIGKILL of a worker: at any time, or just before a command of a kind that it sends."""
        worker = self.random.choice(self.workers)
        words = [b"commit", b"commit", b"remember", b"XACK", b"JSON.GET", b"acquire", b"FT.AGGREGATE"]
        dead = threading.Event()

        def strike():
            worker.send(signal.SIGKILL)
            dead.set()

        if self.random.random() < 0.5:
            worker.way.when(self.random.choice(words), self.random.randint(1, 4), strike)
            dead.wait(1.0)
            worker.way.watch = None
        else:
            time.sleep(self.some(0.5))
        worker.kill()
        time.sleep(self.some(0.1))
        worker.start()

    def restart(self):
        """SIGKILL of the server, which comes back before Sentinel moves."""
        primary, _ = self.cluster.now()
        primary.kill()
        time.sleep(self.some(0.5))
        primary.start()
        self.cluster.recover()

    def failover(self):
        """Another server becomes the primary: the old one is killed, does not answer for a while, or Sentinel is told."""
        old, _ = self.cluster.now()
        match self.random.randrange(3):
            case 0:
                self.cluster.sentinel.takes_for_dead(DOWN_AFTER_MS)
                old.kill()
            case 1:
                self.cluster.sentinel.takes_for_dead(DOWN_AFTER_MS)
                threading.Thread(target=sleep, args=(old.port, 4.0), daemon=True).start()
            case _:
                wait_until("Sentinel agrees", self.told)
        wait_until("Sentinel names another primary", self.cluster.follow)
        self.cluster.sentinel.takes_for_dead(NEVER_MS)
        # The workers ask Sentinel by themselves, and may go on with the old one until then.
        self.cluster.recover()
        return True

    def told(self) -> bool:
        return self.cluster.sentinel.ask("FAILOVER", "memfold") is not None

    def oom(self):
        """No memory for writes. All of it, or a little that is soon used up."""
        with self.cluster.connect() as redis:
            used = redis.info("memory")["used_memory"]
            room = self.random.choice([-used // 4, 0, 20_000, 200_000])
            redis.config_set("maxmemory", used + room)
            time.sleep(0.5 + self.some(1.5))
            redis.config_set("maxmemory", 0)

    def stop(self):
        """SIGSTOP of a worker, until others have its leases; then SIGCONT."""
        worker = self.random.choice(self.workers)
        worker.send(signal.SIGSTOP)
        time.sleep(LEASE_SECONDS * (1.2 + self.some(0.6)))
        worker.send(signal.SIGCONT)
        time.sleep(self.some(0.5))

    def cut(self):
        """The connections of a worker end in the middle of an answer."""
        worker = self.random.choice(self.workers)
        worker.way.cut(self.random.choice([1, 30, 500, 5000, 50_000]) + self.random.randrange(30))
        time.sleep(0.3 + self.some(0.7))

    def brownout(self):
        """30 % of the LLM's answers fail, or are no good."""
        self.llm.failing = 0.3
        time.sleep(1.0 + self.some(2.0))
        self.llm.failing = 0.0

    def forget(self):
        """memfold's memory of its users is evicted, as by a server that is short of memory."""
        with self.cluster.connect() as redis:
            for key in redis.scan_iter(match="memfold:state:*", count=1000):
                if self.random.random() < 0.8:
                    redis.unlink(key)

    def reindex(self):
        """An agent starts: the index is dropped and made again."""
        with self.cluster.connect() as redis:
            create_index(redis)
        time.sleep(self.some(0.5))


def sleep(port: int, seconds: float):
    try:
        with client(port, seconds + 5) as redis:
            redis.execute_command("DEBUG", "SLEEP", seconds)
    except (RedisError, OSError):
        pass
