use serde_json::json;

use super::super::hash_testing::{facts, hash, keep, read, with};
use super::*;
use crate::layout::ResultVector;

const FIELDS: [(&str, &str); 6] = [
    ("memory", "Prefers window seats"),
    ("memory_id", "u1"),
    ("hash", "old"),
    ("user_id", "alice"),
    ("created_at", "1796000636"),
    (
        "metadata",
        r#"{"source": "chat", "role": "user", "text_lemmatized": "prefer window seat"}"#,
    ),
];

fn layout() -> Mem0 {
    let entities = facts("mem0_entities", "mem0:mem0_entities", "embedding");
    let facts = facts("mem0", "mem0:mem0", "embedding");
    Mem0::new(&Options::default(), &facts, Some(entities)).unwrap()
}

fn source(id: &str, changes: &[(&str, Option<&str>)]) -> Result<Source, NotRead> {
    let fields = with(&with(&FIELDS, &[("memory_id", Some(id))]), changes);
    read(
        &layout(),
        &format!("mem0:mem0:{id}"),
        hash(&fields, "embedding"),
    )
}

fn metadata_of(record: &Record) -> Map<String, Value> {
    metadata(record).unwrap()
}

#[test]
fn entities_and_other_collections_are_not_its_keys() {
    for key in [
        "mem0:mem0_entities:u1",
        "mem0:mem0migrations:u1",
        "mem0:mem02:u1",
    ] {
        assert!(!layout().is_own_key(key), "{key}");
    }
    assert!(layout().is_own_key("mem0:mem0:u1"));
}

#[test]
fn scope_and_type_divide_and_agents_alone_have_no_user() {
    let plain = source("u1", &[]).unwrap().memory.partition;
    assert_eq!(
        (plain.user.as_str(), plain.memory_type.as_str()),
        ("alice", "")
    );
    let day = r#"{"expiration_date": "2027-01-01"}"#;
    let kind = r#"{"memory_type": "procedural_memory"}"#;
    for change in [
        ("agent_id", Some("a")),
        ("run_id", Some("a")),
        ("metadata", Some(day)),
        ("metadata", Some(kind)),
        ("user_id", Some("Alice")),
        ("user_id", Some("alice ")),
    ] {
        let other = source("u1", &[change]).unwrap().memory.partition;
        assert_ne!(other, plain, "{change:?}");
    }
    let agents = source("u1", &[("user_id", None), ("agent_id", Some("a"))]).unwrap();
    assert_eq!(agents.memory.partition.user, "");
    assert_eq!(agents.memory.digest, agents.stored.digest());
}

#[test]
fn what_mem0_itself_fails_on_is_left_alone() {
    for (change, reason) in [
        (("hash", None), Reason::NotAMemory),
        (("hash", Some("")), Reason::NotAMemory),
        (("metadata", None), Reason::Malformed),
        (("metadata", Some("")), Reason::Malformed),
        (("metadata", Some("[]")), Reason::Malformed),
        (("created_at", None), Reason::Malformed),
        (("created_at", Some("1796000636.5")), Reason::Malformed),
        (("created_at", Some("999999999999999")), Reason::Malformed),
        (("updated_at", Some("")), Reason::Malformed),
        (("updated_at", Some("soon")), Reason::Malformed),
        (
            ("metadata", Some(r#"{"code": "```x```"}"#)),
            Reason::Malformed,
        ),
        (("memory_id", Some("u2")), Reason::Malformed),
    ] {
        let error = source("u1", &[change]).unwrap_err();
        assert_eq!(
            (error.reason, error.user.as_deref()),
            (reason, Some("alice")),
            "{change:?}"
        );
    }
}

#[test]
fn a_number_that_python_cannot_read_is_left_alone() {
    let with_digits = |digits| {
        let metadata = format!(r#"{{"n": {}}}"#, "9".repeat(digits));
        source("u1", &[("metadata", Some(&metadata))]).map_err(|error| error.reason)
    };
    assert!(with_digits(4300).is_ok());
    assert_eq!(with_digits(4301).unwrap_err(), Reason::Malformed);
}

#[test]
fn metadata_that_mem0_takes_for_the_memory_itself_are_left_alone() {
    for name in [
        "data",
        "hash",
        "created_at",
        "updated_at",
        "user_id",
        "agent_id",
        "run_id",
    ] {
        let metadata = format!(r#"{{"source": "chat", "{name}": "x"}}"#);
        let error = source("u1", &[("metadata", Some(&metadata))]).unwrap_err();
        assert_eq!(error.reason, Reason::Malformed, "{name}");
        assert!(error.detail.contains(name), "{error:?}");
    }
}

#[test]
fn no_two_halves_of_a_block_of_code_meet() {
    let half = |id, field: &str| {
        let metadata = format!(r#"{{"{field}": "a ``` b"}}"#);
        source(id, &[("metadata", Some(&metadata))]).unwrap()
    };
    let sources = [half("u1", "one"), half("u2", "two")];
    let merged = Merged {
        merge_id: "M1".into(),
        text: sources[0].memory.text.clone(),
        vector: ResultVector::OfSource(0),
        merged_at: "2026-12-01T00:00:00Z".parse().unwrap(),
        history: Vec::new(),
    };
    let error = layout().merge(&sources, 0, &merged).unwrap_err();
    assert!(error.to_string().contains("block of code"), "{error}");
}

#[test]
fn a_result_is_one_that_mem0_could_have_written() {
    let sources = [
        source("u1", &[("updated_at", Some("1796000640"))]).unwrap(),
        source(
            "u2",
            &[
                ("memory", Some("Prefers window seats. Likes tea")),
                ("created_at", Some("1796000001")),
                (
                    "metadata",
                    Some(r#"{"n": 1.50, "text_lemmatized": "prefer tea"}"#),
                ),
            ],
        )
        .unwrap(),
    ];
    let result = keep(&layout(), &sources, 0, 1);
    let text = |name| result.text(name).unwrap();
    assert_eq!(text("memory_id"), "u1");
    assert_eq!(
        text("hash"),
        format!("{:x}", Md5::digest("Prefers window seats. Likes tea"))
    );
    assert_eq!(
        (text("created_at"), text("updated_at")),
        ("1796000001", "1796083200")
    );
    let metadata = metadata_of(&result);
    assert_eq!(metadata["text_lemmatized"], json!("prefer tea"));
    assert_eq!(
        (&metadata["source"], &metadata["role"]),
        (&json!("chat"), &json!("user"))
    );
    assert_eq!(metadata["n"].to_string(), "1.50");
    // Nothing that follows from a text is history.
    assert_eq!(metadata["memfold"]["values"], json!({}));
    assert_eq!(metadata["source_count"], json!(2));
}

#[test]
fn a_new_text_has_itself_for_lemmas() {
    let sources = [source("u1", &[]).unwrap(), source("u2", &[]).unwrap()];
    let merged = Merged {
        merge_id: "M1".into(),
        text: "Prefers seats at windows".into(),
        vector: ResultVector::Numbers(vec![0.0, 1.0]),
        merged_at: "2026-12-01T00:00:00Z".parse().unwrap(),
        history: Vec::new(),
    };
    let result = layout().merge(&sources, 1, &merged).unwrap().record;
    assert_eq!(
        metadata_of(&result)["text_lemmatized"],
        json!("Prefers seats at windows")
    );
    assert_eq!(
        result.text("hash").unwrap(),
        "c62bf2cc5644c32c2c0b610ad9575861"
    );
}

#[test]
fn memories_of_an_agent_alone_stay_without_a_user() {
    let changes = [("user_id", None), ("agent_id", Some("a"))];
    let sources = ["u1", "u2"].map(|id| source(id, &changes).unwrap());
    let result = keep(&layout(), &sources, 0, 0);
    assert_eq!(result.text("user_id"), None);
}

#[test]
fn entities_name_the_survivor_once() {
    let sources = ["u1", "u2", "u3"].map(|id| source(id, &[]).unwrap());
    let relinked = |linked: Value| {
        let metadata = json!({ "entity_type": "TOPIC", "linked_memory_ids": linked }).to_string();
        let entity = hash(
            &[("memory", "Window"), ("metadata", &metadata)],
            "embedding",
        );
        let record = layout().relink("mem0:mem0_entities:e", &entity, &sources, 1);
        record
            .unwrap()
            .map(|record| metadata_of(&record)["linked_memory_ids"].clone())
    };
    assert_eq!(
        relinked(json!(["u9", "u1", "u2", "u3"])),
        Some(json!(["u9", "u2"]))
    );
    assert_eq!(relinked(json!(["u3"])), Some(json!(["u2"])));
    for untouched in [json!(["u2", "u9"]), json!([]), json!("u1"), json!(null)] {
        assert_eq!(relinked(untouched.clone()), None, "{untouched}");
    }
}

#[test]
fn an_unreadable_entity_stops_a_merge_only_if_it_names_a_member() {
    let sources = ["u1", "u2"].map(|id| source(id, &[]).unwrap());
    let relink = |metadata| {
        let entity = hash(&[("metadata", metadata)], "embedding");
        layout().relink("mem0:mem0_entities:e", &entity, &sources, 0)
    };
    assert!(relink("{'linked_memory_ids': ['u2']}").is_err());
    assert_eq!(relink("oops"), Ok(None));
}
