"""Libraries that need Python packages of their own: each in a process, called line by line."""

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).parent / "libraries"


class LibraryError(Exception):
    """What the library raised, as text."""


class Library:
    """A program of `libraries/` in the environment of its packages. Every attribute is a call of it."""

    def __init__(self, python: Path, program: str, arguments: Iterable[str], log: Path):
        assert python.exists(), f"{python} is missing: run scripts/setup --tests"
        self._log = log
        with open(log, "w") as stderr:
            self._process = subprocess.Popen(
                [python, FOLDER / program, *arguments],
                env={"PATH": os.environ["PATH"], "HOME": str(log.parent), "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def __getattr__(self, name: str):
        def call(**arguments):
            self._process.stdin.write(json.dumps({"call": name, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            assert line, f"the library has ended: {self._log.read_text()[-3000:]}"
            answer = json.loads(line)
            if "error" in answer:
                raise LibraryError(answer["error"])
            return answer["result"]

        return call

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
