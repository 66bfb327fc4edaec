use serde_json::json;

use super::*;
use crate::layout::ResultVector;
use crate::record::{Field, FieldKind, Other, VectorFacts};

fn facts(name: &str, storage: Storage, vector: bool) -> IndexFacts {
    let path = |name: &str| match storage {
        Storage::Json => format!("$.{name}"),
        Storage::Hash => name.to_owned(),
    };
    let field = |name: &str, kind| Field {
        attribute: name.to_owned(),
        path: path(name),
        kind,
    };
    let mut fields = vec![
        field("prefix", FieldKind::Text),
        field("key", FieldKind::Text),
    ];
    if vector {
        let vector = VectorFacts {
            algorithm: "FLAT".into(),
            data_type: "FLOAT32".into(),
            dims: 2,
            metric: "COSINE".into(),
        };
        fields.push(field("embedding", FieldKind::Vector(vector)));
    }
    IndexFacts {
        name: name.into(),
        storage,
        prefixes: vec![format!("{name}:")],
        fields,
        indexing: false,
        percent: 1.0,
        failures: 0,
        docs: 0,
    }
}

fn layout(vectors: Storage) -> LangGraph {
    let store = facts("store", Storage::Json, false);
    let vectors = facts("store_vectors", vectors, true);
    LangGraph::new(&Options::default(), &store, Some(&vectors)).unwrap()
}

/// An item of `alice` as the library stores it, with its vector of the field `embedded`.
fn item(id: &str, value: Value, embedded: &str) -> Stored {
    let record = json!({
        "prefix": r"memories\.alice", "key": format!("k{id}"), "value": value,
        "created_at": 1_795_977_278_700_693_u64, "updated_at": 1_795_977_278_700_693_u64,
    });
    let vector = format!(
        r#"{{"prefix":"memories\\.alice","key":"k{id}","field_name":"{embedded}","embedding":[0.60,-8e-1],"created_at":1795977278.705591,"updated_at":1795977278.705598}}"#
    );
    Stored {
        record: Record::Json(record.to_string()),
        others: vec![Other {
            key: format!("store_vectors:{id}"),
            record: Record::Json(vector),
            expires_at_ms: Some(7),
        }],
    }
}

fn source(id: &str, value: Value, embedded: &str) -> Source {
    let stored = item(id, value, embedded);
    let key = format!("store:{id}");
    let memory = layout(Storage::Json).read(&key, &stored).unwrap().memory;
    Source { memory, stored }
}

fn merged(vector: ResultVector) -> Merged {
    Merged {
        merge_id: "M1".into(),
        text: "new \"text\"".into(),
        vector,
        merged_at: "2026-12-01T00:00:00.25Z".parse().unwrap(),
        history: Vec::new(),
    }
}

#[test]
fn an_item_is_read_with_its_vector_and_what_was_embedded_of_it() {
    let stored = item("1", json!({"content": "likes windows"}), "$");
    let reading = layout(Storage::Json).read("store:1", &stored).unwrap();
    assert_eq!(reading.vector, [0.6, -0.8]);
    let memory = reading.memory;
    assert_eq!(memory.text, "likes windows");
    assert_eq!(memory.partition.user, "alice");
    assert_eq!(
        memory.partition.scope,
        [r#"["memories","alice"]"#, "content"]
    );
    assert_eq!(
        memory.created_at.unwrap().as_microsecond(),
        1_795_977_278_700_693
    );
    assert_eq!(memory.embedded("a \"b\""), r#"{"content": "a \"b\""}"#);
    let layout = layout(Storage::Json);
    let apart = layout.apart().unwrap();
    assert_eq!(apart.other_key("store:1").unwrap(), "store_vectors:1");
    assert_eq!(apart.own_key("store_vectors:1").unwrap(), "store:1");
    assert_eq!(
        (apart.other_key("1"), apart.own_key("store:1")),
        (None, None)
    );
}

#[test]
fn the_text_is_where_the_library_or_the_agent_keeps_it() {
    for (value, embedded, text, kind, place) in [
        (json!({"content": "a"}), "$", "a", "", "content"),
        (
            json!({"kind": "Memory", "content": {"content": "a"}}),
            "$",
            "a",
            "Memory",
            "content.content+",
        ),
        (json!({"text": "a", "n": 1}), "text", "a", "", "text+"),
        (
            json!({"deep": {"fact": "a"}}),
            "deep.fact",
            "a",
            "",
            "deep.fact",
        ),
        (json!({"memory": "a"}), "$", "a", "", "memory"),
    ] {
        let read = layout(Storage::Json).read("store:1", &item("1", value.clone(), embedded));
        let memory = read.unwrap().memory;
        assert_eq!(
            (&*memory.text, &*memory.partition.memory_type),
            (text, kind),
            "{value}"
        );
        assert!(
            memory.partition.scope[1].starts_with(place),
            "{:?}",
            memory.partition
        );
        assert_eq!(memory.frame.is_some(), embedded == "$", "{value}");
    }
}

#[test]
fn what_differs_besides_the_text_keeps_items_apart_and_is_not_told() {
    let scope = |value: Value| source("1", value, "$").memory.partition.scope[1].clone();
    let with = |n: u8| scope(json!({"content": "a", "topic": format!("secret {n}")}));
    assert_eq!(
        with(1),
        scope(json!({"topic": "secret 1", "content": "other words"}))
    );
    assert_ne!(with(1), with(2));
    assert!(!with(1).contains("secret"));
}

#[test]
fn what_cannot_be_rewritten_is_left_alone_with_a_reason() {
    let layout = layout(Storage::Json);
    let reason = |stored: &Stored| {
        let error = layout.read("store:1", stored).unwrap_err();
        assert_eq!(error.user.as_deref(), Some("alice"), "{error:?}");
        error.reason
    };
    for (value, embedded) in [
        (json!({"content": {"name": "Ann", "age": 60}}), "$"),
        (json!({"kind": "Profile", "content": {"name": "Ann"}}), "$"),
        (json!({"kind": "Memory", "content": "a"}), "$"),
        (
            json!({"__serde_type__": "json", "__serde_data__": "{}"}),
            "$",
        ),
        (json!({"name": "Ann"}), "$"),
        (json!({"text": "a", "facts": [{"t": "b"}]}), "facts[*].t"),
        (json!("a"), "$"),
    ] {
        assert_eq!(
            reason(&item("1", value.clone(), embedded)),
            Reason::Structured,
            "{value}"
        );
    }
    assert_eq!(
        reason(&item("1", json!({"content": " "}), "$")),
        Reason::EmptyText
    );
    let gone = json!({"content": "a", "deleted": true});
    assert_eq!(reason(&item("1", gone, "$")), Reason::Deleted);
    let mut lone = item("1", json!({"content": "a"}), "$");
    lone.others.clear();
    assert_eq!(reason(&lone), Reason::NoVector);
    let mut foreign = item("1", json!({"content": "a"}), "$");
    foreign.others = item("2", json!({"content": "a"}), "$").others;
    assert_eq!(reason(&foreign), Reason::Malformed);
    for (name, time) in [
        ("updated_at", "\"2026-11-29\""),
        // The year 10000: the library's calendar ends before.
        ("updated_at", "253402300800000000"),
        ("created_at", "253402300800000000"),
        ("created_at", "-1e30"),
    ] {
        let mut dated = item("1", json!({"content": "a"}), "$");
        if let Record::Json(text) = &mut dated.record {
            let (was, is) = (
                format!("\"{name}\":1795977278700693"),
                format!("\"{name}\":{time}"),
            );
            *text = text.replace(&was, &is);
            assert!(text.contains(&is), "{text}");
        }
        assert_eq!(reason(&dated), Reason::Malformed, "{name} {time}");
    }
}

#[test]
fn a_namespace_outside_the_pattern_is_nobodys() {
    let layout = layout(Storage::Json);
    for prefix in [
        r"memories",
        r"Memories\.alice",
        r"memories\.alice\.work",
        "memories.alice",
    ] {
        assert_eq!(layout.owner(Some(prefix)), None, "{prefix}");
    }
    for user in ["alice", "Alice", "alice ", "a,b", "alices"] {
        let escaped = user.replace(',', "\\,").replace(' ', "\\ ");
        assert_eq!(
            layout
                .owner(Some(&format!(r"memories\.{escaped}")))
                .as_deref(),
            Some(user)
        );
    }
}

#[test]
fn a_result_keeps_the_survivors_shape_and_says_where_it_came_from_beside_the_value() {
    let value = |text: &str| json!({"kind": "Memory", "content": {"content": text}});
    let sources = [source("1", value("a"), "$"), source("2", value("b"), "$")];
    let layout = layout(Storage::Json);
    let stored = layout
        .merge(&sources, 0, &merged(ResultVector::OfSource(1)))
        .unwrap();
    let Record::Json(text) = &stored.record else {
        panic!()
    };
    let document: Value = serde_json::from_str(text).unwrap();
    assert_eq!(document["value"], value("new \"text\""));
    assert_eq!(document["created_at"], json!(1_795_977_278_700_693_u64));
    assert_eq!(document["updated_at"], json!(1_796_083_200_250_000_u64));
    assert_eq!(document["memfold"]["sources"][1]["id"], "k2");
    assert_eq!(document["key"], "k1");

    let [other] = stored.others.as_slice() else {
        panic!()
    };
    let Record::Json(vector) = &other.record else {
        panic!()
    };
    assert_eq!(other.key, "store_vectors:1");
    assert_eq!(
        vector,
        r#"{"prefix":"memories\\.alice","key":"k1","field_name":"$","embedding":[0.60,-8e-1],"created_at":1795977278.705591,"updated_at":1796083200.25}"#
    );

    let again = layout.read("store:1", &stored).unwrap().memory;
    assert_eq!(again.text, "new \"text\"");
    assert_eq!(again.partition, sources[0].memory.partition);
    assert_eq!(again.merge_id.as_deref(), Some("M1"));
}

#[test]
fn vectors_in_hashes_are_read_and_written() {
    let layout = layout(Storage::Hash);
    let bytes = |numbers: [f32; 2]| {
        numbers
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect::<Vec<_>>()
    };
    let hashed = |id: &str| {
        let mut stored = item(id, json!({"content": "a"}), "$");
        stored.others[0].record = Record::Hash(
            [
                ("prefix", br"memories\.alice".to_vec()),
                ("key", format!("k{id}").into_bytes()),
                ("field_name", b"$".to_vec()),
                ("embedding", bytes([0.6, -0.8])),
                ("binary", vec![0xff]),
                ("updated_at", b"1795977278.705598".to_vec()),
            ]
            .map(|(name, value)| (name.as_bytes().to_vec(), value))
            .to_vec(),
        );
        let memory = layout.read(&format!("store:{id}"), &stored).unwrap().memory;
        Source { memory, stored }
    };
    let numbers = ResultVector::Numbers(vec![0.0, 1.0]);
    let stored = layout
        .merge(&[hashed("1"), hashed("2")], 1, &merged(numbers))
        .unwrap();
    let Record::Hash(fields) = &stored.others[0].record else {
        panic!()
    };
    let expected = [
        ("prefix", br"memories\.alice".to_vec()),
        ("key", b"k2".to_vec()),
        ("field_name", b"$".to_vec()),
        ("embedding", bytes([0.0, 1.0])),
        ("binary", vec![0xff]),
        ("updated_at", b"1796083200.25".to_vec()),
    ];
    assert_eq!(
        *fields,
        expected.map(|(name, value)| (name.as_bytes().to_vec(), value))
    );
    assert_eq!(layout.read("store:2", &stored).unwrap().vector, [0.0, 1.0]);
}

proptest::proptest! {
    #[test]
    fn no_document_panics(item in "[{}\\[\\]:,\"\\\\a-z0-9_.eE+ -]*", vector in "[{}\\[\\]:,\"a-z0-9]*") {
        let other = Other { key: "store_vectors:1".into(), record: Record::Json(vector), expires_at_ms: None };
        let stored = Stored { record: Record::Json(item), others: vec![other] };
        let _ = layout(Storage::Json).read("store:1", &stored);
    }

    #[test]
    fn no_value_panics(value in crate::layout::pyrepr::tests::any_json(), embedded in "[$a-z.*\\[\\]]*") {
        let stored = item("1", value, &embedded);
        let _ = layout(Storage::Json).read("store:1", &stored);
    }

    #[test]
    fn no_namespace_panics(stored in ".*") {
        let _ = namespace::decode(&stored);
    }
}
