//! All memories of one user: complete, or refused.
//!
//! The keys are listed first, then each is read and judged by what is on it. Which user a memory
//! belongs to is decided by comparing the id on the record byte for byte; that the index gave the
//! key proves nothing.

use std::collections::{BTreeSet, VecDeque};
use std::pin::pin;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use ndarray::Array2;
use redis::aio::ConnectionManager;
use tokio::sync::Mutex;

use crate::layout::{Layout, NotRead, Reading};
use crate::memory::{LeftAlone, Memory, Reason};
use crate::record::{IndexFacts, Stored};
use crate::store::StoreError;
use crate::store::direct::{Chunk, Direct};
use crate::store::expiry::expiring;
use crate::store::listing::{self, Found, Keys};
use crate::store::records::{self, Fetched};

/// How fast records are read. A server answers what came in at once before it looks at other clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// As somebody who waits for it wants it: other clients wait for some milliseconds at a time.
    #[default]
    Quick,
    /// As something in the background should: they wait for less than a search takes. All that this
    /// process reads so is read piece by piece, one at a time, with a rest after each.
    Gentle,
}

/// After an answer that took very long, no rest helps.
const LONGEST_REST: Duration = Duration::from_millis(100);

/// Held by who reads gently.
static TURN: Mutex<()> = Mutex::const_new(());

impl Pace {
    /// Keys that are asked for at once.
    fn chunk(self) -> usize {
        match self {
            Self::Quick => records::CHUNK,
            Self::Gentle => 16,
        }
    }

    /// Waits for its turn if it has to, reads, and lets others have the server for as long as it had it.
    pub(crate) async fn take<T>(self, read: impl Future<Output = T>) -> T {
        if self == Self::Quick {
            return read.await;
        }
        let _turn = TURN.lock().await;
        let began = Instant::now();
        let found = read.await;
        tokio::time::sleep(began.elapsed().min(LONGEST_REST)).await;
        found
    }

    /// Chunks that are asked for at once: with the quick one the server, the client's parser and the
    /// reader of records each have one in hand.
    fn reads_ahead(self) -> usize {
        match self {
            Self::Quick => 4,
            Self::Gentle => 1,
        }
    }
}

/// One user's memories at one time, without their full records.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The user.
    pub user: String,
    /// The memories that can take part, sorted by key.
    pub memories: Vec<Memory>,
    /// Their vectors, one row a memory in the same order, each of length 1.
    pub vectors: Array2<f32>,
    /// Keys that take no part, sorted by key, each with its reason.
    pub left_alone: Vec<LeftAlone>,
    /// Other users' records that were read and passed over without being listed.
    pub foreign: usize,
    /// Other user ids that the index takes for this one or that differ from it by case or outer
    /// blanks only, sorted.
    pub similar_users: Vec<String>,
}

/// Bytes that planning takes for a memory beside its vector: key, text, partition, digest, and
/// what is compared and told of it. Texts of a few sentences are meant.
const BESIDE_VECTOR: u64 = 1200;

/// The bytes that planning takes for a user's memories, about: the vectors, the codes by which they
/// are compared, and what is beside them.
pub fn memory_needed(memories: usize, dims: usize) -> u64 {
    let vector = 4 * dims as u64;
    memories as u64 * (vector + vector / 2 + BESIDE_VECTOR)
}

/// Reads all memories of `user`.
///
/// # Errors
/// [`StoreError::Indexing`] and [`StoreError::IndexUnfit`] if the index is or gets unfit while it
/// is read, [`StoreError::Partial`] for a partial answer, and any error of the server or
/// connection. There is no partial snapshot.
pub async fn snapshot(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
    user: &str,
) -> Result<Snapshot, StoreError> {
    snapshot_within(conn, facts, layout, user, ReadOptions::default()).await
}

/// How a user is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// The bytes that planning may take.
    pub max_memory: Option<u64>,
    /// How fast.
    pub pace: Pace,
    /// Where records may be read quicker than over the one connection.
    pub direct: Option<&'a Direct>,
}

/// Reads all memories of `user`, unless planning for them would take more memory than it may.
///
/// # Errors
/// As [`snapshot`], and [`StoreError::TooLarge`]: before any of them is read if those that the index
/// gives for the user are too many, else when all were read. (An index that folds case gives those of
/// `Alice` for `alice` as well. To refuse both is safe, and to read either for nothing takes long.)
pub async fn snapshot_within(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
    user: &str,
    options: ReadOptions<'_>,
) -> Result<Snapshot, StoreError> {
    let now = listing::settled(conn, facts).await?;
    if let Some(vectors) = layout.vector_index() {
        listing::settled(conn, vectors).await?;
    }
    let keys = options
        .pace
        .take(listing::candidates(conn, &now, layout, user))
        .await?;
    let surely = keys.values().filter(|&&found| found == Found::ForUser);
    let mut collected = Collected::new(user, surely.count());
    let limit = options
        .max_memory
        .map(|bytes| Limit::new(bytes, facts, layout))
        .transpose()?;
    if let Some(limit) = &limit {
        limit.check(collected.expected)?;
        collected.most = limit.memories();
    }
    let is_users = |value: &str| layout.owner(Some(value)).is_some_and(|of| of == user);
    for orphan in listing::orphans(conn, layout, is_users, &keys).await? {
        let detail = "a vector whose memory is gone; it takes a place in every vector search";
        collected.leave(&String::from_utf8_lossy(&orphan), Reason::Orphan, detail);
    }
    read(conn, facts, layout, keys, options, &mut collected).await?;
    listing::settled(conn, facts).await?;
    if let Some(vectors) = layout.vector_index() {
        listing::settled(conn, vectors).await?;
    }
    if let Some(limit) = &limit {
        limit.check(collected.memories.len() + collected.beyond)?;
    }
    collected.into_snapshot()
}

/// What planning may take.
struct Limit {
    bytes: u64,
    dims: usize,
}

impl Limit {
    fn new(bytes: u64, facts: &IndexFacts, layout: &dyn Layout) -> Result<Self, StoreError> {
        let vectors = layout.vector_index().unwrap_or(facts);
        let dims = vectors.vector(layout.vector_field())?.dims;
        Ok(Self { bytes, dims })
    }

    /// So many fit.
    fn memories(&self) -> usize {
        usize::try_from(self.bytes / memory_needed(1, self.dims)).unwrap_or(usize::MAX)
    }

    fn check(&self, memories: usize) -> Result<(), StoreError> {
        let needed = memory_needed(memories, self.dims);
        if needed <= self.bytes {
            return Ok(());
        }
        Err(StoreError::TooLarge {
            memories,
            pairs: None,
            needed,
            limit: self.bytes,
        })
    }
}

async fn read(
    conn: &ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
    keys: Keys,
    options: ReadOptions<'_>,
    collected: &mut Collected,
) -> Result<(), StoreError> {
    let pace = options.pace;
    let direct = options
        .direct
        .filter(|_| pace == Pace::Quick && layout.apart().is_none());
    let storage = facts.storage;
    let expiring = expiring(&mut conn.clone()).await?;
    let mut take = |chunk: Chunk, fetched: Vec<Fetched>| {
        for ((key, found), fetched) in chunk.into_iter().zip(fetched) {
            collected.take(layout, &key, found, fetched);
        }
    };
    let mut chunks = chunks(keys, pace.chunk());
    if let Some(direct) = direct {
        let conn = &mut conn.clone();
        chunks = direct
            .read(conn, storage, expiring, chunks, &mut take)
            .await;
    }
    let reads = stream::iter(chunks).map(|chunk| {
        let mut conn = conn.clone();
        async move {
            let names: Vec<&[u8]> = chunk.iter().map(|(key, _)| &**key).collect();
            let fetched = records::fetch(&mut conn, storage, layout, &names, expiring);
            let fetched = pace.take(fetched).await;
            fetched.map(|fetched| (chunk, fetched))
        }
    });
    let mut reads = pin!(reads.buffered(pace.reads_ahead()));
    while let Some((chunk, fetched)) = reads.try_next().await? {
        take(chunk, fetched);
    }
    Ok(())
}

fn chunks(keys: Keys, size: usize) -> VecDeque<Chunk> {
    let mut keys = keys.into_iter();
    let chunks = std::iter::from_fn(|| {
        let chunk: Chunk = keys.by_ref().take(size).collect();
        (!chunk.is_empty()).then_some(chunk)
    });
    chunks.collect()
}

/// What was read so far. Keys arrive in order.
struct Collected {
    user: String,
    memories: Vec<Memory>,
    /// The rows of the matrix, one after the other.
    numbers: Vec<f32>,
    dims: usize,
    /// How many rows there will be, about.
    expected: usize,
    /// How many are kept.
    most: usize,
    /// How many more there are.
    beyond: usize,
    left_alone: Vec<LeftAlone>,
    foreign: usize,
    similar_users: BTreeSet<String>,
}

impl Collected {
    fn new(user: &str, expected: usize) -> Self {
        Self {
            user: user.to_owned(),
            memories: Vec::new(),
            numbers: Vec::new(),
            dims: 0,
            expected,
            most: usize::MAX,
            beyond: 0,
            left_alone: Vec::new(),
            foreign: 0,
            similar_users: BTreeSet::new(),
        }
    }

    fn take(&mut self, layout: &dyn Layout, key: &[u8], found: Found, fetched: Fetched) {
        let Ok(key) = std::str::from_utf8(key) else {
            let key = String::from_utf8_lossy(key);
            return self.leave(&key, Reason::NotUtf8, "the key is not UTF-8");
        };
        match fetched.memory() {
            Ok((stored, expires_at_ms)) => {
                self.take_record(layout, key, found, &stored, expires_at_ms);
            }
            Err((reason, detail)) => self.leave(key, reason, detail),
        }
    }

    fn take_record(
        &mut self,
        layout: &dyn Layout,
        key: &str,
        found: Found,
        stored: &Stored,
        expires_at_ms: Option<i64>,
    ) {
        match layout.read(key, stored) {
            Ok(reading) if reading.memory.partition.user != self.user => {
                self.pass_over(key, found, &reading.memory.partition.user);
            }
            Err(NotRead {
                user: Some(user), ..
            }) if user != self.user => {
                self.pass_over(key, found, &user);
            }
            Err(NotRead { reason, detail, .. }) => self.leave(key, reason, &detail),
            Ok(_) if found == Found::ByScan => {
                self.leave(key, Reason::NotIndexed, "the index does not hold the key");
            }
            Ok(reading) => self.keep(reading, expires_at_ms),
        }
    }

    fn keep(&mut self, reading: Reading, expires_at_ms: Option<i64>) {
        if self.memories.len() == self.most {
            self.beyond += 1;
            return;
        }
        let Reading { mut memory, vector } = reading;
        if self.memories.is_empty() {
            self.dims = vector.len();
            self.numbers.reserve_exact(self.expected * self.dims);
            self.memories.reserve_exact(self.expected);
        }
        let length = squares(&vector).sqrt();
        if vector.len() != self.dims || !length.is_normal() {
            let detail = "the vector has no direction or another length than the others";
            return self.leave(&memory.key, Reason::BadVector, detail);
        }
        // A product takes a fraction of the time of a quotient.
        let scale = length.recip();
        self.numbers
            .extend(vector.iter().map(|n| (f64::from(*n) * scale) as f32));
        memory.expires_at_ms = expires_at_ms;
        self.memories.push(memory);
    }

    /// Another user's record: listed if the index took it for this user's, else only counted.
    fn pass_over(&mut self, key: &str, found: Found, user: &str) {
        if found == Found::ForUser {
            let detail = format!("the index gave it, but it belongs to user `{user}`");
            self.leave(key, Reason::ForeignUser, &detail);
        } else {
            self.foreign += 1;
        }
        if found == Found::ForUser || folded(user) == folded(&self.user) {
            self.similar_users.insert(user.to_owned());
        }
    }

    fn leave(&mut self, key: &str, reason: Reason, detail: &str) {
        let (key, detail) = (key.to_owned(), detail.to_owned());
        self.left_alone.push(LeftAlone {
            key,
            reason,
            detail,
        });
    }

    fn into_snapshot(mut self) -> Result<Snapshot, StoreError> {
        self.left_alone.sort_by(|a, b| a.key.cmp(&b.key));
        let shape = (self.memories.len(), self.dims);
        let vectors = Array2::from_shape_vec(shape, self.numbers).map_err(StoreError::protocol)?;
        Ok(Snapshot {
            user: self.user,
            memories: self.memories,
            vectors,
            left_alone: self.left_alone,
            foreign: self.foreign,
            similar_users: self.similar_users.into_iter().collect(),
        })
    }
}

/// The sum of the squares, in sums side by side, which a processor adds at once.
fn squares(vector: &[f32]) -> f64 {
    let mut sums = [0.0; 8];
    for chunk in vector.chunks(sums.len()) {
        for (sum, n) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(*n) * f64::from(*n);
        }
    }
    sums.iter().sum()
}

fn folded(user: &str) -> String {
    user.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worker runs snapshots in tasks of their own.
    #[test]
    fn a_snapshot_can_move_between_threads() {
        fn check<T: Send>(_: impl Fn(ConnectionManager, IndexFacts, Box<dyn Layout>) -> T) {}
        check(|mut conn, facts, layout| async move {
            snapshot(&mut conn, &facts, &*layout, "alice").await.is_ok()
        });
    }
}
