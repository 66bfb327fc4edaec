//! The built program as a user runs it: an empty environment, an empty folder, this server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;
use tempfile::TempDir;

use super::schema;
use super::server::parts;

/// memfold with its settings as environment variables.
pub(crate) struct Cli {
    dir: TempDir,
    env: Vec<(String, String)>,
}

impl Cli {
    /// For the server at `url`. Distances come from the stored vectors, so that no model is needed.
    pub(crate) fn new(url: &str) -> Self {
        let cli = Self {
            dir: tempfile::tempdir().unwrap(),
            env: Vec::new(),
        };
        cli.set("redis_url", url)
            .set("distance", "stored")
            .set("log", "warn")
    }

    /// With this setting; an empty value takes it away.
    pub(crate) fn set(mut self, setting: &str, value: &str) -> Self {
        let name = format!("MEMFOLD_{}", setting.to_uppercase());
        self.env.retain(|(other, _)| *other != name);
        if !value.is_empty() {
            self.env.push((name, value.to_owned()));
        }
        self
    }

    /// With the real model, and distances as by default.
    pub(crate) fn with_model(self) -> Self {
        let library = parts().join("onnxruntime/libonnxruntime.so");
        self.set("onnxruntime", &library.display().to_string())
            .set("model_dir", &parts().join("models").display().to_string())
            .set("distance", "")
    }

    /// A path in its folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The command with these arguments.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memfold"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.dir.path())
            .envs(self.env.iter().cloned())
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Done {
        let output = self.command(args).output().unwrap();
        Done::of(args, output)
    }

    /// Starts it.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) args: Vec<String>,
    /// `None` = killed by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    /// From what a process left.
    pub(crate) fn of(args: &[&str], output: Output) -> Self {
        Self {
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It ended with this code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// The message for people has all these parts, and is one without a panic.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} is not in {self:#?}");
        }
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self
    }

    /// The data has all these parts.
    #[track_caller]
    pub(crate) fn shows(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stdout.contains(part), "{part:?} is not in {self:#?}");
        }
        self
    }

    /// The data as one JSON document, which is as docs/memfold.schema.json says.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let document = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {self:#?}"));
        if let Some(command) = self.args.first() {
            schema::check(command, &document);
        }
        document
    }
}

/// When a [`Meddler`] acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the server gets the command.
    Before,
    /// When the server has answered it and memfold has not got the answer.
    Answered,
}

/// The way to a server, watched: when a command with a certain word comes by, something happens.
pub(crate) struct Meddler {
    port: u16,
}

/// What happens, once.
type Act = Box<dyn FnOnce() + Send>;

struct Watch {
    word: Vec<u8>,
    /// Commands with the word that pass first.
    skip: usize,
    when: When,
    act: Option<Act>,
    /// The next answer is the one to act on.
    due: bool,
}

impl Meddler {
    /// Acts on the command with `word`, after `skip` others.
    pub(crate) fn new(
        port: u16,
        word: &str,
        skip: usize,
        when: When,
        act: impl FnOnce() + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let watch = Arc::new(Mutex::new(Watch {
            // A whole word of a command: the library's text has such words too.
            word: format!("\r\n{word}\r\n").into_bytes(),
            skip,
            when,
            act: Some(Box::new(act)),
            due: false,
        }));
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                    // The server is gone: so is the client's connection.
                    continue;
                };
                let (back, home) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let (up, down) = (Arc::clone(&watch), Arc::clone(&watch));
                thread::spawn(move || {
                    carry(client, server, |bytes| up.lock().unwrap().sent(bytes))
                });
                thread::spawn(move || carry(back, home, |_| down.lock().unwrap().answered()));
            }
        });
        Self { port: own }
    }

    /// Where memfold is to connect.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Watch {
    fn sent(&mut self, bytes: &[u8]) {
        let word = &self.word;
        if self.act.is_none() || !bytes.windows(word.len()).any(|window| window == word) {
            return;
        }
        match (self.skip, self.when) {
            (0, When::Before) => self.act(),
            (0, When::Answered) => self.due = true,
            _ => self.skip -= 1,
        }
    }

    fn answered(&mut self) {
        if std::mem::take(&mut self.due) {
            self.act();
        }
    }

    fn act(&mut self) {
        if let Some(act) = self.act.take() {
            act();
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, mut look: impl FnMut(&[u8])) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        look(&buffer[..n]);
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Runs commands on the server at `port`, each given as its words, from any thread.
pub(crate) fn command(port: u16, words: &[&str]) {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    let mut con = client.get_connection().unwrap();
    redis::cmd(words[0])
        .arg(&words[1..])
        .exec(&mut con)
        .unwrap();
}
