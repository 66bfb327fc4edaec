//! The worker beside the agent: it finds the users that need it, and runs the pipeline for them.
//!
//! ```text
//! sweep ──► memfold:requests ──► one worker ──► merge::Pipeline::tend, under the user's lease
//! agents ──►   (a stream)        of many
//! ```
//!
//! Any number of workers on any number of machines share the users of a store. They know of each
//! other only through Redis. Whatever happens to one, the others go on; whatever happens to Redis,
//! all of them connect again and go on from what stands there.

pub mod breaker;
pub mod hold;
pub mod limits;
pub mod metrics;
pub mod schedule;

mod beat;
mod budget;
mod follow;
mod session;
mod shared;
mod sweep;
mod work;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::aio::ConnectionManager;
use sha2::{Digest as _, Sha256};

use crate::merge::Pipeline;
use crate::store::events::Changed;
use crate::store::{StoreError, Trouble};
use crate::summarize::llm::Usage;
use limits::MassGuard;
use schedule::{OffPeak, Rules};
pub use shared::Shared;

/// User ids that stand for everybody or nobody: what an agent stores without knowing its user.
pub const SHARED_USERS: [&str; 2] = ["", "system"];

/// How long a session that stops waits for the groups in hand.
const GRACE: Duration = Duration::from_secs(8);

/// The settings of a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// When users are due.
    pub rules: Rules,
    /// How often the index is asked which users have changed.
    pub probe_every: Duration,
    /// So many failures in a row, reported by an agent, make its user due.
    pub after_failures: u32,
    /// When scheduled work may be done; `None` = always.
    pub off_peak: Option<OffPeak>,
    /// The only users to work on; `None` = all, but for the shared ids.
    pub only: Option<BTreeSet<String>>,
    /// Shared ids to work on as well.
    pub shared: BTreeSet<String>,
    /// Users at once.
    pub concurrency: usize,
    /// What the LLM may cost.
    pub llm: LlmLimits,
    /// The guard against mass deletion.
    pub mass: MassGuard,
    /// Take no work while the server answers slower than this.
    pub max_latency: Duration,
    /// Take no work while the server uses more than this percentage of its memory limit.
    pub max_memory_percent: u8,
    /// How long a lease holds without renewal; requests of a worker that is silent for twice that
    /// are taken over.
    pub lease_ttl: Duration,
    /// Entries that the ledger keeps at most.
    pub ledger_entries: usize,
}

/// What the LLM may cost; `None` = no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LlmLimits {
    /// Calls in one run over a user.
    pub run_calls: Option<u64>,
    /// Tokens in one run over a user.
    pub run_tokens: Option<u64>,
    /// Calls for one user in a day.
    pub user_calls: Option<u64>,
    /// Tokens for one user in a day.
    pub user_tokens: Option<u64>,
    /// Calls of all workers in a day.
    pub day_calls: Option<u64>,
    /// Tokens of all workers in a day.
    pub day_tokens: Option<u64>,
    /// The price of 1,000 tokens that it reads, in any currency.
    pub input_price: f64,
    /// The price of 1,000 tokens that it writes.
    pub output_price: f64,
}

impl LlmLimits {
    /// What tokens cost.
    pub fn cost(&self, usage: Usage) -> f64 {
        (usage.prompt_tokens as f64 * self.input_price
            + usage.completion_tokens as f64 * self.output_price)
            / 1000.0
    }
}

impl WorkerOptions {
    /// Whether this worker works on a user.
    pub fn takes(&self, user: &str) -> bool {
        match &self.only {
            Some(only) => only.contains(user),
            None => !SHARED_USERS.contains(&user) || self.shared.contains(user),
        }
    }
}

/// What a session works with; opened anew after a lost connection.
pub struct Site {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// A connection of its own for waiting for requests.
    pub waiting: ConnectionManager,
    /// What the server tells of memories that are written, and the connection that it tells it on.
    pub events: (Changed, ConnectionManager),
}

/// What ended a session.
#[derive(Debug)]
enum End {
    /// The worker is to stop.
    Stopped,
    /// The store failed: connect again.
    Failed(Failure),
    /// The settings changed: begin again with the new ones.
    Reload,
}

/// Why a session ended, or could not begin.
#[derive(Debug)]
pub struct Failure {
    /// What is wrong with the store; `None` = something else, such as a model that cannot be loaded.
    pub trouble: Option<Trouble>,
    /// The error in words.
    pub why: String,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self {
            trouble: error.trouble(),
            why: error.to_string(),
        }
    }
}

/// Set from outside.
#[derive(Clone, Debug, Default)]
pub struct Orders {
    /// Stop after the groups in hand.
    pub stop: Arc<AtomicBool>,
    /// Begin again with the settings as they are now.
    pub reload: Arc<AtomicBool>,
}

/// Works until it is told to stop. `open` connects, with the settings as they are at that time; it
/// is called again whenever the store has failed.
pub async fn run(
    shared: &Arc<Shared>,
    orders: &Orders,
    mut open: impl AsyncFnMut() -> Result<(Site, WorkerOptions), Failure>,
) {
    while !orders.stop.load(Ordering::Relaxed) {
        orders.reload.store(false, Ordering::Relaxed);
        let end = match open().await {
            Ok((site, options)) => {
                let session = session::Session::new(shared, orders, site, options);
                session.run().await
            }
            Err(failure) => End::Failed(failure),
        };
        match end {
            End::Stopped => return,
            End::Reload => tracing::info!("the settings were read again"),
            End::Failed(failure) => {
                shared.ready(false);
                let wait = shared.troubled(&failure);
                shared.pause(orders, wait).await;
            }
        }
    }
}

/// A user as logs and metrics name it: who reads them need not learn it.
pub fn user_hash(user: &str) -> String {
    let hash = format!("{:x}", Sha256::digest(user.as_bytes()));
    hash[..12].to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn shared_ids_are_left_out_unless_named() {
        let mut options = options();
        assert!(options.takes("alice"));
        assert!(!options.takes("") && !options.takes("system"));
        options.shared.insert("system".to_owned());
        assert!(options.takes("system") && !options.takes(""));
        options.only = Some(["".to_owned()].into());
        assert!(options.takes("") && !options.takes("alice") && !options.takes("system"));
    }

    fn options() -> WorkerOptions {
        WorkerOptions {
            rules: Rules {
                period: Duration::from_secs(600),
                full_every: Duration::from_secs(86_400),
                after_new: None,
                backoff: Duration::from_secs(60),
                backoff_most: Duration::from_secs(3600),
            },
            probe_every: Duration::from_secs(120),
            after_failures: 3,
            off_peak: None,
            only: None,
            shared: BTreeSet::new(),
            concurrency: 2,
            llm: LlmLimits::default(),
            mass: MassGuard {
                percent: 50,
                least: 1000,
            },
            max_latency: Duration::from_millis(500),
            max_memory_percent: 95,
            lease_ttl: Duration::from_secs(60),
            ledger_entries: 100_000,
        }
    }
}
