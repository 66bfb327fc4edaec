"""The join alone, beside products of matrices by ndarray and faer: runs benches/peers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import report
from data import DIMS
from server import ROOT

PEERS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "peers/release/memfold-peers"


def measured(sizes: str, sentences: Path | None = None, rounds: int = 5) -> list[dict]:
    """A row for each way and kind of data, memfold's choice first."""
    command = [PEERS, "--sizes", sizes, "--rounds", str(rounds)]
    if sentences:
        command += ["--sentences", sentences]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as peers:
        for line in peers.stdout:
            told = json.loads(line)
            data, way = told.pop("data"), told.pop("way")
            case = f"join of {data}/{way}"
            print(f"{case:32} {told['n']:>9,} {'':10} {told['wall_s']:10.4f} s", file=sys.stderr, flush=True)
            rows.append(dict.fromkeys(report.COLUMNS) | {"case": case, "dims": DIMS, "index": ""} | told)
    if peers.returncode:
        sys.exit("bench: the join failed")
    kinds = list(dict.fromkeys((row["case"].split("/")[0], row["n"]) for row in rows))
    return sorted(rows, key=lambda row: (kinds.index((row["case"].split("/")[0], row["n"])), not row["case"].endswith("/memfold")))


def best_of(rows: list[dict], again: list[dict]) -> None:
    """Puts what was measured again in place of what took longer."""
    faster = {(row["case"], row["n"]): row["wall_s"] for row in again}
    for row in rows:
        row["wall_s"] = min(row["wall_s"], faster.get((row["case"], row["n"]), row["wall_s"]))
