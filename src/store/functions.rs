//! The server side: one Lua text, as a function library where functions are allowed, else as EVAL
//! scripts.

use redis::aio::ConnectionLike;
use redis::{ErrorKind, RedisError, RedisResult, ServerErrorKind, Value};

use super::StoreError;

/// What the server runs; see the file for how.
const BODY: &str = include_str!("memfold.lua");

/// The library. The number is the version of the behaviour: `LOAD REPLACE` drops the functions of
/// the library of that name, while older processes may still call theirs.
pub const LIBRARY: &str = "memfold_1";

/// The functions of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// Writes a merge, or nothing.
    Commit,
    /// Takes a merge back, or does nothing.
    Undo,
    /// Takes a lease.
    Acquire,
    /// Extends a lease.
    Renew,
    /// Gives a lease back.
    Release,
    /// Keeps what is remembered of a user, under its lease.
    Remember,
}

impl Function {
    const ALL: [Self; 6] = [
        Self::Commit,
        Self::Undo,
        Self::Acquire,
        Self::Renew,
        Self::Release,
        Self::Remember,
    ];

    /// The callback's name in the Lua text.
    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Undo => "undo",
            Self::Acquire => "acquire",
            Self::Renew => "renew",
            Self::Release => "release",
            Self::Remember => "remember",
        }
    }

    /// Whether it may run at the memory limit: what takes no memory, and undo, which must always
    /// be possible.
    fn flags(self) -> &'static str {
        match self {
            Self::Undo | Self::Renew | Self::Release => "allow-oom",
            Self::Commit | Self::Acquire | Self::Remember => "",
        }
    }

    fn registration(self) -> String {
        let (name, flags) = (self.name(), self.flags());
        let flags = if flags.is_empty() {
            String::new()
        } else {
            format!("'{flags}'")
        };
        format!(
            "redis.register_function{{function_name='{LIBRARY}_{name}', callback={name}, \
             flags={{{flags}}}}}\n"
        )
    }

    /// The text for `EVAL`. Its header makes the server refuse it at the memory limit as a whole,
    /// before the first write; without one it would run.
    fn script(self) -> String {
        let (name, flags) = (self.name(), self.flags());
        format!("#!lua flags={flags}\n{BODY}\nreturn {name}(KEYS, ARGV)\n")
    }
}

/// The text for `FUNCTION LOAD`.
fn library() -> String {
    let registrations: String = Function::ALL
        .into_iter()
        .map(Function::registration)
        .collect();
    format!("#!lua name={LIBRARY}\n{BODY}\n{registrations}")
}

/// How the functions are called on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// By `FCALL`.
    Library,
    /// By `EVAL`, and why: the server's refusal.
    Script(String),
}

/// The functions, ready to be called.
#[derive(Clone, Debug)]
pub struct Functions {
    wrapper: Wrapper,
}

impl Functions {
    /// Loads the library; where the server refuses that (an old or restricted one, an account
    /// without the permission, the memory limit), the functions are called as scripts.
    ///
    /// # Errors
    /// [`StoreError`] if the server did not answer.
    pub async fn load(con: &mut impl ConnectionLike) -> Result<Self, StoreError> {
        match load(con).await {
            Ok(()) => Ok(Self {
                wrapper: Wrapper::Library,
            }),
            Err(error) if is_refusal(&error) => {
                tracing::debug!(%error, "functions are refused, scripts are used");
                Ok(Self {
                    wrapper: Wrapper::Script(error.to_string()),
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The library as it may be on the server, loaded by the first call that does not find it: for
    /// runs that are not to write.
    pub fn on_demand() -> Self {
        Self {
            wrapper: Wrapper::Library,
        }
    }

    /// How they are called here.
    pub fn wrapper(&self) -> &Wrapper {
        &self.wrapper
    }

    /// Calls a function once and gives its answer as words. A lost reply is an error: whether it
    /// ran is not known then.
    ///
    /// A library that is gone (a restart, a failover, a flush) is loaded again.
    ///
    /// # Errors
    /// [`StoreError`]; the server's refusal at the memory limit or on a replica among them.
    pub(crate) async fn call(
        &self,
        con: &mut impl ConnectionLike,
        function: Function,
        keys: &[String],
        args: &[&[u8]],
    ) -> Result<Vec<String>, StoreError> {
        let reply = match self.wrapper {
            Wrapper::Library => self.fcall(con, function, keys, args).await?,
            Wrapper::Script(_) => eval(con, function, keys, args).await?,
        };
        reply.iter().map(word).collect()
    }

    async fn fcall(
        &self,
        con: &mut impl ConnectionLike,
        function: Function,
        keys: &[String],
        args: &[&[u8]],
    ) -> RedisResult<Vec<Value>> {
        match fcall(con, function, keys, args).await {
            Err(error) if is_gone(&error) => match load(con).await {
                Ok(()) => fcall(con, function, keys, args).await,
                Err(error) if is_refusal(&error) => eval(con, function, keys, args).await,
                Err(error) => Err(error),
            },
            reply => reply,
        }
    }
}

async fn load(con: &mut impl ConnectionLike) -> RedisResult<()> {
    redis::cmd("FUNCTION")
        .arg("LOAD")
        .arg("REPLACE")
        .arg(library())
        .exec_async(con)
        .await
}

async fn fcall(
    con: &mut impl ConnectionLike,
    function: Function,
    keys: &[String],
    args: &[&[u8]],
) -> RedisResult<Vec<Value>> {
    let mut cmd = redis::cmd("FCALL");
    cmd.arg(format!("{LIBRARY}_{}", function.name()))
        .arg(keys.len())
        .arg(keys)
        .arg(args);
    cmd.query_async(con).await
}

async fn eval(
    con: &mut impl ConnectionLike,
    function: Function,
    keys: &[String],
    args: &[&[u8]],
) -> RedisResult<Vec<Value>> {
    // The whole text each time: EVALSHA would need one more permission, for SCRIPT LOAD.
    let mut cmd = redis::cmd("EVAL");
    cmd.arg(function.script())
        .arg(keys.len())
        .arg(keys)
        .arg(args);
    cmd.query_async(con).await
}

/// The server answered, and the answer is no, now and later.
fn is_refusal(error: &RedisError) -> bool {
    let passing = [ServerErrorKind::BusyLoading, ServerErrorKind::MasterDown];
    error.code().is_some() && !passing.map(ErrorKind::Server).contains(&error.kind())
}

fn is_gone(error: &RedisError) -> bool {
    error.to_string().contains("Function not found")
}

/// One word of an answer. Keys in it are UTF-8, for memfold handed them over.
fn word(value: &Value) -> Result<String, StoreError> {
    match value {
        Value::BulkString(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
        Value::Int(number) => Ok(number.to_string()),
        other => Err(StoreError::Protocol(format!(
            "a function answered {other:?}"
        ))),
    }
}

/// An answer for matching.
pub(crate) fn words(reply: &[String]) -> Vec<&str> {
    reply.iter().map(String::as_str).collect()
}

/// An answer that the function does not give.
pub(crate) fn unexpected(reply: &[String]) -> StoreError {
    StoreError::Protocol(format!("a function answered {reply:?}"))
}
