//! One place for talking to model servers over HTTP: sending within bounds, sorting what went wrong
//! by what to do next, asking again.

mod complaint;
mod error;
mod retry;

use std::time::Duration;

use jiff::Timestamp;
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
    redirect,
};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use self::complaint::Complaint;
pub use self::error::HttpError;
pub(crate) use self::retry::{Attempts, Patience};
use crate::tls;

const MAX_ERROR_BYTES: usize = 64 << 10;
/// Longest part of a server's error message that is shown, in characters.
const MAX_DETAIL: usize = 300;
/// What a base URL may end with by mistake.
const FUNCTIONS: [&str; 2] = ["/chat/completions", "/embeddings"];
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Common servers close a connection after 5 idle seconds; a request sent at that moment is lost.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// A failed attempt.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Asking again would not help, or might be billed twice.
    Final(HttpError),
    /// Asking again may help, not before `after` if the server said so.
    Retry {
        error: HttpError,
        after: Option<Duration>,
    },
    /// The server did not like the request itself, which it may take in another form.
    Refused { error: HttpError, about: String },
}

/// One function of a server: its address and the credentials for it.
#[derive(Debug)]
pub(crate) struct Http {
    client: Client,
    endpoint: Url,
    key: Option<SecretString>,
    /// Bounds what a faulty server can make us hold.
    max_answer_bytes: usize,
}

impl Http {
    /// A client for `endpoint`. An empty key counts as none.
    ///
    /// # Errors
    /// [`HttpError::Settings`] if the key fits no header.
    pub(crate) fn new(
        endpoint: Url,
        key: Option<&SecretString>,
        max_answer_bytes: usize,
    ) -> Result<Self, HttpError> {
        tls::install_provider();
        let key = key.filter(|key| !key.expose_secret().is_empty()).cloned();
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &key {
            let bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret()));
            let mut bearer = bearer.map_err(|_| {
                let fault = "the API key has characters that no HTTP header takes";
                HttpError::Settings(fault.to_owned())
            })?;
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
            .map_err(|error| HttpError::Settings(error.to_string()))?;
        Ok(Self {
            client,
            endpoint,
            key,
            max_answer_bytes,
        })
    }

    /// Posts a JSON text once and gives the body of a good answer.
    pub(crate) async fn attempt(
        &self,
        body: String,
        timeout: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let broken = |error| self.transport_failure(error, timeout);
        // The same for all attempts of one request, for the server's logs.
        let id = format!("{:.32x}", Sha256::digest(&body));
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
        let limit = self.max_answer_bytes;
        let body = read(&mut response, limit).await.map_err(broken)?;
        if body.len() > limit {
            return Err(Failure::Final(HttpError::TooLarge { limit }));
        }
        Ok(body)
    }

    fn transport_failure(&self, error: reqwest::Error, timeout: Duration) -> Failure {
        let error = error.without_url();
        let detail = innermost(&error);
        // `is_request` also holds for connect errors and for time-outs: ask for those first.
        if error.is_connect() {
            let address = self.address();
            Failure::Retry {
                error: HttpError::Unreachable { address, detail },
                after: None,
            }
        } else if error.is_timeout() {
            Failure::Final(HttpError::Timeout { after: timeout })
        } else {
            Failure::Final(HttpError::Interrupted { detail })
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
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Failure::Final(HttpError::Auth {
                status: code,
                detail,
            }),
            StatusCode::PAYMENT_REQUIRED => Failure::Final(HttpError::Quota {
                status: code,
                detail,
            }),
            StatusCode::TOO_MANY_REQUESTS => {
                let error = HttpError::Quota {
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
                error: HttpError::Failed {
                    status: code,
                    detail,
                },
                after,
            },
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Failure::Refused {
                error: HttpError::Refused {
                    status: code,
                    detail,
                },
                about: complaint.about,
            },
            _ if status.is_server_error() => Failure::Final(HttpError::Failed {
                status: code,
                detail,
            }),
            _ => Failure::Final(HttpError::Refused {
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
    pub(crate) fn address(&self) -> String {
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

/// The URL of one of a server's functions, such as `chat/completions`. The base URL may lack `/v1`,
/// end with a slash, or be that of such a function itself. A path other than `/` is taken as it is:
/// not every server has `/v1`.
///
/// # Errors
/// [`HttpError::Settings`] if the base URL is none, or not http(s).
pub(crate) fn endpoint(base_url: &str, function: &str) -> Result<Url, HttpError> {
    let unusable = |what: &str| {
        HttpError::Settings(format!(
            "the base URL {what}; expected e.g. http://localhost:8080/v1"
        ))
    };
    let mut url =
        Url::parse(base_url.trim()).map_err(|error| unusable(&format!("is none ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(unusable("is not http or https"));
    }
    let path = url.path().trim_end_matches('/');
    let base = match FUNCTIONS.iter().find_map(|known| path.strip_suffix(known)) {
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

    const CHAT: &str = "chat/completions";

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
                matches!(endpoint(base, CHAT), Err(HttpError::Settings(_))),
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
            ("https://h/v1/embeddings", "https://h/v1/models"),
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
        let url = endpoint("http://ana:pw@h/v1?token=t", CHAT).unwrap();
        let http = Http::new(url.clone(), Some(&"sk-123".into()), 1).unwrap();
        assert_eq!(http.address(), "http://h/v1/chat/completions");
        assert_eq!(http.shown("bad\nkey sk-123."), "bad key ***.");
        assert_eq!(http.shown(&"x".repeat(5000)).len(), MAX_DETAIL);
        let error = Http::new(url, Some(&"line\nbreak".into()), 1).unwrap_err();
        assert!(!error.to_string().contains("break"), "{error}");
    }
}
