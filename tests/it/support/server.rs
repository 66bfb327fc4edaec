//! A real redis-server with RediSearch and RedisJSON, for one test.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use tempfile::TempDir;

/// Longest time from the start of the process to its readiness, on a busy machine.
const START: Duration = Duration::from_secs(30);

/// The folder with the server and its modules: `MEMFOLD_TEST_PARTS`, else `.memfold` here.
pub(crate) fn parts() -> PathBuf {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/.memfold");
    let parts = std::env::var_os("MEMFOLD_TEST_PARTS")
        .unwrap_or_else(|| default.into())
        .into();
    let parts: PathBuf = parts;
    let server = parts.join("redis/bin/redis-server");
    assert!(
        server.exists(),
        "{} is missing: run scripts/setup",
        server.display()
    );
    parts
}

fn modules() -> [String; 2] {
    let path = |name: &str| parts().join("redis/lib").join(name).display().to_string();
    ["redisearch.so", "rejson.so"].map(path)
}

/// A server of its own: its port, its folder, killed when dropped.
pub(crate) struct Server {
    child: Child,
    dir: TempDir,
    port: u16,
    args: Vec<String>,
}

impl Server {
    /// A server with both modules, no password, nothing saved to disk.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// The same with further arguments of redis-server, such as `["--appendonly", "yes"]`.
    pub(crate) fn start_with(args: &[&str]) -> Self {
        let [search, json] = modules();
        Self::start_bare(&[&["--loadmodule", &search, "--loadmodule", &json], args].concat())
    }

    /// The same, but what is there when an index is created is indexed slowly: 7,000 memories a second.
    pub(crate) fn start_slow_to_index() -> Self {
        let [search, json] = modules();
        let slowly = ["BG_INDEX_SLEEP_GAP", "1"];
        let search = ["--loadmodule", &search, slowly[0], slowly[1]];
        Self::start_bare(&[&search[..], &["--loadmodule", &json]].concat())
    }

    /// A server with these arguments only: without modules unless they name them.
    pub(crate) fn start_bare(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        // Another process may take the port between the look and the start: then try another.
        for _ in 0..10 {
            let port = TcpListener::bind(("127.0.0.1", 0))
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            if let Some(child) = spawn(&dir, port, &args) {
                return Self {
                    child,
                    dir,
                    port,
                    args,
                };
            }
        }
        panic!("redis-server does not start:\n{}", log(&dir));
    }

    /// The URL, RESP3.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/?protocol=resp3", self.port)
    }

    /// The URL with credentials, RESP3.
    pub(crate) fn url_as(&self, user: &str, password: &str) -> String {
        format!(
            "redis://{user}:{password}@127.0.0.1:{}/?protocol=resp3",
            self.port
        )
    }

    /// The port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A new connection to [`Self::url`].
    pub(crate) async fn connect(&self) -> ConnectionManager {
        connect(&self.url()).await
    }

    /// Ends the server without a chance to save or answer (SIGKILL).
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again after [`Self::kill`]: same port, same folder.
    pub(crate) fn restart(&mut self) {
        self.child = spawn(&self.dir, self.port, &self.args)
            .unwrap_or_else(|| panic!("redis-server does not start again:\n{}", log(&self.dir)));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connection with time-outs that a busy machine does not hit.
pub(crate) async fn connect(url: &str) -> ConnectionManager {
    let config = ConnectionManagerConfig::new()
        .set_response_timeout(Some(Duration::from_secs(30)))
        .set_connection_timeout(Some(Duration::from_secs(10)))
        .set_number_of_retries(2);
    let client = redis::Client::open(url).unwrap();
    client
        .get_connection_manager_with_config(config)
        .await
        .unwrap()
}

/// Starts the server and waits until it is ready; `None` if it ended instead.
fn spawn(dir: &TempDir, port: u16, args: &[String]) -> Option<Child> {
    let out = File::create(dir.path().join("log")).unwrap();
    let mut child = Command::new(parts().join("redis/bin/redis-server"))
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ])
        .args(["--dir", &dir.path().display().to_string()])
        .args(args)
        .stdin(Stdio::null())
        .stderr(out.try_clone().unwrap())
        .stdout(out)
        .spawn()
        .unwrap();
    let start = Instant::now();
    // Its own log, not the port: whoever answers there may be another server.
    while !log(dir).contains("Ready to accept connections") {
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        assert!(
            start.elapsed() < START,
            "redis-server is not ready:\n{}",
            log(dir)
        );
        thread::sleep(Duration::from_millis(5));
    }
    Some(child)
}

fn log(dir: &TempDir) -> String {
    fs::read(dir.path().join("log"))
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{picture, store};
    use super::*;

    #[tokio::test]
    async fn a_server_comes_up_holds_an_index_and_survives_a_restart() {
        let mut server = Server::start_with(&["--appendonly", "yes", "--appendfsync", "always"]);
        let mut con = server.connect().await;
        for index in [store::Index::json(), store::Index::hash()] {
            let name = format!("ix_{:?}", index.storage);
            let prefix = format!("{name}:");
            let index = store::Index {
                name,
                prefixes: vec![prefix],
                ..index
            };
            index.create(&mut con).await;
            let memory = store::Mem::new("likes window seats", &[1.0, 0.0, 0.0, 0.0]);
            index.put(&mut con, "1", &memory).await;
        }
        let before = picture::all(&mut con).await;
        assert_eq!(before.len(), 2);
        server.kill();
        server.restart();
        assert_eq!(picture::all(&mut server.connect().await).await, before);
    }
}
