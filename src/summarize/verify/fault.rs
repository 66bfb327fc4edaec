//! What can be wrong with a merged text.

/// What is missing or invented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// An address, code, version, phone number or file name.
    Identifier,
    /// A date, weekday or time.
    Date,
    /// A word such as `today`.
    RelativeTime,
    /// A count, measure or amount.
    Number,
    /// A denial or an ending.
    Negation,
    /// A capitalised word.
    Name,
    /// A quoted or titled phrase.
    Quotation,
    /// An emoji or sign.
    Symbol,
    /// Any other word of content.
    Word,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Identifier => "identifier",
            Self::Date => "date or time",
            Self::RelativeTime => "time word",
            Self::Number => "number",
            Self::Negation => "negation",
            Self::Name => "name",
            Self::Quotation => "quotation",
            Self::Symbol => "symbol",
            Self::Word => "word",
        })
    }
}

/// Why a merged text was rejected. The wording is what the corrective retry tells the LLM.
///
/// It holds words of the sources and of the text: not for logs above debug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Nothing visible.
    #[error("the text is empty")]
    Empty,
    /// A refusal, a question back, or a preamble.
    #[error("the text is not a memory but an answer to the request: \"{words}\"")]
    NotAMemory {
        /// What gives it away.
        words: String,
    },
    /// Markup, source ids or prompt remnants that no source has.
    #[error("the text holds markup or a label that no source has: \"{words}\"")]
    Markup {
        /// The markup.
        words: String,
    },
    /// Something of a source is not in the text.
    #[error("the {kind} \"{words}\" of source {source_id} is missing")]
    Missing {
        /// What it is.
        kind: Kind,
        /// The words of the source.
        words: String,
        /// The source.
        source_id: String,
    },
    /// Something in the text is in no source.
    #[error("the {kind} \"{words}\" is in no source")]
    Invented {
        /// What it is.
        kind: Kind,
        /// The words of the text.
        words: String,
    },
    /// The words of a source are in the text, but not in their order or not free of limits.
    #[error("the words of source {source_id} must stand in the text in their order: \"{words}\"")]
    Rewritten {
        /// The sentence of the source.
        words: String,
        /// The source.
        source_id: String,
    },
    /// A sentence of the text mixes what the sources say, or stands beside what may change it.
    #[error(
        "\"{words}\" is not said like that in a source; it may only list what the sources say in one place"
    )]
    Mixed {
        /// The sentence of the text.
        words: String,
    },
    /// The language of a source is not that of the text.
    #[error("the text is not in the script of source {source_id}")]
    ScriptLost {
        /// The source.
        source_id: String,
    },
    /// The text uses a script that no source uses.
    #[error("the text uses a script that no source uses: \"{words}\"")]
    ScriptNew {
        /// A character of it.
        words: String,
    },
    /// Longer than all sources together.
    #[error("the text is too long: {chars} characters, at most {max}")]
    TooLong {
        /// Its length.
        chars: usize,
        /// The limit.
        max: usize,
    },
    /// Much shorter than the longest source.
    #[error("the text is too short: {chars} characters, at least {min}")]
    TooShort {
        /// Its length.
        chars: usize,
        /// The limit.
        min: usize,
    },
}

impl Fault {
    /// As the record of a merge keeps it, where a person takes the text all the same: without ids,
    /// which hold for one call, and without whole sentences, for a record holds no memory text.
    pub fn noted(&self) -> String {
        match self {
            Self::Missing { kind, words, .. } => {
                format!("the {kind} \"{words}\" of a source is missing")
            }
            Self::Rewritten { .. } => {
                "the words of a source do not stand in the text in their order".to_owned()
            }
            Self::Mixed { .. } => "a sentence is not said like that in a source".to_owned(),
            Self::ScriptLost { .. } => "the text is not in the script of a source".to_owned(),
            Self::NotAMemory { .. } => {
                "the text is not a memory but an answer to the request".to_owned()
            }
            Self::Empty
            | Self::Markup { .. }
            | Self::Invented { .. }
            | Self::ScriptNew { .. }
            | Self::TooLong { .. }
            | Self::TooShort { .. } => self.to_string(),
        }
    }
}
