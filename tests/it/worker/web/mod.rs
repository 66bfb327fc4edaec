//! The dashboard and the API of a worker.

mod access;
mod api;
mod pages;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, HeaderMap, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Case, free, until};
use crate::support::picture;
use crate::support::store::Mem;

const TOKEN: &str = "a token of the tests, long enough";

/// A worker that serves the dashboard over a store, and works on nobody unless asked.
struct Web {
    case: Case,
    port: u16,
    client: reqwest::Client,
    token: Option<&'static str>,
}

/// What came back.
#[derive(Debug)]
struct Got {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }

    #[track_caller]
    fn is(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{self:#?}");
        self
    }

    /// The problem of this kind.
    #[track_caller]
    fn refuses(self, status: u16, kind: &str) -> Self {
        let got = self.is(status);
        assert_eq!(got.headers["content-type"], "application/problem+json");
        assert_eq!(
            got.json()["type"],
            format!("urn:memfold:{kind}"),
            "{got:#?}"
        );
        got
    }

    /// The cookie of this name that it sets: the pair alone.
    fn cookie(&self, name: &str) -> Option<String> {
        let all = self.headers.get_all(SET_COOKIE).iter();
        let mut all = all.filter_map(|value| value.to_str().ok()?.split(';').next());
        all.find(|pair| pair.starts_with(name)).map(str::to_owned)
    }

    /// The value of the hidden field in its first form that has it.
    fn field(&self, name: &str) -> String {
        let mark = format!("name=\"{name}\" value=\"");
        let (_, rest) = self
            .text
            .split_once(&mark)
            .unwrap_or_else(|| panic!("{self:#?}"));
        rest.split('"').next().unwrap().to_owned()
    }
}

/// What stands for a user in paths.
fn id_of(user: &str) -> String {
    let hash = format!("{:x}", Sha256::digest(user.as_bytes()));
    hash[..12].to_owned()
}

impl Web {
    /// With a token, over an empty index.
    async fn new() -> Self {
        let mut web = Self::set(Case::new().await.set("http_token", TOKEN));
        web.token = Some(TOKEN);
        web
    }

    /// Without a token.
    async fn open() -> Self {
        Self::set(Case::new().await)
    }

    fn set(case: Case) -> Self {
        let port = free();
        let case = case.set("listen", &format!("127.0.0.1:{port}"));
        // A client wants one, also for plain HTTP.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().redirect(Policy::none());
        Self {
            case,
            port,
            client: client.build().unwrap(),
            token: None,
        }
    }

    /// Starts the worker, for these users alone, and waits for it.
    async fn start(&mut self, users: &[&str]) {
        let mut args = Vec::new();
        for user in users {
            args.extend(["--user", user]);
        }
        self.case.start(&args);
        until("the worker is ready", async || {
            let sent = self.client.get(self.url("/readyz")).send().await;
            sent.is_ok_and(|answer| answer.status() == 200)
        })
        .await;
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn ask(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let ask = self.client.request(method, self.url(path));
        match self.token {
            Some(token) => ask.header(AUTHORIZATION, format!("Bearer {token}")),
            None => ask,
        }
    }

    async fn get(&self, path: &str) -> Got {
        got(self.ask(Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: Value) -> Got {
        got(self.ask(Method::POST, path).json(&body)).await
    }

    /// A page, with these cookies.
    async fn page(&self, path: &str, cookies: &str) -> Got {
        got(self.client.get(self.url(path)).header(COOKIE, cookies)).await
    }

    /// A form, with these cookies.
    async fn send(&self, path: &str, cookies: &str, fields: &[(&str, &str)]) -> Got {
        let ask = self.client.post(self.url(path)).header(COOKIE, cookies);
        got(form(ask, fields)).await
    }

    /// Logs in; gives the cookie of the session.
    async fn log_in(&self) -> String {
        let form = self.page("/login", "").await.is(200);
        let cookie = form.cookie("memfold_login").unwrap();
        let fields = [("csrf", form.field("csrf")), ("token", TOKEN.to_owned())];
        let fields: Vec<_> = fields.iter().map(|(n, v)| (*n, v.as_str())).collect();
        let done = self.send("/login", &cookie, &fields).await.is(303);
        done.cookie("memfold_session").unwrap()
    }

    /// Two memories of a user that say the same, merged by the command line; the merge's id.
    async fn merged(&mut self, user: &str, name: &str) -> String {
        self.case.twins(user, name).await;
        let done = self.case.run(&["merge", "--user", user, "--json"]).ends(0);
        let merged = &done.json()["users"][0]["merged"][0]["merge_id"];
        merged.as_str().unwrap().to_owned()
    }

    /// An old value and a new one of a user.
    async fn conflict(&mut self, user: &str) {
        for (i, (text, date)) in [
            ("Favourite drink is cola", "2026-01-01T10:00:00"),
            ("Favourite drink is coffee", "2026-02-01T10:00:00"),
        ]
        .into_iter()
        .enumerate()
        {
            let mut vector = [0.0; 4];
            vector[i] = 1.0;
            let memory = Mem {
                user: user.to_owned(),
                created_at: date.to_owned(),
                ..Mem::new(text, &vector)
            };
            let id = format!("{user}-drink-{i}");
            self.case.index.put(&mut self.case.con, &id, &memory).await;
        }
    }

    async fn memories(&mut self) -> picture::Picture {
        picture::memories(&mut self.case.con).await
    }
}

/// As a browser sends a form.
fn form(ask: reqwest::RequestBuilder, fields: &[(&str, &str)]) -> reqwest::RequestBuilder {
    let encoded = |text: &str| -> String {
        let byte = |byte: u8| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        text.bytes().map(byte).collect()
    };
    let pair = |(name, value): &(&str, &str)| format!("{}={}", encoded(name), encoded(value));
    let pairs: Vec<String> = fields.iter().map(pair).collect();
    ask.header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(pairs.join("&"))
}

async fn got(ask: reqwest::RequestBuilder) -> Got {
    let answer = ask.send().await.unwrap();
    Got {
        status: answer.status(),
        headers: answer.headers().clone(),
        text: answer.text().await.unwrap(),
    }
}

/// Every path of the API's description, with these in the place of what stands in braces.
fn paths(user: &str, merge: &str, conflict: &str) -> Vec<(Method, String)> {
    let described: Value =
        serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
    let mut paths = Vec::new();
    for (path, operations) in described["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let path = path
                .replace("{user}", user)
                .replace("{merge}", merge)
                .replace("{conflict}", conflict);
            paths.push((method.to_uppercase().parse().unwrap(), path));
        }
    }
    assert!(paths.len() > 10, "{paths:?}");
    paths
}

/// The pages of a user and of a merge, and those of all.
fn pages_of(user: &str, merge: &str) -> Vec<String> {
    let mut pages: Vec<String> = ["/", "/users", "/merges", "/conflicts", "/skipped"]
        .map(str::to_owned)
        .to_vec();
    pages.extend(["", "/plan", "/conflicts", "/skipped"].map(|p| format!("/users/{user}{p}")));
    pages.extend(["", "/undo"].map(|p| format!("/merges/{merge}{p}")));
    pages.push(format!("/merges?user={user}"));
    pages
}
