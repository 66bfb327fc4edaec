//! What can go wrong with the store, told apart so that each has its own message and exit code.

use std::fmt;

use redis::{ErrorKind, RedisError};

use super::trouble::Trouble;
use crate::record::{Unfit, list};

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
    #[error(
        "there is no index `{index}`; {}",
        if .known.is_empty() {
            "the server has none: an agent's library makes its index at its first start; another \
             server is named with --redis-url".to_owned()
        } else {
            format!("the server has: {}; name one with --index, `memfold inspect` says what each is", list(.known))
        }
    )]
    NoIndex {
        /// The name asked for.
        index: String,
        /// The indexes that exist.
        known: Vec<String>,
    },
    /// The index cannot be used as it is.
    #[error(transparent)]
    IndexUnfit(#[from] Unfit),
    /// The index is being built.
    #[error("index `{0}` is still being built; its answers are partial, try again when it is done")]
    Indexing(String),
    /// An answer was partial; nothing may be concluded from it.
    #[error("the search answered partially ({0}); nothing was done, try again")]
    Partial(String),
    /// Planning for a user's memories would take more memory than allowed.
    #[error(
        "planning for {memories} memories{} takes about {} MiB, the limit is {} MiB; nothing was \
         done, allow it with --max-memory {1}MiB",
        near_pairs(*.pairs), .needed.div_ceil(1 << 20), .limit >> 20
    )]
    TooLarge {
        /// How many they are.
        memories: usize,
        /// Pairs of them within the threshold, where it is these that are too many.
        pairs: Option<usize>,
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
    #[error(
        "the server is out of memory: {0}; nothing more was written, raise its maxmemory and run again"
    )]
    OutOfMemory(String),
    /// The server reads its data in, or runs a script that does not end.
    #[error("the server is not ready: {0}; try again in a moment")]
    Loading(String),
    /// The server takes no writes, to keep what it has.
    #[error(
        "the server takes no writes at the moment: {0}; nothing more was written, run again when it does"
    )]
    WritesRefused(String),
    /// A cluster.
    #[error(
        "the server is a node of a Redis Cluster, which is not served: a merge is one atomic step, and \
         a cluster spreads the keys of a user over its slots; nothing was read or written, use a \
         single primary (with replicas and Sentinel, if you like)"
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
    /// Something has a shape that memfold does not know.
    pub(crate) fn protocol(error: impl fmt::Display) -> Self {
        Self::Protocol(error.to_string())
    }

    /// Whether the server answered, and its answer is about what it was asked: something else may
    /// still be done.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Other(error) if error.code().is_some())
    }

    /// What is wrong with the store as a whole; `None` = something about one answer or one user.
    pub fn trouble(&self) -> Option<Trouble> {
        Some(match self {
            Self::Unreachable { .. } | Self::NotRedis(_) | Self::Lost(_) => Trouble::Connection,
            Self::Timeout(_) => Trouble::Timeout,
            Self::Loading(_) => Trouble::Loading,
            Self::ReadOnly(_) => Trouble::ReadOnly,
            Self::OutOfMemory(_) => Trouble::OutOfMemory,
            Self::WritesRefused(_) => Trouble::WritesRefused,
            Self::Auth(_) => Trouble::Credentials,
            Self::Permission(_) => Trouble::NoPermission,
            Self::NoIndex { .. } => Trouble::NoIndex,
            Self::Indexing(_) => Trouble::Indexing,
            Self::BadUrl(_)
            | Self::File(_)
            | Self::Database(_)
            | Self::NoSearch
            | Self::IndexUnfit(_)
            | Self::Cluster => Trouble::Unfit,
            Self::Partial(_) | Self::TooLarge { .. } | Self::Protocol(_) | Self::Other(_) => {
                return None;
            }
        })
    }
}

fn near_pairs(pairs: Option<usize>) -> String {
    let told = |pairs| format!(", {pairs} pairs of which are within the threshold,");
    pairs.map(told).unwrap_or_default()
}

impl From<RedisError> for StoreError {
    fn from(error: RedisError) -> Self {
        let text = error.to_string();
        if error.is_timeout() {
            return Self::Timeout(text);
        }
        if error.is_io_error() || error.is_connection_dropped() || is_cut_short(&text) {
            return Self::Lost(text);
        }
        if error.kind() == ErrorKind::AuthenticationFailed {
            return Self::Auth(text);
        }
        match code(&error).as_deref() {
            Some("WRONGPASS" | "NOAUTH") => Self::Auth(text),
            Some("NOPERM") => Self::Permission(text),
            Some("READONLY" | "MASTERDOWN") => Self::ReadOnly(text),
            Some("OOM") => Self::OutOfMemory(text),
            Some("LOADING" | "BUSY") => Self::Loading(text),
            Some("MISCONF" | "NOREPLICAS") => Self::WritesRefused(text),
            _ => of_words(error, text),
        }
    }
}

/// The code of the server's error; of the first one that has a code of its own where several
/// commands were sent at once.
fn code(error: &RedisError) -> Option<String> {
    let errors = error.clone().into_server_errors()?;
    errors.first().map(|(_, error)| error.code().to_owned())
}

/// The errors to which the server gives no code of their own.
fn of_words(error: RedisError, text: String) -> StoreError {
    let upper = text.to_uppercase();
    if upper.contains("ACL FAILURE IN SCRIPT") {
        StoreError::Permission(text)
    } else if upper.contains("UNKNOWN COMMAND") && upper.contains("FT.") {
        StoreError::NoSearch
    } else {
        StoreError::Other(error)
    }
}

/// A connection that ends in the middle of an answer; the client takes that for an answer that it
/// cannot read, and says so in the words of its parser.
fn is_cut_short(error: &str) -> bool {
    error.contains("Parse error at ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_server(line: &str) -> StoreError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        value.extract_error().unwrap_err().into()
    }

    #[test]
    fn the_servers_codes_are_told_apart() {
        for (line, kind) in [
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                "out-of-memory",
            ),
            (
                "READONLY You can't write against a read only replica.",
                "read-only",
            ),
            ("LOADING Redis is loading the dataset in memory", "loading"),
            ("BUSY Redis is busy running a script.", "loading"),
            (
                "MISCONF Errors writing to the AOF file: No space left on device",
                "writes-refused",
            ),
            (
                "NOREPLICAS Not enough good replicas to write.",
                "writes-refused",
            ),
            (
                "NOPERM User memfold has no permissions to run the 'set' command",
                "no-permission",
            ),
            ("ERR ACL failure in script: no permissions", "no-permission"),
            ("NOAUTH Authentication required.", "credentials"),
            ("ERR unknown command 'FT.INFO', with args", "unfit"),
        ] {
            let trouble = of_server(line).trouble();
            assert_eq!(trouble.map(Trouble::name), Some(kind), "{line}");
        }
        // A memory's text in an answer is no reason.
        let error = of_server("ERR no such value: OOM READONLY LOADING");
        assert!(matches!(error, StoreError::Other(_)), "{error}");
        assert_eq!(error.trouble(), None);
    }

    #[test]
    fn a_connection_that_ends_is_no_answer() {
        let cut = std::io::Error::from(std::io::ErrorKind::UnexpectedEof);
        let slow = std::io::Error::from(std::io::ErrorKind::TimedOut);
        let kind = |error: std::io::Error| StoreError::from(RedisError::from(error)).trouble();
        assert_eq!(kind(cut), Some(Trouble::Connection));
        assert_eq!(kind(slow), Some(Trouble::Timeout));
    }
}
