use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::layout::ResultVector;
use crate::record::{Field, FieldKind, Storage, VectorFacts};

fn facts(storage: Storage, names: &[&str]) -> IndexFacts {
    let field = |name: &&str| Field {
        attribute: (*name).to_owned(),
        path: match storage {
            Storage::Json => format!("$.{name}"),
            Storage::Hash => (*name).to_owned(),
        },
        kind: match *name {
            "embedding" => FieldKind::Vector(VectorFacts {
                algorithm: "FLAT".into(),
                data_type: "FLOAT32".into(),
                dims: 2,
                metric: "COSINE".into(),
            }),
            _ => FieldKind::Text,
        },
    };
    IndexFacts {
        name: "lc".into(),
        storage,
        prefixes: vec!["lc:".into()],
        fields: names.iter().map(field).collect(),
        indexing: false,
        percent: 1.0,
        failures: 0,
        docs: 0,
    }
}

fn layout() -> LangchainRedis {
    let names = ["text", "embedding", INDEX_NAME, METADATA, "user_id"];
    LangchainRedis::new(&Options::default(), &facts(Storage::Json, &names)).unwrap()
}

/// As the library writes it: `beside` are the copies of the metadata.
fn document(metadata: &Value, beside: &Value) -> Value {
    let mut document = json!({
        "text": "likes tea", "embedding": [1.0, 0.0], "_index_name": "lc",
        "_metadata_json": metadata.to_string(),
    });
    for (name, value) in beside.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

fn read(document: &Value) -> Result<Reading, NotRead> {
    layout().read("lc:1", &Record::Json(document.to_string()).into())
}

fn merged(documents: &[Value]) -> Result<Value, CannotWrite> {
    let layout = layout();
    let source = |(n, document): (usize, &Value)| {
        let stored: Stored = Record::Json(document.to_string()).into();
        let memory = layout.read(&format!("lc:{n}"), &stored).unwrap().memory;
        Source { memory, stored }
    };
    let sources: Vec<Source> = documents.iter().enumerate().map(source).collect();
    let merged = Merged {
        merge_id: "M".into(),
        text: "likes tea".into(),
        vector: ResultVector::OfSource(0),
        merged_at: jiff::Timestamp::UNIX_EPOCH,
        history: Vec::new(),
    };
    let result = layout.merge(&sources, 0, &merged)?;
    layout.read("lc:0", &result).unwrap();
    match result.record {
        Record::Json(text) => Ok(serde_json::from_str(&text).unwrap()),
        Record::Hash(_) => panic!("a hash"),
    }
}

#[test]
fn both_copies_must_say_the_same() {
    let metadata = json!({"user_id": "ana", "tags": ["a", "b|c"], "n": 1e22, "x": null});
    let sound = document(
        &metadata,
        &json!({"user_id": "ana", "tags": "a|b|c", "n": 1e22, "x": "old"}),
    );
    assert_eq!(read(&sound).unwrap().memory.partition.user, "ana");
    for (name, value) in [
        ("user_id", json!("Ana")),
        ("tags", json!("a|b")),
        ("n", json!(1e21)),
        ("n", Value::Null),
        ("_metadata_json", json!("{oops")),
        ("_metadata_json", json!("[]")),
        (
            "_metadata_json",
            json!("{\"user_id\":\"ana\",\"user_id\":\"bob\"}"),
        ),
        ("_index_name", Value::Null),
    ] {
        let mut changed = sound.clone();
        changed[name] = value.clone();
        assert_eq!(
            read(&changed).unwrap_err().reason,
            Reason::Malformed,
            "{name} {value}"
        );
    }
    let mut other = sound;
    other["_index_name"] = json!("lc2");
    assert_eq!(read(&other).unwrap_err().reason, Reason::NotAMemory);
}

#[test]
fn a_number_that_python_cannot_read_is_left_alone() {
    let with_digits = |digits| {
        let n: serde_json::Number = "9".repeat(digits).parse().unwrap();
        let metadata = json!({"user_id": "ana", "n": n});
        read(&document(&metadata, &metadata)).map_err(|error| error.reason)
    };
    assert!(with_digits(4300).is_ok());
    assert_eq!(with_digits(4301).unwrap_err(), Reason::Malformed);
}

#[test]
fn lists_are_joined_by_one_separator() {
    for (items, joined, yes) in [
        (json!(["a", "b", "c"]), "a|b|c", true),
        (json!(["a", "b", "c"]), "a|b,c", false),
        (json!(["a", "b"]), "xa|b", false),
        (json!(["a"]), "a|", false),
        (json!([]), "", true),
        (json!([]), "a", false),
        (json!(["é", "b"]), "é–b", true),
        (json!([1]), "1", false),
    ] {
        assert_eq!(agree(&items, &json!(joined)), yes, "{items} {joined}");
    }
}

#[test]
fn metadata_named_as_members_of_the_library_are_left_alone() {
    for name in ["text", "embedding", INDEX_NAME, METADATA] {
        let metadata = json!({"user_id": "ana", name: "x"});
        let error = read(&document(&metadata, &json!({"user_id": "ana"}))).unwrap_err();
        assert!(error.detail.contains(name), "{error:?}");
    }
}

#[test]
fn a_result_has_every_member_twice_and_provenance_as_text() {
    let one = json!({"user_id": "ana", "created_at": "2026-03-02T10:00:00", "tags": ["a", "b"]});
    let two = json!({"user_id": "ana", "created_at": "2026-03-01T10:00:00", "n": 7, "old": null});
    let result = merged(&[
        document(&one, &json!({"user_id": "ana", "created_at": "2026-03-02T10:00:00", "tags": "a;b", "left": 1})),
        document(&two, &json!({"user_id": "ana", "created_at": "2026-03-01T10:00:00", "n": 7, "tags": "z"})),
    ])
    .unwrap();
    let metadata: Value = serde_json::from_str(result[METADATA].as_str().unwrap()).unwrap();
    assert_eq!(metadata["created_at"], "2026-03-01T10:00:00");
    assert_eq!(
        (&metadata["n"], &metadata["old"]),
        (&json!(7), &Value::Null)
    );
    assert_eq!(
        (&result["tags"], &result["left"], &result["n"]),
        (&json!("a;b"), &json!(1), &json!(7))
    );
    assert_eq!(result["created_at"], "2026-03-01T10:00:00");
    assert_eq!(result["memfold"], metadata["memfold"]);
    let own: Value = serde_json::from_str(metadata["memfold"].as_str().unwrap()).unwrap();
    assert_eq!(own["source_count"], 2);
    assert_eq!(own["memfold"]["values"]["tags"][0]["value"], "z");
    assert_eq!(result["_index_name"], "lc");
}

#[test]
fn an_index_that_the_library_did_not_make_is_refused() {
    let open = |facts: IndexFacts| LangchainRedis::new(&Options::default(), &facts);
    let mut elsewhere = facts(Storage::Json, &["text", "embedding"]);
    elsewhere.fields[0].path = "$.page.text".into();
    assert!(
        open(elsewhere)
            .unwrap_err()
            .to_string()
            .contains("`text` is not where")
    );
    let bare = open(facts(Storage::Hash, &["embedding"])).unwrap_err();
    assert!(bare.to_string().contains("--fields-text"));
}

proptest! {
    #[test]
    fn what_the_library_joins_agrees(items in prop::collection::vec("[ab|, ]{0,3}", 1..5), separator in "[|,;]{1,2}") {
        let value = json!(items);
        prop_assert!(agree(&value, &json!(items.join(&separator))));
    }

    #[test]
    fn any_document_is_survived(metadata in ".*", text in "\\PC{0,5}") {
        let document = json!({"text": text, "embedding": [1.0, 0.0], "_index_name": "lc", "_metadata_json": metadata});
        let _ = read(&document);
    }
}
