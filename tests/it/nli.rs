//! The guard by a model, in the real ONNX Runtime with a graph that the test makes: it objects where a text has the word
//! `purple` that is not the first of the two.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use memfold::embed::{EmbedError, NLI_MANIFEST, Nli, Objection};
use memfold::eval::run::Cases;
use memfold::eval::{input, pairs};
use memfold::memory::Verdict;
use memfold::merge::Stations;
use memfold::summarize::llm::{Llm, LlmSettings};
use sha2::{Digest, Sha256};

use crate::quality::stations;
use crate::support::server::parts;

/// Protocol buffers, as far as ONNX needs them.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number > 0x7f {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }
}

const FLOAT: u64 = 1;
const INT64: u64 = 7;
const BOOL: u64 = 9;

fn constant(name: &str, kind: u64, dims: &[u64], raw: &[u8]) -> Message {
    let dims = dims
        .iter()
        .fold(Message::default(), |m, dim| m.number(1, *dim));
    dims.number(2, kind).text(8, name).bytes(9, raw)
}

fn node(kind: &str, inputs: &[&str], output: &str) -> Message {
    let node = inputs
        .iter()
        .fold(Message::default(), |node, input| node.text(1, input));
    node.text(2, output).text(4, kind)
}

fn cast(input: &str, output: &str, to: u64) -> Message {
    let attribute = Message::default().text(1, "to").number(3, to).number(20, 2);
    node("Cast", &[input], output).message(5, &attribute)
}

/// An input or output of two dimensions; `None` = of any length.
fn port(name: &str, kind: u64, width: Option<u64>) -> Message {
    let any = Message::default().text(2, "n");
    let width = width.map_or_else(
        || Message::default().text(2, "width"),
        |w| Message::default().number(1, w),
    );
    let shape = Message::default().message(1, &any).message(1, &width);
    let tensor = Message::default().number(1, kind).message(2, &shape);
    let of_type = Message::default().message(1, &tensor);
    Message::default().text(1, name).message(2, &of_type)
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

/// Logits 5 and 10 times the number of tokens `purple` in the second text.
fn graph(width: Option<u64>) -> Vec<u8> {
    let int = |number: i64| number.to_le_bytes().to_vec();
    let nodes = [
        node("Equal", &["input_ids", "purple"], "is_purple"),
        node("Equal", &["token_type_ids", "one"], "is_second"),
        cast("attention_mask", "is_token", BOOL),
        node("And", &["is_purple", "is_second"], "hit"),
        node("And", &["hit", "is_token"], "counts"),
        cast("counts", "counted", FLOAT),
        node("ReduceSum", &["counted", "axis"], "sum"),
        node("MatMul", &["sum", "weights"], "weighed"),
        node("Add", &["weighed", "bias"], "logits"),
    ];
    let graph = nodes
        .iter()
        .fold(Message::default(), |graph, node| graph.message(1, node));
    let graph = graph
        .text(2, "purple")
        .message(5, &constant("purple", INT64, &[], &int(3)))
        .message(5, &constant("one", INT64, &[], &int(1)))
        .message(5, &constant("axis", INT64, &[1], &int(1)))
        .message(
            5,
            &constant("weights", FLOAT, &[1, 2], &floats(&[0.0, 10.0])),
        )
        .message(5, &constant("bias", FLOAT, &[2], &floats(&[5.0, 0.0])));
    let inputs = ["input_ids", "attention_mask", "token_type_ids"];
    let graph = inputs.iter().fold(graph, |graph, name| {
        graph.message(11, &port(name, INT64, width))
    });
    let graph = graph.message(12, &port("logits", FLOAT, Some(2)));
    let opset = Message::default().text(1, "").number(2, 13);
    Message::default()
        .number(1, 7)
        .message(7, &graph)
        .message(8, &opset)
        .0
}

const TOKENIZER: &str = r#"{
    "version": "1.0", "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
    "padding": null, "added_tokens": [], "decoder": null,
    "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [
            {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
        ],
        "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [1], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [2], "tokens": ["[SEP]"]}
        }
    },
    "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "purple": 3}, "unk_token": "[UNK]"}
}"#;

const MANIFEST: &str = r#"
name = "purple"
licence = "Apache-2.0"
source = "made by a test"
labels = ["entailed", "not entailed"]
objects = ["not entailed"]
threshold = 0.9
max_tokens = 20
"#;

/// The folder of a model, with a line more in its manifest.
fn folder(width: Option<u64>, line: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut manifest = format!("{MANIFEST}{line}\n");
    for (name, content) in [
        ("model.onnx", graph(width)),
        ("tokenizer.json", TOKENIZER.into()),
    ] {
        let (sha256, bytes) = (format!("{:x}", Sha256::digest(&content)), content.len());
        manifest +=
            &format!("[[files]]\nname = \"{name}\"\nsha256 = \"{sha256}\"\nbytes = {bytes}\n");
        fs::write(folder.path().join(name), content).unwrap();
    }
    fs::write(folder.path().join(NLI_MANIFEST), manifest).unwrap();
    folder
}

fn load(folder: &Path) -> Result<Nli, EmbedError> {
    Nli::load(
        &parts().join("onnxruntime/libonnxruntime.so.1.32.0"),
        folder,
        1,
    )
}

fn guard(line: &str) -> Nli {
    load(folder(None, line).path()).unwrap()
}

fn objects(nli: &Nli, a: &str, b: &str) -> bool {
    nli.objections(&[(a, b)]).unwrap()[0].is_some()
}

#[test]
fn both_readings_must_object_unless_one_suffices() {
    let both = guard("");
    assert!(objects(&both, "a purple cat", "a purple dog"));
    assert!(!objects(&both, "a purple cat", "a cat"));
    assert!(!objects(&both, "a cat", "a cat"));
    let either = guard("directions = \"either\"");
    assert!(objects(&either, "a purple cat", "a cat") && objects(&either, "a cat", "a purple cat"));
    assert!(!objects(&either, "a cat", "a cat"));
}

#[test]
fn an_objection_names_the_label_and_both_probabilities() {
    let found = guard("")
        .objections(&[("purple", "purple purple")])
        .unwrap();
    let Some(Objection::Apart { probabilities, .. }) = &found[0] else {
        panic!("{found:?}")
    };
    // e^20 / (e^5 + e^20), e^10 / (e^5 + e^10)
    assert!(
        probabilities[0] > 0.9999 && (probabilities[1] - 0.99331).abs() < 1e-4,
        "{found:?}"
    );
    assert_eq!(
        found[0].as_ref().unwrap().to_string(),
        "not entailed (1.00, 0.99)"
    );
}

#[test]
fn many_pairs_of_any_length_are_answered_in_their_order() {
    for width in [None, Some(20)] {
        let nli = load(folder(width, "").path()).unwrap();
        let texts: Vec<String> = (0..50)
            .map(|n| format!("{} purple", "a ".repeat(n % 7)))
            .collect();
        let pairs: Vec<(&str, &str)> = texts
            .iter()
            .enumerate()
            .map(|(n, text)| (text.as_str(), if n % 3 == 0 { "purple" } else { "green" }))
            .collect();
        let found = nli.objections(&pairs).unwrap();
        let expected: Vec<bool> = (0..50).map(|n| n % 3 == 0).collect();
        assert_eq!(
            found.iter().map(Option::is_some).collect::<Vec<_>>(),
            expected
        );
    }
}

#[test]
fn nothing_is_cut_a_pair_that_is_too_long_is_kept_apart() {
    let long = "a ".repeat(18);
    let found = guard("").objections(&[(&long, "b"), ("a", "b")]).unwrap();
    assert_eq!(found, [Some(Objection::TooLong { tokens: 21 }), None]);
}

#[test]
fn what_does_not_fit_is_refused_and_named() {
    let error = |folder: &tempfile::TempDir| load(folder.path()).err().unwrap().to_string();
    let gone = folder(None, "");
    fs::remove_file(gone.path().join("model.onnx")).unwrap();
    assert!(error(&gone).contains("model.onnx is missing"));
    let spoilt = folder(None, "");
    fs::write(
        spoilt.path().join("tokenizer.json"),
        TOKENIZER.replace("purple", "yellow"),
    )
    .unwrap();
    assert!(error(&spoilt).contains("tokenizer.json is not the expected one"));
    assert!(error(&folder(Some(19), "")).contains("less than max_tokens"));
    assert!(
        error(&folder(None, "inputs = { ids = \"tokens\" }")).contains("its inputs are input_ids")
    );
    let empty = tempfile::tempdir().unwrap();
    assert!(error(&empty).contains(NLI_MANIFEST));
    let labels = folder(None, "");
    let path = labels.path().join(NLI_MANIFEST);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("[\"entailed\", ", "[\"entailed\", \"neutral\", "),
    )
    .unwrap();
    assert!(error(&labels).contains("3 labels"));
}

/// What would be done with one pair.
async fn decision(a: &str, b: &str, nli: Option<Nli>) -> pairs::PairDecision {
    let stations = Stations {
        nli: nli.map(Arc::new),
        ..stations(None, None)
    };
    decided(a, b, stations).await
}

async fn decided(a: &str, b: &str, stations: Stations) -> pairs::PairDecision {
    let line = serde_json::json!({"id": "1", "a": a, "b": b, "label": "same", "kind": "k", "lang": "en", "source": "s"});
    let cases = input::pairs(&line.to_string()).unwrap();
    let memories = Cases::of_pairs(&cases);
    let decided = memories.decide(stations).await.unwrap();
    pairs::decisions(&cases, &memories, &decided).remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn it_takes_back_what_the_judge_would_merge_and_says_so() {
    let (a, b) = ("User has 2 purple cats", "User has two purple cats");
    assert!(decision(a, b, None).await.merged);
    let kept = decision(a, b, Some(guard(""))).await;
    assert_eq!((kept.merged, kept.verdict), (false, Verdict::Different));
    let reasons = kept.reasons.join("; ");
    assert!(
        reasons.contains("guard-objects")
            && reasons.contains("nli: purple: not entailed (0.99, 0.99)"),
        "{reasons}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn it_lets_the_rest_be_as_it_was() {
    // No objection, equal but for form that everybody folds, and apart already.
    assert!(
        decision(
            "User has 2 green cats",
            "User has two green cats",
            Some(guard(""))
        )
        .await
        .merged
    );
    assert!(
        decision(
            "User has purple cats",
            "user has  purple cats.",
            Some(guard(""))
        )
        .await
        .merged
    );
    let apart = decision(
        "User has 2 green cats",
        "User has 3 green cats",
        Some(guard("")),
    )
    .await;
    assert!(!apart.merged && !apart.reasons.join(" ").contains("nli"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_llm_is_asked_about_what_it_keeps_apart() {
    for (nli, asked) in [(None, true), (Some(guard("")), false)] {
        let server = wiremock::MockServer::start().await;
        let llm = Llm::new(LlmSettings::new(server.uri(), "none")).unwrap();
        let stations = Stations {
            nli: nli.map(Arc::new),
            ..stations(Some(Arc::new(llm)), None)
        };
        let (a, b) = (
            "User paints the kitchen purple",
            "User wants a purple kitchen wall",
        );
        let decision = decided(a, b, stations).await;
        assert!(!decision.merged);
        assert_eq!(
            !server.received_requests().await.unwrap().is_empty(),
            asked,
            "{decision:?}"
        );
    }
}

/// Counts what a model of your own objects to: `MEMFOLD_NLI_DIR` names its folder, `MEMFOLD_NLI_PAIRS` a file of labelled pairs.
#[test]
#[ignore = "needs a model of your own"]
#[allow(clippy::print_stdout)]
fn objections_of_ones_own_model_to_labelled_pairs() {
    let (Ok(folder), Ok(file)) = (
        std::env::var("MEMFOLD_NLI_DIR"),
        std::env::var("MEMFOLD_NLI_PAIRS"),
    ) else {
        return;
    };
    let nli = load(Path::new(&folder)).unwrap();
    let cases = input::pairs(&fs::read_to_string(file).unwrap()).unwrap();
    let texts: Vec<(&str, &str)> = cases.iter().map(|pair| (&*pair.a, &*pair.b)).collect();
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (pair, found) in cases.iter().zip(nli.objections(&texts).unwrap()) {
        let [objected, all] = counts
            .entry(format!("{} {:?}", pair.lang, pair.label))
            .or_default();
        *objected += usize::from(found.is_some());
        *all += 1;
    }
    for (pairs, [objected, all]) in counts {
        println!("{pairs}: {objected} of {all}");
    }
}
