//! A further connection for reading many records, whose answers `store/wire.rs` takes apart.
//!
//! It only speeds up what the one connection of the process can do as well: whatever it does not
//! read, for any reason, is left to that one, which then also says what is wrong.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use redis::aio::ConnectionManager;
use redis::{ConnectionAddr, ConnectionInfo, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::record::Storage;
use crate::store::connect::ConnectOptions;
use crate::store::expiry::Expiring;
use crate::store::listing::Found;
use crate::store::records::{self, Fetched};
use crate::store::{reply, wire};

/// Keys that are read together, each with how it was found.
pub(crate) type Chunk = Vec<(Vec<u8>, Found)>;

/// Keys from which on a connection of their own pays.
const MANY: usize = 500;

/// Chunks that are asked for before the first of them is answered, and chunks that were read and
/// wait for whoever takes them.
const AHEAD: usize = 2;

/// Bytes that are read at once, about.
const PIECE: usize = 256 << 10;

/// Bytes of one answer after which it is left: with each piece, an answer is looked at from its start.
const LONGEST: usize = 8 << 20;

/// Where a direct connection leads to.
#[derive(Clone, Debug)]
pub struct Direct {
    info: ConnectionInfo,
    connect_timeout: Duration,
    response_timeout: Duration,
}

impl Direct {
    /// To the server that the one connection was told to reach; `None` over TLS.
    pub(super) fn to(info: ConnectionInfo, options: &ConnectOptions) -> Option<Self> {
        let plain = matches!(
            info.addr(),
            ConnectionAddr::Tcp(..) | ConnectionAddr::Unix(_)
        );
        plain.then_some(Self {
            info,
            connect_timeout: options.connect_timeout,
            response_timeout: options.response_timeout,
        })
    }

    /// Reads chunk after chunk, in order, and returns those that are left: all of them where they are
    /// few, or where the one connection, `conn`, leads to another server.
    pub(crate) async fn read(
        &self,
        conn: &mut ConnectionManager,
        storage: Storage,
        expiring: Expiring,
        chunks: VecDeque<Chunk>,
        mut each: impl FnMut(Chunk, Vec<Fetched>),
    ) -> VecDeque<Chunk> {
        if chunks.iter().map(Vec::len).sum::<usize>() < MANY {
            return chunks;
        }
        let Some(line) = self.open_to(conn).await else {
            return chunks;
        };
        let (send, mut read) = mpsc::channel(AHEAD);
        // A task of its own, so that answers are taken apart while others are taken in.
        let left = tokio::spawn(line.read_all(storage, expiring, chunks, send));
        while let Some((chunk, fetched)) = read.recv().await {
            each(chunk, fetched);
        }
        // A task that panicked would leave nothing to go on with.
        left.await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    /// A connection to the server that `conn` leads to: a name may stand for several.
    async fn open_to(&self, conn: &mut ConnectionManager) -> Option<Line> {
        let opened = timeout(self.connect_timeout, self.open()).await;
        let opened = opened.map_err(io::Error::from).flatten();
        let mut line = opened.inspect_err(not_read).ok()?;
        let told: Value = server_info().query_async(conn).await.ok()?;
        line.send(&server_info().get_packed_command())
            .await
            .inspect_err(not_read)
            .ok()?;
        let answer = line.answers(1).await.inspect_err(not_read).ok()?.pop()?;
        (run_id(&told)? == run_id(&answer)?).then_some(line)
    }

    async fn open(&self) -> io::Result<Line> {
        let stream: Box<dyn Stream> = match self.info.addr() {
            ConnectionAddr::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
            ConnectionAddr::Unix(path) => Box::new(UnixStream::connect(path).await?),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        let mut line = Line {
            stream,
            bytes: Vec::new(),
            taken: 0,
            timeout: self.response_timeout,
        };
        let settings = self.info.redis_settings();
        if let Some(password) = settings.password() {
            let mut auth = redis::cmd("AUTH");
            settings.username().into_iter().for_each(|name| {
                auth.arg(name);
            });
            line.send(&auth.arg(password).get_packed_command()).await?;
            if line.answers(1).await?.first() != Some(&Value::Okay) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
        }
        Ok(line)
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// An open connection.
struct Line {
    stream: Box<dyn Stream>,
    /// What came in; the first `taken` bytes were taken apart.
    bytes: Vec<u8>,
    taken: usize,
    /// For each piece.
    timeout: Duration,
}

impl Line {
    /// Sends chunks with what their keys hold, and returns those that it did not.
    async fn read_all(
        mut self,
        storage: Storage,
        expiring: Expiring,
        mut chunks: VecDeque<Chunk>,
        send: mpsc::Sender<(Chunk, Vec<Fetched>)>,
    ) -> VecDeque<Chunk> {
        // Of the chunks that were asked for, how many answers each has.
        let mut asked = VecDeque::new();
        loop {
            while let Some(chunk) = chunks.get(asked.len()).filter(|_| asked.len() < AHEAD) {
                let names: Vec<&[u8]> = chunk.iter().map(|(key, _)| &**key).collect();
                let commands = records::commands(storage, &names, expiring);
                if let Err(error) = self.send(&commands.get_packed_pipeline()).await {
                    not_read(&error);
                    return chunks;
                }
                asked.push_back(commands.len());
            }
            let (Some(count), Some(keys)) = (asked.pop_front(), chunks.front().map(Vec::len))
            else {
                return chunks;
            };
            let answers = self.answers(count).await.inspect_err(not_read).ok();
            // What is wrong with an answer is for the other connection to say.
            let fetched = |answers| records::fetched(storage, keys, expiring, answers).ok();
            let Some(fetched) = answers.and_then(fetched) else {
                return chunks;
            };
            let Some(chunk) = chunks.pop_front() else {
                return chunks;
            };
            if send.send((chunk, fetched)).await.is_err() {
                return chunks;
            }
        }
    }

    async fn send(&mut self, commands: &[u8]) -> io::Result<()> {
        timeout(self.timeout, self.stream.write_all(commands)).await?
    }

    /// The next answers.
    async fn answers(&mut self, count: usize) -> io::Result<Vec<Value>> {
        let mut answers = Vec::with_capacity(count);
        while answers.len() < count {
            let next = wire::answer(&self.bytes[self.taken..]);
            match next.map_err(io::Error::other)? {
                Some((answer, length)) => {
                    answers.push(answer);
                    self.taken += length;
                }
                None if self.bytes.len() - self.taken > LONGEST => {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                None => self.more().await?,
            }
        }
        Ok(answers)
    }

    async fn more(&mut self) -> io::Result<()> {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.reserve(PIECE);
        match timeout(self.timeout, self.stream.read_buf(&mut self.bytes)).await?? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Says why records are left to the other connection.
fn not_read(error: &io::Error) {
    tracing::debug!(%error, "records are read by the one connection");
}

fn server_info() -> redis::Cmd {
    let mut info = redis::cmd("INFO");
    info.arg("server");
    info
}

/// The id that a server gives itself when it starts.
fn run_id(info: &Value) -> Option<String> {
    let info = reply::text(info)?;
    let id = info.lines().find_map(|line| line.strip_prefix("run_id:"));
    id.map(|id| id.trim().to_owned())
}
