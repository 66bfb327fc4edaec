//! The smallest account that works is the one that `doctor --acl` prints: no command needs more.

use std::collections::BTreeMap;

use redis::FromRedisValue;

use super::{Case, until};
use crate::support::cli::Done;
use crate::support::server::Server;
use crate::support::store::Index;

/// Makes the account that is printed, and works under it from now on.
async fn restricted(mut case: Case) -> Case {
    let acl = case.run(&["doctor", "--acl"]).ends(0).stdout;
    let acl = acl.replace("PASSWORD", "s3cret");
    let words: Vec<&str> = acl.split_whitespace().collect();
    assert_eq!(words[..2], ["ACL", "SETUSER"]);
    let broad = |word: &&str| {
        word.starts_with("+@") || ["~*", "&*", "allkeys", "allcommands"].contains(word)
    };
    assert!(!words.iter().any(broad), "{acl}");
    let _: String = case.redis(&words).await;
    let _: String = case.redis(&["ACL", "LOG", "RESET"]).await;
    let password = case.cli.path("password");
    std::fs::write(&password, "s3cret\n").unwrap();
    let url = format!("redis://memfold@127.0.0.1:{}", case.server.port());
    case.set("redis_url", &url)
        .set("redis_password_file", &password.display().to_string())
}

/// What the server has refused since the account was made.
async fn refused(case: &mut Case) -> Vec<String> {
    let log: Vec<BTreeMap<String, redis::Value>> = case.redis(&["ACL", "LOG"]).await;
    let text = |value: &redis::Value| String::from_redis_value(value.clone()).unwrap_or_default();
    let line = |entry: &BTreeMap<String, redis::Value>| {
        let word = |name: &str| entry.get(name).map(text).unwrap_or_default();
        format!("{} {} {}", word("reason"), word("context"), word("object"))
    };
    log.iter().map(line).collect()
}

/// The id of the only merge in a report.
fn merge_id(report: &Done) -> String {
    let report = report.json();
    let id = &report["users"][0]["merged"][0]["merge_id"];
    id.as_str().unwrap().to_owned()
}

/// A server where others have an index too.
async fn case(index: Index) -> Case {
    let mut case = Case::on(Server::start(), index).await;
    let other = Index {
        name: "others".to_owned(),
        prefixes: vec!["other:".to_owned()],
        ..Index::json()
    };
    other.create(&mut case.con).await;
    case
}

#[tokio::test]
async fn every_command_works_under_the_printed_account() {
    for index in [Index::json(), Index::hash()] {
        let mut case = restricted(case(index).await).await;
        let tea = case.twins("alice", "tea").await;
        // It lists every index, and asks each for its users.
        case.run(&["inspect"])
            .ends(0)
            .shows(&["agent_memories", "others"]);
        assert_eq!(refused(&mut case).await, ["key toplevel others"]);
        let _: String = case.redis(&["ACL", "LOG", "RESET"]).await;
        let run = |args: &[&str]| case.cli.run(args).ends(0);
        run(&[
            "inspect",
            "--index",
            "agent_memories",
            "--write-config",
            "proposed.toml",
        ]);
        run(&["doctor"]);
        run(&["doctor", "--acl"]);
        run(&[
            "merge",
            "--user",
            "alice",
            "--dry-run",
            "--plan-out",
            "plan.json",
        ]);
        run(&["review", "--user", "alice", "--answers", "/dev/null"]);
        let first = merge_id(&run(&["apply", "plan.json", "--json"]));
        run(&["show", &first]);
        run(&["undo", &first]);
        run(&["undo", "--lift-veto", &first]);
        let report = run(&["merge", "--all-users", "--stats", "--json"]);
        run(&[
            "undo",
            "--run",
            report.json()["users"][0]["run_id"].as_str().unwrap(),
        ]);
        run(&["history"]).shows(&[&first]);
        run(&["history", "--as-pairs"]);
        run(&["conflicts", "--user", "alice"]);
        run(&["request", "--user", "alice"]);
        run(&["status"]);
        run(&["resume"]);
        assert_eq!(case.count(&tea).await, 2);
        assert_eq!(refused(&mut case).await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_worker_works_under_the_printed_account() {
    for index in [Index::json(), Index::hash()] {
        let mut case = restricted(case(index).await).await;
        let bob = case.twins("bob", "tea").await;
        case.start(&[]);
        until("bob is merged", async || case.count(&bob).await == 1).await;
        let carol = case.twins("carol", "tea").await;
        case.run(&["request", "--user", "carol"]).ends(0);
        until("carol is merged", async || case.count(&carol).await == 1).await;
        // Tidying up needs the most.
        until("it is tidied up", async || {
            let memory = memfold::store::fleet::own_memory(&mut case.con)
                .await
                .unwrap();
            memory.is_some_and(|memory| memory.bytes() > 0)
        })
        .await;
        case.run(&["status"]).ends(0).shows(&["bob"]);
        let done = case.end(0, "-TERM").await.ends(0);
        assert!(!done.stderr.contains("NOPERM"), "{done:#?}");
        assert_eq!(refused(&mut case).await, Vec::<String>::new());
    }
}
