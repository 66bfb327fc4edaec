//! What the pages show.

use super::*;

const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> {{ 7*7 }} &amp;";

#[tokio::test]
async fn hostile_texts_and_names_are_shown_as_text() {
    let mut web = Web::new().await;
    let mut merges = Vec::new();
    for direction in [0, 1] {
        for i in 0..2 {
            let mut vector = [0.0; 4];
            vector[direction] = 1.0;
            let memory = Mem {
                user: HOSTILE.to_owned(),
                ..Mem::new(&format!("{HOSTILE} {direction}"), &vector)
            };
            let id = format!("{HOSTILE}-{direction}-{i}");
            web.case.index.put(&mut web.case.con, &id, &memory).await;
        }
        // Of the second two it is only planned that they become one.
        if direction == 0 {
            let args = ["merge", "--user", HOSTILE, "--json"];
            let done = web.case.run(&args).ends(0).json();
            let merge = &done["users"][0]["merged"][0]["merge_id"];
            merges.push(merge.as_str().unwrap().to_owned());
        }
    }
    let merge = merges.remove(0);
    web.conflict(HOSTILE).await;
    web.start(&["nobody"]).await;
    let session = web.log_in().await;
    let id = id_of(HOSTILE);
    let mut shown = 0;
    for lang in ["en", "zh"] {
        let cookies = format!("{session}; memfold_lang={lang}");
        for page in pages_of(&id, &merge) {
            let got = web.page(&page, &cookies).await.is(200);
            for raw in [
                "<script>alert",
                "<img src=x",
                "onerror=alert(2)>",
                "\"'>",
                " 49 ",
            ] {
                assert!(!got.text.contains(raw), "{page}: {raw}: {}", got.text);
            }
            shown += usize::from(got.text.contains("&lt;script&gt;alert(1)&lt;"));
        }
    }
    assert!(shown >= 12, "{shown}");
}

#[tokio::test]
async fn pages_are_in_the_language_of_the_reader() {
    let mut web = Web::open().await;
    web.start(&["nobody"]).await;
    let accept = web
        .client
        .get(web.url("/"))
        .header("accept-language", "zh-CN,zh;q=0.9");
    let chinese = got(accept).await.is(200);
    assert!(chinese.text.contains("<html lang=\"zh-CN\">") && chinese.text.contains("概览"));
    let english = web.page("/", "").await.is(200);
    assert!(english.text.contains("<html lang=\"en\">") && english.text.contains("Overview"));
    let chosen = web.page("/users?lang=zh", "").await.is(200);
    let cookie = chosen.cookie("memfold_lang").unwrap();
    assert!(web.page("/merges", &cookie).await.text.contains("合并记录"));
}

#[tokio::test]
async fn pages_without_anything_say_what_to_do() {
    let mut web = Web::open().await;
    web.start(&["nobody"]).await;
    for (page, says) in [
        ("/", "No run has merged anything yet"),
        ("/users", "memfold inspect"),
        ("/merges", "Nothing was merged yet"),
        ("/conflicts", "names no users"),
        ("/skipped", "names no users"),
    ] {
        let got = web.page(page, "").await.is(200);
        assert!(got.text.contains(says), "{page}: {}", got.text);
    }
    let lost = web.page("/users/0123456789ab", "").await.is(404);
    assert!(lost.text.contains("<h1>Not found</h1>"), "{lost:#?}");
}

#[tokio::test]
async fn no_page_has_a_name_or_a_text_in_an_address() {
    let mut web = Web::new().await;
    let merge = web.merged("alice liddell", "marzipan").await;
    web.conflict("alice liddell").await;
    web.start(&["nobody"]).await;
    let session = web.log_in().await;
    let id = id_of("alice liddell");
    for page in pages_of(&id, &merge) {
        let got = web.page(&page, &session).await.is(200);
        for attribute in ["href=\"", "action=\"", "src=\""] {
            for address in got.text.split(attribute).skip(1) {
                let address = address.split('"').next().unwrap();
                for word in ["alice", "liddell", "marzipan", "cola"] {
                    assert!(!address.contains(word), "{page}: {address}");
                }
            }
        }
    }
    let csrf = web.page("/users", &session).await.field("csrf");
    let fields = [("csrf", csrf.as_str()), ("user", "alice liddell")];
    let found = web.send("/users/find", &session, &fields).await.is(303);
    assert_eq!(found.headers["location"], format!("/users/{id}").as_str());
}

#[tokio::test]
async fn a_decision_is_made_by_a_form() {
    let mut web = Web::new().await;
    web.conflict("alice").await;
    web.start(&["nobody"]).await;
    let session = web.log_in().await;
    let page = format!("/users/{}/conflicts", id_of("alice"));
    let shown = web.page(&page, &session).await.is(200);
    assert!(
        shown.text.contains("<mark class=\"new\">coffee</mark>"),
        "{}",
        shown.text
    );
    let (_, rest) = shown.text.split_once(&format!("action=\"{page}/")).unwrap();
    let path = format!("{page}/{}", rest.split('"').next().unwrap());
    let csrf = shown.field("csrf");
    let wrong = [("csrf", csrf.as_str()), ("decision", "both")];
    web.send(&path, &session, &wrong).await.is(400);
    let latest = [("csrf", csrf.as_str()), ("decision", "latest")];
    web.send(&path, &session, &latest).await.is(303);
    let shown = web.page(&page, &session).await.is(200);
    assert!(
        shown.text.contains("No memories of this user contradict"),
        "{}",
        shown.text
    );
    // The same form once more: the conflict is no more.
    web.send(&path, &session, &latest).await.is(404);
}
