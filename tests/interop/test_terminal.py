"""What memfold looks like at a terminal: colours, progress, pager, width."""

import re

import pytest
from conftest import MemfoldFailed
from recipe import MemoryType
from store import documents
from terminal import Terminal


@pytest.fixture
def repeats(new_agent):
    """Writes many groups of one user, in English and Chinese."""
    agent = new_agent(embed=lambda text: axis(int(re.findall(r"\d+", text)[0]) % 380))

    def write(groups: int):
        for number in range(groups):
            for thread, text in enumerate([f"Room {number} 喜欢靠窗的座位", f"Room {number} 喜欢靠窗的座位。"]):
                agent.store_memory(text, MemoryType.SEMANTIC, "ana", thread_id=f"t-{thread}")

    return write


def axis(number: int) -> list[float]:
    return [float(place == number) for place in range(384)]


@pytest.fixture
def memfold(memfold):
    memfold.settings |= {"MEMFOLD_DISTANCE": "stored"}
    return memfold


def test_a_long_plan_goes_through_the_pager_and_a_short_one_does_not(redis, repeats, memfold):
    repeats(6)
    pager = f"cat > {memfold.home}/paged; echo was paged"
    plan = ("merge", "--user", "ana", "--dry-run")
    screen = Terminal(memfold, *plan, rows=20, PAGER=pager)
    shown = screen.until("was paged")
    assert "merge 1 of 6" not in shown and screen.ends() == 0
    paged = (memfold.home / "paged").read_text()
    assert "merge 6 of 6" in paged and "\x1b[" in paged
    for rows, pager in [(200, pager), (20, ""), (20, "no-such-pager")]:
        screen = Terminal(memfold, *plan, rows=rows, PAGER=pager)
        assert "merge 6 of 6" in screen.rest()
        assert screen.ends() == 0


def test_lines_fit_the_terminal_also_in_chinese(redis, repeats, memfold):
    repeats(1)
    screen = Terminal(memfold, "merge", "--user", "ana", "--dry-run")
    lines = [line for line in screen.rest().splitlines() if "靠窗" in line]
    assert screen.ends() == 0
    columns = [sum(1 + (character > "\u2e80") for character in line[: line.index("Room")]) for line in lines]
    assert len(lines) == 3 and len(set(columns)) == 1, "before and after stand under each other"


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)], ids=str)
def test_colours_are_for_terminals_that_want_them(redis, repeats, memfold, env, coloured):
    repeats(1)
    screen = Terminal(memfold, "merge", "--user", "ana", "--dry-run", **env)
    screen.rest()
    assert ("\x1b[36m" in screen.raw) == coloured
    assert screen.ends() == 0


def test_progress_tells_rate_and_time_left_and_nothing_in_a_pipe(redis, repeats, memfold):
    repeats(150)
    screen = Terminal(memfold, "merge", "--user", "ana")
    shown = screen.rest()
    assert screen.ends() == 0
    assert re.search(r"merging \d+/150 \[\S+\] [\d.]+/s, \S+ left", shown), shown[:3000]
    assert len(documents(redis)) == 150
    memfold("undo", "--run", re.findall(r"--run (\S+)", shown)[-1])
    memfold.settings |= {"MEMFOLD_LOG": "warn"}
    memfold("merge", "--user", "ana", "--dry-run")
    assert memfold.stderr.strip() in ("", "nothing was written; run without --dry-run to merge")


def test_an_error_says_what_to_do_next(redis, memfold):
    with pytest.raises(MemfoldFailed) as failed:
        memfold("merge", "--user", "ana")
    assert "--redis-url" in failed.value.stderr
