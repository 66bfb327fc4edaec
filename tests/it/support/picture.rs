//! A picture of the whole store, to compare before and after.

use std::collections::BTreeMap;

use redis::aio::ConnectionManager;

/// What a key holds and when it expires.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    /// `hash`, `string`, `stream`, `ReJSON-RL`, …
    pub(crate) kind: String,
    /// The content, in an order that does not depend on the server's memory layout.
    pub(crate) content: Vec<Vec<u8>>,
    /// `PEXPIRETIME`: absolute, in ms; -1 = never.
    pub(crate) expires_at_ms: i64,
}

/// Every key with its content.
pub(crate) type Picture = BTreeMap<String, Entry>;

/// Takes the picture of all keys.
pub(crate) async fn all(con: &mut ConnectionManager) -> Picture {
    take(con, |_| true).await
}

/// Takes the picture of all keys that are not memfold's own.
pub(crate) async fn memories(con: &mut ConnectionManager) -> Picture {
    take(con, |key| !key.starts_with(memfold::record::NAMESPACE)).await
}

async fn take(con: &mut ConnectionManager, wanted: impl Fn(&str) -> bool) -> Picture {
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(con).await.unwrap();
    let mut picture = Picture::new();
    for key in keys.into_iter().filter(|key| wanted(key)) {
        if let Some(entry) = entry(con, &key).await {
            picture.insert(key, entry);
        }
    }
    picture
}

/// What one key holds; `None` if it does not exist.
pub(crate) async fn entry(con: &mut ConnectionManager, key: &str) -> Option<Entry> {
    let kind: String = redis::cmd("TYPE").arg(key).query_async(con).await.unwrap();
    let content = match kind.as_str() {
        "none" => return None,
        "hash" => {
            let fields: BTreeMap<Vec<u8>, Vec<u8>> = redis::cmd("HGETALL")
                .arg(key)
                .query_async(con)
                .await
                .unwrap();
            fields
                .into_iter()
                .flat_map(|(name, value)| [name, value])
                .collect()
        }
        "string" => vec![redis::cmd("GET").arg(key).query_async(con).await.unwrap()],
        "ReJSON-RL" => vec![
            redis::cmd("JSON.GET")
                .arg(key)
                .query_async(con)
                .await
                .unwrap(),
        ],
        _ => vec![redis::cmd("DUMP").arg(key).query_async(con).await.unwrap()],
    };
    let expires_at_ms = redis::cmd("PEXPIRETIME")
        .arg(key)
        .query_async(con)
        .await
        .unwrap();
    Some(Entry {
        kind,
        content,
        expires_at_ms,
    })
}
