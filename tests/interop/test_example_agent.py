"""The example agent: what it says twice is folded, what differs stays, and the README's figures are those that it shows."""

import os
import re
import subprocess
import sys

import pytest
from conftest import BINARY, PARTS, ROOT

EXAMPLE = ROOT / "examples/langgraph-agent"
KNOWN = ["cats", "oat milk", "peanuts", "TP1361", "TP1363", "window seats"]


@pytest.mark.parametrize("memory", ["store", "recipe"])
def test_the_agent_knows_the_same_from_fewer_memories(redis, redis_url, llm_url, tmp_path, memory):
    (tmp_path / "memfold").symlink_to(BINARY)
    env = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "MEMFOLD_ONNXRUNTIME": str(PARTS / "onnxruntime/libonnxruntime.so.1.32.0"),
        "MEMFOLD_MODEL_DIR": str(PARTS / "models"),
    }
    command = [sys.executable, "-B", EXAMPLE / "talk.py", "--redis", redis_url, "--llm", llm_url, "--memory", memory]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    figures = {name: (int(b), int(a)) for name, b, a in re.findall(r"^([a-z ]+?) +(\d+) +(\d+)$", done.stdout, re.MULTILINE)}
    assert figures["memories"] == (15, 6)
    assert figures["memories retrieved"] == (30, 18)
    before, after = figures["facts among them"]
    assert before < after == 3 * len(KNOWN)
    before, after = figures["prompt tokens"]
    assert 0 < after < before
    _, known = done.stdout.split("what the agent knows now:\n")
    for fact in KNOWN:
        assert known.count(fact) == 1, known
    readme = (EXAMPLE / "README.md").read_text()
    for before, after in figures.values():
        assert f"| {before} | {after} |" in readme, figures


def test_the_example_pins_what_the_tests_run():
    pinned = {line.split()[0] for line in (ROOT / "scripts/requirements-interop.txt").read_text().splitlines() if "==" in line}
    assert set((EXAMPLE / "requirements.txt").read_text().split()) <= pinned
