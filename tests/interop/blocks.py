"""Code blocks of Markdown pages, and what the comment above each says of it.

    <!-- not run: WHY -->        no test runs it, for this reason
    <!-- shown: COMMAND … -->    what the command prints, with `…` for lines that are left out
    <!-- output -->              an excerpt for the reader alone
"""

import re
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"(?:^<!-- (?P<comment>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: str
    line: int
    language: str
    text: str
    comment: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def runs(self) -> bool:
        return self.language == "sh" and not self.comment.startswith("not run: ")


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in their order."""
    text = page.read_text()
    return [
        Block(page.name, text[: m.start("text")].count("\n"), m["language"], m["text"], m["comment"] or "")
        for m in BLOCK.finditer(text)
    ]
