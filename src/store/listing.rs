//! Which keys may be a user's memories: by the index where it can tell, else by a full scan.

use std::collections::{BTreeMap, BTreeSet};

use redis::Cmd;
use redis::aio::{ConnectionLike, ConnectionManager};

use crate::layout::{Layout, Listing};
use crate::record::{FieldKind, IndexFacts, Storage};
use crate::store::aggregate::{aggregate, pages};
use crate::store::index::index_facts;
use crate::store::scan::Scan;
use crate::store::{NAMESPACE, StoreError, query};

/// Longer ids are not looked up in the index, which cuts tags at 4 KiB.
const LONGEST_TAG: usize = 1024;

/// How a key was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The index gave it for this user.
    ForUser,
    /// The index holds it.
    Indexed,
    /// It lies under a prefix, but the index does not hold it.
    ByScan,
}

/// Keys in order, each once, with how it was found.
pub(crate) type Keys = BTreeMap<Vec<u8>, Found>;

/// Lists the user ids in an index, in their own spelling, sorted.
///
/// It is a list of candidates: the ids on the keys decide, and [`snapshot`] checks them. Users
/// whose memories are all missing from the index are not in it.
///
/// [`snapshot`]: crate::store::snapshot::snapshot
///
/// # Errors
/// [`StoreError::IndexUnfit`] if the index has no field of the layout's listing, [`StoreError::Indexing`],
/// [`StoreError::Partial`], and any error of the server or connection.
pub async fn users(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
) -> Result<Vec<String>, StoreError> {
    let owner = |value: Option<&str>| layout.owner(value);
    users_by(conn, facts, layout.listing().field(), owner).await
}

/// The users that the values of a field name, or that it has none, sorted; see [`users`].
pub(crate) async fn users_by(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    user_field: &str,
    owner: impl Fn(Option<&str>) -> Option<String>,
) -> Result<Vec<String>, StoreError> {
    let facts = settled(conn, facts).await?;
    let Some(field) = facts.field(user_field) else {
        let detail = format!("it has no field `{user_field}`, so its users cannot be listed");
        return Err(facts.unfit(detail).into());
    };
    let name = format!("@{}", field.attribute);
    // Without LOAD a sortable field gives a folded spelling of its values.
    let mut query = aggregate(&facts.name, "*");
    query.arg("LOAD").arg(1).arg(&name);
    let mut users = BTreeSet::new();
    pages(conn, &facts.name, query, |row| {
        if let Ok(value) = row
            .get(&field.attribute)
            .map(std::str::from_utf8)
            .transpose()
        {
            users.extend(owner(value));
        }
    })
    .await?;
    Ok(users.into_iter().collect())
}

/// The index as it is now.
///
/// # Errors
/// [`StoreError::Indexing`] while it is being built, [`StoreError::IndexUnfit`] if it is another
/// one than `facts` describe.
pub(crate) async fn settled(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
) -> Result<IndexFacts, StoreError> {
    let now = index_facts(conn, &facts.name).await?;
    if now.indexing {
        return Err(StoreError::Indexing(now.name));
    }
    if !now.same_definition(facts) {
        let detail = "its definition changed meanwhile; start again".to_owned();
        return Err(now.unfit(detail).into());
    }
    Ok(now)
}

/// Lists every key that may be a memory of `user`.
///
/// The index finds the users that it can express, among others that it takes for the same. For
/// all others, and where the index left keys out or does not name them, the key space is scanned.
pub(crate) async fn candidates(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
    user: &str,
) -> Result<Keys, StoreError> {
    let mut keys = match layout.listing() {
        Listing::Tag(field) => by_tag(conn, facts, field, user).await?,
        Listing::Value(field) => {
            by_value(conn, facts, field, |value| {
                layout.owner(Some(value)).is_some_and(|of| of == user)
            })
            .await?
        }
    };
    // What memfold keeps for itself is no memory, whatever an index covers.
    keys.retain(|key, _| !key.starts_with(NAMESPACE.as_bytes()));
    keys.retain(|key, _| can_be_memory(layout, key));
    Ok(keys)
}

/// Whether a key can be a memory's own key by its name. Of one that is not UTF-8, a reader tells.
pub(crate) fn can_be_memory(layout: &dyn Layout, key: &[u8]) -> bool {
    std::str::from_utf8(key).map_or(true, |key| layout.is_own_key(key))
}

/// The keys whose value of a field is the user's, by listing the whole index.
async fn by_value(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    field: &str,
    is_users: impl Fn(&str) -> bool,
) -> Result<Keys, StoreError> {
    let Some(field) = facts.field(field) else {
        let detail = format!("it has no field `{field}`");
        return Err(facts.unfit(detail).into());
    };
    let mut query = aggregate(&facts.name, "*");
    query.arg("LOAD").arg(2).arg("@__key");
    query.arg(format!("@{}", field.attribute));
    let (mut found, mut others) = (Keys::new(), BTreeSet::new());
    pages(conn, &facts.name, query, |row| {
        let Some(key) = row.get("__key") else { return };
        let value = row.get(&field.attribute);
        let known = match value.map(std::str::from_utf8) {
            Some(Ok(value)) if is_users(value) => Found::ForUser,
            Some(Ok(_)) => {
                others.insert(key.to_vec());
                return;
            }
            Some(Err(_)) | None => Found::Indexed,
        };
        found.insert(key.to_vec(), known);
    })
    .await?;
    if facts.failures > 0 {
        for (key, by) in scan(conn, facts).await? {
            if !others.contains(&key) {
                found.entry(key).or_insert(by);
            }
        }
    }
    Ok(found)
}

/// Keys in the index of the vectors that belong to none of the memories `own`; of those whose value of
/// the listing's field is the user's.
pub(crate) async fn orphans(
    conn: &mut ConnectionManager,
    layout: &dyn Layout,
    is_users: impl Fn(&str) -> bool,
    own: &Keys,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let (Some(apart), Listing::Value(field)) = (layout.apart(), layout.listing()) else {
        return Ok(Vec::new());
    };
    let vectors = by_value(conn, apart.index, field, is_users).await?;
    let own_key = |key: &[u8]| apart.own_key(std::str::from_utf8(key).ok()?);
    let lone: Vec<_> = vectors
        .into_keys()
        .filter_map(|key| own_key(&key).map(|own_key| (key, own_key)))
        .filter(|(_, own_key)| !own.contains_key(own_key.as_bytes()))
        .collect();
    if lone.is_empty() {
        return Ok(Vec::new());
    }
    // A memory that the index does not hold, or that came meanwhile, is no reason.
    let mut pipe = redis::pipe();
    for (_, own_key) in &lone {
        pipe.cmd("EXISTS").arg(own_key);
    }
    let there: Vec<bool> = pipe.query_async(conn).await?;
    let lone = lone.into_iter().zip(there);
    Ok(lone
        .filter(|(_, there)| !there)
        .map(|((key, _), _)| key)
        .collect())
}

/// The first key outside `but` whose fields have just these values, if the index holds one.
pub(crate) async fn twin(
    con: &mut impl ConnectionLike,
    index: &str,
    fields: &[(String, String)],
    but: &[&str],
) -> Result<Option<String>, StoreError> {
    let mut query = aggregate(index, "*");
    query.arg("LOAD").arg(fields.len() + 1).arg("@__key");
    for (name, _) in fields {
        query.arg(format!("@{name}"));
    }
    let mut found = None;
    pages(con, index, query, |row| {
        let mut values = fields.iter();
        let same = values.all(|(name, value)| row.get(name) == Some(value.as_bytes()));
        let key = row.get("__key").map(String::from_utf8_lossy);
        if let Some(key) = key.filter(|key| same && !but.contains(&&**key)) {
            found.get_or_insert(key.into_owned());
        }
    })
    .await?;
    Ok(found)
}

/// The keys of the user by a TAG field, or all where the index cannot tell.
pub(crate) async fn by_tag(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    user_field: &str,
    user: &str,
) -> Result<Keys, StoreError> {
    let tag = facts
        .field(user_field)
        .filter(|field| can_express(facts.storage, &field.kind, user));
    let mut of_user = Listed::default();
    if let Some(field) = tag {
        let mut query = aggregate(
            &facts.name,
            &format!("@{}:{{$user}}", query::field_name(&field.attribute)),
        );
        query
            .arg("LOAD")
            .arg(1)
            .arg("@__key")
            .arg("PARAMS")
            .arg(2)
            .arg("user")
            .arg(user);
        of_user = listed(conn, facts, query).await?;
    }
    let mut keys = Keys::new();
    if tag.is_none() || facts.failures > 0 || of_user.nameless > 0 {
        keys = scan(conn, facts).await?;
        for key in indexed(conn, facts).await? {
            if tag.is_none() {
                keys.insert(key, Found::Indexed);
            } else {
                keys.remove(&key);
            }
        }
    }
    keys.extend(of_user.keys.into_iter().map(|key| (key, Found::ForUser)));
    Ok(keys)
}

/// Whether a query for `user` finds all records of exactly that id.
pub(crate) fn can_express(storage: Storage, kind: &FieldKind, user: &str) -> bool {
    let FieldKind::Tag { separator, .. } = kind else {
        return false;
    };
    // The index gives an array as its text, but holds its items; yes and no as 1 and 0.
    let may_be_no_text = user.starts_with('[') || matches!(user, "0" | "1");
    (storage == Storage::Hash || !may_be_no_text)
        && !user.is_empty()
        && user.len() <= LONGEST_TAG
        && user.trim() == user
        && !user.contains(char::is_control)
        && !has_escape(user)
        && separator.is_none_or(|separator| !user.contains(separator))
}

/// Whether a query would take a backslash in it for an escape, also within a parameter.
fn has_escape(user: &str) -> bool {
    let pairs = user.chars().zip(user.chars().skip(1));
    let escaped = |next: char| next.is_ascii_punctuation() || next.is_whitespace();
    pairs
        .into_iter()
        .any(|(c, next)| c == '\\' && escaped(next))
}

/// Every key of an index, whoever it is of.
pub(crate) async fn everything(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
) -> Result<Keys, StoreError> {
    let mut keys = Keys::new();
    if facts.failures > 0 {
        keys = scan(conn, facts).await?;
    }
    let indexed = indexed(conn, facts).await?.into_iter();
    keys.extend(indexed.map(|key| (key, Found::Indexed)));
    keys.retain(|key, _| !key.starts_with(NAMESPACE.as_bytes()));
    Ok(keys)
}

async fn indexed(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut query = aggregate(&facts.name, "*");
    query.arg("LOAD").arg(1).arg("@__key");
    // What has no name there is found by the scan, if it still exists.
    Ok(listed(conn, facts, query).await?.keys)
}

/// The keys of a query's rows.
#[derive(Default)]
struct Listed {
    keys: Vec<Vec<u8>>,
    /// Rows without a key: documents that the server could not open. Most have expired.
    nameless: usize,
}

async fn listed(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    query: Cmd,
) -> Result<Listed, StoreError> {
    let mut listed = Listed::default();
    pages(conn, &facts.name, query, |row| match row.get("__key") {
        Some(key) => listed.keys.push(key.to_vec()),
        None => listed.nameless += 1,
    })
    .await?;
    Ok(listed)
}

async fn scan(conn: &mut ConnectionManager, facts: &IndexFacts) -> Result<Keys, StoreError> {
    let kind = match facts.storage {
        Storage::Json => "ReJSON-RL",
        Storage::Hash => "hash",
    };
    let mut found = Keys::new();
    for prefix in &facts.prefixes {
        let mut scan = Scan::of(prefix).of_type(kind);
        while let Some(keys) = scan.next(conn).await? {
            found.extend(keys.into_iter().map(|key: Vec<u8>| (key, Found::ByScan)));
        }
    }
    Ok(found)
}

/// Some keys of an index, at most `count`.
pub(crate) async fn some(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    count: usize,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut query = aggregate(&facts.name, "*");
    query.arg("LOAD").arg(1).arg("@__key");
    query.arg("LIMIT").arg(0).arg(count);
    Ok(listed(conn, facts, query).await?.keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(separator: Option<char>) -> FieldKind {
        FieldKind::Tag {
            separator,
            case_sensitive: false,
            index_empty: false,
        }
    }

    #[test]
    fn ids_that_a_tag_changes_are_not_asked_for() {
        for user in [
            "",
            " ",
            " alice",
            "alice ",
            "a,b",
            "a\tb",
            "a\u{7f}",
            "alice\u{a0}",
            r"corp\.alice",
            r"a\\b",
            r"a\ b",
        ] {
            assert!(
                !can_express(Storage::Hash, &tag(Some(',')), user),
                "{user:?}"
            );
        }
        for user in [
            "user-42",
            "a@b.com",
            "o'neil|x}",
            "a b",
            "用户一",
            "$user",
            "*",
            r"CORP\alice",
            r"alice\",
        ] {
            assert!(
                can_express(Storage::Hash, &tag(Some(',')), user),
                "{user:?}"
            );
        }
        assert!(can_express(Storage::Hash, &tag(None), "a,b"));
        assert!(!can_express(Storage::Hash, &tag(Some('|')), "o'neil|x}"));
        assert!(!can_express(Storage::Hash, &FieldKind::Text, "alice"));
        assert!(!can_express(Storage::Json, &tag(None), "[\"alice\"]"));
        assert!(!can_express(Storage::Json, &tag(None), "1"));
        assert!(can_express(Storage::Json, &tag(None), "alice"));
        assert!(!can_express(Storage::Hash, &tag(None), &"x".repeat(5000)));
    }
}
