use super::super::hash_testing::{facts, hash, keep, read, with};
use super::*;

const FIELDS: [(&str, &str); 15] = [
    ("text", "Alice prefers window seats"),
    ("id_", "A1"),
    ("session_id", "s1"),
    ("user_id", "alice"),
    ("namespace", "n"),
    ("memory_type", "semantic"),
    ("topics", "travel"),
    ("entities", ""),
    ("memory_hash", "old"),
    ("discrete_memory_extracted", "f"),
    ("pinned", "0"),
    ("access_count", "2"),
    ("extracted_from", ""),
    ("created_at", "1796000761.700076"),
    ("last_accessed", "1796000761.700069"),
];

fn layout() -> AgentMemoryServer {
    let facts = facts("memory_records", "memory_idx", "vector");
    AgentMemoryServer::new(&Options::default(), &facts).unwrap()
}

fn source(id: &str, changes: &[(&str, Option<&str>)]) -> Result<Source, NotRead> {
    let fields = with(&with(&FIELDS, &[("id_", Some(id))]), changes);
    read(
        &layout(),
        &format!("memory_idx:{id}"),
        hash(&fields, "vector"),
    )
}

#[test]
fn the_hash_is_the_servers_own() {
    // Both as the server itself computed them.
    let record = hash(&FIELDS, "vector");
    let expected = "3c64da8788b1d07bc5887b382d3b5504b03450fb3a8681e999cd0b561f3c49a6";
    assert_eq!(memory_hash(&record, "Alice prefers window seats"), expected);
    let fields = with(
        &FIELDS,
        &[("session_id", Some("")), ("user_id", Some("Alice"))],
    );
    let text = "Grüße 'x' \"y\" 用户 🙂\n";
    let expected = "1467b515aeb44594365860adf006a0f77403276ef7cb8c0ba086aafec54a9c9b";
    assert_eq!(memory_hash(&hash(&fields, "vector"), text), expected);
    assert_eq!(python_json("\u{7f}\\/\u{1}é"), r#""\u007f\\/\u0001\u00e9""#);
}

#[test]
fn fields_are_merged_by_the_servers_rules() {
    let sources = [
        source("A1", &[]).unwrap(),
        source(
            "A2",
            &[
                ("session_id", Some("s2")),
                ("topics", Some("seats,travel")),
                ("access_count", Some("3")),
                ("created_at", Some("1796000001.5")),
                ("last_accessed", Some("1796009999.25")),
                ("entities", Some("Alice|window")),
            ],
        )
        .unwrap(),
    ];
    let result = keep(&layout(), &sources, 0, 0);
    let text = |name| result.text(name).unwrap();
    assert_eq!(text("created_at"), "1796000001.500000");
    assert_eq!(text("last_accessed"), "1796009999.25");
    assert_eq!(text("updated_at"), "1796083200.250000");
    assert_eq!(text("access_count"), "5");
    assert_eq!(
        (text("topics"), text("entities")),
        ("travel,seats", "Alice,window")
    );
    assert_eq!((text("session_id"), text("pinned")), ("s1", "0"));
    assert_eq!(text("discrete_memory_extracted"), "t");
    assert_eq!(text("memory_hash"), memory_hash(&result, text("text")));
    let metadata: serde_json::Value = serde_json::from_str(text("metadata")).unwrap();
    let names: Vec<&String> = metadata["memfold"]["values"]
        .as_object()
        .unwrap()
        .keys()
        .collect();
    assert_eq!(names, ["session_id"]);
}

#[test]
fn namespaces_types_and_days_divide_but_sessions_do_not() {
    let partition = |changes: &[_]| source("A1", changes).unwrap().memory.partition;
    let plain = partition(&[]);
    assert_eq!(partition(&[("session_id", Some("s2"))]), plain);
    for change in [
        ("namespace", Some("N")),
        ("memory_type", Some("episodic")),
        ("event_date", Some("1796000000.0")),
        ("user_id", Some("Alice")),
        ("user_id", Some("")),
    ] {
        assert_ne!(partition(&[change]), plain, "{change:?}");
    }
}

#[test]
fn pinned_memories_are_told_and_stay_pinned() {
    for (pinned, is) in [("1", true), ("0", false), ("", false), ("true", true)] {
        let source = source("A1", &[("pinned", Some(pinned))]).unwrap();
        assert_eq!(source.memory.pinned, is, "{pinned}");
    }
    let sources = [
        source("A1", &[]).unwrap(),
        source("A2", &[("pinned", Some("1"))]).unwrap(),
    ];
    assert_eq!(keep(&layout(), &sources, 1, 0).text("pinned"), Some("1"));
}

#[test]
fn messages_and_strangers_are_left_alone() {
    for message in [Some("message"), None] {
        let error = source("A1", &[("memory_type", message)]).unwrap_err();
        assert_eq!(error.reason, Reason::NotAMemory, "{message:?}");
    }
    let error = source("A1", &[("id_", Some("A2"))]).unwrap_err();
    assert_eq!(
        (error.reason, error.user.as_deref()),
        (Reason::Malformed, Some("alice"))
    );
    assert!(!layout().is_own_key("memory_idx2:A1"));
}

#[test]
fn what_the_server_itself_cannot_read_is_left_alone() {
    for (name, values) in [
        ("access_count", &["-1", "many", "2.5", "1e3", "+5"][..]),
        ("memory_type", &["", "Semantic", "fact"]),
        ("discrete_memory_extracted", &["", "yes"]),
        ("created_at", &["inf", "nan", "-inf", "1e300", "", "soon"]),
        ("last_accessed", &["inf", "NaN", "1e17", "+5"]),
        ("updated_at", &["infinity"]),
        ("persisted_at", &["nan"]),
        ("event_date", &["inf"]),
    ] {
        for value in values {
            let error = source("A1", &[(name, Some(value))]).unwrap_err();
            let found = (error.reason, error.user.as_deref());
            assert_eq!(found, (Reason::Malformed, Some("alice")), "{name} {value}");
            assert!(error.detail.contains(name), "{error:?}");
        }
    }
    for change in [
        ("access_count", Some("")),
        ("access_count", None),
        ("last_accessed", None),
        ("event_date", Some("-5.5")),
    ] {
        assert!(source("A1", &[change]).is_ok(), "{change:?}");
    }
}

#[test]
fn what_is_no_text_where_the_server_has_text_is_left_alone() {
    for name in [
        "topics",
        "entities",
        "extracted_from",
        "access_count",
        "pinned",
        "memory_hash",
        "discrete_memory_extracted",
        "persisted_at",
        "session_id",
    ] {
        let mut record = hash(&with(&FIELDS, &[(name, None)]), "vector");
        if let Record::Hash(fields) = &mut record {
            fields.push((name.into(), b"\xff\xfe".to_vec()));
        }
        let error = read(&layout(), "memory_idx:A1", record).unwrap_err();
        let found = (error.reason, error.user.as_deref());
        assert_eq!(found, (Reason::NotUtf8, Some("alice")), "{name}");
    }
}

#[test]
fn counts_are_added_where_they_are() {
    let count = |of: [&'static str; 2]| {
        let [one, two] = of.map(|count| ("access_count", Some(count)));
        let sources = [source("A1", &[one]).unwrap(), source("A2", &[two]).unwrap()];
        let merged = Merged {
            merge_id: "M1".into(),
            text: "x".into(),
            vector: crate::layout::ResultVector::OfSource(0),
            merged_at: "2026-12-01T00:00:00Z".parse().unwrap(),
            history: Vec::new(),
        };
        let result = layout().merge(&sources, 0, &merged)?.record;
        Ok::<_, CannotWrite>(result.text("access_count").map(str::to_owned))
    };
    assert_eq!(count(["", "3"]).unwrap().as_deref(), Some("3"));
    assert_eq!(count(["", ""]).unwrap().as_deref(), Some(""));
    // A result that cannot be read back is not written.
    let too_large = count(["1", "9223372036854775807"]).unwrap();
    assert!(source("A1", &[("access_count", too_large.as_deref())]).is_err());
}

#[test]
fn a_running_worker_is_a_warning() {
    assert!(layout().concerns(&[]).is_empty());
    let concerns = layout().concerns(&[layout().watched_keys()[0].clone()]);
    assert!(matches!(concerns.as_slice(), [concern] if !concern.refuses));
}
