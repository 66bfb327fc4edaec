//! One HTTP attempt: send, read within bounds, and sort what went wrong by what to do next.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};

use super::{
    LlmError, LlmSettings, retry,
    wire::{Complaint, Completion},
};
use crate::tls;

/// An answer is a few kB; this bounds what a faulty server can make us hold.
const MAX_ANSWER_BYTES: usize = 4 << 20;
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Longest part of a server's error message that is shown, in characters.
const MAX_DETAIL: usize = 300;
const CHAT: &str = "chat/completions";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Common servers close a connection after 5 idle seconds; a request sent at that moment is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A failed attempt.
#[derive(Debug)]
pub(super) enum Failure {
    /// Asking again would not help, or might be billed twice.
    Final(LlmError),
    /// Asking again may help, not before `after` if the server said so.
    Retry {
        error: LlmError,
        after: Option<Duration>,
    },
    /// The server did not like the request itself, which it may take in a simpler dialect.
    Refused { error: LlmError, about: String },
}

/// The server's address and the credentials for it.
#[derive(Debug)]
pub(super) struct Http {
    client: Client,
    endpoint: Url,
    key: Option<SecretString>,
}

impl Http {
    pub(super) fn new(settings: &LlmSettings) -> Result<Self, LlmError> {
        tls::install_provider();
        let unusable = |what: &str| LlmError::Settings(what.to_owned());
        let key = settings
            .api_key
            .clone()
            .filter(|key| !key.expose_secret().is_empty());
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret()))
                .map_err(|_| unusable("the API key has characters that no HTTP header takes"))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        let client = Client::builder()
            .user_agent(concat!("memfold/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            // A redirected POST loses its body, and the texts would go where nobody sent them.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| LlmError::Settings(error.to_string()))?;
        Ok(Self {
            client,
            endpoint: endpoint(&settings.base_url, CHAT)?,
            key,
        })
    }

    /// Sends one request; `id` is the same for all attempts of one request, for the server's logs.
    pub(super) async fn attempt(
        &self,
        body: String,
        id: &str,
        timeout: Duration,
    ) -> Result<Completion, Failure> {
        let broken = |error| self.transport_failure(error, timeout);
        let mut response = self
            .client
            .post(self.endpoint.clone())
            .timeout(timeout)
            .header("x-client-request-id", id)
            .body(body)
            .send()
            .await
            .map_err(broken)?;
        if !response.status().is_success() {
            return Err(self.refusal(&mut response).await);
        }
        let body = read(&mut response, MAX_ANSWER_BYTES)
            .await
            .map_err(broken)?;
        if body.len() > MAX_ANSWER_BYTES {
            return Err(Failure::Final(LlmError::AnswerTooLarge {
                limit: MAX_ANSWER_BYTES,
            }));
        }
        serde_json::from_slice(&body)
            .map_err(|_| Failure::Final(LlmError::bad("the server's reply is no chat completion")))
    }

    fn transport_failure(&self, error: reqwest::Error, timeout: Duration) -> Failure {
        let error = error.without_url();
        let detail = innermost(&error);
        // `is_request` also holds for connect errors and for time-outs: ask for those first.
        if error.is_connect() {
            let address = self.address();
            Failure::Retry {
                error: LlmError::Unreachable { address, detail },
                after: None,
            }
        } else if error.is_timeout() {
            Failure::Final(LlmError::Timeout { after: timeout })
        } else {
            Failure::Final(LlmError::Interrupted { detail })
        }
    }

    /// Sorts a reply whose status is not 2xx.
    async fn refusal(&self, response: &mut Response) -> Failure {
        let status = response.status();
        let after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| retry::retry_after(value, Timestamp::now()));
        // The status says enough where the text cannot be had.
        let body = read(response, MAX_ERROR_BYTES).await.unwrap_or_default();
        let complaint = Complaint::read(&String::from_utf8_lossy(&body));
        let detail = self.shown(&complaint.message);
        let code = status.as_u16();
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Failure::Final(LlmError::Auth {
                status: code,
                detail,
            }),
            StatusCode::PAYMENT_REQUIRED => Failure::Final(LlmError::Quota {
                status: code,
                detail,
            }),
            StatusCode::TOO_MANY_REQUESTS => {
                let error = LlmError::Quota {
                    status: code,
                    detail,
                };
                // No credit left, which waiting does not change.
                let broke = complaint.code == "insufficient_quota";
                if broke {
                    Failure::Final(error)
                } else {
                    Failure::Retry { error, after }
                }
            }
            StatusCode::INTERNAL_SERVER_ERROR
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT => Failure::Retry {
                error: LlmError::Server {
                    status: code,
                    detail,
                },
                after,
            },
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Failure::Refused {
                error: LlmError::BadRequest {
                    status: code,
                    detail,
                },
                about: complaint.about,
            },
            _ if status.is_server_error() => Failure::Final(LlmError::Server {
                status: code,
                detail,
            }),
            _ => Failure::Final(LlmError::BadRequest {
                status: code,
                detail,
            }),
        }
    }

    /// A server's words, made fit for a log line: one line, short, and without the key.
    fn shown(&self, message: &str) -> String {
        let message = match &self.key {
            Some(key) => message.replace(key.expose_secret(), "***"),
            None => message.to_owned(),
        };
        let line: String = message
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .take(MAX_DETAIL)
            .collect();
        if line.is_empty() {
            "no reason given".to_owned()
        } else {
            line
        }
    }

    /// The endpoint without credentials and query.
    fn address(&self) -> String {
        let mut url = self.endpoint.clone();
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.to_string()
    }
}

/// Reads a body until it ends or has passed `limit` bytes.
async fn read(response: &mut Response, limit: usize) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while body.len() <= limit
        && let Some(chunk) = response.chunk().await?
    {
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The deepest cause, which is what says "connection refused".
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}

/// The URL of one of the server's functions, such as `chat/completions`. The base URL may lack `/v1`,
/// end with a slash, or be that of the chat completions itself. A path other than `/` is taken as it
/// is: not every server has `/v1`.
pub(crate) fn endpoint(base_url: &str, function: &str) -> Result<Url, LlmError> {
    let unusable = |what: &str| {
        LlmError::Settings(format!(
            "the base URL {what}; expected e.g. http://localhost:8080/v1"
        ))
    };
    let mut url =
        Url::parse(base_url.trim()).map_err(|error| unusable(&format!("is none ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(unusable("is not http or https"));
    }
    let path = url.path().trim_end_matches('/');
    let base = match path.strip_suffix("/chat/completions") {
        None if path.is_empty() => "/v1",
        base => base.unwrap_or(path),
    };
    let path = format!("{base}/{function}");
    url.set_path(&path);
    url.set_fragment(None);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints() {
        for (base, expected) in [
            ("http://h:1", "http://h:1/v1/chat/completions"),
            ("http://h:1/", "http://h:1/v1/chat/completions"),
            (" http://h:1/v1 ", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("https://h/api/v4", "https://h/api/v4/chat/completions"),
            ("https://h/chat/completions", "https://h/chat/completions"),
            (
                "https://h/v1/chat/completions/",
                "https://h/v1/chat/completions",
            ),
            (
                "https://h/d?api-version=1",
                "https://h/d/chat/completions?api-version=1",
            ),
        ] {
            assert_eq!(endpoint(base, CHAT).unwrap().as_str(), expected, "{base}");
        }
        for base in ["", "localhost:8080", "h/v1", "ftp://h/v1", "file:///v1"] {
            assert!(
                matches!(endpoint(base, CHAT), Err(LlmError::Settings(_))),
                "{base}"
            );
        }
    }

    #[test]
    fn the_list_of_models_is_beside_the_chat() {
        for (base, expected) in [
            ("http://h:1/v1", "http://h:1/v1/models"),
            ("http://h:1/v1/", "http://h:1/v1/models"),
            ("http://h:1", "http://h:1/v1/models"),
            ("http://h:1/", "http://h:1/v1/models"),
            ("https://h/v1/chat/completions", "https://h/v1/models"),
            ("https://h/chat/completions", "https://h/models"),
            (
                "https://h/d?api-version=1",
                "https://h/d/models?api-version=1",
            ),
        ] {
            let url = endpoint(base, "models").unwrap();
            assert_eq!(url.as_str(), expected, "{base}");
        }
    }

    #[test]
    fn no_credentials_in_what_is_shown() {
        let mut settings = LlmSettings::new("http://ana:pw@h/v1?token=t", "m");
        settings.api_key = Some("sk-123".into());
        let http = Http::new(&settings).unwrap();
        assert_eq!(http.address(), "http://h/v1/chat/completions");
        assert_eq!(http.shown("bad\nkey sk-123."), "bad key ***.");
        assert_eq!(http.shown(&"x".repeat(5000)).len(), MAX_DETAIL);
        settings.api_key = Some("line\nbreak".into());
        let error = Http::new(&settings).unwrap_err();
        assert!(!error.to_string().contains("break"), "{error}");
    }
}
