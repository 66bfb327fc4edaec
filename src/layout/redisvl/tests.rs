use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::layout::ResultVector;
use crate::record::{Dtype, Field, FieldKind, Storage, VectorFacts, vector};

fn facts(storage: Storage, paths: &[(&str, &str)]) -> IndexFacts {
    let kind = |name: &str| match name {
        "embedding" => FieldKind::Vector(VectorFacts {
            algorithm: "FLAT".into(),
            data_type: "FLOAT32".into(),
            dims: 2,
            metric: "COSINE".into(),
        }),
        _ => FieldKind::Text,
    };
    let field = |(name, path): &(&str, &str)| Field {
        attribute: (*name).into(),
        path: (*path).into(),
        kind: kind(name),
    };
    IndexFacts {
        name: "memories".into(),
        storage,
        prefixes: vec!["m:".into()],
        fields: paths.iter().map(field).collect(),
        indexing: false,
        percent: 1.0,
        failures: 0,
        docs: 0,
    }
}

fn json_layout() -> Redisvl {
    let facts = facts(
        Storage::Json,
        &[("embedding", "$.embedding"), ("content", "$.content")],
    );
    Redisvl::new(&RedisvlFields::default(), &facts, TimeZone::UTC).unwrap()
}

fn hash_layout() -> Redisvl {
    let facts = facts(
        Storage::Hash,
        &[("embedding", "embedding"), ("content", "content")],
    );
    Redisvl::new(&RedisvlFields::default(), &facts, TimeZone::UTC).unwrap()
}

fn read(layout: &Redisvl, record: Record) -> Result<Source, NotRead> {
    source_at(layout, "m:1", record)
}

fn source_at(layout: &Redisvl, key: &str, record: Record) -> Result<Source, NotRead> {
    let stored = Stored::from(record);
    let memory = layout.read(key, &stored)?.memory;
    Ok(Source { memory, stored })
}

fn source(key: &str, document: &str) -> Source {
    source_at(&json_layout(), key, Record::Json(document.into())).unwrap()
}

fn hash(fields: &[(&str, &[u8])]) -> Record {
    Record::Hash(
        fields
            .iter()
            .map(|(n, v)| (n.as_bytes().to_vec(), v.to_vec()))
            .collect(),
    )
}

/// A HASH is looked at in place; what is seen there is what the copy of its members holds.
#[test]
fn a_look_at_a_hash_shows_its_members() {
    let layout = hash_layout();
    let record = hash(&[
        ("content", b"Likes tea"),
        ("embedding", b"{}"),
        ("user_id", b"alice"),
        ("status", b"Deleted"),
        ("note", &[0xff]),
        ("", b""),
    ]);
    let members = layout.members(&record).unwrap();
    let look = layout.look(&record).unwrap();
    for name in [
        "content",
        "embedding",
        "user_id",
        "status",
        "note",
        "",
        "none",
    ] {
        let seen = look.get(&Path::root(name)).map(Member::to_value);
        assert_eq!(seen.as_ref(), members.get(name), "{name}");
    }
    let deleted = look.named(&["deleted", "status"]);
    assert_eq!(Value::from(deleted), json!({"status": "Deleted"}));
}

fn merged(vector: ResultVector) -> Merged {
    Merged {
        merge_id: "M1".into(),
        text: "new text".into(),
        vector,
        merged_at: "2026-12-01T00:00:00Z".parse().unwrap(),
        history: Vec::new(),
    }
}

fn merge(sources: &[Source], survivor: usize) -> Value {
    let merged = merged(ResultVector::OfSource(0));
    match json_layout()
        .merge(sources, survivor, &merged)
        .unwrap()
        .record
    {
        Record::Json(text) => serde_json::from_str(&text).unwrap(),
        Record::Hash(_) => panic!("a hash from documents"),
    }
}

/// The metadata of a result, which must be a string.
fn metadata(result: &Value) -> Value {
    serde_json::from_str(result["metadata"].as_str().unwrap()).unwrap()
}

#[test]
fn a_document_of_the_recipe_is_read() {
    let record = Record::Json(
        r#"{"content":"likes windows","memory_type":"semantic","metadata":"{}",
            "created_at":"2026-11-29T18:31:13.950300","user_id":"tyler","memory_id":"01M8",
            "thread_id":null,"embedding":[0.6,-0.8]}"#
            .into(),
    );
    let reading = json_layout().read("m:1", &record.into()).unwrap();
    assert_eq!(reading.vector, [0.6, -0.8]);
    let memory = reading.memory;
    assert_eq!(
        (memory.text.as_str(), memory.key.as_str()),
        ("likes windows", "m:1")
    );
    let partition = Partition {
        user: "tyler".into(),
        scope: vec![],
        memory_type: "semantic".into(),
    };
    assert_eq!(memory.partition, partition);
    assert_eq!(
        memory.created_at,
        Some("2026-11-29T18:31:13.9503Z".parse().unwrap())
    );
    assert_eq!(memory.said_at, memory.created_at);
    assert_eq!(memory.merge_id, None);
}

#[test]
fn what_is_no_memory_says_why() {
    let cases = [
        ("[]", Reason::NotAMemory),
        ("{}", Reason::NotAMemory),
        (r#"{"embedding":[1,0]}"#, Reason::NotAMemory),
        ("{", Reason::Malformed),
        (r#"{"content":"a","embedding":[1,0]}"#, Reason::Malformed),
        (
            r#"{"content":"a","user_id":null,"embedding":[1,0]}"#,
            Reason::Malformed,
        ),
        (
            r#"{"content":"a","user_id":7,"embedding":[1,0]}"#,
            Reason::Malformed,
        ),
        (
            r#"{"content":["a"],"user_id":"u","embedding":[1,0]}"#,
            Reason::Malformed,
        ),
        (r#"{"user_id":"u","embedding":[1,0]}"#, Reason::Malformed),
        (
            r#"{"content":"a","user_id":"u","memory_type":1,"embedding":[1,0]}"#,
            Reason::Malformed,
        ),
        (
            r#"{"content":" \n","user_id":"u","embedding":[1,0]}"#,
            Reason::EmptyText,
        ),
        (r#"{"content":"a","user_id":"u"}"#, Reason::NoVector),
        (
            r#"{"content":"a","user_id":"u","embedding":[1,0],"metadata":"{\"deleted\":true}"}"#,
            Reason::Deleted,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":[1,0],"is_deleted":1}"#,
            Reason::Deleted,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":null}"#,
            Reason::NoVector,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":[]}"#,
            Reason::BadVector,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":[1]}"#,
            Reason::BadVector,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":[0,0]}"#,
            Reason::BadVector,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":[1e400,0]}"#,
            Reason::BadVector,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":"[1,0]"}"#,
            Reason::BadVector,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":[[1],[0]]}"#,
            Reason::BadVector,
        ),
        (
            r#"{"content":"a","user_id":"u","embedding":{"a":1}}"#,
            Reason::BadVector,
        ),
    ];
    for (document, reason) in cases {
        let error = read(&json_layout(), Record::Json(document.into())).unwrap_err();
        assert_eq!(error.reason, reason, "{document}: {}", error.detail);
        let has_user = document.contains(r#""user_id":"u""#);
        assert_eq!(error.user, has_user.then(|| "u".to_owned()), "{document}");
    }
}

#[test]
fn hashes_say_why_too() {
    let vector = vector::encode(&[1.0, 0.0], Dtype::Float32).unwrap();
    let nan = [1f32.to_le_bytes(), f32::NAN.to_le_bytes()].concat();
    type Fields<'a> = &'a [(&'a str, &'a [u8])];
    let cases: [(Fields<'_>, Reason); 7] = [
        (&[("other", b"x")], Reason::NotAMemory),
        (&[("content", b"a"), ("user_id", b"u")], Reason::NoVector),
        (
            &[("content", b"a"), ("user_id", b"u"), ("embedding", b"abc")],
            Reason::BadVector,
        ),
        (
            &[("content", b"a"), ("user_id", b"u"), ("embedding", &nan)],
            Reason::BadVector,
        ),
        (
            &[
                ("content", b"\xff"),
                ("user_id", b"u"),
                ("embedding", &vector),
            ],
            Reason::NotUtf8,
        ),
        (
            &[
                ("content", b"a"),
                ("user_id", b"\xff"),
                ("embedding", &vector),
            ],
            Reason::NotUtf8,
        ),
        (
            &[("content", b""), ("user_id", b"u"), ("embedding", &vector)],
            Reason::EmptyText,
        ),
    ];
    for (fields, reason) in cases {
        let error = read(&hash_layout(), hash(fields)).unwrap_err();
        assert_eq!(error.reason, reason, "{fields:?}: {}", error.detail);
    }
    let fields: [(&str, &[u8]); 4] = [
        ("content", b"a"),
        ("user_id", b""),
        ("embedding", &vector),
        ("blob", b"\xff"),
    ];
    assert_eq!(
        read(&hash_layout(), hash(&fields))
            .unwrap()
            .memory
            .partition
            .user,
        ""
    );
}

#[test]
fn the_result_is_the_survivors_document_with_what_the_others_add() {
    let old = source(
        "m:1",
        r#"{"content":"a","embedding":[0.10,2e-7],"custom":{"z":[1,12345678901234567890]},
            "metadata":"{\"k\": 1.10}","created_at":"2026-01-02T00:00:00","user_id":"u",
            "memory_id":"A","thread_id":"t1"}"#,
    );
    let new = source(
        "m:2",
        r#"{"content":"b","embedding":[1,0],"metadata":"{'ok': True}","extra":false,
            "created_at":"2026-01-01T00:00:00.5Z","user_id":"u","memory_id":"B","thread_id":"t2"}"#,
    );
    let sources = [old, new];
    let stored = json_layout()
        .merge(&sources, 0, &merged(ResultVector::OfSource(0)))
        .unwrap();
    let Record::Json(text) = &stored.record else {
        panic!("{stored:?}")
    };
    assert!(text.starts_with(r#"{"content":"new text","embedding":[0.10,2e-7],"custom":{"z":[1,12345678901234567890]},"metadata":"{\"k\":1.10,\"ok\":true,"#), "{text}");
    let result: Value = serde_json::from_str(text).unwrap();
    assert_eq!(result["created_at"], "2026-01-01T00:00:00.500");
    assert_eq!(
        (&result["memory_id"], &result["thread_id"]),
        (&json!("A"), &json!("t1"))
    );
    assert_eq!(result["extra"], false);
    let own = metadata(&result);
    let threads = json!([{"source": "A", "value": "t1"}, {"source": "B", "value": "t2"}]);
    assert_eq!(own["memfold"]["values"]["thread_id"], threads);
    assert_eq!(own["latest_at"], "2026-01-02T00:00:00Z");
    let leaf = json!({
        "id": "B", "key": "m:2", "digest": sources[1].memory.digest,
        "created_at": "2026-01-01T00:00:00.5Z",
    });
    assert_eq!(own["sources"][1], leaf);

    let again = json_layout().read("m:1", &stored).unwrap().memory;
    assert_eq!(again.merge_id.as_deref(), Some("M1"));
    assert_eq!(again.said_at, sources[0].memory.said_at);
    assert_eq!(again.created_at, sources[1].memory.created_at);
    let leaves = json_layout().leaves(&Source {
        memory: again,
        stored,
    });
    assert_eq!(
        leaves.iter().map(|leaf| &*leaf.id).collect::<Vec<_>>(),
        ["A", "B"]
    );
}

#[test]
fn a_second_merge_counts_and_lists_the_originals() {
    let document = |id: &str, date: &str| {
        format!(
            r#"{{"content":"{id}","embedding":[1,0],"user_id":"u","memory_id":"{id}","created_at":"{date}"}}"#
        )
    };
    let first = [
        source("m:A", &document("A", "2026-01-01")),
        source("m:B", &document("B", "2026-01-03")),
    ];
    let result = json_layout()
        .merge(&first, 0, &merged(ResultVector::OfSource(0)))
        .unwrap();
    let Record::Json(text) = result.record else {
        panic!("a hash from documents")
    };
    let second = [
        source("m:A", &text),
        source("m:C", &document("C", "2026-01-02")),
    ];
    let own = metadata(&merge(&second, 0));
    assert_eq!(
        (&own["source_count"], &own["latest_at"]),
        (&json!(3), &json!("2026-01-03T00:00:00Z"))
    );
    let ids: Vec<_> = own["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| &l["id"])
        .collect();
    assert_eq!(ids, ["A", "B", "C"]);
}

#[test]
fn metadata_keeps_its_form() {
    let with = |metadata: &str| {
        let rest = r#""content":"a","embedding":[1,0],"user_id":"u""#;
        if metadata.is_empty() {
            source("m:1", &format!("{{{rest}}}"))
        } else {
            source("m:1", &format!(r#"{{{rest},"metadata":{metadata}}}"#))
        }
    };
    assert!(merge(&[with(r#"{"a":1}"#), with(r#""{}""#)], 0)["metadata"].is_object());
    assert!(merge(&[with(""), with(r#"{"a":1}"#)], 0)["metadata"].is_object());
    for text in ["", "null", r#""{}""#, r#""oops{""#, "[1]", "3"] {
        let result = merge(&[with(text), with("")], 0);
        assert!(result["metadata"].is_string(), "{text}: {result}");
    }
}

/// The recipe's agent passes over a memory without an id: one that it could read must not become one.
#[test]
fn an_id_goes_where_it_is_missing_and_never_over_another() {
    let with = |id: &str| {
        let id = if id.is_empty() {
            String::new()
        } else {
            format!(r#","memory_id":{id}"#)
        };
        source(
            "m:1",
            &format!(r#"{{"content":"a","embedding":[1,0],"user_id":"u"{id}}}"#),
        )
    };
    for none in ["", "null", r#""""#] {
        let sources = [with(none), with(none), with(r#""B""#), with(r#""C""#)];
        assert_eq!(merge(&sources, 0)["memory_id"], "B", "{none}");
        assert_eq!(merge(&sources, 3)["memory_id"], "C", "{none}");
    }
    assert_eq!(
        merge(&[with("null"), with("")], 0)["memory_id"],
        Value::Null
    );
}

#[test]
fn dates_go_where_they_are_missing_and_never_over_what_cannot_be_read() {
    let with = |date: &str| {
        source(
            "m:1",
            &format!(r#"{{"content":"a","embedding":[1,0],"user_id":"u","created_at":{date}}}"#),
        )
    };
    let early = || with("1700000000");
    assert_eq!(
        merge(&[with("null"), early()], 0)["created_at"],
        1_700_000_000
    );
    assert_eq!(
        merge(&[with(r#""2026-01-01""#), early()], 0)["created_at"],
        "2023-11-14"
    );
    assert_eq!(
        merge(&[with("1800000000.5"), early()], 0)["created_at"].to_string(),
        "1700000000.0"
    );
    assert_eq!(
        merge(&[with(r#""long ago""#), early()], 0)["created_at"],
        "long ago"
    );
    let own = metadata(&merge(&[early(), with(r#""long ago""#)], 0));
    assert_eq!(
        own["memfold"]["values"]["created_at"][0]["value"],
        "long ago"
    );
}

#[test]
fn nested_paths_are_followed_and_what_is_beside_them_is_kept() {
    let facts = facts(
        Storage::Json,
        &[
            ("embedding", "$.data.v"),
            ("content", "$.data.text"),
            ("user_id", "$[\"who is\"]"),
        ],
    );
    let layout = Redisvl::new(&RedisvlFields::default(), &facts, TimeZone::UTC).unwrap();
    let source = |key: &str, beside: &str| {
        let document =
            format!(r#"{{"data":{{"text":"a","v":[1,0],"beside":"{beside}"}},"who is":"u"}}"#);
        let record = Record::Json(document);
        source_at(&layout, key, record).unwrap()
    };
    let merged = merged(ResultVector::Numbers(vec![0.6, 0.8]));
    let result = layout
        .merge(&[source("m:1", "x"), source("m:2", "y")], 0, &merged)
        .unwrap();
    let Record::Json(text) = result.record else {
        panic!("a hash from documents")
    };
    assert!(
        text.starts_with(r#"{"data":{"text":"new text","v":[0.6,0.8],"beside":"x"},"#),
        "{text}"
    );
    let own = metadata(&serde_json::from_str(&text).unwrap());
    assert_eq!(own["memfold"]["values"]["data.beside"][1]["value"], "y");
}

#[test]
fn a_hash_keeps_its_fields_and_their_order() {
    let vectors = [[1.0, 0.0], [0.6, 0.8]].map(|v| vector::encode(&v, Dtype::Float32).unwrap());
    let source = |key: &str, vector: &[u8], rest: &[(&str, &[u8])]| {
        let fields = [
            &[
                ("embedding", vector),
                ("content", &b"a"[..]),
                ("user_id", b"u"),
            ],
            rest,
        ];
        let record = hash(&fields.concat());
        source_at(&hash_layout(), key, record).unwrap()
    };
    let sources = [
        source(
            "m:1",
            &vectors[0],
            &[("n", b"1"), ("metadata", b"{'a': 1}"), ("bin", b"\xff\x00")],
        ),
        source(
            "m:2",
            &vectors[1],
            &[("n", b"2"), ("more", b"x"), ("blob", b"\xfe")],
        ),
    ];
    let merge = |sources: &[Source], vector| {
        let stored = hash_layout().merge(sources, 0, &merged(vector));
        stored.map(|stored| stored.record)
    };
    let Record::Hash(fields) = merge(&sources, ResultVector::OfSource(1)).unwrap() else {
        panic!("a document from hashes")
    };
    let names: Vec<_> = fields
        .iter()
        .map(|(name, _)| std::str::from_utf8(name).unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "embedding",
            "content",
            "user_id",
            "n",
            "metadata",
            "bin",
            "more",
            "blob"
        ]
    );
    assert_eq!(fields[0].1, vectors[1]);
    assert_eq!(
        (&*fields[1].1, &*fields[3].1, &*fields[5].1),
        (&b"new text"[..], &b"1"[..], &b"\xff\x00"[..])
    );
    let own: Value = serde_json::from_slice(&fields[4].1).unwrap();
    assert_eq!(
        (&own["a"], &own["memfold"]["values"]["n"][1]["value"]),
        (&json!(1), &json!("2"))
    );

    let clash = [
        sources[0].clone(),
        source("m:3", &vectors[1], &[("bin", b"\xfe")]),
    ];
    let error = merge(&clash, ResultVector::OfSource(1)).unwrap_err();
    assert!(error.to_string().contains("bin"), "{error}");
    let text = [
        sources[0].clone(),
        source("m:3", &vectors[1], &[("bin", b"text")]),
    ];
    assert!(merge(&text, ResultVector::OfSource(1)).is_err());
}

#[test]
fn vectors_that_do_not_fit_are_not_written() {
    let sources = [source(
        "m:1",
        r#"{"content":"a","embedding":[1,0],"user_id":"u"}"#,
    )];
    for wrong in [vec![1.0], vec![0.0, 0.0], vec![f32::NAN, 1.0]] {
        let merged = merged(ResultVector::Numbers(wrong));
        assert!(json_layout().merge(&sources, 0, &merged).is_err());
    }
    let merged = merged(ResultVector::OfSource(7));
    assert!(json_layout().merge(&sources, 0, &merged).is_err());
    assert!(json_layout().merge(&sources, 7, &merged).is_err());
}

#[test]
fn two_roles_cannot_share_a_field_and_paths_must_be_plain() {
    let json = facts(
        Storage::Json,
        &[("embedding", "$.embedding"), ("content", "$.items[*]")],
    );
    let error = Redisvl::new(&RedisvlFields::default(), &json, TimeZone::UTC).unwrap_err();
    assert!(error.to_string().contains("$.items[*]"), "{error}");
    let fields = RedisvlFields {
        id: "content".into(),
        ..RedisvlFields::default()
    };
    let hash = facts(Storage::Hash, &[("embedding", "embedding")]);
    assert!(Redisvl::new(&fields, &hash, TimeZone::UTC).is_err());
}

#[test]
fn fields_come_from_configuration() {
    let fields: RedisvlFields = toml::from_str("text = \"memo\"\nscope = [\"agent\"]").unwrap();
    assert_eq!((&*fields.text, &*fields.vector), ("memo", "embedding"));
    assert!(toml::from_str::<RedisvlFields>("txt = \"memo\"").is_err());
    let facts = facts(Storage::Hash, &[("embedding", "embedding")]);
    let layout = Redisvl::new(&fields, &facts, TimeZone::UTC).unwrap();
    let vector = vector::encode(&[1.0, 0.0], Dtype::Float32).unwrap();
    let record = hash(&[
        ("memo", b"a"),
        ("user_id", b"u"),
        ("agent", b"x"),
        ("embedding", &vector),
    ]);
    assert_eq!(
        layout
            .read("m:1", &record.into())
            .unwrap()
            .memory
            .partition
            .scope,
        ["x"]
    );
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        any::<String>().prop_map(Into::into)
    ]
}

proptest! {
    #[test]
    fn no_document_panics(text in "[{}\\[\\]:,\"\\\\a-z0-9_.eE+ -]*") {
        let _ = json_layout().read("m:1", &Record::Json(text).into());
    }

    #[test]
    fn no_member_panics(
        values in prop::collection::vec(crate::layout::pyrepr::tests::any_json(), 7),
        survivor in 0usize..2,
    ) {
        let names =
            ["content", "embedding", "user_id", "memory_type", "memory_id", "created_at", "metadata"];
        let document: Map<_, _> = names.iter().map(|n| (*n).to_owned()).zip(values).collect();
        let record = Record::Json(Value::Object(document).to_string());
        let stored = Stored::from(record);
        let _ = json_layout().read("m:1", &stored);
        let good = source("m:2", r#"{"content":"a","embedding":[1,0],"user_id":"u"}"#);
        let other = Source { memory: good.memory.clone(), stored };
        let _ = json_layout().leaves(&other);
        let _ = json_layout().merge(&[good, other], survivor, &merged(ResultVector::OfSource(0)));
    }

    #[test]
    fn no_hash_panics(
        values in prop::collection::vec(any_bytes(), 7),
        more in prop::collection::vec((any_bytes(), any_bytes()), 0..3),
    ) {
        let names =
            ["content", "embedding", "user_id", "memory_type", "memory_id", "created_at", "metadata"];
        let fields = names.iter().map(|name| name.as_bytes().to_vec()).zip(values).chain(more);
        let record = Record::Hash(fields.collect());
        let stored = Stored::from(record);
        let _ = hash_layout().read("m:1", &stored);
        let vector = vector::encode(&[1.0, 0.0], Dtype::Float32).unwrap();
        let good = hash(&[("content", b"a"), ("user_id", b"u"), ("embedding", &vector)]);
        let good = Stored::from(good);
        let memory = hash_layout().read("m:2", &good).unwrap().memory;
        let sources = [Source { memory: memory.clone(), stored: good }, Source { memory, stored }];
        let _ = hash_layout().merge(&sources, 0, &merged(ResultVector::OfSource(0)));
    }

    #[test]
    fn dates_and_fields_survive_in_any_order(
        dates in prop::collection::vec(1_600_000_000i64..1_800_000_000, 2..5),
        survivor in 0usize..5,
    ) {
        let sources: Vec<_> = dates
            .iter()
            .enumerate()
            .map(|(i, date)| {
                let at = Timestamp::from_second(*date).unwrap();
                let document = json!({
                    "content": "a", "embedding": [1, 0], "user_id": "u", "memory_id": i.to_string(),
                    "created_at": at.to_string(), "tag": i % 2,
                });
                source(&format!("m:{i}"), &document.to_string())
            })
            .collect();
        let result = merge(&sources, survivor % sources.len());
        let earliest = Timestamp::from_second(*dates.iter().min().unwrap()).unwrap();
        prop_assert_eq!(result["created_at"].as_str().unwrap().parse::<Timestamp>().unwrap(), earliest);
        let own = metadata(&result);
        let newest = Timestamp::from_second(*dates.iter().max().unwrap()).unwrap();
        prop_assert_eq!(&own["latest_at"], &newest.to_string());
        let tags = own["memfold"]["values"]["tag"].as_array().unwrap();
        prop_assert_eq!(tags.len(), sources.len());
    }
}
