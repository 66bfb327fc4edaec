use serde_json::{Value, json};

use super::*;
use crate::layout::ResultVector;
use crate::record::{Record, VectorFacts};

fn facts(storage: Storage) -> IndexFacts {
    let tag = |separator| FieldKind::Tag {
        separator: Some(separator),
        case_sensitive: false,
        index_empty: false,
    };
    let vector = FieldKind::Vector(VectorFacts {
        algorithm: "FLAT".into(),
        data_type: "FLOAT32".into(),
        dims: 2,
        metric: "COSINE".into(),
    });
    let fields = [
        ("body", FieldKind::Text),
        ("owner", tag(',')),
        ("vec", vector),
        ("topics", tag(';')),
        ("uses", FieldKind::Numeric),
        ("born", FieldKind::Numeric),
        ("extra", FieldKind::Text),
    ];
    let field = |(name, kind): (&str, FieldKind)| Field {
        attribute: name.to_owned(),
        path: match storage {
            Storage::Json => format!("$.{name}"),
            Storage::Hash => name.to_owned(),
        },
        kind,
    };
    IndexFacts {
        name: "notes".into(),
        storage,
        prefixes: vec!["note:".into()],
        fields: fields.map(field).into(),
        indexing: false,
        percent: 1.0,
        failures: 0,
        docs: 0,
    }
}

fn options() -> Options {
    let name = |name: &str| Some(name.to_owned());
    Options {
        text: name("body"),
        vector: name("vec"),
        user: name("owner"),
        created_at: name("born"),
        metadata: name("extra"),
        custom: CustomOptions {
            storage: Some(Storage::Json),
            key: KeyShape::parse("note:{user}:{id}").ok(),
            created_at: TimeForm::Seconds,
            metadata: MetadataForm::Json,
            rules: vec![
                ("topics".to_owned(), Rule::Union),
                ("uses".to_owned(), Rule::Sum),
                ("seen".to_owned(), Rule::Max),
            ],
        },
        ..Options::default()
    }
}

fn layout() -> Custom {
    Custom::new(&options(), &facts(Storage::Json)).unwrap()
}

fn stored(document: &Value) -> Stored {
    Record::Json(document.to_string()).into()
}

fn source(layout: &Custom, key: &str, document: &Value) -> Source {
    let stored = stored(document);
    let memory = layout.read(key, &stored).unwrap().memory;
    Source { memory, stored }
}

fn note(born: i64, topics: &str, uses: u32, seen: &str) -> Value {
    json!({
        "body": "likes tea", "owner": "ana", "vec": [1.0, 0.0], "born": born,
        "topics": topics, "uses": uses, "seen": seen, "colour": born,
    })
}

fn merged(layout: &Custom, documents: &[Value]) -> Result<Value, CannotWrite> {
    let source = |(n, document)| source(layout, &format!("note:ana:{n}"), document);
    let sources: Vec<Source> = documents.iter().enumerate().map(source).collect();
    let merged = Merged {
        merge_id: "M".into(),
        text: "likes tea".into(),
        vector: ResultVector::OfSource(0),
        merged_at: jiff::Timestamp::UNIX_EPOCH,
        history: Vec::new(),
    };
    match layout.merge(&sources, 0, &merged)?.record {
        Record::Json(text) => Ok(serde_json::from_str(&text).unwrap()),
        Record::Hash(_) => panic!("a hash"),
    }
}

#[test]
fn a_date_in_another_form_than_the_configured_is_told() {
    for (born, is_read) in [
        (json!(1795977073), true),
        (json!("1795977073.5"), true),
        (json!(null), true),
        (json!(""), true),
        (json!("2026-11-29T18:31:13"), false),
        (json!("soon"), false),
        (json!(-5), false),
        (json!([1795977073]), false),
    ] {
        let mut document = note(0, "", 0, "");
        document["born"] = born.clone();
        let read = layout().read("note:ana:1", &stored(&document));
        assert_eq!(read.is_ok(), is_read, "{born}");
        if let Err(error) = read {
            assert_eq!(error.reason, Reason::Malformed);
            assert_eq!(error.detail, "`born` is no date in seconds since 1970");
        }
        let mut auto = options();
        auto.custom.created_at = TimeForm::Auto;
        let auto = Custom::new(&auto, &facts(Storage::Json)).unwrap();
        assert!(auto.read("note:ana:1", &stored(&document)).is_ok());
    }
}

#[test]
fn each_field_is_merged_by_its_rule() {
    let result = merged(
        &layout(),
        &[
            note(300, "a;b", 2, "2026-03-01T10:00:00"),
            note(200, "b;c", 3, "2026-03-02T10:00:00"),
        ],
    )
    .unwrap();
    assert_eq!(result["topics"], "a;b;c");
    assert_eq!(result["uses"], 5);
    assert_eq!(result["seen"], "2026-03-02T10:00:00");
    assert_eq!(
        (&result["born"], &result["colour"]),
        (&json!(200), &json!(300))
    );
    // What the rules dropped is in the history.
    let extra: Value = serde_json::from_str(result["extra"].as_str().unwrap()).unwrap();
    assert_eq!(extra["memfold"]["values"]["uses"][1]["value"], 3);
    assert_eq!(extra["memfold"]["values"]["colour"][1]["value"], 200);
}

#[test]
fn another_rule_or_form_is_told_apart() {
    let rules = |change: fn(&mut CustomOptions)| {
        let mut options = options();
        change(&mut options.custom);
        let facts = facts(Storage::Json);
        Custom::new(&options, &facts).unwrap().rules()
    };
    let as_before = rules(|_| {});
    assert_eq!(rules(|_| {}), as_before);
    let changes: [fn(&mut CustomOptions); 4] = [
        |custom| custom.rules[1].1 = Rule::Keep,
        |custom| custom.created_at = TimeForm::Millis,
        |custom| custom.metadata = MetadataForm::Auto,
        |custom| custom.key = None,
    ];
    for change in changes {
        assert_ne!(rules(change), as_before);
    }
}

#[test]
fn a_rule_that_cannot_be_kept_leaves_the_group() {
    let documents = [note(1, "a", 1, "soon"), note(2, "a", 1, "later")];
    let error = merged(&layout(), &documents).unwrap_err();
    assert!(error.detail.contains("rule max of `seen`"), "{error}");
    assert!(!error.detail.contains("soon"), "{error}");
}

#[test]
fn a_key_of_another_user_or_shape_is_no_memory() {
    let layout = layout();
    let document = stored(&note(1, "", 0, ""));
    assert!(layout.read("note:ana:1", &document).is_ok());
    for key in ["note:Ana:1", "note:ana :1", "note:bob:1", "note:ana:1:2"] {
        let error = layout.read(key, &document).unwrap_err();
        assert_eq!(
            (error.reason, error.user.as_deref()),
            (Reason::Malformed, Some("ana")),
            "{key}"
        );
    }
    assert!(layout.is_own_key("note:ana:1") && !layout.is_own_key("note:tags"));
}

#[test]
fn each_mistake_has_its_message() {
    let mistakes_of = |change: &dyn Fn(&mut Options), storage| {
        let mut options = options();
        options.custom.storage = None;
        change(&mut options);
        mistakes(&options, &facts(storage))
    };
    let (json, hash) = (Storage::Json, Storage::Hash);
    let name = |name: &str| Some(name.to_owned());
    type Change<'a> = &'a dyn Fn(&mut Options);
    let cases: [(Change<'_>, Storage, &str); 12] = [
        (
            &|o| o.custom.storage = Some(Storage::Json),
            hash,
            "custom.storage says JSON",
        ),
        (
            &|o| o.custom.key = KeyShape::parse("memo:{id}").ok(),
            json,
            "custom.key says memo:{id}",
        ),
        (
            &|o| o.text = None,
            json,
            "fields.text is not set: the index has body (TEXT)",
        ),
        (
            &|o| o.user = name("uid"),
            json,
            "fields.user says `uid`: the index has",
        ),
        (
            &|o| o.user = name("born"),
            json,
            "indexed as NUMERIC and holds no text",
        ),
        (&|o| o.text = name("vec"), json, "indexed as VECTOR"),
        (
            &|o| o.vector = name("body"),
            json,
            "`body` is no vector field",
        ),
        (
            &|o| o.custom.created_at = TimeForm::Iso,
            json,
            "holds numbers",
        ),
        (&|o| o.created_at = name("body"), json, "holds text"),
        (
            &|o| o.custom.metadata = MetadataForm::Object,
            json,
            "`extra` is indexed as TEXT",
        ),
        (
            &|o| o.custom.metadata = MetadataForm::Object,
            hash,
            "which a hash cannot hold",
        ),
        (
            &|o| o.custom.rules.push(("body".into(), Rule::Keep)),
            json,
            "`body`, which is named",
        ),
    ];
    for (change, storage, message) in cases {
        let found = mistakes_of(change, storage);
        assert_eq!(found.len(), 1, "{message}: {found:?}");
        assert!(found[0].contains(message), "{message}: {found:?}");
    }
    let sums = |o: &mut Options| o.custom.rules = vec![("topics".into(), Rule::Sum)];
    assert!(mistakes_of(&sums, json)[0].contains("sum for `topics`"));
    assert_eq!(mistakes_of(&|_| {}, json), Vec::<String>::new());
    // Several are told at once.
    let two = |o: &mut Options| {
        o.text = None;
        o.custom.metadata = MetadataForm::Object;
    };
    assert_eq!(mistakes_of(&two, json).len(), 2);
}
