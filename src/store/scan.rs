//! Goes through the key space, page by page: other clients of the server wait for one page at most.

use redis::FromRedisValue;
use redis::aio::ConnectionLike;

use super::{StoreError, query};

/// Keys that the server looks at for a page.
const PAGE: usize = 1000;

/// The keys that begin with something. One may come twice, and one that comes or goes meanwhile may
/// or may not be among them.
pub(super) struct Scan {
    pattern: String,
    /// Of this type alone, as `SCAN` names it.
    kind: Option<&'static str>,
    /// `None` after the last page.
    cursor: Option<u64>,
}

impl Scan {
    /// Keys that begin with `start`.
    pub(super) fn of(start: &str) -> Self {
        Self {
            pattern: format!("{}*", query::glob(start)),
            kind: None,
            cursor: Some(0),
        }
    }

    /// Only those with a value of this type.
    pub(super) fn of_type(self, kind: &'static str) -> Self {
        let kind = Some(kind);
        Self { kind, ..self }
    }

    /// The next page, which may be empty; `None` after the last.
    pub(super) async fn next<K: FromRedisValue>(
        &mut self,
        con: &mut impl ConnectionLike,
    ) -> Result<Option<Vec<K>>, StoreError> {
        let Some(cursor) = self.cursor else {
            return Ok(None);
        };
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(&self.pattern);
        scan.arg("COUNT").arg(PAGE);
        if let Some(kind) = self.kind {
            scan.arg("TYPE").arg(kind);
        }
        let (next, keys): (u64, Vec<K>) = scan.query_async(con).await?;
        self.cursor = (next != 0).then_some(next);
        Ok(Some(keys))
    }
}
