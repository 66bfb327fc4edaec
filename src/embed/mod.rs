//! Texts to vectors, and the proof that an embedder matches the vectors of an index.
//!
//! [`Manifest`] says what a model is and [`Onnx`] runs it, or [`HttpEmbedder`] asks a server that does;
//! [`Cached`] remembers what they made; [`prove`] compares it with stored vectors.

mod batch;
mod cache;
mod http;
mod manifest;
mod nli;
mod onnx;
mod pool;
mod proof;
mod runtime;
mod tokenize;

use std::path::PathBuf;

use crate::http::HttpError;

pub use cache::Cached;
pub use http::{HttpEmbedder, HttpSettings};
pub use manifest::{
    Calibration, CalibrationRow, DEFAULT_MODEL, MULTILINGUAL_MODEL, Manifest, ModelFile, Pooling,
};
pub use nli::{Directions, InputNames, NLI_MANIFEST, Nli, NliManifest, Objection, Scores};
pub use onnx::Onnx;
pub(crate) use pool::distance;
pub use proof::{Proof, Sample, choose, prove};

/// One embedded text.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding {
    /// `dims` numbers, f32, unit length.
    pub vector: Vec<f32>,
    /// Share of the text's tokens that the model does not know, 0 … 1.
    pub unknown: f32,
}

/// Something that turns texts into vectors of one space.
pub trait Embedder: Send + Sync {
    /// Name of the model, as its manifest or its server says.
    fn model(&self) -> &str;

    /// Where the vectors are made, for people: such as `at http://localhost:8080/v1/embeddings`.
    fn origin(&self) -> String {
        "in this process".to_owned()
    }

    /// All that the vectors depend on but the texts, as far as it is known here. Vectors are kept
    /// under it.
    fn identity(&self) -> String {
        self.model().to_owned()
    }

    /// A text and the vector that was just made of it, where another model may stand behind the same
    /// identity from one day to the next.
    fn probe(&self) -> Option<(&str, &[f32])> {
        None
    }

    /// Length of the vectors.
    fn dims(&self) -> usize;

    /// The threshold (cosine distance) that the model's manifest recommends, if any.
    fn threshold(&self) -> Option<f64>;

    /// Share of unknown tokens, 0 … 1, above which a text counts as unreadable for this model.
    fn unknown_limit(&self) -> f32 {
        0.25
    }

    /// Cosine distance within which this model's own vectors of a text lie, whatever the precision
    /// they were computed and stored in.
    fn match_tolerance(&self) -> f64 {
        0.02
    }

    /// Embeds `texts`, in their order. Blocking, for long: not to be called in an async task.
    ///
    /// # Errors
    /// [`EmbedError`]; a failure is never a zero vector.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError>;

    /// Share of a text's tokens that the model does not know, 0 … 1, without embedding it; 1 for a
    /// text without tokens.
    ///
    /// # Errors
    /// [`EmbedError`] if the text cannot be tokenized.
    fn unknown(&self, text: &str) -> Result<f32, EmbedError>;
}

/// Why a text could not be embedded or an embedder could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// There is no ONNX Runtime at the given path.
    #[error(
        "there is no ONNX Runtime library at {}; run scripts/setup, or set --onnxruntime to yours",
        .path.display()
    )]
    RuntimeMissing {
        /// The path that was looked at.
        path: PathBuf,
    },
    /// The file is there, but it is not a usable ONNX Runtime.
    #[error(
        "{} cannot be used as ONNX Runtime: {detail}; run scripts/setup, or set --onnxruntime to \
         the library of ONNX Runtime 1.20 or newer for this machine",
        .path.display()
    )]
    RuntimeUnusable {
        /// The library.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The process already runs another ONNX Runtime.
    #[error(
        "ONNX Runtime was already loaded from {}, so {} cannot be loaded; use one path per process",
        .loaded.display(), .asked.display()
    )]
    RuntimeTaken {
        /// The library in use.
        loaded: PathBuf,
        /// The library asked for.
        asked: PathBuf,
    },
    /// No built-in manifest has this name.
    #[error("there is no embedding model `{name}`; built in: {}", .known.join(", "))]
    UnknownModel {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// A manifest cannot be read or makes no sense.
    #[error("the model manifest {origin} is not usable: {detail}")]
    BadManifest {
        /// The file or the built-in name.
        origin: String,
        /// What is wrong.
        detail: String,
    },
    /// A file of the model is missing.
    #[error(
        "the model file {} is missing; run scripts/setup, or set --model-dir to the folder that \
         holds the model's folder",
        .path.display()
    )]
    ModelFileMissing {
        /// The path that was looked at.
        path: PathBuf,
    },
    /// A file of the model cannot be read.
    #[error("the model file {} cannot be read: {detail}", .path.display())]
    ModelFileUnreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        detail: String,
    },
    /// A file of the model has another size than its manifest says.
    #[error(
        "the model file {} has {found} bytes instead of {expected} (cut off, or a pointer to the \
         real file?); delete it and run scripts/setup",
        .file.display()
    )]
    WrongSize {
        /// The file.
        file: PathBuf,
        /// Bytes by the manifest.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// A file of the model is not the one that its manifest names.
    #[error(
        "the model file {} is not the expected one: sha256 {found} instead of {expected}; delete \
         it and run scripts/setup, or describe your model in a manifest of its own",
        .file.display()
    )]
    WrongChecksum {
        /// The file.
        file: PathBuf,
        /// SHA-256 by the manifest.
        expected: String,
        /// SHA-256 found.
        found: String,
    },
    /// The model's files do not fit together or do not fit the manifest.
    #[error("the embedding model {model} does not fit its manifest: {detail}")]
    ModelUnfit {
        /// The model.
        model: String,
        /// What does not fit.
        detail: String,
    },
    /// A text could not be tokenized.
    #[error("a text could not be tokenized: {0}")]
    Tokenizer(String),
    /// The model failed on a text.
    #[error("the embedding model failed: {0}")]
    Inference(String),
    /// The embedding server cannot be reached, refused, failed, or did not answer in time.
    #[error("the embedding server {0}")]
    Server(#[from] HttpError),
    /// The embedding server's answer does not have the form or content of one.
    #[error(
        "the embedding server's answer cannot be used: {0}; check --embed-url and --embed-model"
    )]
    BadAnswer(String),
    /// The embedding server returned vectors of another length than asked for or than before.
    #[error(
        "the embedding server returned a vector of {found} numbers instead of {expected}; check \
         --embed-dims, and whether another model stands behind the address now"
    )]
    WrongDims {
        /// Length of the vector.
        found: usize,
        /// Length asked for, or that of the first vector.
        expected: usize,
    },
    /// A text has nothing that could be embedded.
    #[error("text {index} is empty; an empty text has no vector")]
    EmptyText {
        /// Its position among the texts given.
        index: usize,
    },
}
