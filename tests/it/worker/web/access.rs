//! Who may read and write.

use super::*;

#[tokio::test]
async fn without_a_token_it_only_shows_and_only_here() {
    let mut web = Web::open().await;
    let merge = web.merged("alice", "tea").await;
    web.conflict("alice").await;
    let before = web.memories().await;
    web.start(&["nobody"]).await;
    let id = id_of("alice");
    for (method, path) in paths(&id, &merge, "x") {
        let sent = got(web
            .ask(method.clone(), &path)
            .json(&json!({ "user": "alice" })))
        .await;
        if method == Method::GET || path.ends_with("/find") {
            sent.is(200);
        } else {
            sent.refuses(403, "read-only");
        }
    }
    for page in pages_of(&id, &merge) {
        let shown = web.page(&page, "").await.is(200);
        assert!(
            !shown.text.contains("method=\"post\" action=\"/merges"),
            "{page}"
        );
        assert!(!shown.text.contains("name=\"csrf\""), "{page}");
    }
    for path in [
        format!("/merges/{merge}/undo"),
        format!("/users/{id}/request"),
    ] {
        web.send(&path, "", &[("csrf", "")]).await.is(403);
    }
    // A page of another site whose name leads here.
    for path in ["/", "/api/v1/users"] {
        let foreign = web.client.get(web.url(path)).header(HOST, "evil.example");
        let refused = got(foreign).await.is(403);
        assert!(!refused.text.contains("alice"), "{refused:#?}");
    }
    assert_eq!(web.memories().await, before);
}

#[tokio::test]
async fn with_a_token_nothing_is_told_to_others() {
    let mut web = Web::new().await;
    let merge = web.merged("alice", "tea").await;
    web.start(&["nobody"]).await;
    let id = id_of("alice");
    web.token = None;
    for (method, path) in paths(&id, &merge, "x") {
        got(web.ask(method, &path))
            .await
            .refuses(401, "unauthorized");
    }
    web.token = Some("a token of the tests, long enougH");
    web.get("/api/v1/users").await.refuses(401, "unauthorized");
    for page in pages_of(&id, &merge) {
        for cookies in ["", "memfold_session=0123456789abcdef", "memfold_session="] {
            let sent = web.page(&page, cookies).await.is(303);
            assert_eq!(sent.headers["location"], "/login");
            assert!(sent.text.is_empty(), "{sent:#?}");
        }
    }
    web.send(&format!("/merges/{merge}/undo"), "", &[("csrf", "")])
        .await
        .is(403);
    web.token = Some(TOKEN);
    web.get("/api/v1/users").await.is(200);
    // What names no user is for all.
    web.token = None;
    for path in ["/healthz", "/readyz", "/metrics"] {
        web.get(path).await.is(200);
    }
}

#[tokio::test]
async fn forms_need_a_session_and_its_token() {
    let mut web = Web::new().await;
    let merge = web.merged("alice", "tea").await;
    let before = web.memories().await;
    web.start(&["nobody"]).await;
    let shown = web.page("/login", "").await.is(200);
    let (cookie, csrf) = (shown.cookie("memfold_login").unwrap(), shown.field("csrf"));
    let login = "/login";
    web.send(login, "", &[("csrf", &csrf), ("token", TOKEN)])
        .await
        .is(403);
    web.send(login, &cookie, &[("csrf", ""), ("token", TOKEN)])
        .await
        .is(403);
    let wrong = web
        .send(login, &cookie, &[("csrf", &csrf), ("token", "no")])
        .await;
    assert!(wrong.is(403).cookie("memfold_session").is_none());

    let session = web.log_in().await;
    let undo = format!("/merges/{merge}/undo");
    let csrf = web.page(&undo, &session).await.is(200).field("csrf");
    let other = web.log_in().await;
    for (cookies, csrf) in [
        (session.as_str(), ""),
        (&session, "0123"),
        (&other, csrf.as_str()),
        ("", &csrf),
    ] {
        web.send(&undo, cookies, &[("csrf", csrf)]).await.is(403);
    }
    let cross = web.client.post(web.url(&undo)).header(COOKIE, &session);
    let cross = cross.header("sec-fetch-site", "cross-site");
    let cross = form(cross, &[("csrf", &csrf)]);
    got(cross).await.is(403);
    assert_eq!(web.memories().await, before);

    let done = web.send(&undo, &session, &[("csrf", &csrf)]).await.is(303);
    assert_eq!(
        done.headers["location"],
        format!("/merges/{merge}?done=undone").as_str()
    );
    assert_ne!(web.memories().await, before);
    let out = web.send("/logout", &session, &[("csrf", &csrf)]).await;
    out.is(303);
    web.page("/", &session).await.is(303);
    web.page("/", &other).await.is(200);
}

#[tokio::test]
async fn every_answer_shields_itself() {
    let mut web = Web::new().await;
    web.start(&["nobody"]).await;
    let session = web.log_in().await;
    let session = session.as_str();
    let paths = [
        "/",
        "/login",
        "/users",
        "/nothing",
        "/assets/style.css",
        "/api/v1/users",
        "/api/x",
    ];
    for path in paths {
        let got = web.page(path, session).await;
        let csp = got.headers["content-security-policy"].to_str().unwrap();
        assert!(
            csp.contains("default-src 'none'") && !csp.contains("unsafe"),
            "{path}"
        );
        assert!(csp.contains("frame-ancestors 'none'") && csp.contains("form-action 'self'"));
        assert_eq!(got.headers["x-frame-options"], "DENY");
        assert_eq!(got.headers["x-content-type-options"], "nosniff");
        assert_eq!(got.headers["referrer-policy"], "no-referrer");
        if !path.starts_with("/assets") {
            assert_eq!(got.headers["cache-control"], "no-store", "{path}");
        }
        for inline in [" style=", "<style", "<script>", " onclick=", "javascript:"] {
            assert!(!got.text.contains(inline), "{path}: {inline}");
        }
    }
    let form = web.page("/login", "").await;
    let cookie = form.headers[SET_COOKIE].to_str().unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let behind = web
        .client
        .get(web.url("/login"))
        .header("x-forwarded-proto", "https");
    let behind = got(behind).await;
    assert!(
        behind.headers[SET_COOKIE]
            .to_str()
            .unwrap()
            .contains("Secure")
    );
}

#[tokio::test]
async fn where_it_is_served_is_decided_by_the_settings() {
    // Told at once, with what to do.
    let case = Case::new().await;
    for (args, says) in [
        (vec!["--http", "on"], "--listen"),
        (
            vec!["--http", "on", "--listen", "0.0.0.0:1"],
            "--http-token-file",
        ),
        (
            vec!["--listen", "127.0.0.1:0", "--http-token", "too short"],
            "16 characters",
        ),
        (
            vec!["--listen", "127.0.0.1:0", "--http-token-file", "/nowhere"],
            "/nowhere",
        ),
    ] {
        let args = [vec!["worker"], args].concat();
        case.run(&args).ends(2).says(&[says]);
    }
    // Off where others reach it and none has to know a token; off where that is set.
    for (setting, value) in [("listen", "0.0.0.0"), ("http", "off")] {
        let mut web = Web::open().await;
        let value = match setting {
            "listen" => format!("{value}:{}", web.port),
            _ => value.to_owned(),
        };
        web.case = web.case.set(setting, &value);
        web.start(&["nobody"]).await;
        for path in ["/", "/users", "/api/v1/users", "/api/v1/openapi.json"] {
            web.get(path).await.is(404);
        }
        web.get("/metrics").await.is(200);
    }
}
