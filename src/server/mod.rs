//! The HTTP side of a worker: is it alive, is it at work, its numbers.
//!
//! | path | answers |
//! |---|---|
//! | `/healthz` | 200 while the process runs |
//! | `/readyz` | 200 while it is connected and may work, else 503 and why |
//! | `/metrics` | its numbers, for Prometheus |
//!
//! Further routes are merged into [`router`]'s before [`serve`]. There is no authentication: listen
//! on an address that only those reach who may know.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::worker::Shared;

/// What the text format of the numbers is called.
const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The routes about this worker.
pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(shared)
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

async fn ready(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    match shared.not_ready() {
        None => (StatusCode::OK, "ok\n".to_owned()),
        Some(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
    }
}

async fn metrics(State(shared): State<Arc<Shared>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, METRICS_TYPE)], shared.numbers())
}
