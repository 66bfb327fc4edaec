//! What all workers together have spent today: LLM calls, tokens, memories retired. Days are those
//! of UTC by the server's clock.

use redis::aio::ConnectionLike;
use sha1::{Digest as _, Sha1};

use super::counts::{DAY_MS, day_of};
use super::{NAMESPACE, StoreError};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    /// Requests to the LLM.
    Calls,
    /// Its tokens.
    Tokens,
    /// Memories retired.
    Retired,
}

impl Spent {
    fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Tokens => "tokens",
            Self::Retired => "retired",
        }
    }
}

/// A counter of one day: of one user of a store, or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    key: String,
}

impl Counter {
    /// For the day of `now_ms`; `partition` names the user, `None` = all users of the server.
    pub fn of_day(what: Spent, partition: Option<&str>, now_ms: i64) -> Self {
        let (day, what) = (day_of(now_ms), what.name());
        let user = partition.map_or_else(String::new, |name| {
            format!(":{:x}", Sha1::digest(name.as_bytes()))
        });
        Self {
            key: format!("{NAMESPACE}spent:{day}:{what}{user}"),
        }
    }

    /// The count so far.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn get(&self, con: &mut impl ConnectionLike) -> Result<u64, StoreError> {
        let count: Option<i64> = redis::cmd("GET").arg(&self.key).query_async(con).await?;
        Ok(count.unwrap_or(0).max(0) as u64)
    }

    /// Adds to it; answers the sum.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn add(&self, con: &mut impl ConnectionLike, count: u64) -> Result<u64, StoreError> {
        self.change(con, i64::try_from(count).unwrap_or(i64::MAX))
            .await
    }

    /// Takes up to `want` of what is left until `limit`; answers how much that is. What is not used
    /// is given back by [`Counter::give_back`].
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn reserve(
        &self,
        con: &mut impl ConnectionLike,
        want: u64,
        limit: u64,
    ) -> Result<u64, StoreError> {
        let sum = self.add(con, want).await?;
        let over = sum.saturating_sub(limit).min(want);
        self.give_back(con, over).await?;
        Ok(want - over)
    }

    /// Gives back what was reserved and not used.
    ///
    /// # Errors
    /// [`StoreError`] of the server or connection.
    pub async fn give_back(
        &self,
        con: &mut impl ConnectionLike,
        count: u64,
    ) -> Result<(), StoreError> {
        if count > 0 {
            self.change(con, -i64::try_from(count).unwrap_or(i64::MAX))
                .await?;
        }
        Ok(())
    }

    async fn change(&self, con: &mut impl ConnectionLike, by: i64) -> Result<u64, StoreError> {
        let mut pipe = redis::pipe();
        pipe.atomic();
        pipe.cmd("INCRBY").arg(&self.key).arg(by);
        pipe.cmd("PEXPIRE").arg(&self.key).arg(2 * DAY_MS).ignore();
        let (sum,): (i64,) = pipe.query_async(con).await?;
        Ok(sum.max(0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_of_one_day_and_one_user() {
        let day = |ms| Counter::of_day(Spent::Calls, None, ms);
        assert_eq!(day(0), day(DAY_MS - 1));
        assert_ne!(day(0), day(DAY_MS));
        let user = |name| Counter::of_day(Spent::Calls, Some(name), 0);
        assert_ne!(user("a"), user("b"));
        assert_ne!(user("a"), day(0));
    }
}
