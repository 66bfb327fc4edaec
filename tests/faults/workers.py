"""The worker processes."""

import os
import signal
import subprocess
import time
from pathlib import Path

from net import Way

TERM_SECONDS = 10


class Worker:
    """One place for a worker process, with a way to the servers of its own."""

    def __init__(self, number: int, binary: Path, folder: Path, way: Way, settings: dict[str, str]):
        self.binary = binary
        self.way = way
        self.log = folder / f"worker-{number}.log"
        self.settings = {**settings, "MEMFOLD_REDIS_URL": way.url()}
        self.process: subprocess.Popen | None = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "worker"],
                env={"PATH": os.environ["PATH"], **self.settings},
                cwd=self.log.parent,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def send(self, sign: int):
        self.process.send_signal(sign)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait()

    def ended(self) -> int | None:
        """The exit code, if it has ended by itself."""
        return self.process.poll()

    def stop(self) -> str | None:
        """Asks it to end; what was wrong with how it did, if anything."""
        began = time.monotonic()
        self.send(signal.SIGTERM)
        try:
            code = self.process.wait(timeout=TERM_SECONDS + 5)
        except subprocess.TimeoutExpired:
            self.kill()
            return "did not end after SIGTERM"
        took = time.monotonic() - began
        if code != 0 or took > TERM_SECONDS:
            return f"ended {took:.1f} s after SIGTERM with exit code {code}"
        return None

    def panics(self) -> list[str]:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return [line for line in text.splitlines() if "panicked" in line]
