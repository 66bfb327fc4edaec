//! The ways to a server: TLS with certificates, Sentinel, a unix socket, a password in a file.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use memfold::store::connect::{ConnectOptions, TlsFiles, open};
use redis::aio::MultiplexedConnection;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::{Case, until};
use crate::support::server::{Server, parts};

fn pem(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/tls")
        .join(name)
}

/// TLS before the server at `port`, for clients with a certificate of the same authority. Gives its
/// own port.
async fn tls_before(port: u16) -> u16 {
    let certificates = |name| CertificateDer::from_pem_file(pem(name)).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificates("ca.pem")).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let roots = Arc::new(roots);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider));
    let key = PrivateKeyDer::from_pem_file(pem("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![certificates("server.pem")], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let own = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(client).await else {
                    return;
                };
                let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    own
}

/// A Sentinel over one primary, `main`; ended when dropped.
struct Sentinel {
    child: Child,
    port: u16,
    _dir: TempDir,
}

impl Sentinel {
    async fn over(primary: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let config = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\n\
             sentinel monitor main 127.0.0.1 {primary} 1\n\
             sentinel down-after-milliseconds main 500\n\
             sentinel failover-timeout main 3000\n",
            dir.path().display()
        );
        let file = dir.path().join("sentinel.conf");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(parts().join("redis/bin/redis-server"));
        command.arg(&file).arg("--sentinel").stdout(Stdio::null());
        let child = command.spawn().unwrap();
        let sentinel = Self {
            child,
            port,
            _dir: dir,
        };
        until("the Sentinel answers", async || {
            sentinel.connect().await.is_ok()
        })
        .await;
        sentinel
    }

    async fn connect(&self) -> redis::RedisResult<MultiplexedConnection> {
        let client = redis::Client::open(format!("redis://127.0.0.1:{}", self.port))?;
        client.get_multiplexed_async_connection().await
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command beside the proxy's own tasks.
async fn run(case: &Case, args: &[&str]) -> crate::support::cli::Done {
    let mut command = case.cli.command(args);
    let output = tokio::task::spawn_blocking(move || command.output());
    crate::support::cli::Done::of(args, output.await.unwrap().unwrap())
}

/// Whether the server of a URL is read over the one connection only.
async fn has_one_connection(url: &str, options: &ConnectOptions) -> bool {
    open(&url.into(), options).await.unwrap().1.is_none()
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_with_a_client_certificate() {
    let mut case = Case::new().await;
    let port = tls_before(case.server.port()).await;
    let alice = case.twins("alice", "tea").await;
    let path = |name: &str| pem(name).display().to_string();
    let url = format!("rediss://localhost:{port}");
    let options = ConnectOptions {
        tls: TlsFiles {
            ca: Some(pem("ca.pem")),
            cert: Some(pem("client.pem")),
            key: Some(pem("client.key")),
        },
        ..ConnectOptions::default()
    };
    assert!(has_one_connection(&url, &options).await);
    let mut case = case
        .set("redis_url", &url)
        .set("redis_tls_ca", &path("ca.pem"))
        .set("redis_tls_cert", &path("client.pem"))
        .set("redis_tls_key", &path("client.key"));
    case.start(&[]);
    until("alice is merged", async || case.count(&alice).await == 1).await;
    // Without a certificate the proxy refuses, without the authority the client does.
    let case = case.set("redis_tls_cert", "").set("redis_tls_key", "");
    run(&case, &["status"]).await.ends(3);
    let case = case.set("redis_tls_cert", &path("client.pem"));
    run(&case, &["status"]).await.ends(2).says(&["go together"]);
    let case = case
        .set("redis_tls_key", &path("client.key"))
        .set("redis_tls_ca", "");
    run(&case, &["status"]).await.ends(3);
}

#[tokio::test]
async fn a_unix_socket() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("redis.sock").display().to_string();
    let server = Server::start_with(&["--unixsocket", &socket]);
    let case = Case::on(server, crate::support::store::Index::json()).await;
    let case = case.set("redis_url", &format!("unix://{socket}"));
    case.run(&["status"]).ends(0).shows(&["no worker lives"]);
}

#[tokio::test]
async fn sentinel_names_the_primary_and_the_worker_follows_it() {
    let case = Case::new().await;
    let replica = Server::start();
    let port = case.server.port().to_string();
    let mut second = replica.connect().await;
    let _: () = redis::cmd("REPLICAOF")
        .arg("127.0.0.1")
        .arg(&port)
        .query_async(&mut second)
        .await
        .unwrap();
    let sentinel = Sentinel::over(&port).await;
    let url = format!("redis+sentinel://127.0.0.1:{}/main", sentinel.port);
    assert!(has_one_connection(&url, &ConnectOptions::default()).await);
    let mut case = case.set("redis_url", &url);
    let alice = case.twins("alice", "tea").await;
    case.start(&[]);
    until("alice is merged", async || case.count(&alice).await == 1).await;
    // The replica has what the primary has, and Sentinel knows of the replica.
    let _: u64 = case.redis(&["WAIT", "1", "5000"]).await;
    until("Sentinel knows the replica", async || {
        let mut con = sentinel.connect().await.unwrap();
        let mut cmd = redis::cmd("SENTINEL");
        let found: Vec<redis::Value> = cmd
            .arg("REPLICAS")
            .arg("main")
            .query_async(&mut con)
            .await
            .unwrap();
        !found.is_empty()
    })
    .await;
    case.server.kill();
    // Sentinel cuts the connections of the one that it promotes.
    until("the replica is the primary", async || {
        let mut con = replica.connect().await;
        let mut cmd = redis::cmd("INFO");
        let info: redis::RedisResult<String> = cmd.arg("replication").query_async(&mut con).await;
        info.is_ok_and(|info| info.contains("role:master"))
    })
    .await;
    case.con = replica.connect().await;
    let bob = case.twins("bob", "tea").await;
    until("bob is merged", async || case.count(&bob).await == 1).await;
    assert_eq!(case.count(&alice).await, 1);
}
