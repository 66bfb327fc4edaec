//! Who may read and who may change something.
//!
//! With a token: programs send it with every request, people once, for a session. Without one
//! everybody who reaches the address may read, which is this machine alone, and nobody may write.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use rand::RngCore as _;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::problem::Problem;

/// The shortest token.
pub const SHORTEST_TOKEN: usize = 16;
/// How long a person stays logged in.
pub(super) const SESSION: Duration = Duration::from_secs(12 * 3600);
/// How long a form of the login page may be sent.
const LOGIN_FORM: Duration = Duration::from_secs(3600);
/// Sessions at once; the oldest goes first.
const SESSIONS_MOST: usize = 1000;
/// A wrong token is answered so late, and one at a time.
const PENALTY: Duration = Duration::from_millis(300);

/// The cookie of a session.
pub(super) const SESSION_COOKIE: &str = "memfold_session";
/// The cookie that belongs to a login form.
pub(super) const LOGIN_COOKIE: &str = "memfold_login";
/// The cookie of the language.
pub(super) const LANG_COOKIE: &str = "memfold_lang";

/// Why a token cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is too short to keep anybody out.
    #[error(
        "the token of --http-token or --http-token-file has fewer than 16 characters; make one with `openssl rand -hex 32`"
    )]
    Short,
    /// Its file cannot be read.
    #[error("--http-token-file {file}: {error}")]
    File {
        /// The file.
        file: String,
        /// Why not.
        error: std::io::Error,
    },
}

/// Who may do what.
pub struct Access {
    token: Option<SecretString>,
    sessions: Mutex<HashMap<[u8; 32], Session>>,
    penalty: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct Session {
    csrf: String,
    since: Instant,
}

/// A person that looks at a page.
#[derive(Clone, Debug, Default)]
pub(super) struct Visitor {
    /// What every form of the session has to bring; `None` = may only read.
    pub(super) csrf: Option<String>,
}

impl Access {
    /// For this token, or the one in the file; without either nobody may write.
    ///
    /// # Errors
    /// [`TokenError`]
    pub fn new(token: Option<SecretString>, file: Option<&Path>) -> Result<Self, TokenError> {
        let token = match file {
            None => token,
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| TokenError::File {
                    file: path.display().to_string(),
                    error,
                })?;
                Some(text.trim().to_owned().into())
            }
        };
        if token
            .as_ref()
            .is_some_and(|token| token.expose_secret().len() < SHORTEST_TOKEN)
        {
            return Err(TokenError::Short);
        }
        Ok(Self {
            token,
            sessions: Mutex::default(),
            penalty: tokio::sync::Mutex::default(),
        })
    }

    /// Whether there is a token to be known.
    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Whether this is the token. A wrong one takes a while.
    pub(super) async fn is_token(&self, given: &str) -> bool {
        let Some(token) = &self.token else {
            return false;
        };
        // Of digests, so that not even the length can be told from the time it takes.
        let digest = |text: &str| Sha256::digest(text.as_bytes());
        let same: bool = digest(given).ct_eq(&digest(token.expose_secret())).into();
        if !same {
            let _one_at_a_time = self.penalty.lock().await;
            tokio::time::sleep(PENALTY).await;
        }
        same
    }

    /// Whether a program may do this.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(super) async fn check_program(
        &self,
        headers: &HeaderMap,
        writes: bool,
    ) -> Result<(), Problem> {
        if !self.has_token() {
            only_here(headers)?;
            return if writes { Err(read_only()) } else { Ok(()) };
        }
        let given = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.strip_prefix("Bearer "));
        match given {
            Some(given) if self.is_token(given.trim()).await => Ok(()),
            _ => Err(unauthorized()),
        }
    }

    /// The person behind a request for a page; `None` = has to log in.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(super) fn visitor(&self, headers: &HeaderMap) -> Result<Option<Visitor>, Problem> {
        if !self.has_token() {
            only_here(headers)?;
            return Ok(Some(Visitor::default()));
        }
        let session = cookie(headers, SESSION_COOKIE).and_then(|id| self.session(id));
        Ok(session.map(|session| Visitor {
            csrf: Some(session.csrf),
        }))
    }

    /// Begins a session; gives its cookie's value.
    pub(super) fn begin(&self) -> String {
        let (id, session) = (
            secret(),
            Session {
                csrf: secret(),
                since: Instant::now(),
            },
        );
        let mut sessions = self.sessions();
        sessions.retain(|_, session| session.since.elapsed() < SESSION);
        if sessions.len() >= SESSIONS_MOST
            && let Some(oldest) = sessions
                .iter()
                .min_by_key(|(_, session)| session.since)
                .map(|(id, _)| *id)
        {
            sessions.remove(&oldest);
        }
        sessions.insert(name(&id), session);
        id
    }

    /// Ends the session of these cookies.
    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(id) = cookie(headers, SESSION_COOKIE) {
            self.sessions().remove(&name(id));
        }
    }

    fn session(&self, id: &str) -> Option<Session> {
        let session = self.sessions().get(&name(id)).cloned()?;
        (session.since.elapsed() < SESSION).then_some(session)
    }

    fn sessions(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Visitor {
    /// Whether a form that changes something was sent by a page of this session.
    ///
    /// # Errors
    /// The problem to answer with.
    pub(super) fn check_form(&self, headers: &HeaderMap, given: &str) -> Result<(), Problem> {
        let Some(csrf) = &self.csrf else {
            return Err(read_only());
        };
        same_site(headers)?;
        if equal(csrf, given) {
            Ok(())
        } else {
            Err(stale_form())
        }
    }
}

/// Whether a login form was sent by the page that it came with.
///
/// # Errors
/// The problem to answer with.
pub(super) fn check_login_form(headers: &HeaderMap, given: &str) -> Result<(), Problem> {
    same_site(headers)?;
    match cookie(headers, LOGIN_COOKIE) {
        Some(expected) if !given.is_empty() && equal(expected, given) => Ok(()),
        _ => Err(stale_form()),
    }
}

/// Compares in a time that does not depend on where they differ.
fn equal(a: &str, b: &str) -> bool {
    a.as_bytes().ct_eq(b.as_bytes()).into()
}

/// Sessions are kept under the digests of their secrets, which are looked up in no constant time.
fn name(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// 256 random bits.
pub(super) fn secret() -> String {
    let mut bytes = [0u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).into_iter();
    all.filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}

/// The text that sets a cookie which only this site gets and no script reads.
pub(super) fn set_cookie(headers: &HeaderMap, name: &str, value: &str, lasts: Duration) -> String {
    let seconds = lasts.as_secs();
    // Behind a proxy that speaks TLS for memfold.
    let secure = headers
        .get("x-forwarded-proto")
        .is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// The text that sets the cookie of a login form.
pub(super) fn set_login_cookie(headers: &HeaderMap, value: &str) -> String {
    set_cookie(headers, LOGIN_COOKIE, value, LOGIN_FORM)
}

/// A page of another site may make a browser on this machine ask; its name for this address is
/// another one then.
fn only_here(headers: &HeaderMap) -> Result<(), Problem> {
    let host = headers
        .get(header::HOST)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let loopback = name.eq_ignore_ascii_case("localhost")
        || name
            .trim_matches(['[', ']'])
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    if loopback {
        Ok(())
    } else {
        Err(Problem::forbidden(
            "wrong-host",
            "without a token this is only answered under the names localhost, 127.0.0.1 and [::1]; \
             set --http-token-file to use another one",
        ))
    }
}

/// Browsers say where a form comes from.
fn same_site(headers: &HeaderMap) -> Result<(), Problem> {
    let from = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    match from {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(stale_form()),
    }
}

fn read_only() -> Problem {
    Problem::forbidden(
        "read-only",
        "nothing can be changed without a token: make one with `openssl rand -hex 32`, put it in a \
         file, and start the worker with --http-token-file",
    )
}

fn unauthorized() -> Problem {
    Problem::new(
        axum::http::StatusCode::UNAUTHORIZED,
        "unauthorized",
        "Not logged in",
        "send the token of --http-token-file as `Authorization: Bearer TOKEN`",
    )
}

fn stale_form() -> Problem {
    Problem::forbidden(
        "stale-form",
        "this form is of another session or of another site; load the page again and repeat",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn with_token() -> Access {
        Access::new(Some("0123456789abcdef".to_owned().into()), None).unwrap()
    }

    #[tokio::test]
    async fn programs_bring_the_token() {
        let access = with_token();
        let with = |value| headers(&[("authorization", value)]);
        let good = with("Bearer 0123456789abcdef");
        assert!(access.check_program(&good, true).await.is_ok());
        for bad in [
            "Bearer 0123456789abcdeF",
            "Bearer ",
            "0123456789abcdef",
            "Basic x",
        ] {
            let problem = access.check_program(&with(bad), false).await.unwrap_err();
            assert_eq!(problem.status, 401, "{bad}");
        }
    }

    #[tokio::test]
    async fn without_a_token_this_machine_reads() {
        let access = Access::new(None, None).unwrap();
        for host in [
            "localhost:9464",
            "127.0.0.1",
            "127.9.9.9:1",
            "[::1]:9464",
            "LOCALHOST",
        ] {
            let headers = headers(&[("host", host)]);
            assert!(
                access.check_program(&headers, false).await.is_ok(),
                "{host}"
            );
            let refused = access.check_program(&headers, true).await.unwrap_err();
            assert_eq!(refused.kind, "urn:memfold:read-only");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:9464",
            "10.0.0.1:9464",
            "",
            "[::2]",
        ] {
            let headers = headers(&[("host", host)]);
            let refused = access.check_program(&headers, false).await.unwrap_err();
            assert_eq!(refused.kind, "urn:memfold:wrong-host", "{host}");
            assert!(access.visitor(&headers).is_err());
        }
    }

    #[test]
    fn forms_belong_to_a_session() {
        let access = with_token();
        let id = access.begin();
        let cookie = format!("a=b; {SESSION_COOKIE}={id}");
        let mine = headers(&[("cookie", &cookie)]);
        let visitor = access.visitor(&mine).unwrap().unwrap();
        let csrf = visitor.csrf.clone().unwrap();
        assert!(visitor.check_form(&mine, &csrf).is_ok());
        assert!(visitor.check_form(&mine, "").is_err());
        assert!(visitor.check_form(&mine, &secret()).is_err());
        let foreign = headers(&[("sec-fetch-site", "cross-site")]);
        assert!(visitor.check_form(&foreign, &csrf).is_err());
        access.end(&mine);
        assert!(access.visitor(&mine).unwrap().is_none());
        assert!(Visitor::default().check_form(&mine, "").is_err());
    }

    #[test]
    fn the_oldest_session_makes_room() {
        let access = with_token();
        let first = access.begin();
        for _ in 0..SESSIONS_MOST {
            access.begin();
        }
        assert!(access.session(&first).is_none());
        assert_eq!(access.sessions().len(), SESSIONS_MOST);
    }

    #[test]
    fn short_tokens_and_lost_files_are_refused() {
        let short = Access::new(Some("0123456789abcde".to_owned().into()), None);
        assert!(matches!(short, Err(TokenError::Short)));
        let lost = Access::new(None, Some(Path::new("/nowhere/token")));
        assert!(matches!(lost, Err(TokenError::File { .. })));
    }
}
