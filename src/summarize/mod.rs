//! One text for a group: extractive where that is provably lossless, an LLM where configured,
//! and the verification that has the last word.

pub mod extractive;
pub mod latest;
pub mod llm;
pub mod orders;
pub mod pii;
pub mod verify;

use jiff::Timestamp;

/// A source as the LLM and the verification see it.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceText {
    /// A short id made for this call (`m1`, `m2`, …); Redis keys never leave the process.
    pub id: String,
    /// The text.
    pub text: String,
    /// When it was said, as far as known.
    pub said_at: Option<Timestamp>,
}
