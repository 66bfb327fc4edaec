//! The HTTP side of a worker: is it alive, is it at work, its numbers; and, where that is served, the
//! dashboard and the API.
//!
//! | path | answers |
//! |---|---|
//! | `/healthz` | 200 while the process runs |
//! | `/readyz` | 200 while it is connected and may work, else 503 and why |
//! | `/metrics` | its numbers, for Prometheus |
//! | `/api/v1/…` | the [API](crate::server), for programs |
//! | `/`, `/users`, `/merges`, … | the dashboard, for people |
//!
//! The first three ask for no token: what they tell names no user and holds no text.

mod access;
mod api;
mod chart;
mod desk;
mod merges;
mod pages;
mod people;
mod problem;
mod render;
mod spans;
mod trends;
mod words;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use tokio::net::TcpListener;

use crate::worker::Shared;
pub use access::{Access, SHORTEST_TOKEN, TokenError};
pub use desk::Desk;
use problem::Problem;
use render::Renderer;

/// What the text format of the numbers is called.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The largest body of a request.
const BODY_MOST: usize = 64 * 1024;
/// A request is answered in this time, whatever it asks for.
const TIMEOUT: Duration = Duration::from_secs(90);

/// What every answer of the dashboard and the API says to browsers: run nothing that is not from
/// here, show it in no frame, keep nothing, tell nobody where it was read.
const SHIELD: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// The dashboard and the API of one worker.
pub struct Site {
    shared: Arc<Shared>,
    desk: Desk,
    access: Access,
    renderer: Renderer,
}

/// The routes about this worker.
pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(shared)
}

/// The routes of the dashboard and the API, to be merged into those of [`router`]. They work with
/// the pipeline that the worker lays on `desk`.
pub fn site(shared: Arc<Shared>, desk: Desk, access: Access) -> Router {
    let site = Arc::new(Site {
        shared,
        desk,
        access,
        renderer: Renderer::new(),
    });
    api::router(&site)
        .route("/api/{*path}", any(api::nothing))
        .merge(pages::router())
        .layer(DefaultBodyLimit::max(BODY_MOST))
        .layer(middleware::from_fn(shield))
        .with_state(site)
}

/// Answers requests at `listen` until `stop` ends. Returns the error if the address is not to be had.
///
/// # Errors
/// Any of the operating system.
pub async fn serve(
    listen: SocketAddr,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    tracing::info!(address = %listener.local_addr()?, "answering HTTP");
    axum::serve(listener, router)
        .with_graceful_shutdown(stop)
        .await
}

/// Bounds the time of an answer, and adds what protects it.
async fn shield(request: Request, next: Next) -> Response {
    let answered = tokio::time::timeout(TIMEOUT, next.run(request)).await;
    let mut response = answered.unwrap_or_else(|_| {
        Problem::unavailable("this took longer than a minute and a half and was given up")
            .into_response()
    });
    let headers = response.headers_mut();
    for (name, value) in SHIELD {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn ready(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    match shared.not_ready() {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, METRICS_TYPE)], shared.numbers())
}
