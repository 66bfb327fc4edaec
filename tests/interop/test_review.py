"""A review at a real terminal: a pseudo-terminal on all three streams, answered as a person would."""

import os
import stat

import pytest
from recipe import MemoryType
from store import documents
from terminal import Terminal

SEMANTIC = MemoryType.SEMANTIC


@pytest.fixture
def seats(new_agent):
    """Two groups of one user: seats and tea."""
    agent = new_agent()
    for thread, text in enumerate(["User prefers window seats", "User prefers window seats.", "User likes tea", "user likes tea"]):
        agent.store_memory(text, SEMANTIC, "tyler", thread_id=f"t-{thread}")


def editor(memfold, script: str) -> str:
    """An editor that does what the script says with the file in $1."""
    path = memfold.home / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_person_accepts_forbids_and_quits(redis, seats, memfold):
    screen = Terminal(memfold, "review", "--user", "tyler")
    shown = screen.until("[q]uit? ")
    assert "merge 1 of 2" in shown and "vector kept" in shown
    screen.types("what?")
    screen.until("please answer with one of the letters")
    screen.types("n")
    screen.until("why (may be empty): ")
    screen.types("two kinds of 茶")
    screen.until("never merged while they say this")
    screen.until("merge 2 of 2")
    screen.until("[q]uit? ")
    screen.types("q")
    screen.until("0 merges made, 1 forbidden, 0 rejected; 1 open")
    assert screen.ends() == 0
    assert len(documents(redis)) == 4

    screen = Terminal(memfold, "review", "--user", "tyler")
    screen.until("going on with the last review, 1 group open")
    screen.until("[q]uit? ")
    screen.types("a")
    screen.until("merged as ")
    screen.until("undo with: memfold undo --run ")
    assert screen.ends() == 0
    assert len(documents(redis)) == 3
    assert "two kinds of 茶" in memfold("history")


def test_the_text_of_an_editor_is_verified(redis, seats, memfold):
    script = 'echo "$1" >> names; stat -c %a "$1" >> names; echo "User likes coffee" > "$1"'
    screen = Terminal(memfold, "review", "--user", "tyler", EDITOR=editor(memfold, script))
    screen.until("[q]uit? ")
    screen.types("e")
    screen.until("this text is not taken: ")
    screen.until("anyway = take your text all the same? ")
    screen.types("e")
    screen.until("this text is not taken: ")
    screen.until("anyway = take your text all the same? ")
    os.write(screen.screen, b"\x04")  # Ctrl-D quits.
    screen.until("2 open")
    assert screen.ends() == 0
    name, mode, *_ = (memfold.home / "names").read_text().split()
    assert mode == "600" and not os.path.exists(name)
    assert len(documents(redis)) == 4


def test_an_interrupt_leaves_what_was_decided_and_the_rest_for_later(redis, seats, memfold):
    screen = Terminal(memfold, "review", "--user", "tyler")
    screen.until("[q]uit? ")
    screen.types("a")
    screen.until("merge 2 of 2")
    screen.until("[q]uit? ")
    screen.process.send_signal(2)
    assert screen.ends() == 130
    assert len(documents(redis)) == 3
    screen = Terminal(memfold, "review", "--user", "tyler")
    screen.until("1 group open")
    screen.until("merge 1 of 1")
    screen.until("[q]uit? ")
    screen.types("r")
    screen.until("0 open")
    assert screen.ends() == 0
