//! The server: version, role, modules, eviction, functions, and room for the undo store.

use std::collections::HashMap;

use redis::aio::ConnectionManager;
use redis::{InfoDict, Value};

use super::Check;
use crate::record::Storage;
use crate::store::{LIBRARY, Neighbours};

pub(super) async fn checks(conn: &mut ConnectionManager) -> Vec<Check> {
    let info = redis::cmd("INFO").query_async::<InfoDict>(conn).await;
    let mut checks = match info {
        Ok(info) => vec![server(&info), eviction(&info)],
        Err(error) => {
            vec![Check::warn(
                "server",
                format!("INFO is refused: {error}"),
                "grant INFO to check more",
            )]
        }
    };
    checks.push(modules(conn).await);
    checks.push(functions(conn).await);
    checks
}

fn server(info: &InfoDict) -> Check {
    let text = |name: &str| info.get::<String>(name).unwrap_or_default();
    let version = text("redis_version");
    if text("role") == "slave" {
        let found = format!("Redis {version}, a replica");
        return Check::fail(
            "server",
            found,
            "connect to the primary; a replica takes no writes",
        );
    }
    let found = format!("Redis {version}, primary");
    if text("loading") == "1" {
        return Check::fail(
            "server",
            found + ", loading its data",
            "wait until it is done",
        );
    }
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(..7) => Check::fail("server", found, "memfold needs Redis 7 or newer"),
        _ => Check::ok("server", found),
    }
}

/// Eviction can take an original out of the undo store, or a memory itself.
fn eviction(info: &InfoDict) -> Check {
    let policy = info
        .get::<String>("maxmemory_policy")
        .unwrap_or_else(|| "unknown".into());
    let limit = info.get::<u64>("maxmemory").unwrap_or(0);
    if limit == 0 || policy == "noeviction" {
        return Check::ok("eviction", policy);
    }
    let what = if policy.starts_with("volatile") {
        "originals in the undo store and memories with an expiry"
    } else {
        "any memory"
    };
    let advice = "set maxmemory-policy noeviction on a server that holds memories";
    Check::warn(
        "eviction",
        format!("{policy}: the server may drop {what}"),
        advice,
    )
}

async fn modules(conn: &mut ConnectionManager) -> Check {
    let mut list = redis::cmd("MODULE");
    list.arg("LIST");
    match list.query_async::<Vec<HashMap<String, Value>>>(conn).await {
        Ok(modules) => {
            let names: Vec<String> = modules.iter().filter_map(module).collect();
            Check::ok("modules", names.join(", "))
        }
        Err(_) => Check::skipped("modules", "MODULE LIST is refused to this account"),
    }
}

fn module(module: &HashMap<String, Value>) -> Option<String> {
    let text = |name: &str| {
        module
            .get(name)
            .and_then(|value| redis::from_redis_value_ref::<String>(value).ok())
    };
    Some(format!("{} {}", text("name")?, text("ver")?))
}

/// Whether the functions are there already. They are loaded by the first command that writes.
async fn functions(conn: &mut ConnectionManager) -> Check {
    let mut list = redis::cmd("FUNCTION");
    list.arg("LIST").arg("LIBRARYNAME").arg(LIBRARY);
    match list.query_async::<Vec<Value>>(conn).await {
        Ok(found) if found.is_empty() => Check::ok(
            "functions",
            format!("{LIBRARY} is not loaded yet; the first merge loads it"),
        ),
        Ok(_) => Check::ok("functions", format!("{LIBRARY} is loaded")),
        Err(_) => Check::ok("functions", "refused to this account; EVAL is used instead"),
    }
}

/// Retired memories must not be taken for memories by any index.
pub(super) async fn undo_store(conn: &mut ConnectionManager, storage: Storage) -> Check {
    let neighbours = Neighbours::over(conn, &[storage]).await;
    match neighbours.as_ref().map(Neighbours::taking_undo) {
        Ok(None) => Check::ok("undo store", "no index covers memfold:undo:"),
        Ok(Some(index)) => {
            let found = format!(
                "index {index} covers memfold:undo:, or may not be seen, so originals are kept packed"
            );
            Check::warn(
                "undo store",
                found,
                "undo works; give the index a prefix to save memory",
            )
        }
        Err(error) => Check::failed("undo store", error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::check::Status;

    fn info(text: &str) -> InfoDict {
        InfoDict::new(text)
    }

    #[test]
    fn replicas_and_old_servers_fail() {
        for (text, status) in [
            (
                "redis_version:8.2.3\r\nrole:master\r\nloading:0",
                Status::Ok,
            ),
            ("redis_version:8.2.3\r\nrole:slave", Status::Fail),
            ("redis_version:6.2.1\r\nrole:master", Status::Fail),
            (
                "redis_version:7.0.0\r\nrole:master\r\nloading:1",
                Status::Fail,
            ),
        ] {
            assert_eq!(server(&info(text)).status, status, "{text}");
        }
    }

    #[test]
    fn eviction_warns_only_under_a_limit() {
        for (text, status) in [
            ("maxmemory:0\r\nmaxmemory_policy:allkeys-lru", Status::Ok),
            ("maxmemory:100\r\nmaxmemory_policy:noeviction", Status::Ok),
            (
                "maxmemory:100\r\nmaxmemory_policy:volatile-ttl",
                Status::Warn,
            ),
            (
                "maxmemory:100\r\nmaxmemory_policy:allkeys-lfu",
                Status::Warn,
            ),
        ] {
            assert_eq!(eviction(&info(text)).status, status, "{text}");
        }
    }
}
