//! Discovery: which users are due, found by one of all workers at a time.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Mutex;

use super::session::Session;
use crate::merge::LEAST_MEMORY;
use crate::store::fleet::{server_ms, take_turn};
use crate::store::requests::{Id, Queue, Request, request};
use crate::store::{Probe, StoreError, day_of, note_store_counts, probes, states};

/// Requests that may wait before discovery holds back.
const WAITING_MOST: usize = 10_000;
/// A user that was found to be due is not put there again for so long, unless that request is done.
const QUEUED_MS: u64 = 15 * 60_000;
/// Users whose states are read at once.
const PAGE: usize = 500;
/// How often it is noted how much there is.
const COUNTED_EVERY: Duration = Duration::from_secs(3600);
/// The next sweep where one was cut short.
const SOON: Duration = Duration::from_secs(5);

/// Users that wait in the stream, by hash, each with its request.
type Queued = HashMap<u64, Id>;

/// What a sweep found.
#[derive(Default)]
struct Found {
    users: usize,
    due: usize,
    /// More are due than may wait.
    cut: bool,
}

impl Session {
    /// Looks for users that are due, again and again; returns only on an error.
    pub(super) async fn sweep(&self, ours: &Mutex<Queue>) -> StoreError {
        let mut queued = HashMap::new();
        let mut soon = false;
        let mut empty = false;
        loop {
            let every = self.options.probe_every;
            let turn = format!("sweep:{}", self.store());
            let found = match self.may_sweep() {
                true => self.take_sweep(ours, &turn, &mut queued, soon).await,
                false => Ok(None),
            };
            match found {
                Ok(Some(found)) => {
                    if found.users == 0 && !empty {
                        self.shared
                            .warn("empty", "the index names no users; is it the right one?");
                    }
                    empty = found.users == 0;
                    soon = found.cut;
                    tracing::debug!(users = found.users, due = found.due, "looked for due users");
                }
                Ok(None) => soon = false,
                // What was asked is asked again; a question that the index answers in part, too.
                Err(error) => {
                    soon = true;
                    match error {
                        StoreError::Partial(_) => self.shared.warn("sweep", &error.to_string()),
                        error => match self.weather(error).await {
                            Ok(()) => continue,
                            Err(error) => return error,
                        },
                    }
                }
            }
            let wait = if soon { SOON.min(every) } else { every };
            tokio::time::sleep(wait.mul_f64(0.9 + rand::random::<f64>() / 5.0)).await;
        }
    }

    pub(super) fn may_sweep(&self) -> bool {
        let off_peak = self.options.off_peak.as_ref();
        !self.closed() && off_peak.is_none_or(|times| times.contains(Timestamp::now()))
    }

    async fn take_sweep(
        &self,
        ours: &Mutex<Queue>,
        turn: &str,
        queued: &mut Queued,
        again: bool,
    ) -> Result<Option<Found>, StoreError> {
        let mut conn = self.site.pipeline.conn.clone();
        let every = self.options.probe_every.mul_f64(0.8);
        let worker = self.shared.worker();
        if !again && !take_turn(&mut conn, turn, &worker, every).await? {
            return Ok(None);
        }
        let (backlog, needed) = ours.lock().await.backlog().await?;
        queued.retain(|_, id| *id >= needed);
        let waiting = usize::try_from(backlog.waiting).unwrap_or(usize::MAX);
        let room = WAITING_MOST.saturating_sub(waiting);
        if room < WAITING_MOST / 2 {
            return Ok(Some(Found {
                users: 1,
                cut: true,
                ..Found::default()
            }));
        }
        self.find(queued, room).await.map(Some)
    }

    /// Puts up to `room` due users into the stream.
    async fn find(&self, queued: &mut Queued, mut room: usize) -> Result<Found, StoreError> {
        let pipeline = &self.site.pipeline;
        let (mut conn, mut reading) = (pipeline.conn.clone(), pipeline.conn.clone());
        let now_ms = server_ms(&mut conn).await?;
        queued.retain(|_, id| now_ms.unsigned_abs().abs_diff(id.ms) < QUEUED_MS);
        let mut found = Found::default();
        let users = probes(&mut reading, &pipeline.index, pipeline.layout.as_ref()).await?;
        found.users = users.len();
        let memories = users.values().map(|probe| probe.count).sum();
        self.count((users.len() as u64, memories), now_ms).await?;
        let users: Vec<(Box<str>, Probe)> = users
            .into_iter()
            .filter(|(user, _)| self.options.takes(user))
            .collect();
        for page in users.chunks(PAGE) {
            let mut due = self.due(page, queued, now_ms).await?;
            found.cut = due.len() > room;
            due.truncate(room);
            room -= due.len();
            found.due += due.len();
            let ids = request(&mut conn, &due).await?;
            queued.extend(due.iter().map(|request| hash(&request.user)).zip(ids));
            if found.cut {
                break;
            }
        }
        Ok(found)
    }

    /// Notes how many users and memories there are, by one of all workers, every hour.
    async fn count(&self, counts: (u64, u64), now_ms: i64) -> Result<(), StoreError> {
        let (mut conn, store) = (self.site.pipeline.conn.clone(), self.store());
        let turn = format!("counts:{store}");
        if !take_turn(&mut conn, &turn, &self.shared.worker(), COUNTED_EVERY).await? {
            return Ok(());
        }
        let options = &self.site.pipeline.stations.options;
        let keep = options.ledger_retention.max(LEAST_MEMORY);
        note_store_counts(&mut conn, &store, day_of(now_ms), counts, keep).await
    }

    /// The requests for the users of a page that are due.
    async fn due(
        &self,
        page: &[(Box<str>, Probe)],
        queued: &Queued,
        now_ms: i64,
    ) -> Result<Vec<Request>, StoreError> {
        let pipeline = &self.site.pipeline;
        let names: Vec<String> = page
            .iter()
            .map(|(user, _)| pipeline.partition(user))
            .collect();
        let states = states(&mut pipeline.conn.clone(), &names).await?;
        let mut due = Vec::new();
        for ((user, probe), state) in page.iter().zip(states) {
            let cause = self.options.rules.due(user, state.as_ref(), probe, now_ms);
            let Some(cause) = cause else { continue };
            if queued.contains_key(&hash(user)) {
                continue;
            }
            due.push(Request {
                user: user.to_string(),
                index: Some(pipeline.index.name.clone()),
                reason: cause.name().to_owned(),
                failures: 0,
                probe: Some(*probe),
            });
        }
        Ok(due)
    }
}

/// Eight bytes for a name: what was queued must not take more memory than it needs.
fn hash(user: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    user.hash(&mut hasher);
    hasher.finish()
}
