//! What stands in the stream of requests.

use std::fmt;

use redis::Value;

use crate::store::reply;
use crate::store::state::Probe;

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The user, exactly as stored.
    pub user: String,
    /// The index; `None` = every store.
    pub index: Option<String>,
    /// Why: `request`, `failures`, or one of the worker's own causes.
    pub reason: String,
    /// With the reason `failures`: how many times in a row the agent has failed.
    pub failures: u32,
    /// What the index said of the user when it was found to be due.
    pub probe: Option<Probe>,
}

/// A request that was taken from the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Its id.
    pub id: String,
    /// What is asked for; `None` where that cannot be read.
    pub request: Option<Request>,
}

impl Taken {
    /// When it was put there, by the server's clock, in ms since the epoch.
    pub fn at_ms(&self) -> i64 {
        i64::try_from(Id::of(&self.id).ms).unwrap_or(i64::MAX)
    }
}

/// The id of a request. Ids grow with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// When it was put there, by the server's clock, in ms since the epoch.
    pub ms: u64,
    /// Its place among those of the same time.
    pub number: u64,
}

impl Id {
    /// Larger than any.
    pub(super) const MAX: Self = Self {
        ms: u64::MAX,
        number: u64::MAX,
    };

    /// Reads one; the part that cannot be read is 0.
    pub(super) fn of(text: &str) -> Self {
        let (ms, number) = text.split_once('-').unwrap_or((text, "0"));
        Self {
            ms: ms.parse().unwrap_or(0),
            number: number.parse().unwrap_or(0),
        }
    }

    /// The smallest that is larger.
    pub(super) fn next(self) -> Self {
        Self {
            number: self.number.saturating_add(1),
            ..self
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.number)
    }
}

/// The entries of an answer of `XREADGROUP`, in both protocols.
pub(super) fn of_streams(answer: &Value) -> Vec<Taken> {
    let entries: Vec<&Value> = match reply::items(answer) {
        Some(streams) => streams
            .iter()
            .filter_map(|stream| reply::items(stream)?.get(1))
            .collect(),
        None => {
            let streams = reply::pairs(answer).unwrap_or_default().into_iter();
            streams.map(|(_, entries)| entries).collect()
        }
    };
    entries.into_iter().flat_map(of_entries).collect()
}

/// The entries of a list of them.
pub(super) fn of_entries(entries: &Value) -> Vec<Taken> {
    let entries = reply::items(entries).unwrap_or_default().iter();
    entries
        .filter_map(|entry| {
            let [id, fields] = reply::items(entry)? else {
                return None;
            };
            Some(Taken {
                id: reply::text(id)?,
                request: read(fields),
            })
        })
        .collect()
}

/// Anybody can put anything into the stream.
fn read(fields: &Value) -> Option<Request> {
    let pairs = reply::pairs(fields)?;
    let text = |name: &str| {
        let pair = pairs
            .iter()
            .find(|(field, _)| reply::bytes(field) == Some(name.as_bytes()))?;
        String::from_utf8(reply::bytes(pair.1)?.to_vec()).ok()
    };
    let probe = text("count").and_then(|count| {
        Some(Probe {
            count: count.parse().ok()?,
            digest: text("digest")?.parse().ok()?,
        })
    });
    Some(Request {
        user: text("user")?,
        index: text("index").filter(|index| !index.is_empty()),
        reason: text("reason").unwrap_or_else(|| "request".to_owned()),
        failures: text("failures")
            .and_then(|number| number.parse().ok())
            .unwrap_or(0),
        probe,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::requests::REQUESTS;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn fields(pairs: &[(&str, &str)]) -> Value {
        Value::Array(pairs.iter().flat_map(|(n, v)| [bulk(n), bulk(v)]).collect())
    }

    #[test]
    fn what_anybody_puts_there_is_read_or_left() {
        let request = read(&fields(&[("user", "alice"), ("failures", "3"), ("x", "y")])).unwrap();
        assert_eq!((request.user.as_str(), request.failures), ("alice", 3));
        assert_eq!(request.reason, "request");
        assert_eq!(request.index, None);
        assert_eq!(read(&fields(&[("usr", "alice")])), None);
        assert_eq!(read(&Value::Nil), None);
        let user = Value::Array(vec![bulk("user"), Value::BulkString(vec![0xff])]);
        assert_eq!(read(&user), None);
    }

    #[test]
    fn entries_come_in_both_protocols() {
        let entry = Value::Array(vec![bulk("17-1"), fields(&[("user", "a")])]);
        let entries = Value::Array(vec![entry]);
        let flat = Value::Array(vec![Value::Array(vec![bulk(REQUESTS), entries.clone()])]);
        let map = Value::Map(vec![(bulk(REQUESTS), entries)]);
        for answer in [flat, map] {
            let taken = of_streams(&answer);
            assert_eq!((taken.len(), taken[0].at_ms()), (1, 17), "{answer:?}");
        }
        assert_eq!(of_streams(&Value::Nil), []);
    }

    #[test]
    fn ids_sort_as_numbers() {
        let id = Id::of;
        assert!(id("9-2") < id("10-1") && id("10-2") < id("10-11"));
        assert_eq!(id("10-2").next().to_string(), "10-3");
    }
}
