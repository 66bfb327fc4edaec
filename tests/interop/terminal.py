"""memfold at a terminal: a pseudo-terminal on all three streams."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest
from conftest import BINARY


class Terminal:
    """memfold at a terminal of 80 columns and so many rows. `raw` is all that it got, colours and all."""

    def __init__(self, memfold, *args: str, rows: int = 200, **env: str):
        self.raw = self.seen = ""
        self.screen, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
        env = {"PATH": os.environ["PATH"], "HOME": str(memfold.home), "TERM": "xterm", **memfold.settings, **env}
        self.process = subprocess.Popen(
            [BINARY, *args], env=env, cwd=memfold.home, stdin=terminal, stdout=terminal, stderr=terminal, close_fds=True
        )
        os.close(terminal)

    def until(self, text: str) -> str:
        """Waits until the text is on the screen and returns what was shown up to its end."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.seen!r}"
            if select.select([self.screen], [], [], 1)[0]:
                try:
                    piece = os.read(self.screen, 65536).decode(errors="replace")
                except OSError:  # All that had it open are gone.
                    pytest.fail(f"{text!r} is not in {self.seen!r}")
                self.raw += piece
                self.seen += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", piece).replace("\r\n", "\n")
        shown, _, self.seen = self.seen.partition(text)
        return shown + text

    def types(self, line: str):
        os.write(self.screen, line.encode() + b"\n")

    def rest(self) -> str:
        """All that is shown until it ends."""
        try:
            self.until("\0")
        except pytest.fail.Exception:
            return self.seen

    def ends(self) -> int:
        code = self.process.wait(timeout=60)
        os.close(self.screen)
        return code
