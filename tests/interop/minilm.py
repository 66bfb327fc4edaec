"""all-MiniLM-L6-v2 the way sentence-transformers runs it: at most 256 tokens, mean pooling, unit length."""

from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

MAX_TOKENS = 256


class MiniLM:
    """Turns texts into 384 float32 numbers of unit length."""

    dims = 384

    def __init__(self, folder: Path):
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(MAX_TOKENS)
        self.tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self.inputs = {tensor.name for tensor in self.session.get_inputs()}

    def hidden(self, text: str) -> np.ndarray:
        """The vectors of the text's tokens, special tokens included."""
        encoding = self.tokenizer.encode(text)
        feed = {
            "input_ids": encoding.ids,
            "attention_mask": encoding.attention_mask,
            "token_type_ids": encoding.type_ids,
        }
        feed = {name: np.array([ids], dtype=np.int64) for name, ids in feed.items() if name in self.inputs}
        return self.session.run(None, feed)[0][0]

    def embed(self, text: str) -> list[float]:
        """The vector that an index of this model holds for the text."""
        return unit(self.hidden(text).mean(axis=0))

    def embed_cls(self, text: str) -> list[float]:
        """The same model pooled wrongly: another space of the same length."""
        return unit(self.hidden(text)[0])


def unit(vector: np.ndarray) -> list[float]:
    return (vector / np.linalg.norm(vector)).astype(np.float32).tolist()
