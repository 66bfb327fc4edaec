//! What a user kept and undid, as labelled pairs for `memfold eval` and `memfold calibrate`.

use std::collections::HashSet;

use jiff::Timestamp;
use redis::aio::ConnectionManager;
use serde_json::{Value, json};

use super::{Context, open};
use crate::layout::Layout;
use crate::store::index::index_facts;
use crate::store::{Entry, Event, State, StoredRecord, originals, records, show};

/// Most pairs of one merge: a group of a hundred has thousands.
const MOST_PAIRS: usize = 20;

/// A memory that was merged once.
struct Once {
    text: String,
    at: Option<Timestamp>,
}

/// Pairs, and the merges whose originals cannot be read any more.
pub(super) struct OwnPairs {
    pub(super) pairs: Vec<Value>,
    pub(super) unreadable: usize,
}

/// The pairs of all merges that `entries` tell of. A merge that stands says `same`, one that was
/// undone says `different`.
pub(super) async fn of(
    conn: &mut ConnectionManager,
    context: &Context,
    entries: &[Entry],
) -> anyhow::Result<OwnPairs> {
    let mut found = OwnPairs {
        pairs: Vec::new(),
        unreadable: 0,
    };
    let mut seen = HashSet::new();
    for entry in entries {
        // What was never merged has no originals to read.
        if entry.event == Event::Vetoed || !seen.insert(&entry.merge_id) {
            continue;
        }
        let Some(stored) = show(conn, &entry.merge_id).await? else {
            found.unreadable += 1;
            continue;
        };
        let texts = texts(conn, context, &stored).await?;
        if texts.len() < 2 {
            found.unreadable += 1;
        }
        found.pairs.extend(pairs(&stored, &texts));
    }
    Ok(found)
}

fn pairs<'a>(stored: &'a StoredRecord, texts: &'a [Once]) -> impl Iterator<Item = Value> + 'a {
    let (label, kind) = match stored.state {
        State::Merged => ("same", "kept"),
        State::Undone => ("different", "undone"),
    };
    let places = (0..texts.len()).flat_map(move |i| (i + 1..texts.len()).map(move |j| (i, j)));
    places.take(MOST_PAIRS).map(move |(i, j)| {
        let (a, b) = (&texts[i], &texts[j]);
        json!({
            "id": format!("{}-{i}-{j}", stored.merge.merge_id),
            "a": a.text,
            "b": b.text,
            "label": label,
            "kind": kind,
            "source": "own",
            "memory_type": stored.merge.partition.memory_type,
            "a_created_at": a.at,
            "b_created_at": b.at,
        })
    })
}

/// The originals of a merge that can still be read: from the undo store, or from their own keys
/// where they are back there unchanged.
async fn texts(
    conn: &mut ConnectionManager,
    context: &Context,
    stored: &StoredRecord,
) -> anyhow::Result<Vec<Once>> {
    let merge = &stored.merge;
    let facts = index_facts(conn, &merge.index).await?;
    let layout = open::layout(conn, &context.settings, &facts).await?;
    if stored.state == State::Merged {
        let kept = originals(conn, stored).await?.into_iter();
        let read = |(record, key): (Option<_>, &String)| read(layout.as_ref(), key, &record?);
        let keys = merge.sources.iter().map(|source| &source.key);
        return Ok(kept.zip(keys).filter_map(read).collect());
    }
    let mut texts = Vec::new();
    for source in &merge.sources {
        let pinned = [(source.key.as_str(), &source.digest)];
        // What was changed since is not what was undone.
        if let Ok(back) = records::load(conn, merge.storage, layout.as_ref(), &pinned).await {
            texts.extend(back.into_iter().map(|source| Once {
                text: source.memory.text,
                at: source.memory.said_at,
            }));
        }
    }
    Ok(texts)
}

fn read(layout: &dyn Layout, key: &str, record: &crate::layout::Stored) -> Option<Once> {
    let memory = layout.read(key, record).ok()?.memory;
    Some(Once {
        text: memory.text,
        at: memory.said_at,
    })
}
