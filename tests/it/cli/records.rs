//! Memories of every kind: what is merged, what is left alone, and why.

use std::time::Duration;

use super::*;
use crate::support::cli::{Meddler, When, command};

#[tokio::test]
async fn eleven_memories_with_the_duplicate_last() {
    let mut world = World::over(Index {
        dims: 16,
        ..Index::json()
    })
    .await;
    for i in 0..10 {
        let fact = twin("alice", &format!("Fact about thing{i} alone"), i, 16);
        world.put(&format!("{i:02}"), &fact).await;
    }
    let last = twin("alice", "Fact about thing0 alone.", 0, 16);
    world.put("99", &last).await;
    let report = world.merge("alice");
    let merged = list(&report["merged"]);
    assert_eq!(merged.len(), 1, "{report:#}");
    assert_eq!(merged[0]["result_key"], "memory:00");
    assert_eq!(merged[0]["retired"], serde_json::json!(["memory:99"]));
    assert_eq!(world.memories().await.len(), 10);
}

#[tokio::test]
async fn large_groups_of_equals_become_one_without_a_word_to_the_llm() {
    for size in [12, 25, 100] {
        // An LLM that nobody answers for: a question would fail the run.
        let mut world = World::new()
            .await
            .set("llm_url", "http://127.0.0.1:1/v1")
            .set("llm_model", "none")
            .set("write_vector", "centroid");
        world.cli = world.cli.with_model().set("distance", "stored");
        for i in 0..size {
            let memory = twin("alice", "Likes window seats", 0, 4);
            world.put(&format!("{i:03}"), &memory).await;
        }
        let before = world.memories().await;
        let report = world.merge("alice");
        assert_eq!(list(&report["merged"]).len(), 1, "{size}: {report:#}");
        assert_eq!(report["llm"]["calls"], 0);
        assert_eq!(world.memories().await.len(), 1, "{size}");
        world.run(&["undo", "--run", run_id(&report)]).ends(0);
        assert_eq!(world.memories().await, before, "{size}");
    }
}

#[tokio::test]
async fn equal_words_about_what_happened_are_one_only_on_one_day() {
    for (memory_type, expected) in [("episodic", 2), ("semantic", 3)] {
        let mut world = World::new().await;
        let days = ["2026-03-01T08:00", "2026-03-01T21:00", "2026-04-02T08:00"];
        for (i, day) in days.iter().enumerate() {
            let memory = Mem {
                memory_type: memory_type.to_owned(),
                created_at: format!("{day}:00"),
                ..Mem::new("Missed the train", &[1.0, 0.0, 0.0, 0.0])
            };
            world.put(&i.to_string(), &memory).await;
        }
        let report = world.merge("alice");
        let merged = list(&report["merged"]);
        assert_eq!(merged.len(), 1, "{report:#}");
        assert_eq!(
            list(&merged[0]["retired"]).len() + 1,
            expected,
            "{memory_type}"
        );
    }
}

#[tokio::test]
async fn vectors_without_a_direction_take_no_part() {
    for storage in [Index::json(), Index::hash()] {
        let json = storage.storage == memfold::record::Storage::Json;
        let mut world = World::over(storage).await;
        world.put_twins("alice", "Ana", 0).await;
        let mut bad = vec![vec![0.0; 4], vec![1.0, 0.0]];
        if !json {
            // JSON has no word for it.
            bad.push(vec![f32::NAN, 0.0, 0.0, 0.0]);
            bad.push(vec![f32::INFINITY, 0.0, 0.0, 0.0]);
        }
        let mut keys = Vec::new();
        for (i, vector) in bad.iter().enumerate() {
            let memory = Mem::new("Ana likes tea.", vector);
            keys.push(world.put(&format!("bad{i}"), &memory).await);
        }
        let before = world.memories().await;
        let report = world.merge("alice");
        assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
        let after = world.memories().await;
        for key in &keys {
            assert_eq!(reason_of(&report, key), Some("bad-vector"), "{report:#}");
            assert_eq!(after[key], before[key]);
        }
        let text = world.run(&["merge", "--user", "alice"]).ends(0);
        let count = format!("{} memories took no part: bad-vector", keys.len());
        text.shows(&[&count, "hint:"]);
    }
}

#[tokio::test]
async fn a_key_that_expires_between_list_and_read_is_counted_as_expired() {
    let mut world = World::new().await;
    let [_, second] = world.put_twins("alice", "Ana", 0).await;
    world.put_twins("alice", "Bo", 1).await;
    let port = world.server.port();
    let expire = {
        let key = second.clone();
        move || command(port, &["PEXPIREAT", &key, "1"])
    };
    let meddler = Meddler::new(port, "JSON.GET", 0, When::Before, expire);
    let done = Cli::new(&meddler.url()).run(&["merge", "--user", "alice", "--json"]);
    let report = done.ends(0).json()["users"][0].clone();
    assert_eq!(reason_of(&report, &second), Some("expired"), "{report:#}");
    assert_eq!(list(&report["merged"]).len(), 1, "Bo's alone: {report:#}");
    assert_eq!(world.memories().await.len(), 2);
}

#[tokio::test]
async fn a_memory_edited_while_it_is_judged_is_left_for_the_next_run() {
    let mut world = World::new().await;
    let [first, _] = world.put_twins("alice", "Ana", 0).await;
    world.put_twins("alice", "Bo", 1).await;
    let port = world.server.port();
    let edit = {
        let key = first.clone();
        move || {
            command(
                port,
                &["JSON.SET", &key, "$.content", r#""Ana likes coffee""#],
            )
        }
    };
    let meddler = Meddler::new(port, "memfold_1_commit", 0, When::Before, edit);
    let done = Cli::new(&meddler.url()).run(&["merge", "--user", "alice"]);
    done.ends(0).shows(&["left alone: changed", "1 merge made"]);
    let text: String = world.command(&["JSON.GET", &first, "$.content"]).await;
    assert_eq!(text, r#"["Ana likes coffee"]"#);
    assert_eq!(world.memories().await.len(), 3);
}

#[tokio::test]
async fn memories_that_a_reader_prolongs_meanwhile_are_merged_and_stay_prolonged() {
    let mut world = World::new().await;
    let keys = world.put_twins("alice", "Ana", 0).await;
    for key in &keys {
        let () = world.command(&["EXPIRE", key, "3600"]).await;
    }
    let port = world.server.port();
    let prolong = {
        let keys = keys.clone();
        move || {
            for key in &keys {
                command(port, &["EXPIRE", key, "7200"]);
            }
        }
    };
    let meddler = Meddler::new(port, "memfold_1_commit", 0, When::Before, prolong);
    let done = Cli::new(&meddler.url()).run(&["merge", "--user", "alice"]);
    done.ends(0).shows(&["1 merge made"]);
    let left: Vec<String> = world.memories().await.into_keys().collect();
    assert_eq!(left.len(), 1);
    let seconds: i64 = world.command(&["TTL", &left[0]]).await;
    assert!((7100..=7200).contains(&seconds), "{seconds}");
}

#[tokio::test]
async fn a_memory_that_expires_apart_from_the_others_meanwhile_is_left() {
    let mut world = World::new().await;
    let [first, second] = world.put_twins("alice", "Ana", 0).await;
    let () = world.command(&["EXPIRE", &first, "3600"]).await;
    let () = world.command(&["EXPIRE", &second, "3600"]).await;
    let port = world.server.port();
    let shorten = move || command(port, &["EXPIRE", &first, "60"]);
    let meddler = Meddler::new(port, "memfold_1_commit", 0, When::Before, shorten);
    let done = Cli::new(&meddler.url()).run(&["merge", "--user", "alice"]);
    done.ends(0).shows(&["left alone: different-expiry"]);
    assert_eq!(world.memories().await.len(), 2);
}

#[tokio::test]
async fn metadata_of_any_kind_survives() {
    let large = format!(r#"{{"notes": "{}"}}"#, "x".repeat(1_000_000));
    let kinds = [
        "",
        "oops{",
        "[]",
        "null",
        "{'mood': 'good', 'seen': True, 'by': None}",
        r#"{"n": 12345678901234567890.5, "z": 0, "f": false, "e": "", "d": {"a": [1]}}"#,
        &large,
    ];
    for storage in [Index::json(), Index::hash()] {
        for metadata in kinds {
            let mut world = World::over(storage.clone()).await;
            for (id, metadata) in [("1", metadata), ("2", r#"{"source": "chat"}"#)] {
                let memory = Mem {
                    metadata: metadata.to_owned(),
                    ..Mem::new("Likes tea", &[1.0, 0.0, 0.0, 0.0])
                };
                world.put(id, &memory).await;
            }
            let before = world.memories().await;
            let shown: String = metadata.chars().take(20).collect();
            let report = world.merge("alice");
            let after = world.memories().await;
            assert_eq!(list(&report["merged"]).len(), 1, "{shown}: {report:#}");
            assert_eq!(after.len(), 1, "{shown}");
            let kept = format!(
                "{:?}",
                String::from_utf8_lossy(&after["memory:1"].content.concat())
            );
            let words: Vec<&str> = metadata
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty() && !["True", "None", "null"].contains(word))
                .collect();
            for word in words.iter().chain(&["source", "chat"]) {
                assert!(kept.contains(word), "{shown}: {word} is lost");
            }
            world.run(&["undo", "--run", run_id(&report)]).ends(0);
            assert_eq!(world.memories().await, before, "{shown}");
        }
    }
}

#[tokio::test]
async fn texts_of_any_kind() {
    let long = "Long story about a journey. ".repeat(4000);
    let family = format!("{}👩‍👩‍👧‍👦", "a".repeat(90));
    for text in [
        &long,
        &family,
        "爱丽丝喜欢靠窗的座位🪟",
        "a\0b",
        "\u{feff}Ana",
    ] {
        let mut world = World::new().await;
        for id in ["1", "2"] {
            world.put(id, &Mem::new(text, &[1.0, 0.0, 0.0, 0.0])).await;
        }
        let before = world.memories().await;
        world
            .run(&["merge", "--user", "alice", "--dry-run"])
            .ends(0);
        let report = world.merge("alice");
        let shown: String = text.chars().take(20).collect();
        assert_eq!(list(&report["merged"]).len(), 1, "{shown}: {report:#}");
        world.run(&["undo", "--run", run_id(&report)]).ends(0);
        assert_eq!(world.memories().await, before, "{shown}");
    }
}

#[tokio::test]
async fn empty_texts_take_no_part() {
    let mut world = World::new().await;
    for (i, text) in ["", "", "  ", "\n"].into_iter().enumerate() {
        world
            .put(&i.to_string(), &Mem::new(text, &[1.0, 0.0, 0.0, 0.0]))
            .await;
    }
    let before = world.memories().await;
    let done = world.run(&["merge", "--user", "alice"]).ends(0);
    done.shows(&["4 memories took no part: empty-text", "nothing to merge"]);
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn a_long_text_goes_through_the_model_in_windows() {
    let mut world = World::over(Index {
        dims: 384,
        ..Index::json()
    })
    .await;
    let text = "The garden behind the old house has roses and a well. ".repeat(1900);
    for id in ["1", "2"] {
        world.put(id, &twin("alice", &text, 0, 384)).await;
    }
    world.cli = Cli::new(&world.server.url())
        .with_model()
        .set("distance", "stored");
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
}

#[tokio::test]
async fn hashes_of_every_data_type_are_merged_and_brought_back() {
    for dtype in ["FLOAT32", "FLOAT64", "FLOAT16", "BFLOAT16"] {
        let mut world = World::over(Index {
            dtype,
            ..Index::hash()
        })
        .await;
        world.put_twins("alice", "Ana", 0).await;
        let other = Mem::new("Ana has a dog", &[0.3, 0.9, 0.1, 0.2]);
        world.put("3", &other).await;
        let before = world.memories().await;
        let report = world.merge("alice");
        assert_eq!(list(&report["merged"]).len(), 1, "{dtype}: {report:#}");
        assert_eq!(world.memories().await.len(), 2);
        world.run(&["undo", "--run", run_id(&report)]).ends(0);
        assert_eq!(world.memories().await, before, "{dtype}");
    }
}

#[tokio::test]
async fn an_index_over_all_keys_is_merged_and_brought_back() {
    for storage in [Index::json(), Index::hash()] {
        let mut world = World::over(Index {
            prefixes: Vec::new(),
            ..storage
        })
        .await;
        world.put_twins("alice", "Ana", 0).await;
        let before = world.memories().await;
        let report = world.merge("alice");
        assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
        // The retired memory is found no more, though the index covers every key.
        let again = world.merge("alice");
        assert_eq!(again["plan"]["memories"], 1, "{again:#}");
        world.run(&["undo", "--run", run_id(&report)]).ends(0);
        assert_eq!(world.memories().await, before);
        assert_eq!(world.merge("alice")["plan"]["memories"], 2);
    }
}

#[tokio::test]
async fn memories_that_expire_meet_by_the_rule() {
    let now_ms = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.unwrap().as_millis() as i64
    };
    let hour = 3_600_000;
    for (rule, ends) in [("keep-apart", None), ("min", Some(1)), ("max", Some(9))] {
        let mut world = World::new().await.set("ttl", rule);
        let [first, second] = world.put_twins("alice", "Ana", 0).await;
        let base = now_ms();
        for (key, hours) in [(&first, 1), (&second, 9)] {
            let at = (base + hours * hour).to_string();
            let () = world.command(&["PEXPIREAT", key, &at]).await;
        }
        let before = world.memories().await;
        let report = world.merge("alice");
        match ends {
            None => {
                let left = list(&report["plan"]["groups_left"]);
                assert_eq!(left[0]["reason"], "different-expiry", "{report:#}");
                assert_eq!(world.memories().await, before);
            }
            Some(hours) => {
                let after = world.memories().await;
                assert_eq!(after.len(), 1, "{rule}");
                assert_eq!(after[&first].expires_at_ms, base + hours * hour, "{rule}");
                world.run(&["undo", "--run", run_id(&report)]).ends(0);
                assert_eq!(world.memories().await, before, "{rule}");
            }
        }
    }
    // One that never expires: it stays for ever by `max`, and alone by the default.
    for (rule, merged) in [("keep-apart", 0), ("max", 1)] {
        let mut world = World::new().await.set("ttl", rule);
        let [first, _] = world.put_twins("alice", "Ana", 0).await;
        let () = world.command(&["EXPIRE", &first, "5000"]).await;
        let report = world.merge("alice");
        assert_eq!(list(&report["merged"]).len(), merged, "{report:#}");
        if merged == 1 {
            assert_eq!(world.memories().await[&first].expires_at_ms, -1);
        }
    }
}

#[tokio::test]
async fn an_original_that_expires_before_an_undo_stays_gone_and_is_told() {
    let mut world = World::new().await.set("ttl", "max");
    let [first, second] = world.put_twins("alice", "Ana", 0).await;
    let () = world.command(&["PEXPIRE", &second, "1500"]).await;
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
    tokio::time::sleep(Duration::from_millis(1600)).await;
    let done = world.run(&["undo", "--run", run_id(&report)]).ends(0);
    done.shows(&["1 memory is back", "stays gone: it has expired"]);
    let keys: Vec<String> = world.memories().await.into_keys().collect();
    assert_eq!(keys, [first]);
}

#[tokio::test]
async fn an_expired_key_that_the_server_has_not_collected_is_no_obstacle() {
    for storage in [Index::json(), Index::hash()] {
        let server = Server::start_with(&["--enable-debug-command", "yes"]);
        let mut con = server.connect().await;
        storage.create(&mut con).await;
        let cli = Cli::new(&server.url());
        let mut world = World {
            server,
            con,
            index: storage,
            cli,
        };
        let [gone, _] = world.put_twins("alice", "Ana", 0).await;
        world.put_twins("alice", "Bo", 1).await;
        let () = world.command(&["DEBUG", "SET-ACTIVE-EXPIRE", "0"]).await;
        let () = world.command(&["PEXPIRE", &gone, "1"]).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        world.run(&["inspect"]).ends(0);
        let report = world.merge("alice");
        assert_eq!(report["plan"]["memories"], 3, "{report:#}");
        assert_eq!(list(&report["merged"]).len(), 1, "{report:#}");
    }
}

#[tokio::test]
async fn types_and_scopes_never_meet() {
    let mut world = World::new().await;
    for (i, memory_type) in ["semantic", "episodic", "Semantic", ""]
        .into_iter()
        .enumerate()
    {
        let memory = Mem {
            memory_type: memory_type.to_owned(),
            ..Mem::new("Likes tea", &[1.0, 0.0, 0.0, 0.0])
        };
        world.put(&i.to_string(), &memory).await;
    }
    let before = world.memories().await;
    let report = world.merge("alice");
    assert_eq!(list(&report["merged"]).len(), 0, "{report:#}");
    assert_eq!(world.memories().await, before);
}

#[tokio::test]
async fn without_the_indexs_own_model_no_new_text_is_written() {
    // 384 numbers as the model gives, but not its numbers; and 4.
    for dims in [384, 4] {
        let mut world = World::over(Index {
            dims,
            ..Index::json()
        })
        .await;
        for (i, text) in ["Ana likes green tea", "Green tea is what Ana asks for"]
            .into_iter()
            .enumerate()
        {
            world
                .put(&i.to_string(), &twin("alice", text, i, dims))
                .await;
        }
        // Nobody answers there, and nobody is asked.
        world.cli = Cli::new(&world.server.url())
            .with_model()
            .set("threshold", "0.5")
            .set("llm_url", "http://127.0.0.1:1/v1")
            .set("llm_model", "none");
        let before = world.memories().await;
        let report = world.merge("alice");
        let left = list(&report["plan"]["groups_left"]);
        assert_eq!(left[0]["reason"], "no-embedder", "{report:#}");
        let detail = left[0]["detail"].as_str().unwrap();
        assert!(detail.contains("--write-vector centroid"), "{detail}");
        assert_eq!(report["llm"]["calls"], 0);
        assert_eq!(world.memories().await, before);
    }
}
