//! The server's events about keys, where it publishes them (`notify-keyspace-events`): which memories
//! were written just now.
//!
//! They may be lost at any time, and most servers publish none: what they miss, the probe finds.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use redis::aio::ConnectionManager;
use redis::{PushInfo, PushKind};

use super::expiry::Expiring;
use super::records::{self, Fetched};
use super::{NAMESPACE, StoreError, query, reply};
use crate::layout::Layout;
use crate::record::IndexFacts;

/// What the channels of keys in database 0 begin with.
const CHANNEL: &str = "__keyspace@0__:";
/// Keys that are noted until somebody looks; the probe finds the others.
const MOST: usize = 10_000;
/// Events after which there is nothing to read, or nothing new.
const NO_NEWS: [&[u8]; 8] = [
    b"del",
    b"expired",
    b"evicted",
    b"expire",
    b"persist",
    b"rename_from",
    b"copy_from",
    b"unlink",
];

/// The pattern of the channels about keys with a prefix.
pub fn channels(prefix: &str) -> String {
    format!("{CHANNEL}{}*", query::glob(prefix))
}

/// Keys that were written, each once.
#[derive(Clone, Debug, Default)]
pub struct Changed(Arc<Mutex<BTreeSet<Vec<u8>>>>);

impl Changed {
    /// Follows the keys of an index over `conn`, which must be its own; `false` where the account
    /// may not.
    ///
    /// # Errors
    /// [`StoreError`] if the server did not answer.
    pub async fn follow(
        conn: &mut ConnectionManager,
        facts: &IndexFacts,
    ) -> Result<bool, StoreError> {
        for prefix in &facts.prefixes {
            match conn
                .psubscribe(channels(prefix))
                .await
                .map_err(StoreError::from)
            {
                Ok(()) => {}
                Err(StoreError::Permission(_) | StoreError::Other(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Notes the key that an event is about.
    pub(super) fn take(&self, push: &PushInfo) -> Result<(), Infallible> {
        let [_pattern, channel, event] = push.data.as_slice() else {
            return Ok(());
        };
        let key = reply::bytes(channel).and_then(|name| name.strip_prefix(CHANNEL.as_bytes()));
        let (Some(key), Some(event)) = (key, reply::bytes(event)) else {
            return Ok(());
        };
        let news = push.kind == PushKind::PMessage && !NO_NEWS.contains(&event);
        if news && !key.starts_with(NAMESPACE.as_bytes()) {
            let mut keys = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if keys.len() < MOST {
                keys.insert(key.to_vec());
            }
        }
        Ok(())
    }

    /// The users whose memories were written since the last call.
    ///
    /// # Errors
    /// [`StoreError`] if the keys cannot be read.
    pub async fn users(
        &self,
        conn: &mut ConnectionManager,
        facts: &IndexFacts,
        layout: &dyn Layout,
    ) -> Result<BTreeSet<String>, StoreError> {
        let keys = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut users = BTreeSet::new();
        for chunk in keys.chunks(records::CHUNK) {
            let fetched =
                records::fetch(conn, facts.storage, layout, chunk, Expiring::Maybe).await?;
            for (key, fetched) in chunk.iter().zip(fetched) {
                let (Ok(key), Fetched::Memory(stored, _)) = (std::str::from_utf8(key), fetched)
                else {
                    continue;
                };
                if layout.is_own_key(key)
                    && let Ok(reading) = layout.read(key, &stored)
                {
                    users.insert(reading.memory.partition.user);
                }
            }
        }
        Ok(users)
    }
}

#[cfg(test)]
mod tests {
    use redis::Value;

    use super::*;

    fn noted(kind: PushKind, words: &[&str]) -> usize {
        let changed = Changed::default();
        let data = words
            .iter()
            .map(|word| Value::BulkString(word.as_bytes().to_vec()));
        let push = PushInfo {
            kind,
            data: data.collect(),
        };
        let Ok(()) = changed.take(&push);
        let keys = changed.0.lock().unwrap();
        keys.len()
    }

    #[test]
    fn writes_to_memories_are_noted_and_nothing_else() {
        let of = |key: &str, event| noted(PushKind::PMessage, &["p", key, event]);
        assert_eq!(of("__keyspace@0__:memory:1", "json.set"), 1);
        assert_eq!(of("__keyspace@0__:memory:1", "del"), 0);
        assert_eq!(of("__keyspace@0__:memfold:undo:1", "rename_to"), 0);
        assert_eq!(of("__keyspace@1__:memory:1", "json.set"), 0);
        let words = ["p", "__keyspace@0__:memory:1", "json.set"];
        assert_eq!(noted(PushKind::Message, &words), 0);
        assert_eq!(noted(PushKind::PMessage, &words[..2]), 0);
    }
}
