//! What work costs the server, by the server's own counters. They count every client, so that a
//! difference of two is memfold's alone only on a server that nobody else uses.

use redis::InfoDict;
use redis::aio::ConnectionLike;

use super::StoreError;

/// The server's counters at one time, or their difference over a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// CPU time in user and kernel mode, all threads.
    pub cpu_seconds: f64,
    /// Commands processed, those inside functions included.
    pub commands: u64,
}

impl Cost {
    /// What was spent from `earlier` on, without the command that read it.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - earlier.cpu_seconds,
            commands: self.commands.saturating_sub(earlier.commands + COMMANDS),
        }
    }
}

/// Commands that [`cost`] itself sends; the server counts one when it is done.
const COMMANDS: u64 = 2;

/// The server's counters now.
///
/// # Errors
/// [`StoreError`] if the server does not tell them, or for any error of the connection.
pub async fn cost(conn: &mut impl ConnectionLike) -> Result<Cost, StoreError> {
    let mut pipe = redis::pipe();
    for section in ["stats", "cpu"] {
        pipe.cmd("INFO").arg(section);
    }
    let (stats, cpu): (InfoDict, InfoDict) = pipe.query_async(conn).await?;
    let commands = stats.get("total_commands_processed");
    let seconds = |name| cpu.get::<f64>(name);
    match (commands, seconds("used_cpu_user"), seconds("used_cpu_sys")) {
        (Some(commands), Some(user), Some(kernel)) => Ok(Cost {
            cpu_seconds: user + kernel,
            commands,
        }),
        _ => Err(StoreError::Protocol(
            "INFO told neither CPU time nor commands".to_owned(),
        )),
    }
}
