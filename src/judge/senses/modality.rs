//! The modality guard: whether something may, must, can or is meant to be.

use super::Classes;

#[rustfmt::skip]
pub(super) const CLASSES: Classes = &[
    ("may", &["may", "might", "perhaps", "maybe", "possibly", "可能", "也许", "或许", "vielleicht", "quizás"]),
    ("must", &["must", "has to", "have to", "had to", "needs to", "need to", "obliged", "required", "必须", "得要", "务必", "muss", "debe"]),
    ("can", &["can", "able", "could", "allowed", "可以", "能够", "kann", "puede"]),
    // What the user wants of others is what they should do.
    ("wants", &["should", "ought", "supposed", "应该", "应当", "sollte", "wants", "want", "hopes", "hope", "wishes", "would like", "想要", "希望", "möchte", "quiere"]),
    ("plans", &["plans", "planning", "intends", "going to", "aims", "打算", "计划", "准备", "plant"]),
    ("considers", &["considering", "considers", "thinking about", "thinking of", "考虑"]),
    ("tries", &["tries", "trying", "attempts", "尝试", "试图"]),
];
