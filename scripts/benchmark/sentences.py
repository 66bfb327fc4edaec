"""Vectors of real sentences for the join: by default those that WordNet gives as examples of how words are used.

Another list, one sentence a line, can be named in MEMFOLD_BENCH_SENTENCES. The vectors are kept in target/bench/ under
the digest of the sentences, so that they are made once.
"""

import hashlib
import os
import re
from pathlib import Path

import numpy as np

from data import unit
from server import PARTS, ROOT

MOST = 30_000
# Shorter examples are no sentences ("a red apple").
LEAST_WORDS = 4
MODEL = PARTS / "models/all-MiniLM-L6-v2-int8"
BATCH = 64


def sentences() -> list[str]:
    """The first different ones of the list."""
    if path := os.environ.get("MEMFOLD_BENCH_SENTENCES"):
        lines = [line.strip() for line in Path(path).read_text().splitlines()]
    else:
        lines = []
        for kind in ("noun", "verb", "adj", "adv"):
            glosses = (PARTS / f"wordnet/data.{kind}").read_text(errors="replace").splitlines()
            examples = (example for gloss in glosses for example in re.findall(r'"([^"]+)"', gloss))
            lines += [example for example in examples if len(example.split()) >= LEAST_WORDS]
    return [line for line in dict.fromkeys(lines) if line][:MOST]


def vectors() -> Path:
    """The file of their vectors: 32-bit floats, one row after the other."""
    texts = sentences()
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    path = ROOT / f"target/bench/sentences-{digest}.f32"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        rough = path.with_suffix(".part")
        rough.write_bytes(embed(texts).tobytes())
        rough.rename(path)
    return path


def embed(texts: list[str]) -> np.ndarray:
    """Means of the last layer, as the model's manifest says, those of like length together."""
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(MODEL / "model.onnx", providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    tokens = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    order = sorted(range(len(texts)), key=lambda at: len(tokens[at]))
    rows: np.ndarray | None = None
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        ids = np.zeros((len(batch), max(len(tokens[at]) for at in batch)), np.int64)
        mask = np.zeros_like(ids)
        for row, at in enumerate(batch):
            ids[row, : len(tokens[at])] = tokens[at]
            mask[row, : len(tokens[at])] = 1
        asked = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (layer,) = session.run(None, asked)
        means = (layer * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        if rows is None:
            rows = np.empty((len(texts), means.shape[1]), np.float32)
        rows[batch] = unit(means)
    return rows
