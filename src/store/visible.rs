//! The proof that a result can be found through the index, where the server indexes in the
//! background; elsewhere the commit proves it itself.

use std::time::Duration;

use redis::Value;
use redis::aio::ConnectionLike;

use super::functions::Functions;
use super::writes::Write;
use super::{Commit, CommitError, StoreError, query, reply, undo};

/// How long a result may take to appear.
const APPEARS_WITHIN: Duration = Duration::from_secs(2);

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits for the result to appear; if it does not, the merge is taken back, without a veto.
pub(super) async fn check_after(
    con: &mut impl ConnectionLike,
    functions: &Functions,
    commit: &Commit<'_>,
    writes: &[Write<'_>],
) -> Result<(), CommitError> {
    let key = &commit.record.result_key;
    let found = async {
        for write in writes {
            while !is_found(con, commit, write).await? {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
        Ok::<_, StoreError>(())
    };
    let detail = match tokio::time::timeout(APPEARS_WITHIN, found).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("it did not appear within {APPEARS_WITHIN:?}"),
    };
    match undo::take_back(con, functions, &commit.record.merge_id, commit.ledger).await {
        Ok(()) => Err(CommitError::NotVisible {
            key: key.clone(),
            detail,
        }),
        Err(error) => Err(CommitError::Broken(error.to_string())),
    }
}

async fn is_found(
    con: &mut impl ConnectionLike,
    commit: &Commit<'_>,
    write: &Write<'_>,
) -> Result<bool, StoreError> {
    let mut cmd = redis::cmd("FT.SEARCH");
    cmd.arg(write.index);
    if write.by_vector {
        let field = query::field_name(commit.vector_field);
        cmd.arg(format!("*=>[KNN 1 @{field} $vector]"));
        cmd.arg("PARAMS").arg(2).arg("vector").arg(commit.vector);
    } else {
        cmd.arg("*");
    }
    cmd.arg("INKEYS").arg(1).arg(write.key).arg("NOCONTENT");
    cmd.arg("DIALECT").arg(2);
    let reply: Value = cmd.query_async(con).await?;
    Ok(names(&reply, write.key))
}

/// Whether a text stands anywhere in a reply (RESP2 and RESP3 differ in shape).
fn names(reply: &Value, key: &str) -> bool {
    match reply {
        Value::Array(items) => items.iter().any(|item| names(item, key)),
        Value::Map(pairs) => pairs.iter().any(|(_, value)| names(value, key)),
        text => reply::bytes(text) == Some(key.as_bytes()),
    }
}
