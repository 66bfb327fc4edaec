//! Texts to vectors, and the proof that an embedder matches the vectors of an index.

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
    /// Name of the model, as its manifest says.
    fn model(&self) -> &str;

    /// Length of the vectors.
    fn dims(&self) -> usize;

    /// The threshold (cosine distance) that the model's manifest recommends, if any.
    fn threshold(&self) -> Option<f64>;

    /// Embeds `texts`, in their order. Blocking and CPU-bound.
    ///
    /// # Errors
    /// [`EmbedError`]; a failure is never a zero vector.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError>;

    /// Share of a text's tokens that the model does not know, 0 … 1, without embedding it.
    ///
    /// # Errors
    /// [`EmbedError`] if the text cannot be tokenized.
    fn unknown(&self, text: &str) -> Result<f32, EmbedError>;
}

/// Why a text could not be embedded or an embedder could not be had. (To be completed.)
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// The model failed on a text.
    #[error("the embedding model failed: {0}")]
    Inference(String),
}
