//! Reads stored records by key, many at a time, each with its expiry.

use redis::aio::{ConnectionLike as _, ConnectionManager};
use redis::{RedisResult, Value};

use crate::layout::{Companions, Layout, Source};
use crate::memory::{Digest, Memory, Reason};
use crate::record::{IndexFacts, Other, Record, Storage, Stored};
use crate::store::expiry::Expiring;
use crate::store::{StoreError, listing, reply};

/// Keys a round trip: enough to hide the latency, few enough to keep memory small.
pub(crate) const CHUNK: usize = 200;

/// What a key holds.
#[derive(Debug, PartialEq)]
pub(crate) enum Fetched {
    /// A memory of the expected kind, and the absolute expiry of its own key in milliseconds if it
    /// has one.
    Memory(Stored, Option<i64>),
    /// Nothing: it is gone.
    Gone,
    /// Another type of value than the index covers.
    OtherType,
    /// JSON that is not UTF-8.
    NotUtf8,
}

impl Fetched {
    /// The memory with its expiry, or why there is none.
    pub(crate) fn memory(self) -> Result<(Stored, Option<i64>), (Reason, &'static str)> {
        match self {
            Self::Memory(stored, expires_at_ms) => Ok((stored, expires_at_ms)),
            Self::Gone => Err((Reason::Expired, "the key was gone when it was read")),
            Self::OtherType => Err((Reason::NotAMemory, "the key holds another type of value")),
            Self::NotUtf8 => Err((Reason::NotUtf8, "the document is not UTF-8")),
        }
    }
}

/// Why members of a group could not be read again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A member is gone or is not what was judged.
    #[error("the memory at {key} changed since it was read")]
    Changed {
        /// Its key.
        key: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads the full records of `pinned` keys again, in their order, each with its expiry of now.
///
/// # Errors
/// [`LoadError::Changed`] for the first key whose record is not the one of the digest;
/// [`LoadError::Store`] for any error of the server or connection.
pub async fn load(
    conn: &mut ConnectionManager,
    storage: Storage,
    layout: &dyn Layout,
    pinned: &[(&str, &Digest)],
) -> Result<Vec<Source>, LoadError> {
    let mut sources = Vec::with_capacity(pinned.len());
    for chunk in pinned.chunks(CHUNK) {
        let keys: Vec<_> = chunk.iter().map(|(key, _)| key.as_bytes()).collect();
        for ((key, digest), fetched) in chunk
            .iter()
            .zip(fetch(conn, storage, layout, &keys, Expiring::Maybe).await?)
        {
            let source = source(layout, key, digest, fetched);
            sources.push(source.ok_or_else(|| LoadError::Changed {
                key: (*key).to_owned(),
            })?);
        }
    }
    Ok(sources)
}

/// The records that may name memories of a user: each key with what it holds and its expiry.
///
/// # Errors
/// [`StoreError`] of the server or connection, or if the index is not fit to be asked.
pub async fn companions(
    conn: &mut ConnectionManager,
    companions: &Companions<'_>,
    user: &str,
) -> Result<Vec<(String, Record, Option<i64>)>, StoreError> {
    let facts = listing::settled(conn, companions.index).await?;
    let keys = listing::by_tag(conn, &facts, companions.user_field, user).await?;
    let keys: Vec<String> = keys
        .into_keys()
        .filter_map(|key| String::from_utf8(key).ok())
        .collect();
    let mut found = Vec::new();
    for chunk in keys.chunks(CHUNK) {
        let names: Vec<_> = chunk.iter().map(String::as_bytes).collect();
        let fetched = fetch_keys(conn, facts.storage, &names, Expiring::Maybe).await?;
        for (key, fetched) in chunk.iter().zip(fetched) {
            if let Fetched::Memory(stored, expires_at_ms) = fetched {
                found.push((key.clone(), stored.record, expires_at_ms));
            }
        }
    }
    Ok(found)
}

/// Some records of an index with their keys, at most `count`: which ones is left to the server.
///
/// # Errors
/// [`StoreError`] of the server or connection.
pub async fn sample(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    count: usize,
) -> Result<Vec<(String, Record)>, StoreError> {
    let keys = listing::some(conn, facts, count).await?;
    let names: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let fetched = fetch_keys(conn, facts.storage, &names, Expiring::Maybe).await?;
    let record = |(key, fetched): (Vec<u8>, Fetched)| match fetched {
        Fetched::Memory(stored, _) => Some((String::from_utf8(key).ok()?, stored.record)),
        _ => None,
    };
    Ok(keys
        .clone()
        .into_iter()
        .zip(fetched)
        .filter_map(record)
        .collect())
}

/// The record as a source, if it is the one of the digest.
fn source(layout: &dyn Layout, key: &str, digest: &Digest, fetched: Fetched) -> Option<Source> {
    let Fetched::Memory(stored, expires_at_ms) = fetched else {
        return None;
    };
    let memory = layout.read(key, &stored).ok()?.memory;
    (memory.digest == *digest).then_some(Source {
        memory: Memory {
            expires_at_ms,
            ..memory
        },
        stored,
    })
}

/// Reads the memories at `keys`, in their order, each with its other key.
pub(crate) async fn fetch(
    conn: &mut ConnectionManager,
    storage: Storage,
    layout: &dyn Layout,
    keys: &[&[u8]],
    expiring: Expiring,
) -> Result<Vec<Fetched>, StoreError> {
    let mut fetched = fetch_keys(conn, storage, keys, expiring).await?;
    let Some(apart) = layout.apart() else {
        return Ok(fetched);
    };
    let other_key = |key| apart.other_key(std::str::from_utf8(key).ok()?);
    let there = |fetched: &Fetched| matches!(fetched, Fetched::Memory(..));
    let (positions, others): (Vec<usize>, Vec<String>) = (0..keys.len())
        .filter(|&position| there(&fetched[position]))
        .filter_map(|position| Some((position, other_key(keys[position])?)))
        .unzip();
    let names: Vec<_> = others.iter().map(String::as_bytes).collect();
    let found = fetch_keys(conn, apart.index.storage, &names, expiring).await?;
    for ((position, key), found) in positions.into_iter().zip(others).zip(found) {
        if let (Fetched::Memory(memory, _), Fetched::Memory(other, expires_at_ms)) =
            (&mut fetched[position], found)
        {
            memory.others.push(Other {
                key,
                record: other.record,
                expires_at_ms,
            });
        }
    }
    Ok(fetched)
}

/// Reads what single keys hold, in their order.
pub(crate) async fn fetch_keys(
    conn: &mut ConnectionManager,
    storage: Storage,
    keys: &[&[u8]],
    expiring: Expiring,
) -> Result<Vec<Fetched>, StoreError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let pipe = commands(storage, keys, expiring);
    let answers = conn.req_packed_commands(&pipe, 0, pipe.len()).await?;
    fetched(storage, keys.len(), expiring, answers)
}

/// The commands that read single keys.
pub(crate) fn commands(storage: Storage, keys: &[&[u8]], expiring: Expiring) -> redis::Pipeline {
    let read = match storage {
        Storage::Json => "JSON.GET",
        Storage::Hash => "HGETALL",
    };
    let mut pipe = redis::pipe();
    for key in keys {
        pipe.cmd(read).arg(key);
        if expiring == Expiring::Maybe {
            pipe.cmd("PEXPIRETIME").arg(key);
        }
    }
    pipe
}

/// What so many keys hold, by the answers to [`commands`].
///
/// # Errors
/// That of an answer, and [`StoreError::Protocol`].
pub(crate) fn fetched(
    storage: Storage,
    keys: usize,
    expiring: Expiring,
    answers: Vec<Value>,
) -> Result<Vec<Fetched>, StoreError> {
    let mut answers = answers.into_iter().map(reply::said);
    let mut fetched = Vec::with_capacity(keys);
    for _ in 0..keys {
        let too_little = || StoreError::Protocol("a pipeline answered too little".to_owned());
        let record = answers.next().ok_or_else(too_little)?;
        let expiry = match expiring {
            Expiring::Maybe => answers.next().ok_or_else(too_little)?,
            Expiring::Nothing => Ok(Value::Int(NO_EXPIRY)),
        };
        fetched.push(one(storage, record, expiry)?);
    }
    Ok(fetched)
}

/// What PEXPIRETIME answers for a key without an expiry.
const NO_EXPIRY: i64 = -1;

fn one(
    storage: Storage,
    record: RedisResult<Value>,
    expiry: RedisResult<Value>,
) -> Result<Fetched, StoreError> {
    let record = match record {
        Ok(record) => record,
        Err(error) if is_wrong_type(&error.to_string()) => return Ok(Fetched::OtherType),
        Err(error) => return Err(error.into()),
    };
    let expires_at_ms = match expiry? {
        Value::Int(NO_EXPIRY) => None,
        Value::Int(at) if at >= 0 => Some(at),
        Value::Int(_) => return Ok(Fetched::Gone),
        _ => {
            return Err(StoreError::Protocol(
                "PEXPIRETIME answered no number".to_owned(),
            ));
        }
    };
    match (storage, record) {
        (Storage::Json, Value::BulkString(text)) => Ok(match String::from_utf8(text) {
            Ok(text) => Fetched::Memory(Record::Json(text).into(), expires_at_ms),
            Err(_) => Fetched::NotUtf8,
        }),
        (Storage::Json, Value::Nil) => Ok(Fetched::Gone),
        (Storage::Hash, reply) => Ok(match hash_record(reply)? {
            Record::Hash(fields) if fields.is_empty() => Fetched::Gone,
            record => Fetched::Memory(record.into(), expires_at_ms),
        }),
        _ => Err(StoreError::Protocol("JSON.GET answered no text".to_owned())),
    }
}

fn hash_record(reply: Value) -> Result<Record, StoreError> {
    let shape = || StoreError::Protocol("HGETALL answered no fields".to_owned());
    let bytes = |value| match value {
        Value::BulkString(bytes) => Ok(bytes),
        other => reply::bytes(&other).map(<[u8]>::to_vec).ok_or_else(shape),
    };
    let mut fields = Vec::new();
    match reply {
        Value::Map(pairs) => {
            for (name, value) in pairs {
                fields.push((bytes(name)?, bytes(value)?));
            }
        }
        Value::Array(items) => {
            fields.reserve_exact(items.len() / 2);
            let mut items = items.into_iter();
            while let Some(name) = items.next() {
                let value = items.next().ok_or_else(shape)?;
                fields.push((bytes(name)?, bytes(value)?));
            }
        }
        _ => return Err(shape()),
    }
    Ok(Record::Hash(fields))
}

fn is_wrong_type(error: &str) -> bool {
    error.contains("WRONGTYPE") || error.contains("wrong Redis type")
}
