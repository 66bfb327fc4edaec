//! The dashboard: pages for people, made on the server. They say what the API says.

mod conflicts;
mod guest;
mod login;
mod merges;
mod overview;
mod skipped;
mod users;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};

use self::guest::Anyone;
use super::Site;
use super::problem::Problem;
use super::render::{ICON, SCRIPT, STYLE};

/// Sentences that the code says; those of the templates stand there.
#[cfg(test)]
pub(super) const SAYS: &[&str] = &[
    "{n} s ago",
    "{n} min ago",
    "{n} h ago",
    "{n} d ago",
    "new",
    "changed",
    "count",
    "full",
    "retry",
    "request",
    "failures",
    overview::MEMORIES,
    overview::USERS,
    "users",
    overview::MERGES,
    "made",
    "undone",
    overview::SAVED,
    "memories",
    overview::TOKENS,
    "tokens",
    "This is not the token.",
    "Not found",
    "Not allowed",
    "Not logged in",
    "Not possible now",
    "The request cannot be understood",
    "This is not as it was, or does not allow it",
    "An error of memfold or of the store",
];

/// Rows of a page.
const PAGE: usize = 25;
/// Users that a page over several looks at, and how long it may take for that.
const LOOKED_AT: usize = 10;
const LOOK_BUDGET: Duration = Duration::from_secs(15);

type Site_ = Arc<Site>;

/// The routes of the dashboard.
pub(super) fn router() -> Router<Site_> {
    Router::new()
        .route("/", get(overview::overview))
        .route("/users", get(users::users))
        .route("/users/find", post(users::find))
        .route("/users/{user}", get(users::user))
        .route("/users/{user}/request", post(users::request))
        .route("/users/{user}/plan", get(users::plan))
        .route("/users/{user}/conflicts", get(conflicts::user_conflicts))
        .route(
            "/users/{user}/conflicts/{conflict}",
            post(conflicts::decide),
        )
        .route("/users/{user}/skipped", get(skipped::user_skipped))
        .route("/merges", get(merges::merges_page))
        .route("/merges/{merge}", get(merges::merge))
        .route(
            "/merges/{merge}/undo",
            get(merges::undo_form).post(merges::undo),
        )
        .route("/conflicts", get(conflicts::conflicts))
        .route("/skipped", get(skipped::skipped))
        .route("/login", get(login::login_form).post(login::login))
        .route("/logout", post(login::logout))
        .route(
            "/assets/style.css",
            get(|| asset("text/css; charset=utf-8", STYLE)),
        )
        .route(
            "/assets/live.js",
            get(|| asset("text/javascript; charset=utf-8", SCRIPT)),
        )
        .route("/assets/icon.svg", get(|| asset("image/svg+xml", ICON)))
        .fallback(nothing)
}

/// A file that is the same for all, and may be kept for a while.
async fn asset(kind: &'static str, text: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "public, max-age=300"),
    ];
    (headers, text)
}

/// Whatever is asked for that is not there.
async fn nothing(Anyone(guest): Anyone) -> Response {
    guest.problem(&Problem::not_found(
        "there is no such page; the overview is at /",
    ))
}
