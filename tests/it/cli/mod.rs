//! The built program on a real server: what it writes, what it says, how it ends.

mod conflicts;
mod documents;
mod evaluated;
mod figures;
mod killed;
mod lookalikes;
mod output;
mod plans;
mod records;
mod refusals;
mod review;
mod settings;
mod undone;
mod users;

use redis::aio::ConnectionManager;
use serde_json::Value;

use crate::support::cli::{Cli, Done};
use crate::support::picture::{self, Picture};
use crate::support::server::Server;
use crate::support::store::{Index, Mem};

/// A server with an index, and memfold for it.
struct World {
    server: Server,
    con: ConnectionManager,
    index: Index,
    cli: Cli,
}

impl World {
    /// Over [`Index::json`].
    async fn new() -> Self {
        Self::over(Index::json()).await
    }

    async fn over(index: Index) -> Self {
        let server = Server::start();
        let mut con = server.connect().await;
        index.create(&mut con).await;
        let cli = Cli::new(&server.url());
        Self {
            server,
            con,
            index,
            cli,
        }
    }

    /// Changes memfold's settings.
    fn set(mut self, setting: &str, value: &str) -> Self {
        self.cli = self.cli.set(setting, value);
        self
    }

    async fn put(&mut self, id: &str, memory: &Mem) -> String {
        self.index.put(&mut self.con, id, memory).await
    }

    /// Two memories of one fact: `<name>1` and `<name>2`, with vectors of `direction`.
    async fn put_twins(&mut self, user: &str, name: &str, direction: usize) -> [String; 2] {
        let one = twin(
            user,
            &format!("{name} likes tea."),
            direction,
            self.index.dims,
        );
        let two = twin(
            user,
            &format!("{name} likes tea"),
            direction,
            self.index.dims,
        );
        [
            self.put(&format!("{name}1"), &one).await,
            self.put(&format!("{name}2"), &two).await,
        ]
    }

    /// Everything but memfold's own keys.
    async fn memories(&mut self) -> Picture {
        picture::memories(&mut self.con).await
    }

    /// Everything.
    async fn all(&mut self) -> Picture {
        picture::all(&mut self.con).await
    }

    /// Everything but what a run writes to hold its lease.
    async fn all_but_leases(&mut self) -> Picture {
        let mut all = self.all().await;
        all.retain(|key, _| !key.starts_with("memfold:lease:") && key != "memfold:fence");
        all
    }

    fn run(&self, args: &[&str]) -> Done {
        self.cli.run(args)
    }

    /// `merge --user <user> --json`, which ends well; the report.
    #[track_caller]
    fn merge(&self, user: &str) -> Value {
        let done = self.run(&["merge", "--user", user, "--json"]).ends(0);
        done.json()["users"][0].clone()
    }

    async fn command<T: redis::FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query_async(&mut self.con).await.unwrap()
    }
}

/// A memory whose vector points in this direction.
fn twin(user: &str, text: &str, direction: usize, dims: usize) -> Mem {
    let mut vector = vec![0.0; dims];
    vector[direction] = 1.0;
    Mem {
        user: user.to_owned(),
        ..Mem::new(text, &vector)
    }
}

/// The run of a report.
fn run_id(report: &Value) -> &str {
    report["run_id"].as_str().unwrap()
}

/// Members of a JSON list.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// `reason` of each entry that concerns `key`.
fn reason_of<'a>(report: &'a Value, key: &str) -> Option<&'a str> {
    let left = list(&report["plan"]["left_alone"]);
    left.iter()
        .find(|memory| memory["key"] == key)
        .and_then(|memory| memory["reason"].as_str())
}
