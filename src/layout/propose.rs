//! A proposal of the layout `custom` for an index: a guess from the names of its fields and a few
//! records, for people to look over. Nothing decides by it what may be merged.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::body::Body;
use super::json::Path;
use super::key_shape::KeyShape;
use super::redisvl::MetadataForm;
use super::rules::Rule;
use super::timestamp::{Stamp, TimeForm};
use super::{CustomOptions, Options};
use crate::record::{FieldKind, IndexFacts, Record, Unfit};

/// What a field can be to a memory, and the names under which it is usually found.
pub const ROLES: [(&str, &[&str]); 6] = [
    (
        "text",
        &[
            "content",
            "text",
            "memory",
            "memory_text",
            "fact",
            "body",
            "note",
            "value",
        ],
    ),
    (
        "user",
        &[
            "user_id",
            "user",
            "userid",
            "owner",
            "owner_id",
            "uid",
            "customer_id",
            "account_id",
        ],
    ),
    ("memory_type", &["memory_type", "type", "kind", "category"]),
    ("id", &["memory_id", "id", "uuid"]),
    (
        "created_at",
        &[
            "created_at",
            "timestamp",
            "created",
            "createdat",
            "created_on",
            "date",
            "ts",
        ],
    ),
    ("metadata", &["metadata", "meta", "extra", "attributes"]),
];

/// Names of fields that usually divide memories.
const SCOPE: [&str; 7] = [
    "namespace",
    "agent_id",
    "app_id",
    "run_id",
    "tenant",
    "tenant_id",
    "project",
];

/// Names of counters.
const COUNTERS: [&str; 6] = [
    "access_count",
    "count",
    "uses",
    "hits",
    "times_used",
    "times_seen",
];

/// What was proposed, and what is to be looked over.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The settings.
    pub options: Options,
    /// What could not be told.
    pub doubts: Vec<String>,
}

/// Proposes settings for an index from some of its records, by key.
///
/// # Errors
/// [`Unfit`] if it has no vectors that memfold can use.
pub fn propose(facts: &IndexFacts, samples: &[(String, Record)]) -> Result<Proposal, Unfit> {
    let usable = |name: &&str| facts.vector(name).is_ok();
    let vectors: Vec<&str> = facts.vectors().map(|(name, _)| name).collect();
    let vector = match vectors.iter().copied().find(usable) {
        Some(vector) => vector.to_owned(),
        None => match vectors.first() {
            Some(first) => {
                return Err(facts.vector(first).err().unwrap_or_else(|| unusable(facts)));
            }
            None => return Err(unusable(facts)),
        },
    };
    let body = Body::new(facts, &vector)?;
    let records: Vec<Map<String, Value>> = samples
        .iter()
        .filter_map(|(_, record)| body.members(record).ok())
        .map(|members| members.map)
        .collect();
    let guess = Guess {
        facts,
        keys: samples.iter().map(|(key, _)| key.as_str()).collect(),
        records,
        vector,
    };
    Ok(guess.proposal())
}

fn unusable(facts: &IndexFacts) -> Unfit {
    facts.unfit("it has no vectors, so it holds no memories".to_owned())
}

struct Guess<'a> {
    facts: &'a IndexFacts,
    keys: Vec<&'a str>,
    records: Vec<Map<String, Value>>,
    vector: String,
}

impl Guess<'_> {
    fn proposal(&self) -> Proposal {
        let [text, user, memory_type, id, created_at, metadata] =
            ROLES.map(|(_, names)| self.field(names));
        let text = text.or_else(|| self.longest_text());
        let mut doubts = Vec::new();
        for (role, found) in [("text", &text), ("user", &user)] {
            if found.is_none() {
                doubts.push(format!("which field holds the {role}? set fields.{role}"));
            }
        }
        let scope = SCOPE
            .iter()
            .filter_map(|name| self.field(&[name]))
            .collect();
        let mut options = Options {
            text,
            vector: Some(self.vector.clone()),
            user,
            memory_type,
            id,
            created_at,
            metadata,
            scope,
            ..Options::default()
        };
        options.custom = CustomOptions {
            storage: Some(self.facts.storage),
            key: self.key(options.user.as_deref()),
            created_at: options
                .created_at
                .as_deref()
                .map_or(TimeForm::Auto, |name| self.times(name)),
            metadata: options
                .metadata
                .as_deref()
                .map_or(MetadataForm::Auto, |name| self.form(name)),
            rules: self.rules(&options),
        };
        Proposal { options, doubts }
    }

    /// The values of a field.
    fn values(&self, name: &str) -> Vec<&Value> {
        let path = Path::of_field(self.facts, name).unwrap_or_else(|_| Path::root(name));
        let values = self.records.iter().filter_map(|record| path.get(record));
        values.filter(|value| !value.is_null()).collect()
    }

    /// The names of all fields: those of the index, and those at the root of records.
    fn names(&self) -> Vec<String> {
        let indexed = self
            .facts
            .fields
            .iter()
            .map(|field| field.attribute.clone());
        let paths: BTreeSet<Option<Path>> = self
            .facts
            .fields
            .iter()
            .map(|field| Path::of_field(self.facts, &field.attribute).ok())
            .collect();
        let beside: BTreeSet<&String> = self
            .records
            .iter()
            .flat_map(|record| record.keys())
            .filter(|name| {
                !paths
                    .iter()
                    .flatten()
                    .any(|path| Path::root(name).covers(path))
            })
            .collect();
        indexed.chain(beside.into_iter().cloned()).collect()
    }

    /// The first of these names that is one of a field, in any case.
    fn field(&self, names: &[&str]) -> Option<String> {
        let all = self.names();
        let found = names.iter().find_map(|wanted| {
            all.iter()
                .find(|name| name.to_lowercase() == **wanted && **name != self.vector)
        });
        found.cloned()
    }

    fn longest_text(&self) -> Option<String> {
        let texts = self
            .facts
            .fields
            .iter()
            .filter(|field| field.kind == FieldKind::Text);
        let length = |name: &str| -> usize {
            let values = self.values(name);
            values
                .iter()
                .filter_map(|value| value.as_str())
                .map(str::len)
                .sum()
        };
        texts
            .map(|field| (length(&field.attribute), &field.attribute))
            .max_by_key(|(length, _)| *length)
            .map(|(_, name)| name.clone())
    }

    /// The narrowest shape that all keys have.
    fn key(&self, user: Option<&str>) -> Option<KeyShape> {
        let covering = |prefix: &&String| self.keys.iter().all(|key| key.starts_with(*prefix));
        let prefix = self
            .facts
            .prefixes
            .iter()
            .filter(covering)
            .max_by_key(|p| p.len())?;
        if self.keys.is_empty() || prefix.contains(['{', '}', '*']) {
            return None;
        }
        let rests = || self.keys.iter().map(|key| &key[prefix.len()..]);
        let start: String = [":", "|", "/", "-"]
            .into_iter()
            .find(|mark| rests().all(|rest| rest.starts_with(mark)))
            .unwrap_or_default()
            .to_owned();
        let users: Vec<Option<&str>> = match user {
            Some(name) => {
                let path = Path::of_field(self.facts, name).unwrap_or_else(|_| Path::root(name));
                let user = |record| path.get(record).and_then(Value::as_str);
                self.records.iter().map(user).collect()
            }
            None => Vec::new(),
        };
        let fits = |shape: &KeyShape| {
            let same_count = users.len() == self.keys.len();
            self.keys
                .iter()
                .enumerate()
                .all(|(n, key)| match users.get(n) {
                    Some(Some(user)) if same_count => shape.matches_for(key, user),
                    _ => shape.matches(key) && !shape.text().contains("{user}"),
                })
        };
        ["{id}", "{user}:{id}", "{user}/{id}", "*"]
            .iter()
            .filter_map(|rest| KeyShape::parse(&format!("{prefix}{start}{rest}")).ok())
            .find(fits)
    }

    /// The form that all dates have.
    fn times(&self, name: &str) -> TimeForm {
        let values = self.values(name);
        let numeric = self.is_numeric(name);
        let form = |form: &TimeForm| {
            let text = matches!(form, TimeForm::Iso);
            values.iter().all(|value| {
                let read = form.read(value, &TimeZone::UTC).map(|stamp| stamp.at);
                let auto = match value {
                    Value::String(text) => Stamp::parse(text, &TimeZone::UTC),
                    other => Stamp::parse(&other.to_string(), &TimeZone::UTC),
                };
                read.is_some() && read == auto.map(|stamp| stamp.at) && text != numeric
            })
        };
        let forms = [
            TimeForm::Iso,
            TimeForm::Seconds,
            TimeForm::Millis,
            TimeForm::Micros,
            TimeForm::Nanos,
        ];
        let found = forms.into_iter().find(form);
        found.filter(|_| !values.is_empty()).unwrap_or_default()
    }

    fn is_numeric(&self, name: &str) -> bool {
        match self.facts.field(name) {
            Some(field) => field.kind == FieldKind::Numeric,
            None => self
                .values(name)
                .iter()
                .all(|value| !value.is_string() || is_digits(value)),
        }
    }

    fn form(&self, name: &str) -> MetadataForm {
        let values = self.values(name);
        if values.is_empty() || self.facts.field(name).is_some() {
            MetadataForm::Json
        } else if values.iter().all(|value| value.is_object()) {
            MetadataForm::Object
        } else if values.iter().all(|value| value.is_string()) {
            MetadataForm::Json
        } else {
            MetadataForm::Auto
        }
    }

    /// A rule for each field that is left.
    fn rules(&self, options: &Options) -> Vec<(String, Rule)> {
        let taken = [
            &options.text,
            &options.vector,
            &options.user,
            &options.memory_type,
            &options.id,
            &options.created_at,
            &options.metadata,
        ];
        let is_free = |name: &String| {
            !taken.into_iter().flatten().any(|role| role == name)
                && !options.scope.contains(name)
                && !name.contains([',', '='])
                // What may be several values takes no rule.
                && Path::of_field(self.facts, name).is_ok()
                && !matches!(
                    self.facts.field(name).map(|f| &f.kind),
                    Some(FieldKind::Vector(_))
                )
        };
        let names = self.names().into_iter().filter(is_free);
        let with_rule = |name: String| {
            let rule = self.rule(&name);
            (name, rule)
        };
        names.map(with_rule).collect()
    }

    fn rule(&self, name: &str) -> Rule {
        let (lower, values) = (name.to_lowercase(), self.values(name));
        let kind = self.facts.field(name).map(|field| &field.kind);
        let number = |value: &&Value| value.is_number() || is_digits(value);
        let numbers = !values.is_empty() && values.iter().all(number);
        let ordered = |value: &&Value| {
            number(value)
                || value
                    .as_str()
                    .is_some_and(|t| Stamp::parse(t, &TimeZone::UTC).is_some())
        };
        let lists = |value: &&Value| value.is_array();
        let divided = |value: &&Value| match kind {
            Some(FieldKind::Tag {
                separator: Some(separator),
                ..
            }) => value.as_str().is_some_and(|text| text.contains(*separator)),
            _ => false,
        };
        let is_tag = matches!(kind, Some(FieldKind::Tag { .. }));
        if numbers && !is_tag && COUNTERS.contains(&lower.as_str()) {
            Rule::Sum
        } else if !values.is_empty()
            && values.iter().all(ordered)
            && (lower.starts_with("last") || lower.starts_with("updated") || lower.ends_with("_at"))
        {
            Rule::Max
        } else if !values.is_empty()
            && (values.iter().all(lists) || values.iter().any(divided))
            && kind != Some(&FieldKind::Numeric)
        {
            Rule::Union
        } else {
            Rule::Keep
        }
    }
}

/// Whether a value is text that holds a number and nothing else.
fn is_digits(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| text.parse::<serde_json::Number>().is_ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::record::{Field, Storage, VectorFacts};

    fn facts(storage: Storage, prefix: &str, fields: &[(&str, FieldKind)]) -> IndexFacts {
        let vector = FieldKind::Vector(VectorFacts {
            algorithm: "FLAT".into(),
            data_type: "FLOAT32".into(),
            dims: 2,
            metric: "COSINE".into(),
        });
        let field = |(name, kind): &(&str, FieldKind)| Field {
            attribute: (*name).to_owned(),
            path: match storage {
                Storage::Json => format!("$.{name}"),
                Storage::Hash => (*name).to_owned(),
            },
            kind: kind.clone(),
        };
        IndexFacts {
            name: "notes".into(),
            storage,
            prefixes: vec![prefix.into()],
            fields: fields.iter().chain([&("vec", vector)]).map(field).collect(),
            indexing: false,
            percent: 1.0,
            failures: 0,
            docs: 0,
        }
    }

    fn tag() -> FieldKind {
        FieldKind::Tag {
            separator: Some(','),
            case_sensitive: false,
            index_empty: false,
        }
    }

    fn proposed(facts: &IndexFacts, samples: &[(&str, Value)]) -> Proposal {
        let sample = |(key, document): &(&str, Value)| {
            ((*key).to_owned(), Record::Json(document.to_string()))
        };
        propose(facts, &samples.iter().map(sample).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_store_of_ones_own_is_described_whole() {
        let facts = facts(
            Storage::Json,
            "note",
            &[
                ("Body", FieldKind::Text),
                ("owner", tag()),
                ("topics", tag()),
                ("ts", FieldKind::Numeric),
            ],
        );
        let note = |user: &str, ts: i64| {
            json!({"Body": "likes tea", "owner": user, "vec": [1, 0], "ts": ts, "topics": "a,b", "uses": 3,
                   "last_read": "2026-01-02", "namespace": "n", "meta": {"a": 1}, "colour": "red"})
        };
        let samples = [
            ("note:ana:1", note("ana", 1_795_977_278_705)),
            ("note:bob:2", note("bob", 1_795_977_279_000)),
        ];
        let Proposal { options, doubts } = proposed(&facts, &samples);
        assert_eq!(doubts, Vec::<String>::new());
        assert_eq!(options.text.as_deref(), Some("Body"));
        assert_eq!(
            (options.user.as_deref(), options.created_at.as_deref()),
            (Some("owner"), Some("ts"))
        );
        assert_eq!(
            (options.metadata.as_deref(), &options.scope[..]),
            (Some("meta"), &["namespace".to_owned()][..])
        );
        let custom = &options.custom;
        assert_eq!(
            custom.key.as_ref().map(KeyShape::text),
            Some("note:{user}:{id}")
        );
        assert_eq!(
            (custom.created_at, custom.metadata),
            (TimeForm::Millis, MetadataForm::Object)
        );
        let rule = |name: &str| {
            custom
                .rules
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, rule)| *rule)
        };
        assert_eq!(rule("topics"), Some(Rule::Union));
        assert_eq!(rule("uses"), Some(Rule::Sum));
        assert_eq!(rule("last_read"), Some(Rule::Max));
        assert_eq!(rule("colour"), Some(Rule::Keep));
        assert_eq!(custom.rules.len(), 4);
    }

    #[test]
    fn a_field_that_may_be_several_values_gets_no_rule() {
        let mut facts = facts(Storage::Json, "note:", &[("body", tag()), ("tags", tag())]);
        facts.fields[1].path = "$.tags[*]".to_owned();
        let record = json!({"body": "Likes tea", "tags": ["a", "b"], "vec": [1, 0]}).to_string();
        let samples = [("note:1".to_owned(), Record::Json(record))];
        let rules = propose(&facts, &samples).unwrap().options.custom.rules;
        assert!(rules.iter().all(|(name, _)| name != "tags"), "{rules:?}");
    }

    #[test]
    fn key_shapes_are_as_narrow_as_the_keys_allow() {
        for (prefix, keys, shape) in [
            ("n:", ["n:1", "n:2"], Some("n:{id}")),
            ("n", ["n:1", "n:2"], Some("n:{id}")),
            ("n:", ["n::1", "n::2"], Some("n::{id}")),
            ("n:", ["n::1", "n:2"], Some("n:*")),
            ("n:", ["n:x:1", "n:y:2"], Some("n:*")),
            ("", ["1", "2"], Some("{id}")),
        ] {
            let facts = facts(
                Storage::Json,
                prefix,
                &[("text", FieldKind::Text), ("user", tag())],
            );
            let samples = keys.map(|key| (key, json!({"text": "a", "user": "ana"})));
            let found = proposed(&facts, &samples).options.custom.key;
            assert_eq!(found.as_ref().map(KeyShape::text), shape, "{keys:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_asked() {
        let facts = facts(
            Storage::Hash,
            "n:",
            &[("a", FieldKind::Text), ("b", FieldKind::Text)],
        );
        let proposal = propose(&facts, &[]).unwrap();
        assert_eq!(proposal.doubts.len(), 1, "{:?}", proposal.doubts);
        assert!(proposal.doubts[0].contains("fields.user"));
        let mut bare = facts;
        bare.fields.truncate(2);
        assert!(propose(&bare, &[]).is_err());
    }
}
