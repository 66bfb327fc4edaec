//! The cheap look at users: how many memories, and a digest of their keys and times.
//!
//! The rows are read page by page and added up here. Left to the server, it would be one command over
//! the whole index, for which every other client waits.

use std::collections::BTreeMap;

use redis::Cmd;
use redis::aio::ConnectionManager;
use sha1::{Digest as _, Sha1};

use super::aggregate::{Pages, aggregate};
use super::listing::{can_express, settled};
use super::reply::Row;
use super::snapshot::Pace;
use super::state::Probe;
use super::{StoreError, query};
use crate::layout::{Layout, Listing};
use crate::record::IndexFacts;

/// Rows a page: an agent waits for a third of a millisecond.
const ROWS: usize = 64;

/// The users of an index, in their own spelling, sorted, each with what the index says of it. Takes
/// about a hundred bytes a user.
///
/// They are candidates: the ids on the keys decide, and a snapshot checks them.
///
/// # Errors
/// [`StoreError::IndexUnfit`] if the index has no user field, [`StoreError::Indexing`],
/// [`StoreError::Partial`], and any error of the server or connection.
pub async fn probes(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
) -> Result<BTreeMap<Box<str>, Probe>, StoreError> {
    let now = settled(conn, facts).await?;
    let Some(names) = Names::of(&now, layout) else {
        let field = layout.listing().field();
        let detail = format!("it has no field `{field}`, so its users cannot be listed");
        return Err(now.unfit(detail).into());
    };
    let mut found: BTreeMap<Box<str>, Probe> = BTreeMap::new();
    names
        .sum(conn, &now, aggregate(&now.name, "*"), |user, memory| {
            if let Some(user) = layout.owner(user) {
                found.entry(user.into_boxed_str()).or_default().add(memory);
            }
        })
        .await?;
    Ok(found)
}

/// What the index says of one user; `None` where it cannot be asked for exactly this one.
///
/// # Errors
/// As [`probes`].
pub async fn probe(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
    user: &str,
) -> Result<Option<Probe>, StoreError> {
    let Listing::Tag(tag) = layout.listing() else {
        return Ok(None);
    };
    let (Some(names), Some(field)) = (Names::of(facts, layout), facts.field(tag)) else {
        return Ok(None);
    };
    if !can_express(facts.storage, &field.kind, user) {
        return Ok(None);
    }
    let text = format!("@{}:{{$user}}", query::field_name(&field.attribute));
    let mut query = aggregate(&facts.name, &text);
    query.arg("PARAMS").arg(2).arg("user").arg(user);
    let mut found = Probe::default();
    names
        .sum(conn, facts, query, |value, memory| {
            // The index folds ids: others come along.
            if value == Some(user) {
                found.add(memory);
            }
        })
        .await?;
    Ok(Some(found))
}

impl Probe {
    /// Adds one memory by its digest, in any order.
    fn add(&mut self, memory: u64) {
        self.count += 1;
        self.digest = self.digest.wrapping_add(memory);
    }
}

/// The names of what is asked for.
struct Names {
    user: String,
    times: Vec<String>,
}

impl Names {
    fn of(facts: &IndexFacts, layout: &dyn Layout) -> Option<Self> {
        let attribute = |name: &str| Some(facts.field(name)?.attribute.clone());
        Some(Self {
            user: attribute(layout.listing().field())?,
            times: layout
                .time_fields()
                .into_iter()
                .filter_map(attribute)
                .collect(),
        })
    }

    /// Gives each memory of a query: the value that names its user, if it has one, and its digest.
    async fn sum(
        &self,
        conn: &mut ConnectionManager,
        facts: &IndexFacts,
        mut query: Cmd,
        mut each: impl FnMut(Option<&str>, u64),
    ) -> Result<(), StoreError> {
        // Without LOAD a sortable field gives a folded spelling of its values.
        query.arg("LOAD").arg(2 + self.times.len()).arg("@__key");
        query.arg(format!("@{}", self.user));
        for time in &self.times {
            query.arg(format!("@{time}"));
        }
        let mut pages = Pages::new(conn, &facts.name, query).of_rows(ROWS);
        while let Some(rows) = Pace::Gentle.take(pages.next()).await? {
            for row in &rows {
                if let Some((user, memory)) = self.read(row) {
                    each(user, memory);
                }
            }
        }
        Ok(())
    }

    /// `None` for a row without a key, whose document is gone, and for a user that is no text.
    fn read<'a>(&self, row: &'a Row) -> Option<(Option<&'a str>, u64)> {
        let mut digest = Sha1::new();
        digest.update(row.get("__key")?);
        for time in &self.times {
            digest.update([0]);
            digest.update(row.get(time).unwrap_or_default());
        }
        let digest: [u8; 20] = digest.finalize().into();
        let memory = digest[..8]
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        let user = row.get(&self.user).map(std::str::from_utf8);
        Some((user.transpose().ok()?, memory))
    }
}
