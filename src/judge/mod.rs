//! May these be one memory? Pure: texts and dates in, a verdict with its findings out.
//!
//! Guards are one file each and only ever object. A pair that no guard objects to is `same` where
//! one text provably says all that the other says, else `unsure`.

use jiff::Timestamp;

use crate::memory::{Finding, Verdict};

/// What the judge sees of a memory.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The text.
    pub text: &'a str,
    /// When it was said, as far as known.
    pub said_at: Option<Timestamp>,
}

/// The judge's word on a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// `Same`, `Different` or `Unsure` in this version (`Update` comes with conflict handling).
    pub verdict: Verdict,
    /// What the guards saw.
    pub findings: Vec<Finding>,
}
