//! Connecting: what the server is, and what to say if it cannot be served.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use memfold::store::StoreError;
use memfold::store::connect::{ConnectOptions, connect};
use redis::aio::ConnectionManager;
use secrecy::SecretString;

use crate::support::server::Server;
use crate::support::store::Index;

async fn to(url: &str) -> Result<ConnectionManager, StoreError> {
    connect(&SecretString::from(url), &ConnectOptions::default()).await
}

async fn refused(url: &str) -> StoreError {
    to(url).await.err().unwrap_or_else(|| panic!("connected"))
}

#[tokio::test]
async fn a_server_with_search_is_served_over_resp3() {
    let server = Server::start();
    let mut con = to(&format!("redis://127.0.0.1:{}", server.port()))
        .await
        .unwrap();
    Index::json().create(&mut con).await;
    let info: redis::Value = redis::cmd("FT.INFO")
        .arg("agent_memories")
        .query_async(&mut con)
        .await
        .unwrap();
    assert!(matches!(info, redis::Value::Map(_)), "not RESP3");
}

#[tokio::test]
async fn a_dead_server_is_told_quickly() {
    let port = TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let start = Instant::now();
    let error = refused(&format!("redis://user:s3cret@127.0.0.1:{port}")).await;
    assert!(
        matches!(&error, StoreError::Unreachable { address, .. } if address.contains(&port.to_string())),
        "{error}"
    );
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
    assert!(!format!("{error} {error:?}").contains("s3cret"));
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap(); // accepts, never answers
    let url = format!(
        "redis://127.0.0.1:{}",
        listener.local_addr().unwrap().port()
    );
    let options = ConnectOptions {
        connect_timeout: Duration::from_millis(200),
        response_timeout: Duration::from_millis(200),
        ..ConnectOptions::default()
    };
    let error = connect(&SecretString::from(url), &options)
        .await
        .err()
        .unwrap();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
}

#[tokio::test]
async fn wrong_credentials_are_told_without_them() {
    let server = Server::start_with(&["--requirepass", "right"]);
    for url in [
        format!("redis://:s3cret@127.0.0.1:{}", server.port()),
        format!("redis://bob:s3cret@127.0.0.1:{}", server.port()),
        format!("redis://127.0.0.1:{}", server.port()),
    ] {
        let error = refused(&url).await;
        assert!(matches!(error, StoreError::Auth(_)), "{error}");
        assert!(!format!("{error} {error:?}").contains("s3cret"));
    }
    assert!(
        to(&format!("redis://:right@127.0.0.1:{}", server.port()))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn an_account_without_the_list_of_indexes_is_served() {
    let server = Server::start();
    let mut con = server.connect().await;
    let rules = ["on", ">pw", "~*", "+@all", "-FT._LIST"];
    redis::cmd("ACL")
        .arg("SETUSER")
        .arg("agent")
        .arg(&rules)
        .exec_async(&mut con)
        .await
        .unwrap();
    assert!(to(&server.url_as("agent", "pw")).await.is_ok());
}

#[tokio::test]
async fn a_server_without_search_is_refused() {
    let server = Server::start_bare(&[]);
    let error = refused(&server.url()).await;
    assert!(matches!(error, StoreError::NoSearch), "{error}");
}

#[tokio::test]
async fn a_cluster_is_refused() {
    let server = Server::start_bare(&["--cluster-enabled", "yes"]);
    let error = refused(&server.url()).await;
    assert!(matches!(error, StoreError::Cluster), "{error}");
}
