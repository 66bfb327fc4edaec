//! The manifest of an embedding model: its files with checksums, and how its vectors are made.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::EmbedError;

/// Name of the model that memfold uses unless told otherwise.
pub const DEFAULT_MODEL: &str = "all-MiniLM-L6-v2-int8";

/// Name of the model for texts in other languages than English.
pub const MULTILINGUAL_MODEL: &str = "multilingual-e5-small-q4";

/// The manifests that are part of the program.
const BUILT_IN: [(&str, &str); 2] = [
    (
        DEFAULT_MODEL,
        include_str!("../../models/all-MiniLM-L6-v2-int8.toml"),
    ),
    (
        MULTILINGUAL_MODEL,
        include_str!("../../models/multilingual-e5-small-q4.toml"),
    ),
];

/// What memfold must know of a model to make the vectors that the model's makers mean.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The model's name, and that of the folder with its files.
    pub name: String,
    /// The licence of the weights.
    pub licence: String,
    /// Where the files come from, in words.
    pub source: String,
    /// Length of the vectors.
    pub dims: usize,
    /// How the token vectors become one.
    pub pooling: Pooling,
    /// Whether the model's vectors have unit length; only such models are supported.
    pub normalise: bool,
    /// The longest input of the model in tokens, special tokens included.
    pub max_tokens: usize,
    /// Put before every text, such as `query: `.
    #[serde(default)]
    pub prefix: String,
    /// The vocabulary's token for what it does not know, such as `[UNK]`.
    pub unknown_token: String,
    /// Share of unknown tokens, 0 … 1, above which a text counts as unreadable.
    pub unknown_limit: f32,
    /// Cosine distance within which the model's own vectors of a text lie, whatever the precision
    /// they were computed and stored in.
    pub match_tolerance: f64,
    /// The calibrated threshold (cosine distance) for grouping, if there is one.
    pub threshold: Option<f64>,
    /// What the threshold was calibrated on.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// One ONNX graph and `tokenizer.json`.
    pub files: Vec<ModelFile>,
}

/// The evidence for a calibrated threshold.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The false-merge rate that was allowed, 0 … 1.
    pub budget: f64,
    /// The rates at the threshold, of all pairs first, then by source.
    #[serde(default)]
    pub rows: Vec<CalibrationRow>,
}

/// The rates of some labelled pairs at the calibrated threshold.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationRow {
    /// Which pairs.
    pub pairs: String,
    /// Pairs of one fact that were merged.
    pub same_merged: usize,
    /// Pairs of one fact.
    pub same: usize,
    /// Other pairs that were merged.
    pub false_merges: usize,
    /// Other pairs.
    pub not_same: usize,
    /// The upper end of the 95 % interval of the false-merge rate.
    #[serde(default)]
    pub at_most: Option<f64>,
}

/// How the vectors of a text's tokens become one vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean over all tokens.
    Mean,
    /// The vector of the first token.
    Cls,
}

/// A file of the model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// File name, without folders.
    pub name: String,
    /// SHA-256 in lowercase hex.
    pub sha256: String,
    /// Size.
    pub bytes: u64,
}

impl ModelFile {
    /// The ONNX graph among a model's files.
    pub(super) fn graph(files: &[Self]) -> Option<&Self> {
        files.iter().find(|file| file.name.ends_with(".onnx"))
    }

    /// The tokenizer among them.
    pub(super) fn tokenizer(files: &[Self]) -> Option<&Self> {
        files.iter().find(|file| file.name == "tokenizer.json")
    }

    /// Whether its name leads to no other folder.
    pub(super) fn is_plain(&self) -> bool {
        is_plain(&self.name)
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// Reads the text of a manifest, in which there may be a `fault`; `origin` names it in errors.
pub(super) fn parse<T: DeserializeOwned>(
    text: &str,
    origin: &str,
    fault: impl Fn(&T) -> Option<String>,
) -> Result<T, EmbedError> {
    let bad = |detail: String| EmbedError::BadManifest {
        origin: origin.to_owned(),
        detail,
    };
    let manifest: T = toml::from_str(text).map_err(|error| bad(error.to_string()))?;
    fault(&manifest).map_or(Ok(manifest), |fault| Err(bad(fault)))
}

impl Manifest {
    /// The built-in manifest with this name.
    ///
    /// # Errors
    /// [`EmbedError::UnknownModel`] with the names that exist.
    pub fn named(name: &str) -> Result<Self, EmbedError> {
        Self::parse(Self::text(name)?, name)
    }

    /// The text of the built-in manifest with this name.
    ///
    /// # Errors
    /// [`EmbedError::UnknownModel`] with the names that exist.
    pub fn text(name: &str) -> Result<&'static str, EmbedError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Ok(text),
            None => Err(EmbedError::UnknownModel {
                name: name.to_owned(),
                known: BUILT_IN
                    .iter()
                    .map(|(known, _)| (*known).to_owned())
                    .collect(),
            }),
        }
    }

    /// Reads a manifest file.
    ///
    /// # Errors
    /// [`EmbedError::BadManifest`] if it cannot be read, is no valid TOML, has a field that
    /// memfold does not know, or makes no sense.
    pub fn load(path: &Path) -> Result<Self, EmbedError> {
        let origin = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| EmbedError::BadManifest {
            origin: origin.clone(),
            detail: error.to_string(),
        })?;
        Self::parse(&text, &origin)
    }

    /// The ONNX graph.
    pub(crate) fn graph(&self) -> Option<&ModelFile> {
        ModelFile::graph(&self.files)
    }

    /// The tokenizer.
    pub(crate) fn tokenizer(&self) -> Option<&ModelFile> {
        ModelFile::tokenizer(&self.files)
    }

    /// Reads the text of a manifest; `origin` names it in errors.
    ///
    /// # Errors
    /// [`EmbedError::BadManifest`].
    pub fn parse(text: &str, origin: &str) -> Result<Self, EmbedError> {
        parse(text, origin, Self::fault)
    }

    /// What makes no sense, if anything.
    fn fault(&self) -> Option<String> {
        if !is_plain(&self.name) {
            return Some(format!(
                "name `{}` cannot be the name of a folder",
                self.name
            ));
        }
        if self.dims == 0 {
            return Some("dims must be at least 1".to_owned());
        }
        if !self.normalise {
            return Some(
                "normalise = false is not supported: vectors are compared by angle".to_owned(),
            );
        }
        if self.max_tokens < 8 {
            return Some("max_tokens must be at least 8".to_owned());
        }
        if !(0.0..=1.0).contains(&self.unknown_limit) {
            return Some("unknown_limit must lie in 0 … 1".to_owned());
        }
        if !(self.match_tolerance > 0.0 && self.match_tolerance < 1.0) {
            return Some("match_tolerance must lie between 0 and 1".to_owned());
        }
        if self
            .threshold
            .is_some_and(|threshold| !(0.0..=2.0).contains(&threshold))
        {
            return Some("threshold is a cosine distance, 0 … 2".to_owned());
        }
        for file in &self.files {
            if !file.is_plain() {
                return Some(format!(
                    "file name `{}` must not contain folders",
                    file.name
                ));
            }
            let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            if file.sha256.len() != 64 || !file.sha256.chars().all(hex) {
                return Some(format!(
                    "sha256 of {} must be 64 lowercase hex digits",
                    file.name
                ));
            }
        }
        let graphs = self
            .files
            .iter()
            .filter(|file| file.name.ends_with(".onnx"))
            .count();
        (graphs != 1 || self.tokenizer().is_none() || self.files.len() != 2)
            .then(|| "files must be one .onnx graph and tokenizer.json".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = BUILT_IN[0].1;

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(text, "test").map_err(|error| error.to_string())
    }

    #[test]
    fn built_in_manifests_are_valid_and_carry_their_own_name() {
        for (name, _) in BUILT_IN {
            let manifest = Manifest::named(name).unwrap();
            assert_eq!(manifest.name, name);
            assert!(manifest.graph().is_some() && manifest.tokenizer().is_some());
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let message = Manifest::named("nope").unwrap_err().to_string();
        assert!(
            message.contains("nope") && message.contains(DEFAULT_MODEL),
            "{message}"
        );
    }

    #[test]
    fn a_manifest_file_is_read_and_its_path_named_in_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        fs::write(&path, TEXT).unwrap();
        assert_eq!(
            Manifest::load(&path).unwrap(),
            Manifest::named(DEFAULT_MODEL).unwrap()
        );
        let missing = Manifest::load(&folder.path().join("gone.toml"))
            .unwrap_err()
            .to_string();
        assert!(missing.contains("gone.toml"), "{missing}");
    }

    #[test]
    fn faults_are_refused_and_named() {
        let faults = [
            ("dims = 384", "dims = 0", "dims"),
            ("dims = 384", "dims = 384\nsurprise = 1", "surprise"),
            ("dims = 384", "", "dims"),
            ("pooling = \"mean\"", "pooling = \"max\"", "max"),
            ("normalise = true", "normalise = false", "normalise"),
            ("max_tokens = 256", "max_tokens = 2", "max_tokens"),
            (
                "unknown_limit = 0.25",
                "unknown_limit = 1.5",
                "unknown_limit",
            ),
            (
                "unknown_limit = 0.25",
                "unknown_limit = nan",
                "unknown_limit",
            ),
            (
                "match_tolerance = 0.02",
                "match_tolerance = 0.0",
                "match_tolerance",
            ),
            (
                "match_tolerance = 0.02",
                "match_tolerance = 0.02\nthreshold = 2.5",
                "threshold",
            ),
            (
                "name = \"model.onnx\"",
                "name = \"../model.onnx\"",
                "model.onnx",
            ),
            ("name = \"model.onnx\"", "name = \"model.bin\"", ".onnx"),
            (
                "name = \"tokenizer.json\"",
                "name = \"vocab.txt\"",
                "tokenizer.json",
            ),
            ("8199be6f", "8199BE6F", "sha256"),
            ("8199be6f", "", "sha256"),
            ("name = \"all-MiniLM-L6-v2-int8\"", "name = \"..\"", "name"),
        ];
        for (old, new, named) in faults {
            assert!(TEXT.contains(old), "{old}");
            let error = parse(&TEXT.replacen(old, new, 1)).expect_err(new);
            assert!(error.contains(named), "{new}: {error}");
        }
    }

    #[test]
    fn the_threshold_is_optional() {
        assert_eq!(parse(TEXT).unwrap().threshold, Some(0.2));
        let without = TEXT.replacen("\nthreshold = 0.2\n", "\n", 1);
        assert_eq!(parse(&without).unwrap().threshold, None);
    }
}
