//! What can go wrong with an LLM call, told apart by what the caller does next.

use std::time::Duration;

/// Why there is no answer. A failure is never a result: the memories stay as they are.
///
/// The messages hold no API key. `detail` is what the server said in its own error, shortened; a
/// server may quote the request there. What the model answered is never part of a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LlmError {
    /// A setting cannot be used.
    #[error("the LLM settings cannot be used: {0}")]
    Settings(String),
    /// The prompt template cannot be read or rendered.
    #[error("the prompt template cannot be used: {0}")]
    Template(String),
    /// No connection could be made.
    #[error("no LLM server answers at {address}: {detail}; start it or correct the base URL")]
    Unreachable {
        /// The address without credentials.
        address: String,
        /// The client's error.
        detail: String,
    },
    /// The server refused the credentials (401, 403).
    #[error("the LLM server refused the credentials ({status}): {detail}; check the API key")]
    Auth {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// Out of credit (402), or the rate limit outlasted the retries (429).
    #[error("the LLM server's quota is used up ({status}): {detail}; try again later")]
    Quota {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// The server failed (5xx), also when asked again where that may help.
    #[error("the LLM server failed ({status}): {detail}")]
    Server {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// The server does not accept the request (any other status).
    #[error("the LLM server refused the request ({status}): {detail}; check base URL and model")]
    BadRequest {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// No complete answer in time. Not sent again, as the server may go on with it and bill it.
    #[error(
        "the LLM server did not answer within {:.1} s; the call may have been billed and is not \
         repeated; raise the LLM timeout if the model needs longer", .after.as_secs_f64()
    )]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// The connection broke after the request was sent. Not sent again, as it may have been billed.
    #[error(
        "the connection to the LLM server broke ({detail}); the call may have been billed and is \
         not repeated"
    )]
    Interrupted {
        /// The client's error.
        detail: String,
    },
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
    /// The server sent more than an answer can be.
    #[error("the LLM server's reply has more than {limit} bytes")]
    AnswerTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// This run may make no further call.
    #[error("the budget of {limit} LLM calls for this run is used up")]
    BudgetExhausted {
        /// The configured number of calls.
        limit: u64,
    },
}

impl LlmError {
    /// Whether further calls in this run would fail in the same way: nothing more is asked. All other
    /// errors concern one group of memories.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Settings(_)
            | Self::Template(_)
            | Self::Unreachable { .. }
            | Self::Auth { .. }
            | Self::Quota { .. }
            | Self::BudgetExhausted { .. } => true,
            // 404: no such model, or no such path. 503: not serving, also after the retries.
            Self::BadRequest { status, .. } => *status == 404,
            Self::Server { status, .. } => *status == 503,
            _ => false,
        }
    }

    /// The message without the server's own words, which may quote what it was sent: for logs.
    pub fn for_log(&self) -> String {
        let mut error = self.clone();
        if let Self::Auth { detail, .. }
        | Self::Quota { detail, .. }
        | Self::Server { detail, .. }
        | Self::BadRequest { detail, .. } = &mut error
        {
            "the server's words are in the report".clone_into(detail);
        }
        error.to_string()
    }

    /// Whether the server gave no answer, which may be this question's fault or the server's.
    pub(super) fn is_unanswered(&self) -> bool {
        matches!(
            self,
            Self::Server { .. } | Self::Timeout { .. } | Self::Interrupted { .. }
        )
    }

    pub(super) fn bad(what: impl Into<String>) -> Self {
        Self::BadAnswer { what: what.into() }
    }
}
