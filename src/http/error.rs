//! What can go wrong with a question to a model server.

use std::time::Duration;

/// Why a server gave no usable answer. The messages are what is said of the server: "the LLM server"
/// and then one of them.
///
/// They hold no API key. `detail` is what the server said in its own error, shortened; a server may
/// quote the request there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// A setting cannot be used.
    #[error("settings cannot be used: {0}")]
    Settings(String),
    /// No connection could be made.
    #[error("does not answer at {address}: {detail}; start it or correct the base URL")]
    Unreachable {
        /// The address without credentials.
        address: String,
        /// The client's error.
        detail: String,
    },
    /// The server refused the credentials (401, 403).
    #[error("refused the credentials ({status}): {detail}; check the API key")]
    Auth {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// Out of credit (402), or the rate limit outlasted the retries (429).
    #[error("has no quota left ({status}): {detail}; try again later")]
    Quota {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// The server failed (5xx), also when asked again where that may help.
    #[error("failed ({status}): {detail}")]
    Failed {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// The server does not accept the request (any other status).
    #[error("refused the request ({status}): {detail}; check base URL and model")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's words.
        detail: String,
    },
    /// No complete answer in time. Not sent again, as the server may go on with it and bill it.
    #[error(
        "did not answer within {:.1} s; the call may have been billed and is not repeated; raise \
         the time-out if the model needs longer", .after.as_secs_f64()
    )]
    Timeout {
        /// How long was waited.
        after: Duration,
    },
    /// The connection broke after the request was sent. Not sent again, as it may have been billed.
    #[error("broke the connection ({detail}); the call may have been billed and is not repeated")]
    Interrupted {
        /// The client's error.
        detail: String,
    },
    /// The server sent more than an answer can be.
    #[error("sent more than {limit} bytes, which is no answer")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

impl HttpError {
    /// Whether further questions would fail in the same way.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Settings(_)
            | Self::Unreachable { .. }
            | Self::Auth { .. }
            | Self::Quota { .. } => true,
            // 404: no such model, or no such path. 503: not serving, also after the retries.
            Self::Refused { status, .. } => *status == 404,
            Self::Failed { status, .. } => *status == 503,
            Self::Timeout { .. } | Self::Interrupted { .. } | Self::TooLarge { .. } => false,
        }
    }

    /// Whether the server gave no answer, which may be this question's fault or the server's.
    pub fn is_unanswered(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. } | Self::Timeout { .. } | Self::Interrupted { .. }
        )
    }

    /// The same without the server's own words, which may quote what it was sent: for logs.
    #[must_use]
    pub fn for_log(&self) -> Self {
        let mut error = self.clone();
        if let Self::Auth { detail, .. }
        | Self::Quota { detail, .. }
        | Self::Failed { detail, .. }
        | Self::Refused { detail, .. } = &mut error
        {
            "the server's words are in the report".clone_into(detail);
        }
        error
    }
}
