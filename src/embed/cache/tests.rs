use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use super::*;

/// Counts what it embeds. The vector tells the text's length and the model's own number.
struct Counting {
    name: &'static str,
    number: f32,
    probe: Vec<f32>,
    embedded: AtomicUsize,
}

impl Counting {
    fn new(name: &'static str, number: f32) -> Arc<Self> {
        Arc::new(Self {
            name,
            number,
            probe: vec![number, 1.0, 0.0],
            embedded: AtomicUsize::new(0),
        })
    }

    fn embedded(&self) -> usize {
        self.embedded.load(Ordering::Relaxed)
    }
}

impl Embedder for Counting {
    fn model(&self) -> &str {
        self.name
    }
    fn dims(&self) -> usize {
        3
    }
    fn threshold(&self) -> Option<f64> {
        None
    }
    fn probe(&self) -> Option<(&str, &[f32])> {
        Some(("probe", &self.probe))
    }
    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        if let Some(index) = texts.iter().position(|text| text.is_empty()) {
            return Err(EmbedError::EmptyText { index });
        }
        self.embedded.fetch_add(texts.len(), Ordering::Relaxed);
        let embedding = |text: &&str| Embedding {
            vector: vec![self.number, text.len() as f32, 0.5],
            unknown: 0.125,
        };
        Ok(texts.iter().map(embedding).collect())
    }
    fn unknown(&self, _text: &str) -> Result<f32, EmbedError> {
        Ok(0.125)
    }
}

const MIB: u64 = 1 << 20;

fn cached(model: &Arc<Counting>, dir: &TempDir, max_bytes: u64) -> Cached {
    Cached::new(Arc::<Counting>::clone(model), dir.path(), max_bytes)
}

/// The newer file of the only model in the folder.
fn newer(dir: &TempDir) -> PathBuf {
    let files = fs::read_dir(dir.path()).unwrap();
    let mut found = files.map(|file| file.unwrap().path());
    found
        .find(|path| path.extension().unwrap() == "newer")
        .unwrap()
}

#[test]
fn no_text_is_embedded_twice_within_a_process_or_after_it() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Counting::new("m", 1.0));
    let plain = model.embed(&["a", "bb", "a"]).unwrap();
    for _ in 0..2 {
        let embedder = cached(&model, &dir, MIB);
        for _ in 0..2 {
            assert_eq!(embedder.embed(&["a", "bb", "a"]).unwrap(), plain);
        }
    }
    assert_eq!(model.embedded(), 3 + 2);
    cached(&model, &dir, MIB).embed(&["bb", "ccc"]).unwrap();
    assert_eq!(model.embedded(), 3 + 2 + 1);
}

#[test]
fn two_processes_share_the_files() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Counting::new("m", 1.0));
    let (one, other) = (cached(&model, &dir, MIB), cached(&model, &dir, MIB));
    for at in 0..50usize {
        let embedder = if at % 2 == 0 { &one } else { &other };
        let texts = ["x".repeat(at + 1)];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = embedder.embed(&texts).unwrap();
        assert_eq!(embedder.embed(&texts).unwrap(), vectors);
    }
    assert_eq!(model.embedded(), 50);
    let third = cached(&model, &dir, MIB);
    third.embed(&["x", "xx"]).unwrap();
    assert_eq!(model.embedded(), 50);
}

#[test]
fn models_do_not_share_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (Counting::new("one", 1.0), Counting::new("other", 2.0));
    cached(&one, &dir, MIB).embed(&["a"]).unwrap();
    let vectors = cached(&other, &dir, MIB).embed(&["a"]).unwrap();
    assert_eq!((other.embedded(), vectors[0].vector[0]), (1, 2.0));
}

#[test]
fn another_model_under_the_same_name_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let (before, now) = (Counting::new("m", 1.0), Counting::new("m", -1.0));
    cached(&before, &dir, MIB).embed(&["a"]).unwrap();
    let embedder = cached(&now, &dir, MIB);
    assert_eq!(embedder.embed(&["a"]).unwrap()[0].vector[0], -1.0);
    assert_eq!(now.embedded(), 1);
    cached(&now, &dir, MIB).embed(&["a"]).unwrap();
    assert_eq!(now.embedded(), 1);
}

#[test]
fn damage_costs_time_only() {
    let cut = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - 3);
    let longer = |bytes: &mut Vec<u8>| bytes.extend(b"xyz");
    let header = |bytes: &mut Vec<u8>| bytes[3] ^= 1;
    let empty = |bytes: &mut Vec<u8>| bytes.clear();
    let vector = |bytes: &mut Vec<u8>| {
        let at = bytes.len() - CHECK - 2;
        bytes[at] ^= 0x40;
    };
    let damages: [fn(&mut Vec<u8>); 5] = [cut, longer, header, empty, vector];
    for (at, damage) in damages.into_iter().enumerate() {
        let (dir, model) = (tempfile::tempdir().unwrap(), Counting::new("m", 1.0));
        let plain = cached(&model, &dir, MIB).embed(&["a", "bb"]).unwrap();
        let path = newer(&dir);
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        for _ in 0..2 {
            let embedder = cached(&model, &dir, MIB);
            assert_eq!(embedder.embed(&["a", "bb"]).unwrap(), plain, "{at}");
        }
        // One record is lost, or all are; what is embedded again is kept again.
        let lost = if at == 4 { 1 } else { 2 };
        assert_eq!(model.embedded(), 2 + lost, "{at}");
    }
}

#[test]
fn a_folder_that_cannot_be_used_is_ignored() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Counting::new("m", 1.0));
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let embedder = Cached::new(Arc::<Counting>::clone(&model), &file, MIB);
    embedder.embed(&["a"]).unwrap();
    embedder.embed(&["a"]).unwrap();
    assert_eq!(model.embedded(), 2);
}

#[test]
fn the_files_stay_within_their_bound_and_keep_what_is_in_use() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Counting::new("m", 1.0));
    let bound = 2000;
    let embedder = cached(&model, &dir, bound);
    embedder.embed(&["in use"]).unwrap();
    for at in 0..200 {
        embedder.embed(&[&format!("text {at}"), "in use"]).unwrap();
        let files = fs::read_dir(dir.path()).unwrap();
        let bytes: u64 = files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        assert!(bytes <= bound, "{bytes}");
    }
    assert_eq!(model.embedded(), 201);
    let last = cached(&model, &dir, bound);
    last.embed(&["text 199", "text 198", "in use"]).unwrap();
    assert_eq!(model.embedded(), 201);
}

#[test]
fn an_empty_text_is_named_by_its_place_among_all() {
    let (dir, model) = (tempfile::tempdir().unwrap(), Counting::new("m", 1.0));
    let embedder = cached(&model, &dir, MIB);
    embedder.embed(&["a", "b"]).unwrap();
    let error = embedder.embed(&["a", "b", "c", ""]).unwrap_err();
    assert!(
        matches!(error, EmbedError::EmptyText { index: 3 }),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn the_files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, model) = (tempfile::tempdir().unwrap(), Counting::new("m", 1.0));
    cached(&model, &dir, MIB).embed(&["a"]).unwrap();
    let mode = fs::metadata(newer(&dir)).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
}
