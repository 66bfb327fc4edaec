//! The cheap look at users: how many memories, and the newest time, many users in one answer.

use redis::aio::ConnectionManager;

use super::index::IndexFacts;
use super::listing::{Pages, aggregate, can_express, settled};
use super::reply::Row;
use super::state::Probe;
use super::sums::Sums;
use super::{StoreError, query};
use crate::layout::{Layout, Listing};

/// The name of the count in a row.
const COUNT: &str = "__memfold_count";

/// The users of an index, in their own spelling, page by page: memory does not grow with their
/// number. Who stops before the end closes it.
///
/// They are candidates: the ids on the keys decide, and a snapshot checks them.
pub struct Users<'a> {
    pages: Pages<'a, ConnectionManager>,
    index: &'a str,
    names: Names,
    layout: &'a dyn Layout,
    /// Where several values may name one user, only the sum over all of them says anything: the
    /// index is asked twice, and so much is kept in between.
    sums: Option<Sums>,
}

impl<'a> Users<'a> {
    /// Begins.
    ///
    /// # Errors
    /// [`StoreError::IndexUnfit`] if the index has no user field, [`StoreError::Indexing`], and any
    /// error of the server or connection.
    pub async fn of(
        conn: &'a mut ConnectionManager,
        facts: &'a IndexFacts,
        layout: &'a dyn Layout,
    ) -> Result<Self, StoreError> {
        let now = settled(conn, facts).await?;
        let Some(names) = Names::of(&now, layout) else {
            let field = layout.listing().field();
            let detail = format!("it has no field `{field}`, so its users cannot be listed");
            return Err(now.unfit(detail));
        };
        let query = names.grouped(aggregate(&facts.name, "*"));
        let mut users = Self {
            pages: Pages::new(conn, &facts.name, query),
            index: &facts.name,
            names,
            layout,
            sums: None,
        };
        if layout.has_several_values() {
            let mut sums = Sums::default();
            while let Some(page) = users.page().await? {
                for (user, probe) in page {
                    sums.add(&user, &probe);
                }
            }
            sums.close();
            users.sums = Some(sums);
            let query = users.names.grouped(aggregate(users.index, "*"));
            users.pages.again(query);
        }
        Ok(users)
    }

    /// The next users, each with what the index says of it; `None` after the last. A page may be
    /// empty.
    ///
    /// # Errors
    /// [`StoreError::Partial`], and any error of the server or connection.
    pub async fn next(&mut self) -> Result<Option<Vec<(String, Probe)>>, StoreError> {
        let page = self.page().await?;
        let Some(sums) = &mut self.sums else {
            return Ok(page);
        };
        // Each user once, with the sum.
        let summed = |(user, _): (String, Probe)| sums.take(&user).map(|probe| (user, probe));
        Ok(page.map(|page| page.into_iter().filter_map(summed).collect()))
    }

    async fn page(&mut self) -> Result<Option<Vec<(String, Probe)>>, StoreError> {
        let read = |row: &Row| {
            let (value, probe) = self.names.read(row)?;
            let user = match value {
                Some(value) => self.layout.user_of(value),
                None => self.layout.nobody().map(str::to_owned),
            };
            Some((user?, probe))
        };
        let rows = self.pages.next().await?;
        Ok(rows.map(|rows| rows.iter().filter_map(read).collect()))
    }

    /// Stops before the end.
    pub async fn close(mut self) {
        self.pages.close().await;
    }
}

/// What the index says of one user; `None` where it cannot be asked for exactly this one.
///
/// # Errors
/// As [`Users`].
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
    let mut pages = Pages::new(conn, &facts.name, names.grouped(query));
    // The index folds ids: others come along.
    let mut found = Probe::default();
    while let Some(rows) = pages.next().await? {
        let mut users = rows.iter().filter_map(|row| names.read(row));
        if let Some((_, probe)) = users.find(|(name, _)| *name == Some(user)) {
            found = probe;
        }
    }
    Ok(Some(found))
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

    /// The query, by user. Without LOAD a sortable field gives a folded spelling of its values.
    fn grouped(&self, mut query: redis::Cmd) -> redis::Cmd {
        let user = format!("@{}", self.user);
        query.arg("LOAD").arg(1 + self.times.len()).arg(&user);
        for time in &self.times {
            query.arg(format!("@{time}"));
        }
        query.arg("GROUPBY").arg(1).arg(&user);
        query.arg("REDUCE").arg("COUNT").arg(0).arg("AS").arg(COUNT);
        for (i, time) in self.times.iter().enumerate() {
            // Not MAX, which takes numbers alone: times may be texts.
            let time = format!("@{time}");
            query.arg("REDUCE").arg("FIRST_VALUE").arg(4);
            query.arg(&time).arg("BY").arg(&time).arg("DESC");
            query.arg("AS").arg(newest(i));
        }
        query
    }

    /// The value that names the user of a row, if it has one; `None` where that is no text.
    fn read<'a>(&self, row: &'a Row) -> Option<(Option<&'a str>, Probe)> {
        let text = |name: &str| {
            row.get(name)
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
        };
        let times = (0..self.times.len()).map(|i| text(&newest(i)).unwrap_or_default().to_owned());
        let probe = Probe {
            count: text(COUNT)?.parse().ok()?,
            newest: times.collect::<Vec<_>>().join("|"),
        };
        let user = row.get(&self.user).map(std::str::from_utf8);
        Some((user.transpose().ok()?, probe))
    }
}

fn newest(i: usize) -> String {
    format!("__memfold_newest_{i}")
}
