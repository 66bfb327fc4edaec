//! What can go wrong with the store, told apart so that each has its own message and exit code.

use redis::{ErrorKind, RedisError};

/// An error of the Redis side. Each variant says what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No server answers at the address.
    #[error("no Redis server answers at {address}: {detail}; start it or set --redis-url")]
    Unreachable {
        /// Host and port, without credentials.
        address: String,
        /// The client's error.
        detail: String,
    },
    /// Something answers, but not Redis.
    #[error("what answers at {0} is no Redis server; correct --redis-url")]
    NotRedis(String),
    /// The URL cannot be understood.
    #[error("the Redis URL is not usable: {0}; expected redis://[user:password@]host:port[/db]")]
    BadUrl(String),
    /// A file for the connection cannot be used.
    #[error("a file for the connection cannot be used: {0}")]
    File(String),
    /// Another database than the one that can have indexes.
    #[error(
        "search indexes are in database 0, the Redis URL names database {0}; nothing was read, for \
         a search from there makes the documents unreadable to all"
    )]
    Database(i64),
    /// The server refused the credentials.
    #[error("Redis refused the credentials: {0}; check user and password in the Redis URL")]
    Auth(String),
    /// The account lacks a permission.
    #[error("Redis refuses a command to this account: {0}; see `memfold doctor` for the ACL")]
    Permission(String),
    /// RediSearch is missing.
    #[error("the server has no search module; memfold needs RediSearch (redis-stack or Redis 8)")]
    NoSearch,
    /// The index does not exist.
    #[error("there is no index `{index}`; the server has: {}", list(.known))]
    NoIndex {
        /// The name asked for.
        index: String,
        /// The indexes that exist.
        known: Vec<String>,
    },
    /// The index cannot be used as it is.
    #[error("index `{index}` does not fit: {detail}")]
    IndexUnfit {
        /// The index.
        index: String,
        /// What does not fit and what to do.
        detail: String,
    },
    /// The index is being built.
    #[error("index `{0}` is still being built; its answers are partial, try again when it is done")]
    Indexing(String),
    /// An answer was partial; nothing may be concluded from it.
    #[error("the search answered partially ({0}); nothing was done, try again")]
    Partial(String),
    /// Planning for a user's memories would take more memory than allowed.
    #[error(
        "planning for {memories} memories takes about {} MiB, the limit is {} MiB; nothing was \
         read, allow it with --max-memory {0}MiB", .needed.div_ceil(1 << 20), .limit >> 20
    )]
    TooLarge {
        /// How many they are.
        memories: usize,
        /// Bytes that planning would take, about.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// No answer in time.
    #[error("Redis did not answer in time: {0}; nothing more was written, raise --redis-timeout")]
    Timeout(String),
    /// The server went away.
    #[error(
        "the connection to Redis was lost: {0}; each merge is whole or was not made, see `memfold \
         history`, and run again"
    )]
    Lost(String),
    /// A replica, or a primary that lost its role.
    #[error("the server is read-only: {0}; connect to the primary")]
    ReadOnly(String),
    /// The server is at its memory limit.
    #[error("the server is out of memory: {0}; nothing more was written")]
    OutOfMemory(String),
    /// A cluster.
    #[error(
        "the server runs in cluster mode, which is not served yet; nothing was read or written"
    )]
    Cluster,
    /// The answer has a shape that memfold does not know.
    #[error("unexpected answer from Redis: {0}")]
    Protocol(String),
    /// Any other error of the server or the connection.
    #[error("Redis: {0}")]
    Other(#[source] RedisError),
}

impl StoreError {
    /// Whether the server answered, and its answer is about what it was asked: something else may
    /// still be done.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Other(error) if error.code().is_some())
    }
}

impl From<RedisError> for StoreError {
    fn from(error: RedisError) -> Self {
        let text = error.to_string();
        let upper = text.to_uppercase();
        if error.is_timeout() {
            Self::Timeout(text)
        } else if error.is_io_error() || error.is_connection_dropped() || is_cut_short(&text) {
            Self::Lost(text)
        } else if matches!(error.kind(), ErrorKind::AuthenticationFailed)
            || upper.contains("WRONGPASS")
            || upper.contains("NOAUTH")
        {
            Self::Auth(text)
        } else if upper.contains("NOPERM") || upper.contains("ACL FAILURE IN SCRIPT") {
            Self::Permission(text)
        } else if upper.contains("READONLY") || upper.contains("READ ONLY REPLICA") {
            Self::ReadOnly(text)
        } else if error.code() == Some("OOM") || upper.contains("OOM COMMAND NOT ALLOWED") {
            Self::OutOfMemory(text)
        } else if upper.contains("UNKNOWN COMMAND") && upper.contains("FT.") {
            Self::NoSearch
        } else {
            Self::Other(error)
        }
    }
}

/// A connection that ends in the middle of an answer; the client takes that for an answer that it
/// cannot read, and says so in the words of its parser.
fn is_cut_short(error: &str) -> bool {
    error.contains("Parse error at ")
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}
