//! Whether anything on the server expires.

use redis::aio::ConnectionLike;

use crate::store::StoreError;

/// Whether the expiry of keys must be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiring {
    /// A key may have one.
    Maybe,
    /// A moment ago no key of the database had one.
    Nothing,
}

/// Asks the server, which counts the keys that have an expiry. Where it does not tell or may not be
/// asked, some may have one.
///
/// # Errors
/// [`StoreError`] of the connection.
pub(crate) async fn expiring(conn: &mut impl ConnectionLike) -> Result<Expiring, StoreError> {
    let mut info = redis::cmd("INFO");
    info.arg("keyspace");
    let told: Result<String, StoreError> = info.query_async(conn).await.map_err(StoreError::from);
    match told {
        Ok(told) if counts_none(&told) => Ok(Expiring::Nothing),
        Ok(_) | Err(StoreError::Permission(_) | StoreError::Other(_)) => Ok(Expiring::Maybe),
        Err(error) => Err(error),
    }
}

/// Whether the answer says that no key of database 0, the only one that indexes cover, expires.
fn counts_none(info: &str) -> bool {
    let counts = info.lines().find_map(|line| line.strip_prefix("db0:"));
    counts.is_some_and(|counts| {
        counts
            .trim_end()
            .split(',')
            .any(|count| count == "expires=0")
    })
}

#[cfg(test)]
mod tests {
    use super::counts_none;

    #[test]
    fn only_a_clear_answer_says_that_nothing_expires() {
        for none in [
            "# Keyspace\r\ndb0:keys=3,expires=0,avg_ttl=0,subexpiry=0\r\n",
            "db0:keys=3,expires=0",
            "db0:keys=3,expires=0\r\ndb1:keys=1,expires=1\r\n",
        ] {
            assert!(counts_none(none), "{none}");
        }
        for some in [
            "",
            "# Keyspace\r\n",
            "db0:keys=3,expires=1,avg_ttl=0\r\n",
            "db0:keys=3,expires=01\r\n",
            "db0:keys=3\r\n",
            "db1:keys=3,expires=0\r\n",
            "db0:keys=3,subexpires=0\r\ndb1:keys=3,expires=0\r\n",
        ] {
            assert!(!counts_none(some), "{some}");
        }
    }
}
