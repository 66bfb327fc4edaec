"""A primary, a replica and a Sentinel from the same binary, every command in the append-only file before its answer."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import redis as redis_py
from redis.exceptions import RedisError

NAME = "memfold"
# Sentinel takes a primary for dead after so long where a failover is wanted; else never, however busy the machine is.
DOWN_AFTER_MS = 2000
NEVER_MS = 3_600_000


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(what: str, holds: Callable[[], bool], seconds: float = 60.0, step: float = 0.05):
    """Waits for a condition; errors of a server that is not there yet count as no."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except (RedisError, OSError):
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s in vain: {what}")
        time.sleep(step)


def client(port: int, timeout: float = 10.0) -> redis_py.Redis:
    """A connection that is never tried twice by itself: what is acknowledged must be known."""
    return redis_py.Redis(
        port=port,
        socket_timeout=timeout,
        socket_connect_timeout=2,
        protocol=2,
        retry=None,
        retry_on_timeout=False,
    )


class Server:
    """One Redis server with search and JSON, or one without a file on disk."""

    def __init__(self, parts: Path, folder: Path, durable: bool = True):
        self.parts = parts
        self.folder = folder
        self.durable = durable
        self.port = free_port()
        self.process: subprocess.Popen | None = None
        folder.mkdir(parents=True)

    def start(self, replica_of: int | None = None):
        modules = [["--loadmodule", str(self.parts / "redis/lib" / name)] for name in ("redisearch.so", "rejson.so")]
        command = [self.parts / "redis/bin/redis-server", "--bind", "127.0.0.1", "--port", str(self.port)]
        command += ["--dir", self.folder, "--save", "", "--enable-debug-command", "local"]
        command += ["--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1", *sum(modules, [])]
        if self.durable:
            command += ["--appendonly", "yes", "--appendfsync", "always"]
        if replica_of:
            command += ["--replicaof", f"127.0.0.1 {replica_of}"]
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(f"server {self.port} answers", self.answers)

    def answers(self) -> bool:
        assert self.process and self.process.poll() is None, f"a server ended by itself: {self.folder / 'log'}"
        with client(self.port) as conn:
            return conn.ping()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def replication(self) -> dict:
        with client(self.port, 2) as conn:
            return conn.info("replication")


class Sentinel:
    """One Sentinel, which decides alone."""

    def __init__(self, parts: Path, folder: Path, primary: int):
        self.port = free_port()
        folder.mkdir(parents=True)
        config = folder / "sentinel.conf"
        config.write_text(
            f"bind 127.0.0.1\nport {self.port}\ndir {folder}\n"
            f"sentinel monitor {NAME} 127.0.0.1 {primary} 1\n"
            f"sentinel down-after-milliseconds {NAME} {NEVER_MS}\n"
            f"sentinel failover-timeout {NAME} 3000\n"
        )
        with open(folder / "log", "a") as log:
            self.process = subprocess.Popen(
                [parts / "redis/bin/redis-server", config, "--sentinel"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until("Sentinel knows the replica", self.knows_replica)

    def ask(self, *words: str | int):
        with client(self.port, 3) as conn:
            return conn.execute_command("SENTINEL", *words)

    def knows_replica(self) -> bool:
        return int(self.ask("CKQUORUM", NAME) is not None) and len(self.ask("REPLICAS", NAME)) > 0

    def primary(self) -> int:
        return int(self.ask("GET-MASTER-ADDR-BY-NAME", NAME)[1])

    def takes_for_dead(self, after_ms: int):
        self.ask("SET", NAME, "down-after-milliseconds", after_ms)


class Alone:
    """One server without a file on disk, to measure with."""

    replicated = False

    def __init__(self, parts: Path, folder: Path):
        self.server = Server(parts, folder / "alone", durable=False)
        self.server.start()
        self.primary = self.server.port

    def connect(self, timeout: float = 60.0) -> redis_py.Redis:
        return client(self.primary, timeout)

    def close(self):
        self.server.kill()


class Cluster:
    """The servers together. `primary` is the port of the one that Sentinel names."""

    replicated = True

    def __init__(self, parts: Path, folder: Path):
        self.servers = [Server(parts, folder / "a"), Server(parts, folder / "b")]
        self.servers[0].start()
        self.servers[1].start(replica_of=self.servers[0].port)
        self.primary = self.servers[0].port
        wait_until("the replica is in step", self.is_whole)
        self.sentinel = Sentinel(parts, folder / "sentinel", self.primary)

    def now(self) -> tuple[Server, Server]:
        """The primary and the other one."""
        first, second = self.servers
        return (first, second) if first.port == self.primary else (second, first)

    def is_whole(self) -> bool:
        primary, other = self.now()
        has = primary.replication()
        if has["role"] != "master" or has.get("connected_slaves") != 1 or has["slave0"]["state"] != "online":
            return False
        info = other.replication()
        return info["role"] == "slave" and info["master_link_status"] == "up" and info["master_port"] == primary.port

    def follow(self) -> bool:
        """Asks Sentinel for the primary; whether it is another one than before."""
        was, self.primary = self.primary, self.sentinel.primary()
        return was != self.primary

    def recover(self):
        """Waits until the primary has its replica again; the other one is told, as Sentinel does after a while."""
        primary, other = self.now()
        if other.process.poll() is not None:
            other.start(replica_of=primary.port)

        def whole() -> bool:
            if other.replication()["role"] == "master":
                with client(other.port) as conn:
                    conn.execute_command("REPLICAOF", "127.0.0.1", primary.port)
            return self.is_whole()

        wait_until("the replica is in step again", whole)

    def connect(self, timeout: float = 10.0) -> redis_py.Redis:
        return client(self.primary, timeout)

    def close(self):
        processes = [server.process for server in self.servers] + [self.sentinel.process]
        for process in processes:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
