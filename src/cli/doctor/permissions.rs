//! Whether the account may do what merging takes, asked of the server without doing it.

use redis::aio::ConnectionManager;

use super::Check;
use crate::record::{IndexFacts, Storage};
use crate::store::events::channels;

/// Commands on memories (`{key}`), on memfold's own keys (`{own}`) and on the index (`{index}`).
const COMMON: &[&str] = &[
    "FT.INFO {index}",
    "FT.SEARCH {index} *",
    "FT.AGGREGATE {index} *",
    "FT.CURSOR READ {index} 1",
    "SCAN 0",
    "TYPE {key}",
    "PEXPIRETIME {key}",
    "PEXPIREAT {key} 1",
    "PERSIST {key}",
    "RENAMENX {key} {own}",
    "UNLINK {key}",
    "TIME",
    "GET {own}",
    "SET {own} 1",
    "INCR {own}",
    "PEXPIRE {own} 1",
    "XADD {own} * f v",
    "XTRIM {own} MINID 0",
    "XREVRANGE {own} + -",
];
const OF_JSON: &[&str] = &["JSON.GET {key}", "JSON.SET {key} $ {}"];
const OF_HASH: &[&str] = &["HGETALL {key}", "HKEYS {key}", "HSET {key} f v"];

/// What an account may be allowed to run: all that merging, undoing and the worker take, and what
/// doctor asks. Of the search module's configuration it may read alone.
const COMMANDS: &str = "\
    +hello +auth +ping +client|setinfo +client|setname +time +info +multi +exec +scan +type +exists \
    +get +mget +set +incr +incrby +unlink +rename +renamenx +persist +pexpire +pexpireat +pexpiretime \
    +pttl +dump +restore +memory|usage +xadd +xtrim +xdel +xrange +xrevrange +xlen +xreadgroup +xack \
    +xclaim +xautoclaim +xpending +xgroup|create +xgroup|delconsumer +xinfo|groups +xinfo|consumers \
    +zadd +zrem +zrange +sadd +srem +smembers +function|load +function|list +module|list +acl|whoami \
    +acl|dryrun +fcall +eval +ft._list +ft.info +ft.search +ft.aggregate +ft.cursor +ft.config|get \
    +psubscribe";
/// What other indexes are over, not what they hold: one of them may take retired memories for its
/// own.
const SELECTOR: &str = "(+ft.info ~*)";
const COMMANDS_OF_JSON: &str = " +json.get +json.set";
const COMMANDS_OF_HASH: &str = " +hgetall +hkeys +hset +hpttl";

/// The command that makes an account for these indexes: commands one by one, and the keys under
/// their prefixes, memfold's own, and the indexes' names, which the search module takes for keys.
pub(super) fn acl(indexes: &[&IndexFacts]) -> String {
    let mut keys = vec!["~memfold:*".to_owned()];
    for facts in indexes {
        keys.push(format!("~{}", facts.name));
        keys.extend(facts.prefixes.iter().map(|prefix| format!("~{prefix}*")));
    }
    // The events of the memories, as the worker asks for them.
    let memories = indexes
        .first()
        .into_iter()
        .flat_map(|facts| &facts.prefixes);
    keys.extend(memories.map(|prefix| format!("&{}", channels(prefix))));
    keys.sort();
    keys.dedup();
    let has = |storage| indexes.iter().any(|facts| facts.storage == storage);
    let mut commands = COMMANDS.to_owned();
    if has(Storage::Json) {
        commands += COMMANDS_OF_JSON;
    }
    if has(Storage::Hash) {
        commands += COMMANDS_OF_HASH;
    }
    format!(
        "ACL SETUSER memfold reset on >PASSWORD resetchannels {} {commands} {SELECTOR}",
        keys.join(" ")
    )
}

/// Asks for every command. `facts` are unknown where the account may not even see the index.
pub(super) async fn checks(
    conn: &mut ConnectionManager,
    index: &str,
    facts: Option<&IndexFacts>,
) -> Vec<Check> {
    let user: String = match redis::cmd("ACL").arg("WHOAMI").query_async(conn).await {
        Ok(user) => user,
        Err(_) => return vec![not_asked("ACL WHOAMI")],
    };
    let of_storage = match facts.map(|facts| facts.storage) {
        Some(Storage::Json) => OF_JSON,
        Some(Storage::Hash) => OF_HASH,
        None => &[],
    };
    let prefix = facts.map_or("PREFIX", |facts| {
        facts.prefixes.first().map_or("", String::as_str)
    });
    let fill = |word: &str| match word {
        "{key}" => format!("{prefix}memfold-doctor"),
        "{own}" => "memfold:doctor".to_owned(),
        "{index}" => index.to_owned(),
        other => other.to_owned(),
    };
    let mut refused = Vec::new();
    for command in COMMON.iter().chain(of_storage) {
        match dry_run(conn, &user, command.split(' ').map(fill)).await {
            Ok(true) => {}
            Ok(false) => refused.push(*command),
            Err(_) => return vec![not_asked("ACL DRYRUN")],
        }
    }
    vec![
        commands(&user, &refused, prefix, index),
        calls(conn, &user).await,
    ]
}

/// Whether the account may run a command; an error if the server does not say.
async fn dry_run(
    conn: &mut ConnectionManager,
    user: &str,
    command: impl Iterator<Item = String>,
) -> redis::RedisResult<bool> {
    let mut cmd = redis::cmd("ACL");
    cmd.arg("DRYRUN").arg(user);
    for word in command {
        cmd.arg(word);
    }
    cmd.query_async::<String>(conn)
        .await
        .map(|answer| answer == "OK")
}

/// Merges run by FCALL where that is allowed, else by EVAL.
async fn calls(conn: &mut ConnectionManager, user: &str) -> Check {
    let mut allowed = async |command: &str| {
        dry_run(conn, user, command.split(' ').map(str::to_owned))
            .await
            .unwrap_or(false)
    };
    let functions = allowed("FCALL f 0").await && allowed("FUNCTION LOAD x").await;
    if functions {
        Check::ok("calls", "by FCALL")
    } else if allowed("EVAL x 0").await {
        Check::ok(
            "calls",
            "by EVAL, for functions are refused to this account",
        )
    } else {
        let advice = "grant +fcall and +function|load, or +eval";
        Check::fail("calls", "neither FCALL nor EVAL is allowed", advice)
    }
}

/// The search module takes the index's name for a key.
fn commands(user: &str, refused: &[&str], prefix: &str, index: &str) -> Check {
    if refused.is_empty() {
        return Check::ok(
            "permissions",
            format!("user {user} may run all that merging takes"),
        );
    }
    let names: Vec<&str> = refused
        .iter()
        .filter_map(|command| command.split(' ').next())
        .collect();
    let grants: Vec<String> = names
        .iter()
        .map(|name| format!("+{}", name.to_lowercase()))
        .collect();
    let found = format!("user {user} may not run {} there", names.join(", "));
    let advice = format!(
        "ACL SETUSER {user} {} ~{prefix}* ~memfold:* ~{index}",
        grants.join(" ")
    );
    Check::fail("permissions", found, advice)
}

fn not_asked(command: &str) -> Check {
    Check::skipped(
        "permissions",
        format!("cannot be asked: {command} is refused to this account"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::check::Status;

    #[test]
    fn refused_commands_come_with_the_grant() {
        let refused = ["JSON.SET {key} $ {}", "XADD {own} * f v"];
        let check = commands("app", &refused, "memory:", "idx");
        assert_eq!(check.status, Status::Fail);
        let advice = check.advice.unwrap();
        assert_eq!(
            advice,
            "ACL SETUSER app +json.set +xadd ~memory:* ~memfold:* ~idx"
        );
        assert_eq!(commands("app", &[], "memory:", "idx").status, Status::Ok);
    }
}
