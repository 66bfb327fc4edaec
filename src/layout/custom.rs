//! Memories as somebody's own program stores them: one key a memory, everything said in the
//! configuration and checked against the index.

use std::sync::Arc;

use super::json::Path;
use super::key_shape::KeyShape;
use super::redisvl::{MetadataForm, Redisvl, RedisvlFields, Ways};
use super::rules::Rule;
use super::timestamp::TimeForm;
use super::{
    CannotWrite, FieldUse, Kind, Layout, Leaf, Listing, Merged, NotRead, Options, Reading, Source,
    not_read,
};
use crate::memory::Reason;
use crate::record::{Field, FieldKind, IndexFacts, Storage, Stored, Unfit};

const NAME: &str = "custom";

/// The layout by its name.
pub(super) const KIND: Kind = Kind {
    name: NAME,
    index: "",
    more: |_, _| Vec::new(),
    copied: false,
    named: true,
    open: |options, facts, _| Ok(Arc::new(Custom::new(options, facts)?)),
};

/// What the table `[custom]` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomOptions {
    /// The kind of keys that the index must be over.
    pub storage: Option<Storage>,
    /// What the keys of memories look like.
    pub key: Option<KeyShape>,
    /// How dates are written.
    pub created_at: TimeForm,
    /// How metadata are written.
    pub metadata: MetadataForm,
    /// Further fields and how each is merged.
    pub rules: Vec<(String, Rule)>,
}

/// The layout `custom` over one index.
#[derive(Clone, Debug)]
struct Custom {
    fields: Redisvl,
    options: CustomOptions,
}

impl Custom {
    fn new(options: &Options, facts: &IndexFacts) -> Result<Self, Unfit> {
        let mistakes = mistakes(options, facts);
        if !mistakes.is_empty() {
            return Err(facts.unfit(mistakes.join("; ")));
        }
        let custom = &options.custom;
        let rules = custom.rules.iter().map(|(name, rule)| {
            let separator = facts.field(name).and_then(separator).unwrap_or(',');
            Ok((Path::of_field(facts, name)?, *rule, separator))
        });
        let ways = Ways {
            times: custom.created_at,
            metadata: custom.metadata,
            rules: rules.collect::<Result<_, Unfit>>()?,
        };
        let fields = RedisvlFields::of(options);
        Ok(Self {
            fields: Redisvl::with(&fields, facts, options.naive_zone.clone(), ways)?,
            options: custom.clone(),
        })
    }
}

impl Layout for Custom {
    fn name(&self) -> &'static str {
        NAME
    }

    fn listing(&self) -> Listing<'_> {
        self.fields.listing()
    }

    fn is_own_key(&self, key: &str) -> bool {
        let shape = self.options.key.as_ref();
        shape.is_none_or(|shape| shape.matches(key))
    }

    fn vector_field(&self) -> &str {
        self.fields.vector_field()
    }

    fn fields(&self) -> Vec<FieldUse> {
        let rules = self.options.rules.iter();
        let rules =
            rules.map(|(name, rule)| FieldUse::new("rules", name, false, *rule != Rule::Keep));
        self.fields.fields().into_iter().chain(rules).collect()
    }

    fn rules(&self) -> String {
        format!("{:?}", self.options)
    }

    fn read(&self, key: &str, stored: &Stored) -> Result<Reading, NotRead> {
        let reading = self.fields.read(key, stored)?;
        let user = &reading.memory.partition.user;
        match &self.options.key {
            Some(shape) if !shape.matches_for(key, user) => Err(NotRead {
                user: Some(user.clone()),
                ..not_read(
                    Reason::Malformed,
                    format!(
                        "the key is not {} with the user of the record",
                        shape.text()
                    ),
                )
            }),
            _ => Ok(reading),
        }
    }

    fn leaves(&self, source: &Source) -> Vec<Leaf> {
        self.fields.leaves(source)
    }

    fn merge(
        &self,
        sources: &[Source],
        survivor: usize,
        merged: &Merged,
    ) -> Result<Stored, CannotWrite> {
        self.fields.merge(sources, survivor, merged)
    }
}

fn separator(field: &Field) -> Option<char> {
    match field.kind {
        FieldKind::Tag { separator, .. } => separator,
        _ => None,
    }
}

/// Everything that the settings say and that is not so, each with what to do.
fn mistakes(options: &Options, facts: &IndexFacts) -> Vec<String> {
    let check = Check { options, facts };
    let mut mistakes = Vec::new();
    mistakes.extend(check.storage());
    mistakes.extend(check.key());
    mistakes.extend(check.needed_fields());
    mistakes.extend(check.created_at());
    mistakes.extend(check.metadata());
    mistakes.extend(check.rules());
    mistakes
}

struct Check<'a> {
    options: &'a Options,
    facts: &'a IndexFacts,
}

impl Check<'_> {
    fn storage(&self) -> Option<String> {
        let (said, is) = (self.options.custom.storage?, self.facts.storage);
        (said != is).then(|| {
            let (said, is) = (said.name(), is.name());
            format!("custom.storage says {said}, but the index is over {is}")
        })
    }

    fn key(&self) -> Option<String> {
        let shape = self.options.custom.key.as_ref()?;
        let (start, prefixes) = (shape.prefix(), &self.facts.prefixes);
        let meets = |prefix: &String| start.starts_with(prefix) || prefix.starts_with(start);
        (!prefixes.iter().any(meets)).then(|| {
            format!(
                "custom.key says {}, but the index covers keys that begin with {}",
                shape.text(),
                prefixes.join(" or ")
            )
        })
    }

    /// Text, vector and user have no usual name, and the index must have them.
    fn needed_fields(&self) -> Vec<String> {
        let needed = [
            ("text", &self.options.text),
            ("vector", &self.options.vector),
            ("user", &self.options.user),
        ];
        let mistake = |(role, name): (&str, &Option<String>)| {
            let Some(name) = name else {
                return Some(format!("fields.{role} is not set: {}", self.fields()));
            };
            let Some(field) = self.facts.field(name) else {
                let fields = self.fields();
                return Some(format!("fields.{role} says `{name}`: {fields}"));
            };
            let is_vector = matches!(field.kind, FieldKind::Vector(_));
            if role == "vector" {
                return self.facts.vector(name).err().map(|unfit| unfit.detail);
            }
            let number = field.kind == FieldKind::Numeric && self.facts.storage == Storage::Json;
            (is_vector || number).then(|| {
                let kind = kind(field);
                format!("fields.{role} says `{name}`, which is indexed as {kind} and holds no text")
            })
        };
        needed.into_iter().filter_map(mistake).collect()
    }

    fn created_at(&self) -> Option<String> {
        let form = self.options.custom.created_at;
        let name = self.options.created_at.as_ref()?;
        let field = self.facts.field(name)?;
        let numeric = field.kind == FieldKind::Numeric;
        let json = self.facts.storage == Storage::Json;
        let wrong = match form {
            TimeForm::Auto => false,
            TimeForm::Iso => numeric,
            _ => json && !numeric,
        };
        wrong.then(|| {
            let (kind, word) = (kind(field), if numeric { "numbers" } else { "text" });
            format!(
                "custom.created_at does not fit `{name}`, which is indexed as {kind} and so holds {word}"
            )
        })
    }

    fn metadata(&self) -> Option<String> {
        if self.options.custom.metadata != MetadataForm::Object {
            return None;
        }
        if self.facts.storage == Storage::Hash {
            return Some("custom.metadata says object, which a hash cannot hold; say json".into());
        }
        let name = self.options.metadata.as_ref()?;
        let field = self.facts.field(name)?;
        Some(format!(
            "custom.metadata says object, but `{name}` is indexed as {}, and the index drops \
             records with an object there; say json",
            kind(field)
        ))
    }

    fn rules(&self) -> Vec<String> {
        let options = self.options;
        let roles = [
            &options.text,
            &options.vector,
            &options.user,
            &options.memory_type,
            &options.id,
            &options.created_at,
            &options.metadata,
        ];
        let has_role = |name: &String| {
            roles.into_iter().flatten().any(|role| role == name) || options.scope.contains(name)
        };
        let mistake = |(name, rule): &(String, Rule)| {
            if has_role(name) {
                return Some(format!(
                    "custom.rules has `{name}`, which is named under fields and merged by its role"
                ));
            }
            let field = self.facts.field(name)?;
            let unfit = matches!(
                (&field.kind, rule),
                (FieldKind::Vector(_), _)
                    | (FieldKind::Numeric, Rule::Union)
                    | (FieldKind::Tag { .. }, Rule::Sum)
            );
            unfit.then(|| {
                format!(
                    "custom.rules says {rule} for `{name}`, which is indexed as {}",
                    kind(field)
                )
            })
        };
        options.custom.rules.iter().filter_map(mistake).collect()
    }

    fn fields(&self) -> String {
        let names: Vec<String> = self
            .facts
            .fields
            .iter()
            .map(|field| format!("{} ({})", field.attribute, kind(field)))
            .collect();
        format!("the index has {}", names.join(", "))
    }
}

fn kind(field: &Field) -> &str {
    match &field.kind {
        FieldKind::Text => "TEXT",
        FieldKind::Tag { .. } => "TAG",
        FieldKind::Numeric => "NUMERIC",
        FieldKind::Vector(_) => "VECTOR",
        FieldKind::Other { name } => name,
    }
}

#[cfg(test)]
mod tests;
