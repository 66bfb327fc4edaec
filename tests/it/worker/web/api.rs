//! What the API answers and does.

use super::*;

#[tokio::test]
async fn an_undo_is_that_of_the_command_line() {
    let mut answers = Vec::new();
    for by_http in [true, false] {
        let mut web = Web::new().await;
        web.case.twins("alice", "tea").await;
        let before = web.memories().await;
        let merge = web.merged("alice", "tea").await;
        let merged = web.memories().await;
        web.start(&["nobody"]).await;
        let path = format!("/api/v1/merges/{merge}");
        assert_eq!(
            web.get(&path).await.is(200).json()["undo"]["possible"],
            true
        );
        let undone = if by_http {
            let why = json!({ "reason": "not the same" });
            let undone = web.post(&format!("{path}/undo"), why).await.is(200);
            undone.json()["undone"].clone()
        } else {
            let args = ["undo", &merge, "--reason", "not the same", "--json"];
            web.case.run(&args).ends(0).json()["undone"].clone()
        };
        assert_eq!(web.memories().await, before);
        assert_ne!(merged, before);
        let mut told = undone[0].clone();
        told.as_object_mut().unwrap().remove("merge_id");
        let shown = web.get(&path).await.is(200).json();
        assert_eq!(shown["state"], "undone");
        assert_eq!(shown["undo"]["possible"], false);
        let history = web.case.run(&["history", "--json"]).ends(0).json();
        let (event, why) = (
            &history["entries"][0]["event"],
            &history["entries"][0]["reason"],
        );
        answers.push((told, event.clone(), why.clone()));
        web.post(&format!("{path}/undo"), json!({}))
            .await
            .refuses(409, "undo-refused");
        // A veto: it is not made again.
        let again = web
            .case
            .run(&["merge", "--user", "alice", "--json"])
            .ends(0)
            .json();
        assert_eq!(again["users"][0]["merged"], json!([]));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn users_never_mix() {
    let mut web = Web::new().await;
    // The index takes the first two for one user.
    let users = [("alice", "Abba"), ("Alice", "Blur"), ("bob", "Cure")];
    let mut merges = Vec::new();
    for (user, band) in users {
        merges.push(web.merged(user, band).await);
        web.case.twins(user, &format!("{band} songs")).await;
    }
    web.start(&["nobody"]).await;
    for ((user, own), merge) in users.iter().zip(&merges) {
        let id = id_of(user);
        let found = web
            .post("/api/v1/users/find", json!({ "user": user }))
            .await;
        assert_eq!(found.is(200).json()["id"], id.as_str());
        let mut seen = 0;
        for (method, path) in paths(&id, merge, "x") {
            if method != Method::GET || !path.contains(&id) && !path.contains(merge.as_str()) {
                continue;
            }
            let got = web.get(&path).await.is(200);
            for (_, other) in users.iter().filter(|(other, _)| other != user) {
                assert!(!got.text.contains(other), "{user}: {path}: {}", got.text);
            }
            seen += usize::from(got.text.contains(own));
        }
        assert!(seen >= 3, "{user}: {seen}");
        let session = web.log_in().await;
        for page in [
            format!("/users/{id}"),
            format!("/users/{id}/plan"),
            format!("/users/{id}/skipped"),
            format!("/merges/{merge}"),
            format!("/merges?user={id}"),
        ] {
            let got = web.page(&page, &session).await.is(200);
            for (_, other) in users.iter().filter(|(other, _)| other != user) {
                assert!(!got.text.contains(other), "{user}: {page}");
            }
        }
    }
}

#[tokio::test]
async fn a_request_is_carried_out() {
    let mut web = Web::new().await;
    web.case = web.case.set("probe_every", "1h");
    // Before anybody is there, so that only the request can bring the worker here.
    web.start(&["alice"]).await;
    until("the first look is over", async || {
        web.case
            .redis::<bool>(&["EXISTS", "memfold:turn:sweep:redisvl:agent_memories"])
            .await
    })
    .await;
    let keys = web.case.twins("alice", "tea").await;
    let path = format!("/api/v1/users/{}/requests", id_of("alice"));
    until("the user is known", async || {
        web.post(&path, json!({})).await.status == 202
    })
    .await;
    until("alice is merged", async || web.case.count(&keys).await == 1).await;
}

#[tokio::test]
async fn conflicts_are_decided() {
    let mut web = Web::new().await;
    web.case = web.case.set("write_vector", "centroid");
    for user in ["keeps", "takes", "writes"] {
        web.conflict(user).await;
    }
    let before = web.memories().await;
    web.start(&["nobody"]).await;
    let list = async |web: &Web, user: &str| {
        let path = format!("/api/v1/users/{}/conflicts", id_of(user));
        web.get(&path).await.is(200).json()["conflicts"].clone()
    };
    let decide = async |web: &Web, user: &str, body: Value| {
        let id = list(web, user).await[0]["id"].as_str().unwrap().to_owned();
        let path = format!("/api/v1/users/{}/conflicts/{id}/decision", id_of(user));
        web.post(&path, body).await
    };

    let kept = decide(
        &web,
        "keeps",
        json!({ "decision": "keep", "reason": "both are true" }),
    )
    .await;
    let kept = kept.is(200).json();
    assert_eq!(web.memories().await, before);
    assert_eq!(list(&web, "keeps").await[0]["kept"], true);
    decide(&web, "keeps", json!({ "decision": "latest" }))
        .await
        .refuses(409, "kept");
    let listed = web
        .case
        .run(&["conflicts", "--user", "keeps", "--json"])
        .ends(0)
        .json();
    assert_eq!(listed["conflicts"], json!([]));
    let latest = [
        "merge",
        "--user",
        "keeps",
        "--conflicts",
        "latest",
        "--json",
    ];
    assert_eq!(
        web.case.run(&latest).ends(0).json()["users"][0]["merged"],
        json!([])
    );
    // Taken back, it is asked about again.
    let id = kept["kept"].as_str().unwrap();
    web.case.run(&["undo", "--lift-veto", id]).ends(0);
    assert_eq!(list(&web, "keeps").await[0]["kept"], false);

    let taken = decide(&web, "takes", json!({ "decision": "latest" }))
        .await
        .is(200)
        .json();
    let merge = taken["merged"][0]["merge_id"].as_str().unwrap();
    let shown = web
        .get(&format!("/api/v1/merges/{merge}"))
        .await
        .is(200)
        .json();
    assert_eq!(shown["after"], "Favourite drink is coffee");
    assert_eq!(shown["merge"]["author"]["by"], "latest");
    assert_eq!(list(&web, "takes").await, json!([]));
    web.post(&format!("/api/v1/merges/{merge}/undo"), json!({}))
        .await
        .is(200);

    let lossy = json!({ "decision": "text", "text": "Favourite drink is cola, coffee at work" });
    let refused = decide(&web, "writes", lossy.clone()).await;
    refused.refuses(409, "not-verified");
    assert_eq!(web.memories().await, before);
    let blank = json!({ "decision": "text", "text": " ", "anyway": true });
    decide(&web, "writes", blank)
        .await
        .refuses(409, "not-written");
    let mut anyway = lossy;
    anyway["anyway"] = true.into();
    let written = decide(&web, "writes", anyway).await.is(200).json();
    let merge = written["merged"][0]["merge_id"].as_str().unwrap();
    let path = format!("/api/v1/merges/{merge}");
    let shown = web.get(&path).await.is(200).json();
    assert_eq!(shown["after"], "Favourite drink is cola, coffee at work");
    let overridden = shown["merge"]["author"]["overridden"].to_string();
    assert!(overridden.contains("work"), "{overridden}");
    web.post(&format!("{path}/undo"), json!({})).await.is(200);
    assert_eq!(web.memories().await, before);

    // A memory that changed since is another conflict.
    let old = list(&web, "writes").await[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    web.case
        .redis::<()>(&[
            "JSON.SET",
            "memory:writes-drink-0",
            "$.content",
            "\"Favourite drink is tea\"",
        ])
        .await;
    let path = format!("/api/v1/users/{}/conflicts/{old}/decision", id_of("writes"));
    web.post(&path, json!({ "decision": "keep" }))
        .await
        .refuses(404, "not-found");
}

#[tokio::test]
async fn provenance_goes_down_to_the_originals() {
    let mut web = Web::new().await;
    let first = web.merged("alice", "tea").await;
    let later = Mem {
        created_at: "2026-05-01T10:00:00".to_owned(),
        ..Mem::new("Likes tea!", &[1.0, 0.0, 0.0, 0.0])
    };
    web.case
        .index
        .put(&mut web.case.con, "alice-tea-9", &later)
        .await;
    let again = web
        .case
        .run(&["merge", "--user", "alice", "--json"])
        .ends(0)
        .json();
    let Some(second) = again["users"][0]["merged"][0]["merge_id"].as_str() else {
        panic!("{again:#}");
    };
    web.start(&["nobody"]).await;
    let shown = web
        .get(&format!("/api/v1/merges/{second}"))
        .await
        .is(200)
        .json();
    let tree = &shown["tree"];
    let sources = tree["sources"].as_array().unwrap();
    assert_eq!(sources.len(), 2, "{tree:#}");
    let inner = sources
        .iter()
        .find(|node| node["merge_id"] == first.as_str())
        .unwrap();
    assert_eq!(inner["sources"].as_array().unwrap().len(), 2, "{tree:#}");
    for leaf in inner["sources"].as_array().unwrap() {
        assert!(
            leaf["text"].is_string() && leaf["merge_id"].is_null(),
            "{tree:#}"
        );
    }
    let shown = web
        .get(&format!("/api/v1/merges/{first}"))
        .await
        .is(200)
        .json();
    assert_eq!(shown["merged_again_by"], second);
    assert_eq!(shown["undo"]["cascade"], true);
    let undo = format!("/api/v1/merges/{first}/undo");
    web.post(&undo, json!({}))
        .await
        .refuses(409, "undo-refused");
    let both = web
        .post(&undo, json!({ "cascade": true }))
        .await
        .is(200)
        .json();
    assert_eq!(both["undone"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let mut web = Web::new().await;
    web.merged("alice", "tea").await;
    web.start(&["nobody"]).await;
    let id = id_of("alice");
    for path in [
        "/api/v1/users/0123456789ab",
        "/api/v1/merges/01M",
        "/api/v1/none",
        "/api/none",
    ] {
        web.get(path).await.refuses(404, "not-found");
    }
    for query in ["limit=0", "limit=201", "limit=x", "offset=-1", "of=1"] {
        web.get(&format!("/api/v1/users?{query}"))
            .await
            .refuses(400, "bad-request");
    }
    let find = "/api/v1/users/find";
    web.post(find, json!({ "user": "ALICE" }))
        .await
        .refuses(404, "not-found");
    web.post(find, json!({ "name": "alice" }))
        .await
        .refuses(422, "bad-request");
    let large = json!({ "user": "x".repeat(70_000) });
    web.post(find, large).await.refuses(413, "bad-request");
    got(web.ask(Method::POST, find).body("{}"))
        .await
        .refuses(415, "bad-request");
    web.post("/api/v1/merges/01M/undo", json!({ "forse": true }))
        .await
        .refuses(422, "bad-request");
    web.post("/api/v1/merges/01M/undo", json!({}))
        .await
        .refuses(404, "not-found");
    let decision = format!("/api/v1/users/{id}/conflicts/x/decision");
    web.post(&decision, json!({ "decision": "none" }))
        .await
        .refuses(422, "bad-request");
    web.post(&decision, json!({ "decision": "keep" }))
        .await
        .refuses(404, "not-found");
    got(web.ask(Method::DELETE, "/api/v1/users")).await.is(405);
    // Without its store it says so, and lives.
    web.case.server.kill();
    web.get("/api/v1/status").await.refuses(503, "unavailable");
    web.get("/healthz").await.is(200);
}

#[tokio::test]
async fn a_decision_follows_its_memories_into_a_merge() {
    let mut web = Web::new().await;
    web.case = web.case.set("probe_every", "1h");
    web.conflict("alice").await;
    web.start(&["alice"]).await;
    let path = format!("/api/v1/users/{}/conflicts", id_of("alice"));
    until("alice was looked after", async || {
        let user = web.get(&format!("/api/v1/users/{}", id_of("alice"))).await;
        user.status == 200 && !user.json()["last_run"].is_null()
    })
    .await;
    let conflicts = web.get(&path).await.is(200).json()["conflicts"].clone();
    let id = conflicts[0]["id"].as_str().unwrap();
    let kept = json!({ "decision": "keep", "reason": "one at work, one at home" });
    web.post(&format!("{path}/{id}/decision"), kept)
        .await
        .is(200);
    // A twin of the older one comes, and the worker merges the two.
    let twin = Mem {
        user: "alice".to_owned(),
        created_at: "2025-12-01T10:00:00".to_owned(),
        ..Mem::new("favourite drink is cola.", &[1.0, 0.0, 0.0, 0.0])
    };
    let old = "memory:alice-drink-0".to_owned();
    let index = &web.case.index;
    let new = index.put(&mut web.case.con, "alice-drink-9", &twin).await;
    web.case.run(&["request", "--user", "alice"]).ends(0);
    until("the twins are one", async || {
        web.case.count(&[old.clone(), new.clone()]).await == 1
    })
    .await;
    // A run is told when it has let go of its user.
    until("the run is told", async || {
        web.case.runs().await.iter().any(|run| run.merged > 0)
    })
    .await;
    let conflicts = web.get(&path).await.is(200).json()["conflicts"].clone();
    assert_eq!(conflicts.as_array().unwrap().len(), 1, "{conflicts:#}");
    assert_eq!(conflicts[0]["kept"], true, "{conflicts:#}");
    let latest = [
        "merge",
        "--user",
        "alice",
        "--conflicts",
        "latest",
        "--json",
    ];
    let report = web.case.run(&latest).ends(0).json();
    assert_eq!(report["users"][0]["merged"], json!([]), "{report:#}");
}
