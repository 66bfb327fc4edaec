//! What a layout makes of a whole index: how much it reads, and what it leaves alone and why.

use std::collections::{BTreeMap, BTreeSet};

use redis::aio::ConnectionManager;

use super::expiry::Expiring;
use super::listing;
use super::records::{self, Fetched};
use super::{StoreError, concerns};
use crate::layout::{Concern, Layout};
use crate::memory::Reason;
use crate::record::IndexFacts;

/// Keys that are read at most; the rest is only counted.
const MOST: usize = 20_000;

/// What was found in an index.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Keys that can be memories.
    pub keys: usize,
    /// Keys that were read.
    pub read: usize,
    /// Keys under the index's prefixes that cannot be memories by their names.
    pub passed_over: usize,
    /// Memories that can take part in merges.
    pub memories: usize,
    /// Their users.
    pub users: usize,
    /// What takes no part, by the reason and what was found, without memory text.
    pub left_alone: BTreeMap<(Reason, String), Left>,
    /// What speaks against merging now.
    pub concerns: Vec<Concern>,
}

/// What is left alone for the same.
#[derive(Clone, Debug, Default)]
pub struct Left {
    /// How many.
    pub count: usize,
    /// The first key.
    pub key: String,
}

impl Survey {
    fn leave(&mut self, key: &[u8], reason: Reason, detail: &str) {
        let why = (reason, detail.to_owned());
        let left = self.left_alone.entry(why).or_default();
        if left.count == 0 {
            left.key = String::from_utf8_lossy(key).into_owned();
        }
        left.count += 1;
    }

    fn take(&mut self, layout: &dyn Layout, key: &[u8], fetched: Fetched) -> Option<String> {
        let Ok(name) = std::str::from_utf8(key) else {
            self.leave(key, Reason::NotUtf8, "the key is not UTF-8");
            return None;
        };
        match fetched.memory() {
            Ok((stored, _)) => match layout.read(name, &stored) {
                Ok(reading) => return Some(reading.memory.partition.user),
                Err(error) => self.leave(key, error.reason, &error.detail),
            },
            // It went away meanwhile.
            Err((Reason::Expired, _)) => {}
            Err((reason, detail)) => self.leave(key, reason, detail),
        }
        None
    }
}

/// Looks at the keys of an index, whoever they are of. Nothing is written.
///
/// # Errors
/// As [`snapshot`](crate::store::snapshot::snapshot).
pub async fn survey(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
) -> Result<Survey, StoreError> {
    let now = listing::settled(conn, facts).await?;
    let mut own = listing::everything(conn, &now).await?;
    let total = own.len();
    own.retain(|key, _| listing::can_be_memory(layout, key));
    let mut survey = Survey {
        keys: own.len(),
        passed_over: total - own.len(),
        concerns: concerns(conn, layout).await?,
        ..Survey::default()
    };
    for orphan in listing::orphans(conn, layout, |_| true, &own).await? {
        survey.leave(&orphan, Reason::Orphan, "a vector whose memory is gone");
    }
    let keys: Vec<&[u8]> = own.keys().map(Vec::as_slice).take(MOST).collect();
    let mut users = BTreeSet::new();
    for chunk in keys.chunks(records::CHUNK) {
        let fetched = records::fetch(conn, facts.storage, layout, chunk, Expiring::Maybe).await?;
        for (key, fetched) in chunk.iter().zip(fetched) {
            if let Some(user) = survey.take(layout, key, fetched) {
                survey.memories += 1;
                users.insert(user);
            }
        }
    }
    survey.read = keys.len();
    survey.users = users.len();
    Ok(survey)
}
