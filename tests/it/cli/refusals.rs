//! Stores that memfold cannot work with: the code, the words, and nothing written.

use super::*;
use crate::support::cli::{Meddler, When, command};

#[tokio::test]
async fn no_server() {
    let mut world = World::new().await;
    world.server.kill();
    let done = world.run(&["merge", "--user", "alice"]).ends(3);
    let address = format!("127.0.0.1:{}", world.server.port());
    done.says(&["no Redis server answers", &address, "--redis-url"]);
}

#[tokio::test]
async fn wrong_password_is_told_without_showing_it() {
    let mut world = World::new().await;
    let () = world
        .command(&["CONFIG", "SET", "requirepass", "right"])
        .await;
    for url in [
        world.server.url_as("default", "hunter2"),
        world.server.url_as("nobody", "hunter2"),
        world.server.url(),
    ] {
        let cli = Cli::new(&url).set("log", "trace");
        let done = cli.run(&["merge", "--user", "alice"]).ends(3);
        assert!(!done.stderr.contains("hunter2"), "{done:#?}");
        done.says(&["refused the credentials", "check user and password"]);
    }
    let right = Cli::new(&world.server.url_as("default", "right"));
    right.run(&["merge", "--user", "alice"]).ends(8);
}

#[tokio::test]
async fn no_search_module() {
    let server = Server::start_bare(&[]);
    let cli = Cli::new(&server.url());
    for args in [
        &["merge", "--user", "alice"][..],
        &["inspect"],
        &["history"],
    ] {
        cli.run(args)
            .ends(3)
            .says(&["no search module", "needs RediSearch"]);
    }
    let doctor = cli.run(&["doctor", "--json"]).ends(1);
    assert_eq!(doctor.json()["ok"], false);
}

#[tokio::test]
async fn a_missing_index_is_named_with_those_that_exist() {
    let world = World::new().await;
    for args in [
        &["merge", "--user", "alice", "--index", "nope"][..],
        &["merge", "--all-users", "--dry-run", "--index", "nope"],
    ] {
        let done = world.run(args).ends(3);
        done.says(&["there is no index `nope`", "agent_memories"]);
    }
}

#[tokio::test]
async fn other_metrics_merge_vectors_of_length_one_and_leave_others() {
    for (metric, threshold) in [("L2", "0.1 is 0.2 "), ("IP", "0.1 is 0.1 ")] {
        let index = Index {
            metric,
            algorithm: "HNSW",
            ..Index::hash()
        };
        let mut world = World::over(index).await;
        world.put_twins("alice", "Ana", 0).await;
        let long = Mem::new("Ana likes tea", &[2.0, 0.0, 0.0, 0.0]);
        let long = world.put("long", &long).await;
        let before = world.memories().await;
        let report = world.merge("alice");
        assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
        assert_eq!(reason_of(&report, &long), Some("bad-vector"));
        assert_eq!(world.memories().await.len(), 2);
        world.run(&["undo", "--run", run_id(&report)]).ends(0);
        assert_eq!(world.memories().await, before);
        let done = world.run(&["doctor"]);
        done.shows(&[metric, "thresholds are cosine distances", threshold]);
    }
}

#[tokio::test]
async fn an_index_that_does_not_fit_is_refused_with_what_it_has() {
    let server = Server::start();
    let mut con = server.connect().await;
    let index = |name: &str| Index {
        name: name.to_owned(),
        prefixes: vec![format!("{name}:")],
        ..Index::json()
    };
    index("plain").create(&mut con).await;
    let cli = Cli::new(&server.url()).set("index", "plain");
    cli.run(&["merge", "--user", "a", "--fields-vector", "vec"])
        .ends(3)
        .says(&["no vector field `vec`", "embedding"]);
    cli.run(&["merge", "--user", "a", "--fields-vector", "content"])
        .ends(3)
        .says(&["`content` is no vector field", "embedding"]);
}

#[tokio::test]
async fn vectors_of_another_model_are_not_trusted() {
    // 4 numbers a vector, where the model gives 384: distances come from the texts then, and a
    // merge that keeps a text keeps its vector.
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world.cli = Cli::new(&world.server.url()).with_model();
    let report = world.merge("alice");
    assert_eq!(report["plan"]["distance"], "onnx");
    assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
    world.run(&["doctor"]).shows(&["384"]);
}

#[tokio::test]
async fn without_a_model_the_choices_are_named() {
    let mut world = World::new().await.set("distance", "");
    world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    world.run(&["merge", "--user", "alice"]).ends(2).says(&[
        "--onnxruntime",
        "--model-dir",
        "--distance stored",
    ]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_model_that_is_not_the_pinned_one_is_refused() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let before = world.all().await;
    let models = world.cli.path("models/all-MiniLM-L6-v2-int8");
    std::fs::create_dir_all(&models).unwrap();
    let run = |world: &World| {
        let dir = world.cli.path("models").display().to_string();
        let cli = Cli::new(&world.server.url())
            .with_model()
            .set("model_dir", &dir);
        cli.run(&["merge", "--user", "alice"]).ends(2)
    };
    run(&world).says(&["model.onnx"]);
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::write(models.join(file), "not the model").unwrap();
    }
    run(&world).says(&["model.onnx has 13 bytes instead of"]);
    let real = crate::support::server::parts().join("models/all-MiniLM-L6-v2-int8");
    let mut model = std::fs::read(real.join("model.onnx")).unwrap();
    *model.last_mut().unwrap() ^= 1;
    std::fs::write(models.join("model.onnx"), model).unwrap();
    run(&world).says(&["model.onnx", "sha256"]);
    let cli = Cli::new(&world.server.url())
        .with_model()
        .set("onnxruntime", "/nonexistent/libonnxruntime.so");
    cli.run(&["merge", "--user", "alice"])
        .ends(2)
        .says(&["/nonexistent/libonnxruntime.so"]);
    assert_eq!(world.all().await, before);
}

#[tokio::test]
async fn a_replica_is_refused_before_and_during_a_merge() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    let port = world.server.port();
    // It follows a server that is not there, and keeps what it has.
    let become_replica = move || command(port, &["REPLICAOF", "127.0.0.1", "1"]);
    let meddler = Meddler::new(port, "memfold_1_commit", 0, When::Before, become_replica);
    Cli::new(&meddler.url())
        .run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["read-only", "connect to the primary"]);
    world
        .run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["read-only", "connect to the primary"]);
    // What writes nothing still works.
    world
        .run(&["merge", "--user", "alice", "--dry-run"])
        .ends(0)
        .shows(&["1 merge would turn 2 memories into 1"]);
    let () = world.command(&["REPLICAOF", "NO", "ONE"]).await;
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_server_out_of_memory_is_told_and_nothing_is_lost() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    world.put_twins("alice", "Bo", 1).await;
    let before = world.memories().await;
    let port = world.server.port();
    let limit = move || command(port, &["CONFIG", "SET", "maxmemory", "1"]);
    let meddler = Meddler::new(port, "memfold_1_commit", 1, When::Before, limit);
    Cli::new(&meddler.url())
        .run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["out of memory", "merged before stands (merges: 1)"]);
    world
        .run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["out of memory"]);
    // The first merge was made. It can be undone at the limit: that must always be possible.
    let entries = world.run(&["history", "--json"]).ends(0).json();
    assert_eq!(list(&entries["entries"]).len(), 1, "{entries:#}");
    let run = entries["entries"][0]["run_id"].as_str().unwrap().to_owned();
    world.run(&["undo", "--run", &run]).ends(0);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn an_account_that_only_reads_can_look_and_not_merge() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let () = world
        .command(&[
            "ACL",
            "SETUSER",
            "reader",
            "on",
            ">pw",
            "~*",
            "+@all",
            "-@write",
            "-function",
            "-eval",
            "-fcall",
        ])
        .await;
    let before = world.all().await;
    let cli = Cli::new(&world.server.url_as("reader", "pw"));
    cli.run(&["merge", "--user", "alice", "--dry-run"])
        .ends(0)
        .shows(&["1 merge would turn 2 memories into 1"]);
    cli.run(&["inspect"]).ends(0).shows(&["alice"]);
    cli.run(&["history"]).ends(0);
    cli.run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["refuses a command to this account", "memfold doctor"]);
    cli.run(&["doctor"]).ends(1).shows(&["fail", "permissions"]);
    assert_eq!(world.all().await, before);
}

#[tokio::test]
async fn without_functions_scripts_do_the_same() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let () = world
        .command(&[
            "ACL",
            "SETUSER",
            "scripts",
            "on",
            ">pw",
            "~*",
            "+@all",
            "-function",
            "-fcall",
        ])
        .await;
    let before = world.memories().await;
    world.cli = Cli::new(&world.server.url_as("scripts", "pw"));
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 1);
    world.run(&["undo", "--run", run_id(&report)]).ends(0);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn an_index_dropped_while_memories_are_read_ends_the_run() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    let port = world.server.port();
    let drop = move || command(port, &["FT.DROPINDEX", "agent_memories"]);
    let meddler = Meddler::new(port, "JSON.GET", 0, When::Before, drop);
    Cli::new(&meddler.url())
        .run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["there is no index `agent_memories`"]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn another_database_is_refused_before_it_does_harm() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let url = format!("redis://127.0.0.1:{}/1", world.server.port());
    for args in [
        &["merge", "--user", "alice"][..],
        &["merge", "--user", "alice", "--dry-run"],
        &["inspect"],
        &["history"],
    ] {
        let done = Cli::new(&url).run(args).ends(2);
        done.says(&["database 0", "names database 1"]);
    }
    Cli::new(&url)
        .run(&["doctor"])
        .ends(1)
        .shows(&["database 0"]);
    assert_eq!(list(&world.merge("alice")["merged"]).len(), 1);
}

#[tokio::test]
async fn memories_that_the_index_cannot_open_are_left_alone() {
    let mut world = World::new().await;
    let [first, _] = world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    // What a careless client does to an index.
    let () = world.command(&["SELECT", "1"]).await;
    let _: redis::Value = world
        .command(&["FT.SEARCH", "agent_memories", "*", "RETURN", "1", "content"])
        .await;
    let () = world.command(&["SELECT", "0"]).await;
    let report = world.merge("alice");
    assert_eq!(
        reason_of(&report, &first),
        Some("not-indexed"),
        "{report:#}"
    );
    assert_eq!(world.memories().await, before);
    world.put_twins("alice", "Ana", 0).await;
    assert_eq!(list(&world.merge("alice")["merged"]).len(), 1);
}

#[tokio::test]
async fn a_cluster_is_refused() {
    let server = Server::start_with(&["--cluster-enabled", "yes"]);
    let done = Cli::new(&server.url()).run(&["merge", "--user", "alice"]);
    done.ends(3)
        .says(&["Redis Cluster", "not served", "nothing was read or written"]);
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_told() {
    let mut world = World::new().await.set("redis_timeout", "300ms");
    world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    let port = world.server.port();
    let pause = move || command(port, &["CLIENT", "PAUSE", "1500", "ALL"]);
    let meddler = Meddler::new(port, "JSON.GET", 0, When::Before, pause);
    Cli::new(&meddler.url())
        .set("redis_timeout", "300ms")
        .run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["did not answer in time", "--redis-timeout"]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_commit_without_an_answer_is_made_once_or_not_at_all() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    let port = world.server.port();
    let pause = move || command(port, &["CLIENT", "PAUSE", "1000", "ALL"]);
    let meddler = Meddler::new(port, "memfold_1_commit", 0, When::Before, pause);
    let cli = Cli::new(&meddler.url()).set("redis_timeout", "300ms");
    cli.run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["did not answer in time"]);
    // Answered when the pause is over.
    let now = world.memories().await;
    let entries = world.run(&["history", "--json"]).ends(0).json();
    match list(&entries["entries"]) {
        [] => assert_eq!(now, before),
        [entry] => {
            world.run(&["undo", "--run", run_id(entry)]).ends(0);
            assert_eq!(world.memories().await, before);
        }
        more => panic!("{more:#?}"),
    }
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_is_told() {
    let mut world = World::new().await;
    for (i, name) in ["Ana", "Bo", "Cy"].into_iter().enumerate() {
        world.put_twins("alice", name, i).await;
    }
    let pid = world.server.pid().to_string();
    let kill = move || {
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args(["-9", &pid]).status().unwrap().success());
    };
    let meddler = Meddler::new(
        world.server.port(),
        "memfold_1_commit",
        1,
        When::Before,
        kill,
    );
    let done = Cli::new(&meddler.url()).run(&["merge", "--user", "alice"]);
    done.ends(3)
        .says(&["merged before stands (merges: 1)", "memfold history"]);
}

#[tokio::test]
async fn an_account_for_the_memories_alone_is_told_what_it_lacks() {
    let mut world = World::new().await;
    world.put_twins("alice", "Ana", 0).await;
    let before = world.memories().await;
    // RediSearch asks for all keys under the index's prefix.
    let () = world
        .command(&["ACL", "SETUSER", "part", "on", ">pw", "~memory:*", "+@all"])
        .await;
    let cli = Cli::new(&world.server.url_as("part", "pw"));
    cli.run(&["merge", "--user", "alice"])
        .ends(3)
        .says(&["refuses a command to this account"]);
    cli.run(&["doctor"]).ends(1).shows(&["fail"]);
    assert_eq!(world.memories().await, before);
}
