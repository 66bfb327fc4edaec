//! Events of the server about memories that are written: their users need not wait for the probe.

use std::time::Duration;

use tokio::time::sleep;

use super::session::Session;
use crate::store::events::Changed;
use crate::store::fleet::{server_ms, take_turn};
use crate::store::requests::{Request, request};
use crate::store::{StoreError, states};

/// Writes are gathered for so long.
const GATHER: Duration = Duration::from_secs(1);

impl Session {
    /// Puts users that are written to into the stream, if they are due; returns only on an error.
    pub(super) async fn follow(&self) -> StoreError {
        let (changed, mut conn) = self.site.events.clone();
        match Changed::follow(&mut conn, &self.site.pipeline.index).await {
            Ok(true) => {}
            // The probe finds them.
            Ok(false) => std::future::pending().await,
            Err(error) => return error,
        }
        loop {
            sleep(GATHER.min(self.options.probe_every)).await;
            if let Err(error) = self.look_at(&changed).await
                && let Err(error) = self.weather(error).await
            {
                return error;
            }
        }
    }

    async fn look_at(&self, changed: &Changed) -> Result<(), StoreError> {
        let pipeline = &self.site.pipeline;
        let mut conn = pipeline.conn.clone();
        let users = changed
            .users(&mut conn, &pipeline.index, pipeline.layout.as_ref())
            .await?;
        let users: Vec<String> = users
            .into_iter()
            .filter(|user| self.options.takes(user))
            .collect();
        if users.is_empty() || !self.may_sweep() {
            return Ok(());
        }
        let names: Vec<String> = users.iter().map(|user| pipeline.partition(user)).collect();
        let now_ms = server_ms(&mut conn).await?;
        let states = states(&mut conn, &names).await?;
        for (user, state) in users.into_iter().zip(states) {
            let cause = self.options.rules.written(&user, state.as_ref(), now_ms);
            let Some(cause) = cause else { continue };
            // All workers hear of it.
            let turn = format!("user:{}", super::user_hash(&pipeline.partition(&user)));
            let worker = self.shared.worker();
            if take_turn(&mut conn, &turn, &worker, self.options.rules.period).await? {
                let asked = Request {
                    user,
                    index: Some(pipeline.index.name.clone()),
                    reason: cause.name().to_owned(),
                    failures: 0,
                    probe: None,
                };
                request(&mut conn, &[asked]).await?;
            }
        }
        Ok(())
    }
}
