//! Who asks for a page, and how to answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use minijinja::context;
use minijinja::value::Value;

use super::Site_;
use crate::server::access::{LANG_COOKIE, Visitor, cookie, set_cookie};
use crate::server::problem::Problem;
use crate::server::words::Lang;

/// How long the language is remembered.
const LANG_KEPT: Duration = Duration::from_secs(365 * 86_400);

/// Who asks, and how to answer.
pub(super) struct Guest {
    pub(super) site: Site_,
    pub(super) visitor: Visitor,
    pub(super) lang: Lang,
    pub(super) headers: HeaderMap,
    /// The path that was asked for.
    path: String,
    pub(super) query: HashMap<String, String>,
}

/// Whoever asks, logged in or not.
pub(super) struct Anyone(pub(super) Guest);

impl FromRequestParts<Site_> for Anyone {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Site_) -> Result<Self, Response> {
        let query: HashMap<String, String> = Query::try_from_uri(&parts.uri)
            .map(|Query(query)| query)
            .unwrap_or_default();
        let chosen = query.get("lang").map(String::as_str);
        let remembered = cookie(&parts.headers, LANG_COOKIE);
        let lang = chosen
            .and_then(Lang::named)
            .or_else(|| remembered.and_then(Lang::named))
            .unwrap_or_else(|| Lang::accepted(&parts.headers));
        Ok(Self(Guest {
            site: Arc::clone(site),
            visitor: Visitor::default(),
            lang,
            headers: parts.headers.clone(),
            path: parts.uri.path().to_owned(),
            query,
        }))
    }
}

impl FromRequestParts<Site_> for Guest {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, site: &Site_) -> Result<Self, Response> {
        let Anyone(mut guest) = Anyone::from_request_parts(parts, site).await?;
        match site.access.visitor(&parts.headers) {
            Ok(Some(visitor)) => {
                guest.visitor = visitor;
                Ok(guest)
            }
            Ok(None) if parts.method == Method::GET => Err(Redirect::to("/login").into_response()),
            Ok(None) => Err(guest.problem(&Problem::forbidden(
                "stale-form",
                "your session is over; log in again",
            ))),
            Err(problem) => Err(guest.problem(&problem)),
        }
    }
}

impl Guest {
    /// What all pages need.
    fn frame(&self) -> Value {
        let read_only = !self.site.access.has_token();
        context! {
            csrf => self.visitor.csrf,
            read_only => read_only,
            path => self.path,
            done => self.query.get("done"),
            version => env!("CARGO_PKG_VERSION"),
        }
    }

    pub(super) fn page(&self, name: &str, page: Value) -> Result<Response, Problem> {
        let html = self
            .site
            .renderer
            .page(name, self.lang, self.frame(), page)?;
        Ok(self.with_lang(html.into_response()))
    }

    /// Remembers the language that was chosen by `?lang=`.
    fn with_lang(&self, mut response: Response) -> Response {
        if self.query.contains_key("lang") {
            let text = set_cookie(&self.headers, LANG_COOKIE, self.lang.name(), LANG_KEPT);
            if let Ok(value) = HeaderValue::from_str(&text) {
                response.headers_mut().append(header::SET_COOKIE, value);
            }
        }
        response
    }

    pub(super) fn problem(&self, problem: &Problem) -> Response {
        let shown = context! { problem => problem, title => self.lang.say(problem.title) };
        let page = self
            .site
            .renderer
            .page("problem.html", self.lang, self.frame(), shown);
        let page = page.unwrap_or_else(|_| Html(problem.title.to_owned()));
        (problem.code(), page).into_response()
    }

    pub(super) fn answer(&self, answer: Result<Response, Problem>) -> Response {
        answer.unwrap_or_else(|problem| self.problem(&problem))
    }

    /// Whether a form may change something.
    pub(super) fn check(&self, form: &Fields) -> Result<(), Problem> {
        let given = form.get("csrf").map_or("", String::as_str);
        self.visitor.check_form(&self.headers, given)
    }

    /// The number of the page that is asked for, from 0.
    pub(super) fn page_number(&self) -> usize {
        let number = self.query.get("page").and_then(|page| page.parse().ok());
        number.unwrap_or(1usize).clamp(1, 1_000_000) - 1
    }
}

pub(super) type Fields = HashMap<String, String>;

/// A redirect after a form, with the word for what was done.
pub(super) fn done(path: &str, what: &str) -> Result<Response, Problem> {
    Ok(Redirect::to(&format!("{path}?done={what}")).into_response())
}
