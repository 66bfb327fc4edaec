//! What a worker does every few seconds: tell that it lives, keep its requests, look whether work
//! may be taken, and from time to time tidy up.

use std::time::{Duration, Instant};

use redis::aio::ConnectionManager;
use tokio::sync::Mutex;

use super::session::Session;
use super::shared::{lock, now_ms};
use crate::store::fleet::{
    beat, forget_dead_workers, halted, measure_memory, server_ms, take_turn,
};
use crate::store::requests::Queue;
use crate::store::vetoes::trim_orphaned_vetoes;
use crate::store::{StoreError, trim_ledger, undone_since};

/// Between two beats.
const EVERY: Duration = Duration::from_secs(10);
/// The same while no work is taken: it may be time again.
const LOOK: Duration = Duration::from_secs(2);
/// A worker that is silent for so long counts as dead.
const TTL: Duration = Duration::from_secs(35);
/// How often one of all workers tidies up.
const TIDY_EVERY: Duration = Duration::from_secs(3600);
/// Consumers of workers that died are forgotten after so long.
const GONE_FOR: Duration = Duration::from_secs(24 * 3600);

impl Session {
    /// Beats, again and again; returns only on an error.
    pub(super) async fn beat(&self, ours: &Mutex<Queue>) -> StoreError {
        let mut last = None;
        loop {
            let slept = Instant::now();
            while slept.elapsed() < EVERY {
                tokio::time::sleep(LOOK).await;
                if lock(&self.gate).is_some() || self.shared.is_halted() {
                    break;
                }
            }
            let told = match self.beat_once(ours).await {
                Ok(()) => undone_since(&mut self.site.pipeline.conn.clone(), &mut last).await,
                Err(error) => Err(error),
            };
            match told {
                Ok(undone) => self.shared.metrics.undone(undone),
                // The next beat comes anyway.
                Err(error) => match self.hold(error) {
                    Ok(_) => continue,
                    Err(error) => return error,
                },
            }
            if let Err(error) = self.tidy(ours).await {
                self.shared
                    .warn("tidy", &format!("tidying up failed: {error}"));
            }
        }
    }

    pub(super) async fn beat_once(&self, ours: &Mutex<Queue>) -> Result<(), StoreError> {
        let mut conn = self.site.pipeline.conn.clone();
        let began = Instant::now();
        let server_now = server_ms(&mut conn).await?;
        let latency = began.elapsed();
        let halt = halted(&mut conn).await?;
        if halt.is_some() != self.shared.is_halted() {
            match &halt {
                Some(halt) => tracing::error!("no work is taken: {}", halt.why),
                None => tracing::info!("the workers were told to go on"),
            }
        }
        self.shared.set_halted(halt.is_some());
        let gate = match halt {
            Some(_) => Some("memfold resume".to_owned()),
            None => self.gate(&mut conn, latency).await?,
        };
        if let Some(why) = &gate {
            self.shared
                .warn("gate", &format!("no work is taken: {why}"));
        }
        self.shared.tell(|beat| beat.waiting_for.clone_from(&gate));
        *lock(&self.gate) = gate;
        let told = self.shared.heartbeat();
        beat(&mut conn, &told, TTL).await?;
        let mut ours = ours.lock().await;
        ours.keep(&self.shared.in_hand()).await?;
        let (backlog, _) = ours.backlog().await?;
        self.shared.metrics.backlog(backlog, server_now);
        Ok(())
    }

    /// Why the server should not get more work now.
    async fn gate(
        &self,
        conn: &mut ConnectionManager,
        latency: Duration,
    ) -> Result<Option<String>, StoreError> {
        let most = self.options.max_latency;
        if latency > most {
            return Ok(Some(format!(
                "the server answers in {} ms, more than {} (--max-latency)",
                latency.as_millis(),
                most.as_millis()
            )));
        }
        let info: Result<String, _> = redis::cmd("INFO").arg("memory").query_async(conn).await;
        // An account may be without it.
        let Ok(info) = info else { return Ok(None) };
        let number = |name: &str| -> u64 {
            let line = info.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|number| number.trim().parse().ok())
                .unwrap_or(0)
        };
        let (used, limit) = (number("used_memory:"), number("maxmemory:"));
        let percent = used.saturating_mul(100).checked_div(limit).unwrap_or(0);
        let most = u64::from(self.options.max_memory_percent);
        Ok((percent > most).then(|| {
            format!(
                "the server uses {percent} % of its memory limit, more than {most} \
                     (--max-memory-percent)"
            )
        }))
    }

    async fn tidy(&self, ours: &Mutex<Queue>) -> Result<(), StoreError> {
        let mut conn = self.site.pipeline.conn.clone();
        let store = self.store();
        if !take_turn(
            &mut conn,
            &format!("tidy:{store}"),
            &self.shared.worker(),
            TIDY_EVERY,
        )
        .await?
        {
            return Ok(());
        }
        let began = now_ms();
        ours.lock().await.tidy(GONE_FOR).await?;
        forget_dead_workers(&mut conn).await?;
        trim_ledger(&mut conn, self.options.ledger_entries).await?;
        trim_orphaned_vetoes(&mut conn, self.site.pipeline.stations.options.undo_window).await?;
        let memory = measure_memory(&mut conn).await?;
        self.shared.metrics.own_bytes(memory.bytes());
        tracing::info!(
            own.bytes = memory.bytes(),
            duration_ms = now_ms() - began,
            "tidied up"
        );
        Ok(())
    }
}
