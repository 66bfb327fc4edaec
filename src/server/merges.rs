//! Merges as they are shown: before and after, and where every part of the text came from.

use std::collections::HashMap;

use jiff::Timestamp;
use redis::aio::ConnectionManager;
use serde::Serialize;

use super::problem::Problem;
use crate::memory::{Author, Digest, Memory};
use crate::merge::Pipeline;
use crate::store::expiry::Expiring;
use crate::store::records::{Fetched, fetch};
use crate::store::{
    Entry, Event, MergeRecord, Retire, State, StoreError, StoredRecord, history, merged_again_by,
    original_texts, show,
};
use crate::worker::user_hash;

/// Entries of the ledger that are looked through for one list.
const LOOK: usize = 20_000;
/// Merges that one tree shows.
const TREE_MOST: usize = 200;

/// One merge in a list.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MergeRow {
    pub(super) merge_id: String,
    pub(super) state: State,
    pub(super) at: Option<Timestamp>,
    pub(super) run_id: String,
    /// The id of the user.
    pub(super) user_id: String,
    pub(super) user: String,
    /// How many memories were made one.
    pub(super) sources: usize,
    /// Who wrote the text; `None` where the record is gone.
    pub(super) author: Option<&'static str>,
    /// What the memories said, as far as that can still be had.
    pub(super) before: Vec<Option<String>>,
    /// What the one says.
    pub(super) after: Option<String>,
}

/// One merge in full. Members are added, not changed.
#[derive(Clone, Debug, Serialize)]
pub(super) struct MergeDetail {
    pub(super) merge_id: String,
    pub(super) state: State,
    pub(super) user_id: String,
    /// What the memories said, in the order of `merge.sources`.
    pub(super) before: Vec<Option<String>>,
    pub(super) after: Option<String>,
    /// Whether somebody has changed the result since.
    pub(super) edited: bool,
    /// The later merge that took the result.
    pub(super) merged_again_by: Option<String>,
    pub(super) undo: Undoable,
    pub(super) tree: Node,
    pub(super) merge: MergeRecord,
}

/// Whether a merge can be undone.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Undoable {
    pub(super) possible: bool,
    /// Until when; `None` = not at all.
    pub(super) until: Option<Timestamp>,
    /// Whether a later merge has to be undone first.
    pub(super) cascade: bool,
}

/// A memory and what it was made of.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Node {
    pub(super) key: String,
    pub(super) text: Option<String>,
    pub(super) created_at: Option<Timestamp>,
    /// Cosine distance to the farthest other source of the merge that took it.
    pub(super) distance: Option<f64>,
    /// The original memories that it stands for.
    pub(super) leaves: Vec<String>,
    /// The merge that wrote it.
    pub(super) merge_id: Option<String>,
    pub(super) merged_at: Option<Timestamp>,
    /// What that merge made one.
    pub(super) sources: Vec<Node>,
}

/// Who wrote the text of a merge, in one word.
pub(super) fn author(author: &Author) -> &'static str {
    match author {
        Author::Extractive { .. } => "extractive",
        Author::Latest { .. } => "latest",
        Author::Llm { .. } => "llm",
        Author::Person { overridden } if overridden.is_empty() => "person",
        Author::Person { .. } => "person-anyway",
    }
}

/// The merges of one user or of all, newest first: `size` of them after the first `skip`, and
/// whether there are more.
pub(super) async fn list(
    pipeline: &Pipeline,
    user: Option<&str>,
    skip: usize,
    size: usize,
) -> Result<(Vec<MergeRow>, bool), Problem> {
    let mut conn = pipeline.conn.clone();
    let mut entries = history(&mut conn, user, LOOK).await?;
    let undone: HashMap<String, ()> = entries
        .iter()
        .filter(|entry| entry.event == Event::Undone)
        .map(|entry| (entry.merge_id.clone(), ()))
        .collect();
    entries.retain(|entry| entry.event == Event::Merged);
    let more = entries.len() > skip.saturating_add(size);
    let mut rows = Vec::new();
    for entry in entries.into_iter().skip(skip).take(size) {
        let state = match undone.contains_key(&entry.merge_id) {
            true => State::Undone,
            false => State::Merged,
        };
        rows.push(row(pipeline, &mut conn, entry, state).await?);
    }
    Ok((rows, more))
}

async fn row(
    pipeline: &Pipeline,
    conn: &mut ConnectionManager,
    entry: Entry,
    state: State,
) -> Result<MergeRow, StoreError> {
    let stored = show(conn, &entry.merge_id).await?;
    let (before, after) = match &stored {
        Some(stored) => {
            let said = Said::of(pipeline, conn, stored).await?;
            (said.before, said.after)
        }
        None => (Vec::new(), None),
    };
    Ok(MergeRow {
        state: stored.as_ref().map_or(state, |stored| stored.state),
        at: Timestamp::from_millisecond(entry.at_ms).ok(),
        user_id: user_hash(&entry.user),
        sources: entry.retired,
        author: stored.as_ref().map(|stored| author(&stored.merge.author)),
        merge_id: entry.merge_id,
        run_id: entry.run_id,
        user: entry.user,
        before,
        after,
    })
}

/// One merge in full.
pub(super) async fn detail(pipeline: &Pipeline, merge_id: &str) -> Result<MergeDetail, Problem> {
    let mut conn = pipeline.conn.clone();
    let Some(stored) = show(&mut conn, merge_id).await? else {
        return Err(Problem::not_found(
            "there is no record of this merge (any more); records are kept for --ledger-days",
        ));
    };
    let said = Said::of(pipeline, &mut conn, &stored).await?;
    let merged_again_by = merged_again_by(&mut conn, merge_id).await?;
    let merge = &stored.merge;
    let standing = stored.state == State::Merged && merge.retire != Retire::Delete;
    let in_time = merge
        .undo_until
        .is_some_and(|until| until > pipeline.stations.clock.now());
    let mut left = TREE_MOST;
    let mut tree = Box::pin(tree(pipeline, &mut conn, &stored, &said, &mut left)).await?;
    tree.text.clone_from(&said.after);
    Ok(MergeDetail {
        merge_id: merge.merge_id.clone(),
        state: stored.state,
        user_id: user_hash(&merge.partition.user),
        before: said.before,
        after: said.after,
        edited: said.edited,
        undo: Undoable {
            possible: standing && in_time,
            until: merge.undo_until,
            cascade: merged_again_by.is_some(),
        },
        merged_again_by,
        tree,
        merge: stored.merge,
    })
}

/// What a merge made of what.
struct Said {
    before: Vec<Option<String>>,
    after: Option<String>,
    edited: bool,
}

impl Said {
    async fn of(
        pipeline: &Pipeline,
        conn: &mut ConnectionManager,
        stored: &StoredRecord,
    ) -> Result<Self, StoreError> {
        let merge = &stored.merge;
        let mut said = Self {
            before: vec![None; merge.sources.len()],
            after: None,
            edited: false,
        };
        if merge.index != pipeline.index.name || merge.layout != pipeline.layout.name() {
            // Of another store, whose memories this one does not understand.
            return Ok(said);
        }
        let layout = pipeline.layout.as_ref();
        match stored.state {
            State::Merged => {
                said.before = original_texts(conn, layout, stored).await?;
                let now = now(pipeline, conn, &[&merge.result_key]).await?;
                let result = now.into_iter().next().flatten();
                let ours = |m: &Memory| m.merge_id.as_deref() == Some(&merge.merge_id);
                if let Some(result) = result.filter(ours) {
                    said.edited = result.digest != stored.result_digest;
                    said.after = Some(result.text);
                } else if let Some(later) = merged_again_by(conn, &merge.merge_id).await?
                    && let Some(later) = show(conn, &later).await?
                {
                    let texts = original_texts(conn, layout, &later).await?;
                    let mut sources = later.merge.sources.iter().zip(texts);
                    let taken = sources.find(|(source, _)| source.key == merge.result_key);
                    said.after = taken.and_then(|(_, text)| text);
                }
            }
            State::Undone => {
                let keys: Vec<&String> = merge.sources.iter().map(|s| &s.key).collect();
                let now = now(pipeline, conn, &keys).await?;
                let same = |(memory, digest): (Option<Memory>, &Digest)| {
                    Some(memory?)
                        .filter(|m| m.digest == *digest)
                        .map(|m| m.text)
                };
                let digests = merge.sources.iter().map(|source| &source.digest);
                said.before = now.into_iter().zip(digests).map(same).collect();
            }
        }
        if let (None, Author::Extractive { kept } | Author::Latest { kept }) =
            (&said.after, &merge.author)
        {
            let place = merge.sources.iter().position(|source| source.key == *kept);
            said.after = place.and_then(|i| said.before.get(i).cloned().flatten());
        }
        Ok(said)
    }
}

/// The memories at these keys, as they are now.
async fn now(
    pipeline: &Pipeline,
    conn: &mut ConnectionManager,
    keys: &[&String],
) -> Result<Vec<Option<Memory>>, StoreError> {
    let names: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    let layout = pipeline.layout.as_ref();
    let fetched = fetch(
        conn,
        pipeline.index.storage,
        layout,
        &names,
        Expiring::Maybe,
    )
    .await?;
    let read = |(key, fetched): (&&String, Fetched)| match fetched {
        Fetched::Memory(stored, _) => layout.read(key, &stored).ok().map(|r| r.memory),
        _ => None,
    };
    Ok(keys.iter().zip(fetched).map(read).collect())
}

/// The result of a merge, down to the memories that no merge wrote; at most `left` merges.
async fn tree(
    pipeline: &Pipeline,
    conn: &mut ConnectionManager,
    stored: &StoredRecord,
    said: &Said,
    left: &mut usize,
) -> Result<Node, StoreError> {
    *left = left.saturating_sub(1);
    let merge = &stored.merge;
    let mut parents = HashMap::new();
    for parent in &merge.parents {
        if let Some(parent) = show(conn, parent).await? {
            parents.insert(parent.merge.result_key.clone(), parent);
        }
    }
    let mut sources = Vec::new();
    for (source, text) in merge.sources.iter().zip(&said.before) {
        let below = match parents.get(&source.key) {
            Some(parent) if *left > 0 => {
                let said = Said::of(pipeline, conn, parent).await?;
                Box::pin(tree(pipeline, conn, parent, &said, left)).await?
            }
            _ => Node::default(),
        };
        sources.push(Node {
            key: source.key.clone(),
            text: text.clone(),
            created_at: source.created_at,
            distance: Some(source.distance),
            leaves: source.leaves.clone(),
            ..below
        });
    }
    Ok(Node {
        key: merge.result_key.clone(),
        merge_id: Some(merge.merge_id.clone()),
        merged_at: Some(merge.merged_at),
        sources,
        ..Node::default()
    })
}
