//! Leases: one owner of a partition at a time, for a while, across machines.
//!
//! A lease saves work; what keeps memories safe is the compare-and-swap of the commit. A commit
//! made under a lease is refused by the server once the lease is another's.

use std::time::Duration;

use redis::aio::ConnectionLike;

use super::functions::{Function, Functions, unexpected, words};
use super::{StoreError, keys};

/// A lease that was taken. It is not given back on drop: call [`Lease::release`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    key: String,
    value: String,
}

/// Why a lease was not had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// Another owner has it.
    #[error(
        "held by {owner} for another {remaining:?}; try again later, `memfold status` shows who works"
    )]
    Held {
        /// The other's token.
        owner: String,
        /// How long it still runs if it is not renewed.
        remaining: Duration,
    },
    /// It ran out, and another may have it.
    #[error("the lease was lost: it ran out before it was renewed")]
    Lost,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Lease {
    /// Takes the lease of `partition` (any text that names it) for `ttl`. `owner` is a token that
    /// no other process has.
    ///
    /// # Errors
    /// [`LeaseError::Held`] if anybody has it, this owner included.
    pub async fn acquire(
        con: &mut impl ConnectionLike,
        functions: &Functions,
        partition: &str,
        owner: &str,
        ttl: Duration,
    ) -> Result<Self, LeaseError> {
        let key = keys::lease(partition);
        let keys = [key.clone(), keys::FENCE.to_owned()];
        let args = [owner.as_bytes(), &millis(ttl)];
        let reply = functions.call(con, Function::Acquire, &keys, &args).await?;
        match words(&reply)[..] {
            ["ACQUIRED", value] => Ok(Self {
                key,
                value: value.to_owned(),
            }),
            ["HELD", value, remaining] => Err(LeaseError::Held {
                owner: split(value).1.to_owned(),
                remaining: Duration::from_millis(remaining.parse().unwrap_or(0)),
            }),
            _ => Err(unexpected(&reply).into()),
        }
    }

    /// Extends it to `ttl` from now.
    ///
    /// # Errors
    /// [`LeaseError::Lost`] if it ran out: stop what it was for.
    pub async fn renew(
        &self,
        con: &mut impl ConnectionLike,
        functions: &Functions,
        ttl: Duration,
    ) -> Result<(), LeaseError> {
        let args = [self.value.as_bytes(), &millis(ttl)];
        self.own(con, functions, Function::Renew, &args).await
    }

    /// Gives it back, if it is still this one's.
    ///
    /// # Errors
    /// [`LeaseError::Lost`] if it had run out; nothing was changed then.
    pub async fn release(
        self,
        con: &mut impl ConnectionLike,
        functions: &Functions,
    ) -> Result<(), LeaseError> {
        self.own(con, functions, Function::Release, &[self.value.as_bytes()])
            .await
    }

    /// The fencing number: higher than that of any lease before, unless a failover lost some.
    pub fn fence(&self) -> u64 {
        split(&self.value).0.parse().unwrap_or(0)
    }

    /// Where the server checks it.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// What must stand there.
    pub(crate) fn value(&self) -> &str {
        &self.value
    }

    async fn own(
        &self,
        con: &mut impl ConnectionLike,
        functions: &Functions,
        function: Function,
        args: &[&[u8]],
    ) -> Result<(), LeaseError> {
        let reply = functions
            .call(con, function, std::slice::from_ref(&self.key), args)
            .await?;
        match words(&reply)[..] {
            ["RENEWED" | "RELEASED"] => Ok(()),
            ["LOST"] => Err(LeaseError::Lost),
            _ => Err(unexpected(&reply).into()),
        }
    }
}

fn millis(duration: Duration) -> Vec<u8> {
    duration.as_millis().max(1).to_string().into_bytes()
}

/// Fence and owner of a lease's value, `<fence>:<owner>`.
fn split(value: &str) -> (&str, &str) {
    value.split_once(':').unwrap_or(("", value))
}
