//! What can go wrong with an LLM call, told apart by what the caller does next.

use crate::http::HttpError;

/// Why there is no answer. A failure is never a result: the memories stay as they are.
///
/// The messages hold no API key. What the model answered is never part of a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LlmError {
    /// The server cannot be reached, refused, failed, or did not answer in time.
    #[error("the LLM server {0}")]
    Server(#[from] HttpError),
    /// The prompt template cannot be read or rendered.
    #[error("the prompt template cannot be used: {0}")]
    Template(String),
    /// The answer hit the token limit, so it is not whole.
    #[error(
        "the LLM's answer was cut at the limit of {limit} tokens{}",
        if *.reasoning { ", inside its reasoning; switch reasoning off at the server or raise \
            --llm-max-tokens" } else { "; raise --llm-max-tokens" }
    )]
    Cut {
        /// The configured limit.
        limit: u32,
        /// Whether it was cut before the answer proper had begun.
        reasoning: bool,
    },
    /// The answer has no text.
    #[error(
        "the LLM's answer is empty{}",
        if *.reasoning { ": all of it is reasoning; switch reasoning off for this model, or correct \
            the server's reasoning parser setting" } else { "" }
    )]
    Empty {
        /// Whether there is reasoning beside the missing answer.
        reasoning: bool,
    },
    /// The model or a content filter refused.
    #[error("the LLM refused to answer ({by})")]
    Refused {
        /// What reported the refusal: `message.refusal` or `content_filter`.
        by: &'static str,
    },
    /// The answer does not have the form asked for.
    #[error("the LLM's answer cannot be used: {what}")]
    BadAnswer {
        /// What is wrong, without words of the answer.
        what: String,
    },
    /// The model read less than it was sent: its server cut the prompt without an error.
    #[error(
        "the LLM server read {read} prompt tokens where at least {sent} were sent: it cuts prompts \
         at its context length; raise that (Ollama: OLLAMA_CONTEXT_LENGTH) or lower the input limit"
    )]
    ContextCut {
        /// The least number of tokens that any tokenizer makes of what was sent.
        sent: u64,
        /// The prompt tokens that the server reports.
        read: u64,
    },
    /// The memories are longer than the configured limit. Nothing was sent.
    #[error(
        "the memories have {chars} characters, more than the {limit} that one LLM call may get"
    )]
    InputTooLarge {
        /// Characters of all texts together.
        chars: usize,
        /// The configured limit.
        limit: usize,
    },
    /// The memories hold personal data or secrets, which may not be sent. Nothing was sent.
    #[error(
        "the memories hold personal data or secrets ({kinds}), which --pii block keeps from the LLM"
    )]
    Private {
        /// Which sorts.
        kinds: String,
    },
    /// This run may make no further call.
    #[error("the budget of {limit} LLM calls for this run is used up")]
    BudgetExhausted {
        /// The configured number of calls.
        limit: u64,
    },
    /// This run may take no further token.
    #[error("the budget of {limit} LLM tokens is used up")]
    TokensSpent {
        /// The number of tokens.
        limit: u64,
    },
}

impl LlmError {
    /// Whether further calls in this run would fail in the same way: nothing more is asked. All other
    /// errors concern one group of memories.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Server(error) => error.is_outage(),
            Self::Template(_) | Self::BudgetExhausted { .. } | Self::TokensSpent { .. } => true,
            _ => false,
        }
    }

    /// Whether it is a limit of this run's own, which says nothing of the server.
    pub fn is_own_limit(&self) -> bool {
        matches!(
            self,
            Self::BudgetExhausted { .. } | Self::TokensSpent { .. }
        )
    }

    /// Whether the model was asked and this is what it made of these memories: asking the same again
    /// would most likely end the same.
    pub fn is_answer(&self) -> bool {
        matches!(
            self,
            Self::Cut { .. } | Self::Empty { .. } | Self::Refused { .. } | Self::BadAnswer { .. }
        )
    }

    /// The message without the server's own words, which may quote what it was sent: for logs.
    pub fn for_log(&self) -> String {
        match self {
            Self::Server(error) => Self::Server(error.for_log()).to_string(),
            error => error.to_string(),
        }
    }

    /// Whether the server gave no answer, which may be this question's fault or the server's.
    pub(super) fn is_unanswered(&self) -> bool {
        matches!(self, Self::Server(error) if error.is_unanswered())
    }

    pub(super) fn bad(what: impl Into<String>) -> Self {
        Self::BadAnswer { what: what.into() }
    }
}
