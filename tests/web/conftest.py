"""A real store, a real worker and a real browser, for the tests of the dashboard and the API.

scripts/setup --tests puts the parts in place, scripts/test runs the tests. Settings, all with a default in this checkout:

    MEMFOLD_TEST_PARTS   the folder with the parts
    MEMFOLD_BIN          the binary under test
    MEMFOLD_CHROMIUM     another Chromium than the one of scripts/setup

Screenshots of every page are left in target/screenshots/.
"""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import redis as redis_py
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
PARTS = Path(os.environ.get("MEMFOLD_TEST_PARTS") or ROOT / ".memfold")
BINARY = Path(os.environ.get("MEMFOLD_BIN") or ROOT / "target/debug/memfold")
SCREENSHOTS = ROOT / "target/screenshots"
TOKEN = "a token of the tests, long enough"
FIELDS = {"content": "TEXT", "memory_type": "TAG", "metadata": "TEXT", "created_at": "TEXT", "user_id": "TAG", "memory_id": "TAG"}


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def until(what: str, holds, seconds: float = 40):
    """Waits until a condition holds, and gives what it gave."""
    deadline = time.monotonic() + seconds
    while True:
        if found := holds():
            return found
        assert time.monotonic() < deadline, f"waited too long: {what}"
        time.sleep(0.05)


@dataclass
class Web:
    """A worker over a store with the index of the recipe, and what it answers."""

    redis: redis_py.Redis
    settings: dict[str, str]
    url: str
    process: subprocess.Popen | None = None
    count: int = 0
    wrote: dict[str, list[str]] = field(default_factory=dict)

    def remember(self, user: str, text: str, day: str, direction: int, near: float = 0.0) -> str:
        """Writes a memory whose vector points in this direction."""
        vector = [0.0] * 8
        vector[direction], vector[(direction + 1) % 8] = 1.0, near
        self.count += 1
        key = f"memory:{self.count:02}"
        memory = {
            "content": text,
            "memory_type": "semantic",
            "metadata": "{}",
            "created_at": f"{day}T10:00:00",
            "user_id": user,
            "memory_id": str(self.count),
            "embedding": vector,
        }
        self.redis.json().set(key, "$", memory)
        self.wrote.setdefault(user, []).append(key)
        return key

    def texts(self, user: str) -> dict[str, str]:
        """What each memory of a user says, as it is now."""
        found = {key: self.redis.json().get(key) for key in self.wrote[user]}
        return {key: memory["content"] for key, memory in found.items() if memory}

    def memfold(self, *args: str) -> dict:
        """Runs a command to its end."""
        run = subprocess.run([BINARY, *args, "--json"], env=self.settings, capture_output=True, text=True, check=True, timeout=60)
        return json.loads(run.stdout)

    def ask(self, method: str, path: str, body=None, token: str | None = TOKEN) -> tuple[int, str, object]:
        """Status, type and document of an answer of the API."""
        request = urllib.request.Request(self.url + path, method=method)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers["content-type"], json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.headers["content-type"], json.load(error)


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory) -> Iterator[str]:
    """A Redis server with search and JSON of our own."""
    folder, port = tmp_path_factory.mktemp("redis"), free_port()
    server = PARTS / "redis/bin/redis-server"
    assert server.exists(), f"{server} is missing: run scripts/setup --tests"
    modules = [["--loadmodule", str(PARTS / "redis/lib" / name)] for name in ("redisearch.so", "rejson.so")]
    with open(folder / "redis.log", "w") as log:
        command = [server, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder), "--save", "", *sum(modules, [])]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def answers():
        assert process.poll() is None, (folder / "redis.log").read_text()[-2000:]
        try:
            with redis_py.Redis(port=port) as client:
                return client.execute_command("FT._LIST") is not None
        except redis_py.RedisError:
            return False

    until("redis answers", answers)
    yield f"redis://127.0.0.1:{port}"
    process.terminate()
    process.wait(timeout=30)


@pytest.fixture
def web(redis_url, tmp_path) -> Iterator[Web]:
    """A worker over an empty store, after its first look: it works on a user only when asked from then on."""
    assert BINARY.exists(), f"{BINARY} is missing: run cargo build, or scripts/test"
    client = redis_py.Redis.from_url(redis_url)
    client.flushall()
    schema = [part for name, kind in FIELDS.items() for part in (f"$.{name}", "AS", name, kind)]
    schema += ["$.embedding", "AS", "embedding", "VECTOR", "FLAT", "6", "TYPE", "FLOAT32", "DIM", "8", "DISTANCE_METRIC", "COSINE"]
    client.execute_command("FT.CREATE", "agent_memories", "ON", "JSON", "PREFIX", "1", "memory:", "SCHEMA", *schema)
    port = free_port()
    settings = {
        "HOME": str(tmp_path),
        "MEMFOLD_REDIS_URL": redis_url,
        "MEMFOLD_DISTANCE": "stored",
        "MEMFOLD_LISTEN": f"127.0.0.1:{port}",
        "MEMFOLD_HTTP_TOKEN": TOKEN,
        "MEMFOLD_PROBE_EVERY": "1h",
        "MEMFOLD_MAX_LATENCY": "30s",
    }
    web = Web(client, settings, f"http://127.0.0.1:{port}")
    with open(tmp_path / "worker.log", "w") as log:
        web.process = subprocess.Popen([BINARY, "worker"], env=settings, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    until("the first look is over", lambda: client.exists("memfold:turn:sweep:redisvl:agent_memories"))
    yield web
    web.process.terminate()
    web.process.wait(timeout=30)
    client.close()


@pytest.fixture(scope="session")
def browser(tmp_path_factory) -> Iterator[Browser]:
    """Chromium without a window. It is to reach nothing but the worker."""
    place = PARTS / "web/chromium"
    program = Path(os.environ.get("MEMFOLD_CHROMIUM") or place / "chromium")
    assert program.exists(), f"{program} is missing: run scripts/setup web"
    env = {"HOME": str(tmp_path_factory.mktemp("home")), "LD_LIBRARY_PATH": str(place / "lib")}
    args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=args, env=env)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, web) -> Iterator:
    """Opens pages of the worker as a person with these preferences would. Nothing may go wrong in them unseen."""
    contexts, complaints = [], []

    def open_(**preferences) -> Page:
        context = browser.new_context(base_url=web.url, **preferences)
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("request", lambda request: None if request.url.startswith(web.url) else complaints.append(request.url))
        return page

    open_.complaints = complaints
    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
