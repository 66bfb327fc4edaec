//! The smallest account that works is the one that `doctor --acl` prints.

use std::collections::HashMap;

use super::{Case, until};
use crate::support::store::Index;

#[tokio::test]
async fn the_printed_account_merges_undoes_and_works() {
    for index in [Index::json(), Index::hash()] {
        let mut case = Case::over(index).await;
        let acl = case.run(&["doctor", "--acl"]).ends(0).stdout;
        let words: Vec<String> = acl
            .split_whitespace()
            .map(|word| word.replace("PASSWORD", "s3cret"))
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert_eq!(words[..2], ["ACL", "SETUSER"]);
        assert!(
            !words.iter().any(|word| word.contains('@') || *word == "~*"),
            "{acl}"
        );
        let _: String = case.redis(&words).await;
        let password = case.cli.path("password");
        std::fs::write(&password, "s3cret\n").unwrap();
        let url = format!("redis://memfold@127.0.0.1:{}", case.server.port());
        let mut case = case
            .set("redis_url", &url)
            .set("redis_password_file", &password.display().to_string());

        let by_hand = case.twins("alice", "tea").await;
        let report = case
            .run(&["merge", "--user", "alice", "--json"])
            .ends(0)
            .json();
        assert_eq!(case.count(&by_hand).await, 1);
        let id = report["users"][0]["merged"][0]["merge_id"]
            .as_str()
            .unwrap()
            .to_owned();
        case.run(&["undo", &id]).ends(0);
        assert_eq!(case.count(&by_hand).await, 2);
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
        // How the server indexes is asked for, and done without.
        let log: Vec<HashMap<String, redis::Value>> = case.redis(&["ACL", "LOG"]).await;
        let refused = log.iter().map(|entry| entry["object"].clone());
        let other =
            |object: &redis::Value| *object != redis::Value::BulkString(b"FT.CONFIG".to_vec());
        let refused: Vec<redis::Value> = refused.filter(other).collect();
        assert_eq!(refused, []);
    }
}
