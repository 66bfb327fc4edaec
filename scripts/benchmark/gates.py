"""What memfold is to reach, and what a run of the benchmark must reach at least.

Most figures are ratios within one run, so that a slow machine changes little; a second load does, so a gate is missed
only if it is missed again. The targets are those of a quiet machine with AVX-512 VNNI; the gates lie at 60 % of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SHARE = 0.6
# Of what is the target of finding the groups, for a plan that also judges them and is printed.
WITH_JUDGING = 0.45
Figure = Callable[["Rows"], float | None]


class Rows:
    """Rows by case, memories and index; of memfold's the best of all runs."""

    def __init__(self, rows: list[dict]):
        self.rows = rows
        self.by_name = {(row["case"], row["n"], row["index"]): row for row in rows}

    def value(self, case: str, n: int, index: str, column: str) -> float | None:
        row = self.by_name.get((case, n, index))
        return None if row is None else row.get("best", {}).get(column, row[column])

    def ratio(self, one: tuple[str, int, str], other: tuple[str, int, str], column: str = "wall_s") -> float | None:
        a, b = self.value(*one, column), self.value(*other, column)
        return a / b if a is not None and b else None


@dataclass
class Gate:
    """A figure that is to be `target` at least, or at most; must be `floor`, if anything; and of which index it tells."""

    name: str
    figure: Figure
    target: float
    floor: float | None
    at_most: bool = False
    n: int = 0
    index: str = ""
    form: str = "{:.2f}"
    # Whose runs are repeated where it is missed.
    case: str = "plan/memfold"

    def reached(self, limit: float, figure: float) -> bool:
        return figure <= limit if self.at_most else figure >= limit


def plan(n: int, index: str, way: str, target: float, share: float = SHARE) -> Gate:
    """How many times faster than another way memfold plans."""
    figure = lambda rows: rows.ratio((f"plan/{way}", n, index), ("plan/memfold", n, index))
    return Gate(f"plan of {n:,}, {index}: times faster than {way}", figure, target, share * target, n=n, index=index, form="{:.1f}")


def find(n: int, index: str, way: str, target: float) -> Gate:
    """The same up to the groups, where the other ways end: they judge none."""
    figure = lambda rows: rows.ratio((f"plan/{way}", n, index), ("find/memfold", n, index))
    name = f"the same up to the groups, where {way} ends"
    return Gate(name, figure, target, SHARE * target, n=n, index=index, form="{:.1f}", case="find/memfold")


def join(data: str, n: int, way: str, than: str, target: float, floor: float) -> Gate:
    """How many times faster than another way memfold joins."""
    figure = lambda rows: rows.ratio((f"join of {data}/{than}", n, ""), (f"join of {data}/{way}", n, ""))
    return Gate(f"join of {n:,} {data}, {way}: times faster than {than}", figure, target, floor, n=n)


def server_share(rows: Rows) -> float | None:
    index = "FLAT HASH"
    share = rows.ratio(("plan/memfold", 10_000, index), ("plan/published-pattern", 10_000, index), "server_cpu_s")
    return None if share is None else 100 * share


def memory_of_vectors(rows: Rows) -> float | None:
    """Peak memory of a plan in bytes of the vectors."""
    peak = rows.value("plan/memfold", 100_000, "FLAT HASH", "peak_rss_mb")
    return peak and peak * 2**20 / (100_000 * 384 * 4)


def many_users(column: str) -> Figure:
    """Cost per memory of a million against that of ten thousand, each with 100 memories a user."""

    def figure(rows: Rows) -> float | None:
        many, few = ("all 10,000 users/memfold", 1_000_000, "FLAT HASH"), ("all 100 users/memfold", 10_000, "FLAT HASH")
        ratio = rows.ratio(many, few, column)
        return ratio and ratio / 100

    return figure


def some_new(rows: Rows) -> float | None:
    n, index = 100_100, "FLAT HASH"
    share = rows.ratio(("100 new/memfold", n, index), ("100 new/memfold-from-scratch", n, index))
    return share and 100 * share


def inexact(rows: Rows) -> float:
    """Pairs that memfold missed or found wrongly, of all its rows."""
    ours = [row for row in rows.rows if row["case"].split("/")[1].startswith("memfold")]
    return sum((row["pairs_missed"] or 0) + (row["pairs_wrong"] or 0) for row in ours)


def gates(vnni: bool) -> list[Gate]:
    """Those for a processor with or without AVX-512 VNNI."""
    one_of_many = lambda rows: rows.ratio(*((f"one user of many/{way}", 100_000, "FLAT HASH") for way in ("range-queries", "memfold")))
    peak_of_many = lambda rows: rows.value("all 10,000 users/memfold", 1_000_000, "FLAT HASH", "peak_rss_mb")
    slower = 1 / 1.1  # no more than a tenth slower
    found = [
        Gate("pairs missed or wrong, all rows", inexact, 0, 0, at_most=True, form="{:.0f}"),
        plan(10_000, "FLAT HASH", "published-pattern", 60, WITH_JUDGING),
        find(10_000, "FLAT HASH", "published-pattern", 60),
        plan(10_000, "HNSW HASH", "published-pattern", 30, WITH_JUDGING),
        find(10_000, "HNSW HASH", "published-pattern", 30),
        Gate("server CPU of 10,000, FLAT HASH: % of the published pattern's", server_share, 2, 2 / SHARE, at_most=True, n=10_000, index="FLAT HASH"),
        *(join(data, n, "memfold-portable", "ndarray", 1, SHARE) for n in (1_000, 10_000) for data in ("topics", "uniform")),
    ]
    ours = "memfold" if vnni else "memfold-avx2"
    found += [join(data, n, ours, "ndarray", 1, slower if vnni else SHARE) for data, n in (("topics", 1_000), ("uniform", 1_000), ("uniform", 10_000))]
    if vnni:
        found += [
            join("topics", 10_000, "memfold", "ndarray", 3, SHARE * 3),
            join("topics", 100_000, "memfold", "ndarray", 13, SHARE * 13),
            join("uniform", 100_000, "memfold", "ndarray", 1, slower),
            join("sentences", 30_000, "memfold", "faer", 9, SHARE * 9),
        ]
    found += [plan(100_000, "HNSW HASH", way, 2.5) for way in ("range-queries",)]
    found += [plan(100_000, "FLAT HASH", way, 2.5) for way in ("numpy-blocks", "faiss-range-search", "semhash")]
    found += [
        Gate("plan of 100,000: peak memory in bytes of the vectors", memory_of_vectors, 2, 2 / SHARE, at_most=True),
        Gate("one user of 1,000 among 100,000: times faster than range queries", one_of_many, 300, SHARE * 300, n=100_000, index="FLAT HASH", form="{:.0f}", case="one user of many/memfold"),
        Gate("1,000,000 over 10,000 users: wall time a memory, times that of 10,000 over 100", many_users("wall_s"), 1.5, 1.5 / SHARE, at_most=True),
        Gate("the same: CPU time of the client", many_users("client_cpu_s"), 1.5, 1.5 / SHARE, at_most=True),
        Gate("the same: CPU time of the server", many_users("server_cpu_s"), 1.5, None, at_most=True),
        Gate("the same: peak memory, MiB", peak_of_many, 1_000, 1_000, at_most=True, form="{:,.0f}"),
        # A full read alone takes longer: docs/performance.md says why.
        Gate("100 new among 100,000: % of a full run's time", some_new, 5, None, at_most=True, form="{:.0f}"),
    ]
    return found


def this_processor() -> list[Gate]:
    flags = Path("/proc/cpuinfo").read_text().split()
    return gates("avx512_vnni" in flags)


def missed(rows: list[dict], row: dict | None = None) -> list[Gate]:
    """Gates that these rows do not pass, of all or those that one row may change."""
    of = Rows(rows)
    about = row and (row["case"], row["n"], row["index"])
    asked = [gate for gate in this_processor() if row is None or (gate.case, gate.n, gate.index) == about]
    figures = [(gate, gate.figure(of)) for gate in asked if gate.floor is not None]
    return [gate for gate, figure in figures if figure is not None and not gate.reached(gate.floor, figure)]


def table(rows: list[dict]) -> str:
    """All figures that the rows tell, beside their targets and floors."""
    lines = ["| figure | target | gate | reached |  |", "|---|--:|--:|--:|---|"]
    for gate in this_processor():
        figure = gate.figure(Rows(rows))
        if figure is None:
            continue
        sign = "≤ " if gate.at_most else "≥ "
        floor = "" if gate.floor is None else sign + gate.form.format(gate.floor)
        gated = gate.floor is not None and not gate.reached(gate.floor, figure)
        verdict = "**missed**" if gated else "" if gate.reached(gate.target, figure) else "below the target"
        lines.append(f"| {gate.name} | {sign}{gate.form.format(gate.target)} | {floor} | {gate.form.format(figure)} | {verdict} |")
    return "\n".join(lines)
