//! The ended guard: what was so and is no more.

use super::Classes;

#[rustfmt::skip]
pub(super) const CLASSES: Classes = &[
    ("formerly", &["used to", "formerly", "previously", "former", "no longer", "anymore", "any longer", "in the past", "以前", "从前", "曾经", "过去", "不再", "früher", "nicht mehr", "antes", "ya no"]),
];
