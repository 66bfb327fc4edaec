//! The real model in the real ONNX Runtime.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use memfold::embed::{
    DEFAULT_MODEL, EmbedError, Embedder, Manifest, Onnx, Proof, Sample, choose, prove,
};

/// The folder that `scripts/setup` fills.
fn parts() -> PathBuf {
    std::env::var_os("MEMFOLD_TEST_PARTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join(".memfold"),
        PathBuf::from,
    )
}

fn library() -> PathBuf {
    parts().join("onnxruntime/libonnxruntime.so.1.32.0")
}

fn models() -> PathBuf {
    parts().join("models")
}

fn manifest() -> Manifest {
    Manifest::named(DEFAULT_MODEL).unwrap()
}

fn model() -> &'static Onnx {
    static MODEL: OnceLock<Onnx> = OnceLock::new();
    MODEL.get_or_init(|| {
        Onnx::load(&library(), manifest(), &models(), 1)
            .unwrap_or_else(|error| panic!("the tests need the parts of scripts/setup: {error}"))
    })
}

/// A copy of the model's folder that a test may spoil.
fn copied_model() -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let folder = copy.path().join(DEFAULT_MODEL);
    fs::create_dir(&folder).unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        fs::copy(models().join(DEFAULT_MODEL).join(file), folder.join(file)).unwrap();
    }
    copy
}

/// Runs a test of this file in a process where no other test has loaded a library or a model;
/// false in that process itself, where the test has to do its work.
fn passed_in_own_process(test: &str) -> bool {
    const ALONE: &str = "MEMFOLD_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("embed::{test}"), "--nocapture"])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && told.contains("1 passed"),
        "{told}{errors}"
    );
    true
}

/// The error of loading, which has to come soon: a loader that hangs would be worse than an error.
fn load_error(library: &Path, models: &Path) -> EmbedError {
    let start = Instant::now();
    let error = Onnx::load(library, manifest(), models, 1)
        .err()
        .expect("loading must fail");
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    error
}

fn vectors(texts: &[&str]) -> Vec<Vec<f32>> {
    model()
        .embed(texts)
        .unwrap()
        .into_iter()
        .map(|embedding| embedding.vector)
        .collect()
}

/// Cosine of two unit vectors.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(x, y)| f64::from(*x) * f64::from(*y))
        .sum()
}

/// A text of `words` words that mean something, the same for the same number.
fn long_text(words: usize) -> String {
    let stock = "the user moved to Lisbon in spring and works as a nurse who likes hiking with her \
                 dog on quiet weekends near the coast";
    stock
        .split(' ')
        .cycle()
        .take(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Cosines of an independent fp32 computation of the original model's weights.
#[test]
fn cosines_are_those_of_the_original_model() {
    let texts = [
        "The user is allergic to peanuts.",
        "The user is not allergic to peanuts.",
        "Peanut allergy: user cannot eat peanuts",
        "User prefers window seats on flights.",
        "The user likes to sit by the window when flying.",
        "Deploys run every Friday at 17:00 from the main branch.",
        "用户喜欢靠窗的座位",
        "用户对花生过敏",
    ];
    let expected = [
        (0, 1, 0.9446),
        (0, 2, 0.8067),
        (1, 2, 0.8209),
        (0, 3, 0.1330),
        (3, 4, 0.7229),
        (0, 5, -0.0750),
        (5, 6, 0.0595),
        (6, 7, 0.5753),
    ];
    let vectors = vectors(&texts);
    for (a, b, cosine_there) in expected {
        let here = cosine(&vectors[a], &vectors[b]);
        assert!(
            (here - cosine_there).abs() < 0.01,
            "{a}-{b}: {here} instead of {cosine_there}"
        );
    }
}

#[test]
fn vectors_have_unit_length_and_come_out_the_same_every_time() {
    let texts = [
        "User prefers dark roast coffee.",
        "x",
        "ß",
        "🎉",
        "[UNK] [SEP] [PAD]",
    ];
    let first = model().embed(&texts).unwrap();
    for embedding in &first {
        assert_eq!(embedding.vector.len(), model().dims());
        assert!((cosine(&embedding.vector, &embedding.vector) - 1.0).abs() < 1e-6);
    }
    assert_eq!(first, model().embed(&texts).unwrap());
    assert!(model().embed(&[]).unwrap().is_empty());
}

#[test]
fn a_text_has_the_same_vector_alone_and_in_any_batch() {
    let long = long_text(220);
    let texts: Vec<String> = (0..40).map(|at| long_text(1 + at * 3)).collect();
    let mut batch: Vec<&str> = texts.iter().map(String::as_str).collect();
    batch.insert(0, &long);
    batch.push("hi");
    let together = vectors(&batch);
    for at in [0, 1, 2, 20, 39, 41] {
        let alone = &vectors(&batch[at..=at])[0];
        let cosine = cosine(alone, &together[at]);
        assert!(cosine > 0.9999, "{}: {cosine}", batch[at]);
    }
}

#[test]
fn results_come_in_the_order_of_the_texts() {
    let texts = [
        long_text(90),
        "Likes tea.".to_owned(),
        long_text(40),
        "Has a cat.".to_owned(),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let reversed: Vec<&str> = texts.iter().rev().copied().collect();
    let mut back = vectors(&reversed);
    back.reverse();
    for (vector, other) in vectors(&texts).iter().zip(&back) {
        assert!(cosine(vector, other) > 0.9999);
    }
}

#[test]
fn the_end_of_a_long_text_counts() {
    let start = long_text(400);
    let wants = format!("{start}. After all of this she decided to accept the offer in Toronto.");
    let refuses = format!("{start}. In the end the surgery on his left knee went badly wrong.");
    let vectors = vectors(&[&wants, &refuses, &start]);
    let different = cosine(&vectors[0], &vectors[1]);
    assert!(
        different < 0.99,
        "equal but for the end, yet cosine {different}"
    );
    let same_start = cosine(&vectors[0], &vectors[2]);
    assert!(
        same_start > 0.8,
        "mostly the same text, yet cosine {same_start}"
    );
}

#[test]
fn a_very_long_text_and_a_very_long_word_are_embedded() {
    let text = long_text(1_500);
    let word = "记".repeat(1_000);
    let letters = "ab".repeat(4_000);
    for vector in vectors(&[&text, &word, &letters]) {
        assert!((cosine(&vector, &vector) - 1.0).abs() < 1e-6);
    }
}

#[test]
fn an_empty_text_is_an_error_that_names_it() {
    for empty in ["", "   ", "\n\t", "\u{200b}"] {
        let error = model().embed(&["fine", empty]).unwrap_err();
        assert!(
            matches!(error, EmbedError::EmptyText { index: 1 }),
            "{empty:?}: {error}"
        );
        assert_eq!(model().unknown(empty).unwrap(), 1.0);
    }
}

#[test]
fn texts_that_the_model_cannot_read_are_recognised() {
    let limit = model().unknown_limit();
    let readable = [
        "Anna moved from Kraków to São Paulo in 2023.",
        "User prefers `cargo nextest run --no-capture` over cargo test",
        "E-mail: user@example.org, order #A-20240187, 15:30 UTC+2",
        "User got promoted to senior engineer 🎉",
        "Die Nutzerin trinkt keinen Kaffee nach 16 Uhr",
    ];
    let unreadable = [
        "用户喜欢靠窗的座位",
        "用户对花生过敏",
        "我爱跑步",
        "开会定了：消息队列用Kafka，不用RabbitMQ",
        "🎉🎉",
        "ผู้ใช้ชอบกาแฟ",
    ];
    for text in readable {
        assert!(model().unknown(text).unwrap() <= limit, "{text}");
    }
    for text in unreadable {
        let unknown = model().unknown(text).unwrap();
        assert!(unknown > limit, "{text}: {unknown}");
        assert_eq!(model().embed(&[text]).unwrap()[0].unknown, unknown);
    }
}

#[test]
fn the_model_is_proven_to_match_its_own_vectors_and_no_others() {
    let texts: Vec<String> = (0..20)
        .map(|at| format!("Note {at}: {}", long_text(at + 3)))
        .collect();
    let own: Vec<Vec<f32>> = texts
        .iter()
        .map(|text| {
            vectors(&[text])[0]
                .iter()
                .map(|x| half::bf16::from_f32(*x).to_f32())
                .collect()
        })
        .collect();
    let samples = |vectors: &'_ [Vec<f32>]| -> Proof {
        let candidates: Vec<Sample<'_>> = texts
            .iter()
            .zip(vectors)
            .map(|(text, vector)| Sample {
                key: text,
                text,
                vector,
            })
            .collect();
        prove(model(), &choose(&candidates)).unwrap()
    };
    assert!(matches!(samples(&own), Proof::Matches { samples: 8, worst } if worst < 0.001));

    // Another space: the same numbers in another order.
    let turned: Vec<Vec<f32>> = own
        .iter()
        .map(|v| [&v[192..], &v[..192]].concat())
        .collect();
    assert!(matches!(
        samples(&turned),
        Proof::Differs { samples: 8, .. }
    ));
    // One vector for all, as a failing embedder might have left.
    let constant = vec![own[0].clone(); own.len()];
    assert!(matches!(samples(&constant), Proof::Differs { .. }));
    let shorter: Vec<Vec<f32>> = own.iter().map(|v| v[..256].to_vec()).collect();
    assert_eq!(
        samples(&shorter),
        Proof::Dims {
            index: 256,
            model: 384
        }
    );
}

#[test]
fn a_missing_or_wrong_runtime_library_is_an_error_at_once() {
    if passed_in_own_process("a_missing_or_wrong_runtime_library_is_an_error_at_once") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("libonnxruntime.so");
    let error = load_error(&missing, &models());
    assert!(
        matches!(error, EmbedError::RuntimeMissing { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("scripts/setup"), "{error}");

    let text = folder.path().join("text.so");
    fs::write(
        &text,
        "version https://example.org/spec/v1\noid sha256:00\n",
    )
    .unwrap();
    let cut = folder.path().join("cut.so");
    fs::write(&cut, &fs::read(library()).unwrap()[..4096]).unwrap();
    let program = std::env::current_exe().unwrap();
    for wrong in [
        folder.path(),
        text.as_path(),
        cut.as_path(),
        program.as_path(),
    ] {
        let error = load_error(wrong, &models());
        assert!(
            matches!(error, EmbedError::RuntimeUnusable { .. }),
            "{}: {error}",
            wrong.display()
        );
    }
    // None of these stands in the way of the right one.
    assert_eq!(vectors(&["fine"]).len(), 1);
}

#[test]
fn a_process_has_one_runtime_library() {
    assert_eq!(vectors(&["fine"]).len(), 1);
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("libonnxruntime.so");
    fs::copy(library(), &other).unwrap();
    let error = load_error(&other, &models());
    assert!(matches!(error, EmbedError::RuntimeTaken { .. }), "{error}");
    // The same file by another name is the same library.
    let link = folder.path().join("link.so");
    std::os::unix::fs::symlink(library(), &link).unwrap();
    Onnx::load(&link, manifest(), &models(), 64).unwrap();
}

#[test]
fn a_missing_model_file_is_named() {
    let copy = copied_model();
    for file in ["tokenizer.json", "model.onnx"] {
        fs::remove_file(copy.path().join(DEFAULT_MODEL).join(file)).unwrap();
        let error = load_error(&library(), copy.path());
        assert!(
            matches!(error, EmbedError::ModelFileMissing { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(file), "{error}");
    }
}

#[test]
fn a_wrong_model_file_is_refused() {
    let copy = copied_model();
    let path = copy.path().join(DEFAULT_MODEL).join("model.onnx");
    let mut content = fs::read(&path).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 1;
    fs::write(&path, &content).unwrap();
    let error = load_error(&library(), copy.path());
    assert!(
        matches!(&error, EmbedError::WrongChecksum { file, expected, found }
            if *file == path && expected.starts_with("8199be6f") && expected != found),
        "{error}"
    );

    fs::write(&path, &content[..middle]).unwrap();
    let error = load_error(&library(), copy.path());
    assert!(
        matches!(
            error,
            EmbedError::WrongSize {
                expected: 22_928_619,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_manifest_that_does_not_fit_the_model_is_refused() {
    let mut other = manifest();
    other.dims = 768;
    let error = Onnx::load(&library(), other, &models(), 1).err().unwrap();
    assert!(
        matches!(&error, EmbedError::ModelUnfit { detail, .. } if detail.contains("384")),
        "{error}"
    );
    let mut other = manifest();
    other.unknown_token = "<unk>".to_owned();
    let error = Onnx::load(&library(), other, &models(), 1).err().unwrap();
    assert!(error.to_string().contains("<unk>"), "{error}");
}

/// Neither large batches nor ever new shapes may make memory grow without bound.
///
#[cfg(target_os = "linux")]
#[test]
fn memory_stays_bounded_whatever_the_shapes() {
    if passed_in_own_process("memory_stays_bounded_whatever_the_shapes") {
        return;
    }
    let resident = || -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
            / 1024
    };
    model().embed(&["short"]).unwrap();
    let before = resident();
    for (texts, words) in [(32, 20), (3, 110), (24, 240), (7, 75), (1, 190)] {
        let text = long_text(words);
        model().embed(&vec![text.as_str(); texts]).unwrap();
        let grown = resident().saturating_sub(before);
        assert!(
            grown < 130,
            "{texts} of {words} words: resident memory grew by {grown} MiB"
        );
    }
}
