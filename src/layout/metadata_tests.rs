use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::memory::Digest;

fn leaf(id: &str) -> Leaf {
    Leaf {
        id: id.into(),
        key: format!("m:{id}"),
        digest: Digest(id.into()),
        created_at: None,
    }
}

fn part(id: &str, stored: Option<&Value>) -> Part {
    let metadata = Metadata::read(stored);
    let leaves = metadata
        .provenance
        .as_ref()
        .map_or_else(|| vec![leaf(id)], |own| own.sources.clone());
    Part {
        id: id.into(),
        metadata,
        fields: Map::new(),
        aside: Vec::new(),
        leaves,
    }
}

fn making(merge_id: &str) -> Making {
    Making {
        merge_id: merge_id.into(),
        merged_at: Timestamp::UNIX_EPOCH,
        latest_at: None,
        history: Vec::new(),
    }
}

fn united(stored: &[Value]) -> Value {
    let parts: Vec<_> = stored
        .iter()
        .enumerate()
        .map(|(i, v)| part(&format!("s{i}"), Some(v)))
        .collect();
    Value::Object(unite(&parts, 0, making("M1")).metadata())
}

#[test]
fn every_member_survives_and_differences_are_kept_with_their_source() {
    let result = united(&[
        json!({"mood": "good", "n": 0, "same": [1]}),
        json!({"mood": "bad", "flag": false, "note": "", "none": null, "same": [1]}),
        json!({"mood": "good", "x": {"y": [1]}}),
    ]);
    assert_eq!(result["mood"], "good");
    assert_eq!((&result["n"], &result["flag"]), (&json!(0), &json!(false)));
    assert_eq!(
        (&result["note"], &result["x"]),
        (&json!(""), &json!({"y": [1]}))
    );
    assert_eq!(result.get("none"), Some(&Value::Null));
    let values = json!({"mood": [
        {"source": "s0", "value": "good"},
        {"source": "s1", "value": "bad"},
        {"source": "s2", "value": "good"},
    ]});
    assert_eq!(result["memfold"]["values"], values);
    assert_eq!(result["consolidated"], true);
    assert_eq!(result["source_count"], 3);
    assert_eq!(result["merge_id"], "M1");
    assert_eq!(result["sources"].as_array().unwrap().len(), 3);
}

#[test]
fn a_second_generation_unites_lists_and_adds_counts() {
    let first = united(&[
        json!({"mood": "good"}),
        json!({"mood": "bad"}),
        json!("oops{"),
    ]);
    let parts = [
        part("r", Some(&first)),
        part("n", Some(&json!({"mood": "new"}))),
        part("r2", Some(&first)),
    ];
    let second = Value::Object(unite(&parts, 0, making("M2")).metadata());
    assert_eq!(second["source_count"], 7);
    assert_eq!(second["merge_id"], "M2");
    let ids: Vec<_> = second["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| &l["id"])
        .collect();
    assert_eq!(ids, ["s0", "s1", "s2", "n"]);
    let moods = json!([
        {"source": "s0", "value": "good"},
        {"source": "s1", "value": "bad"},
        {"source": "n", "value": "new"},
    ]);
    assert_eq!(second["memfold"]["values"]["mood"], moods);
    assert_eq!(
        second["metadata_raw"],
        json!([{"source": "s2", "raw": "oops{"}])
    );
}

#[test]
fn a_value_changed_after_a_merge_joins_the_history() {
    let mut first = united(&[json!({"mood": "good"}), json!({"mood": "bad"})]);
    first["mood"] = json!("edited");
    let parts = [part("r", Some(&first)), part("n", Some(&json!({})))];
    let second = Value::Object(unite(&parts, 0, making("M2")).metadata());
    assert_eq!(second["mood"], "edited");
    let moods = second["memfold"]["values"]["mood"].as_array().unwrap();
    assert!(
        moods.contains(&json!({"source": "r", "value": "edited"})),
        "{moods:?}"
    );
    assert_eq!(moods.len(), 3);
}

#[test]
fn what_is_no_object_is_kept_as_it_was() {
    for raw in [
        "",
        "oops{",
        "[]",
        "\"text\"",
        "3",
        "{'a': {1, 2}}",
        "{\"a\": NaN}",
        "\u{0}",
    ] {
        let result = united(&[json!({"a": 1}), json!(raw)]);
        assert_eq!(
            result["metadata_raw"],
            json!([{"source": "s1", "raw": raw}]),
            "{raw}"
        );
        assert_eq!(result["a"], 1);
    }
    let result = united(&[json!([1, "x"]), json!({"a": 1})]);
    assert_eq!(
        result["metadata_raw"],
        json!([{"source": "s0", "raw": "[1,\"x\"]"}])
    );
    let result = united(&[json!("{\"a\":1,\"a\":2}"), json!({})]);
    assert_eq!(result["metadata_raw"][0]["raw"], "{\"a\":1,\"a\":2}");
}

#[test]
fn a_python_dict_becomes_json() {
    let result = united(&[
        json!("{'source': 'chat', 'ok': True, 'x': None}"),
        json!({}),
    ]);
    assert_eq!(
        (&result["source"], &result["ok"]),
        (&json!("chat"), &json!(true))
    );
    assert_eq!(result.get("x"), Some(&Value::Null));
    assert_eq!(result.get("metadata_raw"), None);
}

#[test]
fn numbers_keep_their_digits() {
    let text = r#"{"big":12345678901234567890123,"huge":1e+400,"money":1.10}"#;
    let result = united(&[json!(text), json!({})]).to_string();
    assert!(
        result.starts_with(text.strip_suffix('}').unwrap()),
        "{result}"
    );
}

#[test]
fn members_of_the_same_name_as_provenance_are_not_lost() {
    let stored =
        json!({"sources": ["book"], "merge_id": 7, "memfold": null, "source_count": "two"});
    let result = united(&[stored.clone(), json!({"consolidated": false})]);
    for (name, value) in stored.as_object().unwrap() {
        let said = &result["memfold"]["values"][name][0];
        assert_eq!(said, &json!({"source": "s0", "value": value}), "{name}");
    }
    assert_eq!(
        result["memfold"]["values"]["consolidated"][0]["value"],
        false
    );
    assert_eq!(result["source_count"], 2);
}

#[test]
fn a_merge_of_the_recipe_counts_as_many_as_it_says() {
    let result = united(&[json!({"consolidated": true, "source_count": 11}), json!({})]);
    assert_eq!(result["source_count"], 12);
    assert_eq!(result["memfold"]["values"]["source_count"][0]["value"], 11);
    let result = united(&[json!({"source_count": 11}), json!({})]);
    assert_eq!(result["source_count"], 2);
}

#[test]
fn an_altered_provenance_is_no_longer_taken_for_memfolds_but_kept() {
    let mut first = united(&[json!({"a": 1}), json!({"a": 2})]);
    first["sources"][0]["extra"] = json!("mine");
    let second = united(&[first.clone(), json!({})]);
    for name in ["sources", "merge_id", "memfold", "merged_at"] {
        assert_eq!(
            second["memfold"]["values"][name][0]["value"], first[name],
            "{name}"
        );
    }
}

#[test]
fn folded_provenance_is_one_text_beside_members_of_any_name() {
    let stored = [
        json!({"sources": ["a"], "merge_id": 7}),
        json!({"sources": ["b"]}),
    ];
    let folded = |stored: &[Value]| {
        let part = |(i, value): (usize, &Value)| {
            let metadata = Metadata::unfold(value.as_object().unwrap().clone());
            Part {
                metadata,
                ..part(&format!("s{i}"), None)
            }
        };
        let parts: Vec<_> = stored.iter().enumerate().map(part).collect();
        unite(&parts, 0, making("M1")).folded()
    };
    let first = folded(&stored);
    assert_eq!(first["sources"], json!(["a"]));
    assert_eq!(first["merge_id"], 7);
    assert!(first[FOLDED].is_string());
    let read = Metadata::unfold(first.clone());
    assert_eq!(read.provenance.as_ref().unwrap().merge_id, "M1");
    assert!(!read.members.contains_key(FOLDED));

    let second = folded(&[first.into(), json!({"memfold": "mine"})]);
    let own: Value = serde_json::from_str(second[FOLDED].as_str().unwrap()).unwrap();
    assert_eq!(own["source_count"], 3);
    let said = |id: &str, value: Value| json!({"source": id, "value": value});
    assert_eq!(
        own["memfold"]["values"]["memfold"],
        json!([said("s1", json!("mine"))])
    );
    assert_eq!(
        own["memfold"]["values"]["sources"],
        json!([said("s0", json!(["a"])), said("s1", json!(["b"]))])
    );
}

#[test]
fn other_fields_fill_and_differ_likewise() {
    let mut parts = [part("a", None), part("b", None), part("c", None)];
    parts[0].fields = json!({"thread_id": null}).as_object().unwrap().clone();
    parts[1].fields = json!({"thread_id": "t1", "agent": "x"})
        .as_object()
        .unwrap()
        .clone();
    parts[2].aside = vec![("created_at".into(), json!("long ago"))];
    let result = unite(&parts, 0, making("M"));
    assert_eq!(
        Value::Object(result.fields.clone()),
        json!({"thread_id": null, "agent": "x"})
    );
    let values = &result.metadata()["memfold"]["values"];
    assert_eq!(
        values["thread_id"][1],
        json!({"source": "b", "value": "t1"})
    );
    assert_eq!(
        values["created_at"],
        json!([{"source": "c", "value": "long ago"}])
    );
    assert_eq!(values.get("agent"), None);
}

fn any_stored() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec!["a", "b", "sources", "memfold", "source_count", "用"]);
    let object = prop::collection::btree_map(names, pyrepr::tests::any_json(), 0..4)
        .prop_map(|map| {
            map.into_iter()
                .map(|(n, v)| (n.to_owned(), v))
                .collect::<Map<_, _>>()
        })
        .boxed();
    prop_oneof![
        object.clone().prop_map(Value::Object),
        object.prop_map(|map| Value::Object(map).to_string().into()),
        any::<String>().prop_map(Value::from),
        pyrepr::tests::any_json(),
    ]
}

/// Whether `result` still says `value` under `name`, or holds the raw text `raw`.
fn says(result: &Map<String, Value>, name: &str, value: &Value) -> bool {
    let history = result["memfold"]["values"]
        .get(name)
        .and_then(Value::as_array);
    let in_history = history.is_some_and(|list| list.iter().any(|said| said["value"] == *value));
    let merged_flag = name == "consolidated" && *value == Value::Bool(true);
    in_history || merged_flag || (!OWN.contains(&name) && result.get(name) == Some(value))
}

fn assert_kept(result: &Map<String, Value>, stored: &Value) -> Result<(), TestCaseError> {
    let object = match stored {
        Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        other => other.clone(),
    };
    if let Value::Object(members) = object {
        for (name, value) in &members {
            prop_assert!(
                says(result, name, value),
                "{name} of {stored} in {result:?}"
            );
        }
    } else if *stored != Value::Null {
        let raw = stored
            .as_str()
            .map_or_else(|| stored.to_string(), str::to_owned);
        let raws = result["metadata_raw"].as_array().unwrap();
        prop_assert!(
            raws.iter().any(|item| item["raw"] == raw),
            "{raw} in {result:?}"
        );
    }
    Ok(())
}

proptest! {
    #[test]
    fn nothing_is_lost_in_any_order_over_two_generations(
        stored in prop::collection::vec(any_stored(), 2..5),
        survivor in 0usize..5,
        split in 1usize..4,
    ) {
        let parts: Vec<_> =
            stored.iter().enumerate().map(|(i, v)| part(&format!("s{i}"), Some(v))).collect();
        let split = split.min(parts.len() - 1);
        let (left, right) = parts.split_at(split);
        let first = unite(left, survivor % left.len(), making("M1")).metadata();
        let text = Value::from(Value::Object(first).to_string());
        let mut second = vec![part("r", Some(&text))];
        prop_assert!(second[0].metadata.provenance.is_some());
        second.extend(right.to_vec());
        let result = unite(&second, survivor % second.len(), making("M2")).metadata();
        for value in &stored {
            assert_kept(&result, value)?;
        }
        prop_assert_eq!(result["sources"].as_array().unwrap().len(), stored.len());
    }
}
