//! What speaks against merging now.

use redis::aio::ConnectionLike;

use super::StoreError;
use crate::layout::{Concern, Layout};

/// The layout's concerns, from the presence of the keys that it watches.
///
/// # Errors
/// [`StoreError`] if the server cannot be asked.
pub async fn concerns(
    con: &mut impl ConnectionLike,
    layout: &dyn Layout,
) -> Result<Vec<Concern>, StoreError> {
    let mut watched = layout.watched_keys();
    if !watched.is_empty() {
        let mut pipe = redis::pipe();
        for key in &watched {
            pipe.cmd("EXISTS").arg(key);
        }
        let there: Vec<bool> = pipe.query_async(con).await?;
        let mut there = there.into_iter();
        watched.retain(|_| there.next().unwrap_or(false));
    }
    Ok(layout.concerns(&watched))
}
