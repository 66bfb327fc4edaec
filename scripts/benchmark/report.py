"""One Markdown table of all cases, with what the machine is."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from server import ROOT

COLUMNS = ("case", "n", "dims", "index", "wall_s", "server_cpu_s", "client_cpu_s", "commands", "peak_rss_mb")
COLUMNS += ("pairs_true", "pairs_missed", "pairs_wrong")


def facts(client) -> str:
    processor = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    modules = {module[b"name"].decode(): version(module[b"ver"]) for module in client.module_list()}
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, commit {commit or 'unknown'}; {os.cpu_count()} × {processor[0] if processor else '?'}, "
        f"{memory:.0f} GiB, {platform.system()}; Redis {client.info('server')['redis_version']}, "
        f"search {modules.get('search')}, JSON {modules.get('ReJSON')}; Python {platform.python_version()}"
    )


def version(number: int) -> str:
    """A module's version as people write it: 21005 is 2.10.5."""
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


def table(rows: list[dict]) -> str:
    """The rows of one comparison follow each other, memfold's first: ratios are to it."""
    lines = [
        "| case | memories | index | wall s | times memfold's | server CPU s | client CPU s | commands | peak MiB | pairs missed | wrong |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    base: dict = {}
    for row in rows:
        group, way = row["case"].split("/")
        if way == "memfold":
            base[group, row["n"], row["index"]] = row["wall_s"]
        ours = base.get((group, row["n"], row["index"]))
        ratio = "" if way == "memfold" or not ours else f"{row['wall_s'] / ours:.1f}"
        about = "≈ " if row.get("estimated") else "> " if row.get("cut") else ""

        def missed(row=row) -> str:
            known = row["pairs_missed"] is not None
            return f"{row['pairs_missed']:,} of {row['pairs_true']:,}" if known else ""

        def cell(name: str, form: str, row=row) -> str:
            return "" if row[name] is None else format(row[name], form)

        lines.append(
            f"| {group}: {way} | {row['n']:,} | {row['index']} | {about}{row['wall_s']:.3f} | {about if ratio else ''}{ratio} "
            f"| {cell('server_cpu_s', '.3f')} | {cell('client_cpu_s', '.3f')} | {cell('commands', ',')} "
            f"| {cell('peak_rss_mb', '.0f')} | {missed()} | {cell('pairs_wrong', ',')} |"
        )
    return "\n".join(lines)
