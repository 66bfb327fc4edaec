//! The vocabulary of memfold as plain data: memories, partitions, groups, verdicts and plans.
//!
//! Nothing here does I/O, reads a clock or draws a random number.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// SHA-1 in hex of a stored record in the one fixed form that the server computes too.
///
/// HASH: over the fields sorted by name, each as `<len>:<name><len>:<value>`; JSON: over the text
/// that `JSON.GET key` returns. It is a change detector for compare-and-swap, not a secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(pub String);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What may be merged with each other: memories of one user, one scope and one type.
///
/// All parts are compared byte for byte.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition {
    /// The owner of the memories, exactly as stored.
    pub user: String,
    /// Values of the configured scope fields (namespace, agent, …), in configuration order.
    pub scope: Vec<String>,
    /// The memory type, such as `semantic` or `episodic`; empty where the record has none.
    pub memory_type: String,
}

/// One memory as the snapshot holds it: what grouping and judging need, without the full record.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// The Redis key.
    pub key: String,
    /// Where it belongs; memories of different partitions never meet.
    pub partition: Partition,
    /// The text, exactly as stored.
    pub text: String,
    /// When the record says it was created.
    pub created_at: Option<Timestamp>,
    /// The date that decides what is newer: that of the winning leaf for a merged memory, else
    /// `created_at`.
    pub said_at: Option<Timestamp>,
    /// The key's absolute expiry in milliseconds since the epoch; `None` = kept for ever.
    pub expires_at_ms: Option<i64>,
    /// Digest of the stored bytes.
    pub digest: Digest,
    /// The merge that wrote this memory, if memfold did.
    pub merge_id: Option<String>,
    /// Whether the library says that it must never go: it may take a result, but not retire.
    pub pinned: bool,
    /// What the library embeds around the text, if it embeds more than that.
    pub frame: Option<Frame>,
}

impl Memory {
    /// What the library embeds of a memory like this with the text `text`.
    pub fn embedded(&self, text: &str) -> String {
        match &self.frame {
            None => text.to_owned(),
            Some(Frame { before, after }) => {
                format!("{before}{}{after}", serde_json::Value::from(text))
            }
        }
    }
}

/// The JSON around a text that is embedded with it; the text stands between as a JSON string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What comes before the text.
    pub before: String,
    /// What comes after it.
    pub after: String,
}

/// Why a memory or a group was left alone. Each is counted and shown; none is silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Reason {
    /// The key was gone when it was read.
    Expired,
    /// The key or a field that must be text is not UTF-8.
    NotUtf8,
    /// A field has the wrong type, or the record cannot be parsed.
    Malformed,
    /// The text is empty or blank.
    EmptyText,
    /// The record has no vector.
    NoVector,
    /// The vector is zero, not finite, of other dimensions than the index declares, or not of
    /// length 1 where the index's metric depends on it.
    BadVector,
    /// The index matched it, but the user id on the key is another one.
    ForeignUser,
    /// The key lies under the prefix but is no memory (other type of key, or no text and no user).
    NotAMemory,
    /// The key lies under the prefix but the index does not hold it.
    NotIndexed,
    /// The embedding model does not know most of the text's tokens.
    Unreadable,
    /// A guard found a difference that a merge would blur.
    GuardObjects,
    /// One is a newer value of what another one says; both stay.
    Conflict,
    /// They contradict each other, and it is not known which is the newer one.
    ConflictUndated,
    /// The merge would not be provably lossless, and no LLM is configured.
    NeedsLlm,
    /// The LLM said that these are not one memory.
    LlmDeclined,
    /// The LLM said that one of these is a newer value of what another one says.
    LlmUpdate,
    /// The LLM could not be reached or its answer could not be used.
    LlmFailed,
    /// The LLM's text failed verification, twice.
    VerificationFailed,
    /// An LLM wrote a text again and again, and the originals of the first are gone.
    Generations,
    /// A memory holds personal data or secrets, which are not sent to the LLM.
    PrivateData,
    /// A memory gives orders to whoever reads it; no LLM is asked about it.
    GivesOrders,
    /// The record says that it is deleted.
    Deleted,
    /// The texts of the group exceed the configured size.
    GroupTooLarge,
    /// The members expire at different times.
    DifferentExpiry,
    /// The value has no single text that could be replaced: it is structured, or serialised.
    Structured,
    /// A vector whose memory is gone.
    Orphan,
    /// It must never go, and so must another one that says the same.
    Pinned,
    /// A member changed between snapshot and commit.
    Changed,
    /// The result could not be seen through the index; nothing was written.
    NotVisible,
    /// This very merge was undone before.
    Vetoed,
    /// No vector of the index's own space can be had for the result.
    NoEmbedder,
    /// The record cannot take the result (unreadable metadata container, wrong shape).
    Unwritable,
    /// The server refused the write.
    WriteRefused,
    /// A bug met this group; it stops no other.
    InternalError,
    /// A later run will decide it: this one has done as much as it may.
    Deferred,
}

impl Reason {
    /// The stable code that users see and count, such as `foreign-user`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::NotUtf8 => "not-utf8",
            Self::Malformed => "malformed",
            Self::EmptyText => "empty-text",
            Self::NoVector => "no-vector",
            Self::BadVector => "bad-vector",
            Self::ForeignUser => "foreign-user",
            Self::NotAMemory => "not-a-memory",
            Self::NotIndexed => "not-indexed",
            Self::Unreadable => "unreadable",
            Self::GuardObjects => "guard-objects",
            Self::Conflict => "conflict",
            Self::ConflictUndated => "conflict-undated",
            Self::NeedsLlm => "needs-llm",
            Self::LlmDeclined => "llm-declined",
            Self::LlmUpdate => "llm-update",
            Self::LlmFailed => "llm-failed",
            Self::VerificationFailed => "verification-failed",
            Self::Generations => "generations",
            Self::PrivateData => "private-data",
            Self::GivesOrders => "gives-orders",
            Self::Deleted => "deleted",
            Self::GroupTooLarge => "group-too-large",
            Self::DifferentExpiry => "different-expiry",
            Self::Structured => "structured",
            Self::Orphan => "orphan",
            Self::Pinned => "pinned",
            Self::Changed => "changed",
            Self::NotVisible => "not-visible",
            Self::Vetoed => "vetoed",
            Self::NoEmbedder => "no-embedder",
            Self::Unwritable => "unwritable",
            Self::WriteRefused => "write-refused",
            Self::InternalError => "internal-error",
            Self::Deferred => "deferred",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A memory that was left alone, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftAlone {
    /// The Redis key (lossy where it is not UTF-8).
    pub key: String,
    /// The reason code.
    pub reason: Reason,
    /// What exactly was found, without memory text.
    pub detail: String,
}

/// What a pair of memories is to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// One fact: one text says all that the other says.
    Same,
    /// One value replaced by a newer one.
    Update,
    /// Two facts; both must survive as they are.
    Different,
    /// Not decidable without reading; a case for the LLM, or for leaving alone.
    Unsure,
}

impl Verdict {
    /// Whether the two may become one memory, surely or if an LLM and the verification say so.
    pub fn may_be_one(self) -> bool {
        matches!(self, Self::Same | Self::Unsure)
    }
}

/// What a guard saw in a pair: which guard, and the words that differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The guard's name, such as `numbers` or `negation`.
    pub guard: String,
    /// The words of the first text that the other does not match.
    pub left: Vec<String>,
    /// The words of the second text that the first does not match.
    pub right: Vec<String>,
}

impl Finding {
    /// The name of the guard that is a model.
    pub const BY_MODEL: &str = "nli";

    /// Whether the guard that is a model objects.
    pub fn is_by_model(&self) -> bool {
        self.guard == Self::BY_MODEL
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |words: &[String]| {
            if words.is_empty() {
                "∅".to_owned()
            } else {
                words.join(", ")
            }
        };
        if self.left == self.right {
            let guard = &self.guard;
            return write!(
                f,
                "{guard}: {}, which need not be the same",
                side(&self.left)
            );
        }
        write!(
            f,
            "{}: {} ≠ {}",
            self.guard,
            side(&self.left),
            side(&self.right)
        )
    }
}

/// One source of a planned merge, pinned by its digest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanSource {
    /// The Redis key.
    pub key: String,
    /// Digest of the record as it was judged; `apply` and `commit` accept no other.
    pub digest: Digest,
    /// The text, exactly as stored.
    pub text: String,
    /// When it was created, as far as known.
    pub created_at: Option<Timestamp>,
    /// Cosine distance to the farthest other source.
    pub distance: f64,
}

/// Who wrote the merged text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Author {
    /// One of the sources says all that the others say; its text is kept unchanged.
    Extractive {
        /// The key of that source.
        kept: String,
    },
    /// The sources are values of one thing over time; the newest one's text is kept unchanged, the
    /// others are history.
    Latest {
        /// The key of the newest.
        kept: String,
    },
    /// A person wrote it, and the verification accepted it, or the person knew better.
    Person {
        /// What the verification objected to and the person took upon themselves, without whole
        /// sentences of the sources; empty where it accepted the text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        overridden: Vec<String>,
    },
    /// An LLM wrote it and the verification accepted it.
    Llm {
        /// The model as the server names it.
        model: String,
        /// Version of the prompt template.
        prompt: String,
        /// Prompt and completion tokens as reported, 0 where the server is silent.
        tokens: u64,
        /// LLM calls made for this merge (2 = one corrective retry).
        calls: u32,
    },
}

/// Where the vector of the result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VectorOrigin {
    /// The vector of the source whose text is kept, byte for byte.
    Source,
    /// Embedded by the configured model, which was proven to match the index.
    Embedded,
    /// The normalised mean of the sources' vectors (`--write-vector centroid`).
    Centroid,
}

/// One merge to be made: the sources, the text, and the evidence for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMerge {
    /// The id under which it will be recorded, a ULID.
    pub merge_id: String,
    /// The partition of all sources.
    pub partition: Partition,
    /// Sources sorted by key.
    pub sources: Vec<PlanSource>,
    /// The key that will hold the result: the oldest source's.
    pub result_key: String,
    /// The text of the result.
    pub text: String,
    /// Who wrote it.
    pub author: Author,
    /// Where its vector comes from.
    pub vector_origin: VectorOrigin,
    /// The vector to write, index dims long; empty for [`VectorOrigin::Source`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vector: Vec<f32>,
    /// What the guards saw between the sources without objecting.
    pub findings: Vec<Finding>,
}

/// A proposed group that is not merged, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupLeft {
    /// The partition of all members.
    pub partition: Partition,
    /// Members sorted by key.
    pub members: Vec<PlanSource>,
    /// The reason code.
    pub reason: Reason,
    /// What exactly was found.
    pub detail: String,
    /// The guards' findings, if they were the reason.
    pub findings: Vec<Finding>,
}

/// What would be done for one user, and what would be left alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this format; 1.
    pub version: u32,
    /// The index that was read.
    pub index: String,
    /// The user.
    pub user: String,
    /// Memories of the user that were read and can take part.
    pub memories: usize,
    /// The threshold in force (cosine distance) and where it comes from.
    pub threshold: Threshold,
    /// Where the distances come from: `stored` or `onnx`.
    pub distance: String,
    /// The merges, by partition and result key.
    pub merges: Vec<PlannedMerge>,
    /// Groups within the threshold that are left as they are.
    pub groups_left: Vec<GroupLeft>,
    /// Memories that took no part.
    pub left_alone: Vec<LeftAlone>,
}

/// A cosine distance and the setting it was taken from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// Cosine distance, inclusive; 0 … 2.
    pub value: f64,
    /// `flag`, `environment`, `file`, `model manifest` or `default`.
    pub origin: String,
}
