//! What a user kept, undid and forbade, as labelled pairs for `memfold eval` and `memfold calibrate`.

use std::collections::HashSet;

use jiff::Timestamp;
use redis::aio::ConnectionManager;
use serde_json::{Value, json};

use super::{Context, open};
use crate::layout::Layout;
use crate::memory::{Digest, Memory};
use crate::store::expiry::Expiring;
use crate::store::index::index_facts;
use crate::store::records::Fetched;
use crate::store::vetoes::{said_digest, vetoes};
use crate::store::{
    Entry, Event, State, StoreError, StoredRecord, originals, partition_name, records, show,
};

/// Most pairs of one group: a group of a hundred has thousands.
const MOST_PAIRS: usize = 20;

/// A memory of a group that was decided.
struct Once {
    text: String,
    memory_type: String,
    at: Option<Timestamp>,
}

impl Once {
    fn of(memory: Memory) -> Self {
        Self {
            text: memory.text,
            memory_type: memory.partition.memory_type,
            at: memory.said_at,
        }
    }
}

/// What became of a group.
#[derive(Clone, Copy)]
enum Decided {
    Kept,
    Undone,
    Forbidden,
}

/// Pairs, and the groups whose memories cannot be read any more.
pub(super) struct OwnPairs {
    pub(super) pairs: Vec<Value>,
    pub(super) unreadable: usize,
}

/// The pairs of all groups that `entries` tell of. A merge that stands says `same`, one that was
/// undone, or never made since somebody forbade it, says `different`.
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
        if !seen.insert(&entry.merge_id) {
            continue;
        }
        let (decided, texts) = match entry.event {
            Event::Vetoed => (Decided::Forbidden, forbidden(conn, context, entry).await?),
            Event::Merged | Event::Undone => match show(conn, &entry.merge_id).await? {
                Some(stored) => {
                    let decided = match stored.state {
                        State::Merged => Decided::Kept,
                        State::Undone => Decided::Undone,
                    };
                    (decided, texts(conn, context, &stored).await?)
                }
                None => (Decided::Kept, Vec::new()),
            },
        };
        if texts.len() < 2 {
            found.unreadable += 1;
        }
        found.pairs.extend(pairs(&entry.merge_id, decided, &texts));
    }
    Ok(found)
}

fn pairs<'a>(id: &'a str, decided: Decided, texts: &'a [Once]) -> impl Iterator<Item = Value> + 'a {
    let (label, kind) = match decided {
        Decided::Kept => ("same", "kept"),
        Decided::Undone => ("different", "undone"),
        Decided::Forbidden => ("different", "forbidden"),
    };
    let places = (0..texts.len()).flat_map(move |i| (i + 1..texts.len()).map(move |j| (i, j)));
    places.take(MOST_PAIRS).map(move |(i, j)| {
        let (a, b) = (&texts[i], &texts[j]);
        json!({
            "id": format!("{id}-{i}-{j}"),
            "a": a.text,
            "b": b.text,
            "label": label,
            "kind": kind,
            "source": "own",
            "memory_type": a.memory_type,
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
            texts.extend(back.into_iter().map(|source| Once::of(source.memory)));
        }
    }
    Ok(texts)
}

/// The memories that somebody forbade to merge, if that still holds and all say what they said.
async fn forbidden(
    conn: &mut ConnectionManager,
    context: &Context,
    entry: &Entry,
) -> anyhow::Result<Vec<Once>> {
    let index = context.settings.index();
    let facts = match index_facts(conn, index).await {
        // Of another store, or none is there any more: merges name theirs, a veto does not.
        Err(StoreError::NoIndex { .. }) => return Ok(Vec::new()),
        facts => facts?,
    };
    let layout = open::layout(conn, &context.settings, &facts).await?;
    let partition = partition_name(layout.name(), index, &entry.user);
    let vetoes = vetoes(conn, &partition).await?;
    // One that followed its members into a merge has the id of the first.
    for veto in vetoes.iter().filter(|veto| veto.merge_id == entry.merge_id) {
        let keys: Vec<&[u8]> = veto.members.keys().map(String::as_bytes).collect();
        let fetched =
            records::fetch(conn, facts.storage, layout.as_ref(), &keys, Expiring::Maybe).await?;
        let read = |((key, said), fetched): ((&String, &Digest), Fetched)| {
            let Fetched::Memory(stored, _) = fetched else {
                return None;
            };
            let memory = layout.read(key, &stored).ok()?.memory;
            (memory.partition.user == entry.user && said_digest(&memory.text) == *said)
                .then(|| Once::of(memory))
        };
        let all: Option<Vec<Once>> = veto.members.iter().zip(fetched).map(read).collect();
        if let Some(all) = all {
            return Ok(all);
        }
    }
    Ok(Vec::new())
}

fn read(layout: &dyn Layout, key: &str, record: &crate::record::Stored) -> Option<Once> {
    Some(Once::of(layout.read(key, record).ok()?.memory))
}
