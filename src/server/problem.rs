//! What went wrong, for programs (RFC 9457) and for people.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::merge::MergeError;
use crate::store::{StoreError, UndoError};

/// What the names of all kinds begin with.
const NAMESPACE: &str = "urn:memfold:";

/// Why a request was not carried out. The text holds no memory text.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Problem {
    /// Names the kind of problem; stable.
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) title: &'static str,
    pub(super) status: u16,
    /// What is wrong, and what to do.
    pub(super) detail: String,
}

impl Problem {
    pub(super) fn new(
        status: StatusCode,
        kind: &str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind: format!("{NAMESPACE}{kind}"),
            title,
            status: status.as_u16(),
            detail: detail.into(),
        }
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-request",
            "The request cannot be understood",
            detail,
        )
    }

    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    pub(super) fn conflict(kind: &str, detail: impl Into<String>) -> Self {
        let title = "This is not as it was, or does not allow it";
        Self::new(StatusCode::CONFLICT, kind, title, detail)
    }

    pub(super) fn forbidden(kind: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, kind, "Not allowed", detail)
    }

    pub(super) fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "Not possible now",
            detail,
        )
    }

    fn internal(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "An error of memfold or of the store",
            detail,
        )
    }

    /// Whether it is of this kind.
    pub(super) fn is(&self, kind: &str) -> bool {
        self.kind.strip_prefix(NAMESPACE) == Some(kind)
    }

    pub(super) fn code(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.code(), Json(&self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        if self.code() == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"memfold\"");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let text = error.to_string();
        match error {
            StoreError::Protocol(_) | StoreError::Other(_) | StoreError::BadUrl(_) => {
                Self::internal(text)
            }
            StoreError::TooLarge { .. } => Self::conflict("too-large", text),
            _ => Self::unavailable(text),
        }
    }
}

impl From<MergeError> for Problem {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Store(error) => error.into(),
            MergeError::Lease(_) => Self::conflict("busy", error.to_string()),
            MergeError::NotNow { .. } | MergeError::Embed(_) | MergeError::NoEmbedder => {
                Self::unavailable(error.to_string())
            }
            MergeError::RetirementCap { .. } | MergeError::WrongPlan(_) => {
                Self::conflict("refused", error.to_string())
            }
            _ => Self::internal(error.to_string()),
        }
    }
}

impl From<UndoError> for Problem {
    fn from(error: UndoError) -> Self {
        match error {
            UndoError::Unknown(_) => Self::not_found(error.to_string()),
            UndoError::Store(error) => error.into(),
            UndoError::Broken(_) | UndoError::Refused(_) => Self::internal(error.to_string()),
            _ => Self::conflict("undo-refused", error.to_string()),
        }
    }
}
