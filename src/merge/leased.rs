//! Work on a user's memories under a lease.

use std::time::Duration;

use redis::aio::ConnectionManager;
use tokio::task::JoinSet;

use super::{MergeError, Pipeline};
use crate::store::{Functions, Lease, LeaseError};

impl Pipeline {
    /// Runs `work` while this process alone holds the user's lease, which is renewed meanwhile.
    pub(super) async fn under_lease<T>(
        &self,
        user: &str,
        work: impl AsyncFnOnce(&Lease) -> Result<T, MergeError>,
    ) -> Result<T, MergeError> {
        let partition = self.partition(user);
        let (owner, ttl) = (self.stations.clock.id(), self.stations.options.lease_ttl);
        let mut conn = self.conn.clone();
        let lease = Lease::acquire(&mut conn, &self.functions, &partition, &owner, ttl).await?;
        // On a task of its own, since comparing thousands of memories holds this one for a while.
        // It ends with the set.
        let mut renewal = JoinSet::new();
        renewal.spawn(until_lost(
            lease.clone(),
            self.conn.clone(),
            self.functions.clone(),
            ttl,
        ));
        let result = tokio::select! {
            result = work(&lease) => result,
            Some(_) = renewal.join_next() => Err(LeaseError::Lost.into()),
        };
        renewal.shutdown().await;
        if let Err(error) = lease.release(&mut conn, &self.functions).await {
            tracing::debug!(%error, "the lease could not be released; it runs out by itself");
        }
        result
    }
}

/// Renews a lease again and again; returns when it is lost.
async fn until_lost(
    lease: Lease,
    mut conn: ConnectionManager,
    functions: Functions,
    ttl: Duration,
) {
    loop {
        tokio::time::sleep(ttl / 3).await;
        match lease.renew(&mut conn, &functions, ttl).await {
            Err(LeaseError::Lost) => return,
            // Every commit checks the lease on the server; this only saves work.
            Err(error) => tracing::debug!(%error, "the lease could not be renewed"),
            Ok(()) => {}
        }
    }
}
