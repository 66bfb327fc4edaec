//! Memories as the LangGraph + redisvl recipe stores them: one key a memory, JSON or HASH, with
//! text, vector, user id, type, id, creation date and metadata in fields of their own.

mod write;

use std::sync::Arc;

use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::body::{Body, Look, Member, Members};
use super::deleted::{may_say_deleted, refuse_deleted};
use super::json::Path;
use super::metadata::Metadata;
use super::rules::Rule;
use super::timestamp::{Stamp, TimeForm};
use super::{
    CannotWrite, FieldUse, Kind, Layout, Leaf, Listing, Merged, NotRead, Options, Reading, Source,
    not_read,
};
use crate::memory::{Memory, Partition, Reason};
use crate::record::{IndexFacts, Record, Stored, Unfit};

/// The layout by its name.
pub(super) const KIND: Kind = Kind {
    name: NAME,
    index: "agent_memories",
    more: |_, _| Vec::new(),
    copied: true,
    named: true,
    open: |options, facts, _| {
        let fields = RedisvlFields::of(options);
        let layout = Redisvl::new(&fields, facts, options.naive_zone.clone())?;
        Ok(Arc::new(layout))
    },
};

const NAME: &str = "redisvl";

/// The names of the fields, as the index calls them or, where it has none, at the root of the
/// record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedisvlFields {
    /// The text.
    pub text: String,
    /// The vector; must be a vector field of the index.
    pub vector: String,
    /// The user id.
    pub user: String,
    /// The memory type.
    pub memory_type: String,
    /// The memory's own id, which need not be the one in its key.
    pub id: String,
    /// The creation date.
    pub created_at: String,
    /// The metadata: JSON in a string, or an object.
    pub metadata: String,
    /// Further fields that divide memories: what differs in one of them never meets.
    pub scope: Vec<String>,
}

impl Default for RedisvlFields {
    fn default() -> Self {
        Self {
            text: "content".to_owned(),
            vector: "embedding".to_owned(),
            user: "user_id".to_owned(),
            memory_type: "memory_type".to_owned(),
            id: "memory_id".to_owned(),
            created_at: "created_at".to_owned(),
            metadata: "metadata".to_owned(),
            scope: Vec::new(),
        }
    }
}

impl RedisvlFields {
    pub(super) fn of(options: &Options) -> Self {
        let usual = Self::default();
        let or = |name: &Option<String>, usual| name.clone().unwrap_or(usual);
        Self {
            text: or(&options.text, usual.text),
            vector: or(&options.vector, usual.vector),
            user: or(&options.user, usual.user),
            memory_type: or(&options.memory_type, usual.memory_type),
            id: or(&options.id, usual.id),
            created_at: or(&options.created_at, usual.created_at),
            metadata: or(&options.metadata, usual.metadata),
            scope: options.scope.clone(),
        }
    }
}

/// How metadata are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetadataForm {
    /// As the survivor's, else any source's; where there are none, as JSON in text.
    #[default]
    Auto,
    /// JSON in text.
    Json,
    /// An object.
    Object,
}

/// The layout `redisvl` over one index.
#[derive(Clone, Debug)]
pub struct Redisvl {
    fields: RedisvlFields,
    body: Body,
    /// The name of the user field in queries.
    user_attribute: String,
    /// The name of the vector field in queries.
    vector_attribute: String,
    /// The name of the date of creation in queries.
    created_attribute: String,
    text: Path,
    user: Path,
    memory_type: Path,
    id: Path,
    created_at: Path,
    metadata: Path,
    scope: Vec<Path>,
    ways: Ways,
    naive_zone: TimeZone,
}

/// What can be said beyond the names of the fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    /// How dates are written.
    pub(super) times: TimeForm,
    /// How metadata are written.
    pub(super) metadata: MetadataForm,
    /// Further fields, each with its rule and what divides the items of its text.
    pub(super) rules: Vec<(Path, Rule, char)>,
}

impl Redisvl {
    /// The layout over an index. Dates without an offset are of `naive_zone`.
    ///
    /// # Errors
    /// [`Unfit`] if the vector field is missing or of a kind that memfold cannot
    /// use, if a JSON path can mean several values, or if two roles share a field.
    pub fn new(
        fields: &RedisvlFields,
        facts: &IndexFacts,
        naive_zone: TimeZone,
    ) -> Result<Self, Unfit> {
        Self::with(fields, facts, naive_zone, Ways::default())
    }

    /// The same with more said.
    pub(super) fn with(
        fields: &RedisvlFields,
        facts: &IndexFacts,
        naive_zone: TimeZone,
        ways: Ways,
    ) -> Result<Self, Unfit> {
        let path = |name: &str| Path::of_field(facts, name);
        let attribute = |name: &String| {
            let field = facts.field(name);
            field.map_or_else(|| name.clone(), |field| field.attribute.clone())
        };
        let layout = Self {
            fields: fields.clone(),
            body: Body::new(facts, &fields.vector)?,
            user_attribute: attribute(&fields.user),
            vector_attribute: attribute(&fields.vector),
            created_attribute: attribute(&fields.created_at),
            text: path(&fields.text)?,
            user: path(&fields.user)?,
            memory_type: path(&fields.memory_type)?,
            id: path(&fields.id)?,
            created_at: path(&fields.created_at)?,
            metadata: path(&fields.metadata)?,
            scope: fields
                .scope
                .iter()
                .map(|name| path(name))
                .collect::<Result<_, _>>()?,
            ways,
            naive_zone,
        };
        let roles = layout.roles();
        for (position, one) in roles.iter().enumerate() {
            for other in &roles[position + 1..] {
                if one.covers(other) || other.covers(one) {
                    let detail = format!("`{}` stands for two things", other.dotted());
                    return Err(facts.unfit(detail));
                }
            }
        }
        Ok(layout)
    }

    fn roles(&self) -> [&Path; 7] {
        [
            &self.text,
            &self.body.vector,
            &self.user,
            &self.memory_type,
            &self.id,
            &self.created_at,
            &self.metadata,
        ]
    }

    /// The members of a record; the vector is left out.
    fn members(&self, record: &Record) -> Result<Map<String, Value>, NotRead> {
        let Members { map, binary } = self.body.members(record)?;
        match binary.iter().find(|name| self.must_be_text(name)) {
            None => Ok(map),
            Some(name) => Err(not_utf8(name)),
        }
    }

    /// A look at the members of a record; the vector is left out.
    fn look<'a>(&self, record: &'a Record) -> Result<Look<'a>, NotRead> {
        let (look, binary) = self.body.look(record)?;
        match binary.into_iter().find(|name| self.must_be_text(name)) {
            None => Ok(look),
            Some(name) => Err(NotRead {
                user: text_at(&look, &self.user).ok().flatten(),
                ..not_utf8(name)
            }),
        }
    }

    fn must_be_text(&self, name: &str) -> bool {
        let path = Path::root(name);
        self.roles().contains(&&path) || self.scope.contains(&path)
    }

    fn partition(&self, look: &Look<'_>, user: String) -> Result<Partition, NotRead> {
        Ok(Partition {
            user,
            scope: self
                .scope
                .iter()
                .map(|path| scope_value(look.get(path)))
                .collect(),
            memory_type: text_at(look, &self.memory_type)?.unwrap_or_default(),
        })
    }

    fn stamp(&self, date: Option<Member<'_>>) -> Option<Stamp> {
        self.ways.times.of(date?, &self.naive_zone)
    }

    /// What is wrong with a date, where it is known how dates are written.
    fn unread_date(&self, look: &Look<'_>, stamp: Option<&Stamp>) -> Option<String> {
        let form = self.ways.times;
        let there = |value: &Member<'_>| !value.is_null() && value.as_text() != Some("");
        look.get(&self.created_at).filter(there)?;
        let unread = form != TimeForm::Auto && stamp.is_none();
        unread.then(|| {
            let name = self.created_at.dotted();
            format!("`{name}` is no date in {}", form.of_what())
        })
    }

    fn read_members(
        &self,
        key: &str,
        stored: &Stored,
        look: &Look<'_>,
        user: String,
        text: Option<String>,
    ) -> Result<Reading, NotRead> {
        let text = text.ok_or_else(|| not_read(Reason::Malformed, "the record has no text"))?;
        if text.trim().is_empty() {
            return Err(not_read(Reason::EmptyText, "the text is empty"));
        }
        let metadata = Metadata::of(look.get(&self.metadata));
        refuse_deleted(&[&may_say_deleted(look), &metadata.members])?;
        let stamp = self.stamp(look.get(&self.created_at));
        if let Some(unread) = self.unread_date(look, stamp.as_ref()) {
            return Err(not_read(Reason::Malformed, unread));
        }
        let partition = self.partition(look, user)?;
        let vector = self.body.vector(&stored.record)?;
        let created_at = stamp.map(|stamp| stamp.at);
        let memory = Memory {
            key: key.to_owned(),
            partition,
            text,
            created_at,
            said_at: metadata.said_at(created_at),
            expires_at_ms: None,
            digest: stored.digest(),
            merge_id: metadata.merge_id(),
            pinned: false,
            frame: None,
        };
        Ok(Reading { memory, vector })
    }

    fn memory_id(&self, members: &Map<String, Value>, key: &str) -> String {
        match self.id.get(members) {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => key.to_owned(),
        }
    }
}

impl Layout for Redisvl {
    fn name(&self) -> &'static str {
        NAME
    }

    fn listing(&self) -> Listing<'_> {
        Listing::Tag(&self.user_attribute)
    }

    fn vector_field(&self) -> &str {
        &self.vector_attribute
    }

    fn time_fields(&self) -> Vec<&str> {
        vec![&self.created_attribute]
    }

    fn fields(&self) -> Vec<FieldUse> {
        let fields = &self.fields;
        let field = FieldUse::new;
        let mut uses = vec![
            field("text", &fields.text, true, true),
            field("vector", &fields.vector, true, true),
            field("user", &fields.user, true, false),
            field("memory_type", &fields.memory_type, false, false),
            field("id", &fields.id, false, false),
            field("created_at", &fields.created_at, false, true),
            field("metadata", &fields.metadata, false, true),
        ];
        let scope = fields.scope.iter();
        uses.extend(scope.map(|name| field("scope", name, false, false)));
        uses
    }

    fn read(&self, key: &str, stored: &Stored) -> Result<Reading, NotRead> {
        let look = self.look(&stored.record)?;
        let user = text_at(&look, &self.user)?;
        let text = text_at(&look, &self.text);
        let Some(user) = user else {
            return Err(match text {
                Ok(None) => not_read(Reason::NotAMemory, "the record has neither text nor user"),
                _ => not_read(Reason::Malformed, "the record has no user id"),
            });
        };
        text.and_then(|text| self.read_members(key, stored, &look, user.clone(), text))
            .map_err(|error| NotRead {
                user: Some(user),
                ..error
            })
    }

    fn leaves(&self, source: &Source) -> Vec<Leaf> {
        let members = self.members(&source.stored.record).unwrap_or_default();
        let id = self.memory_id(&members, &source.memory.key);
        Metadata::read(self.metadata.get(&members)).leaves(source, &id)
    }

    fn merge(
        &self,
        sources: &[Source],
        survivor: usize,
        merged: &Merged,
    ) -> Result<Stored, CannotWrite> {
        write::merge(self, sources, survivor, merged)
    }
}

fn not_utf8(name: &str) -> NotRead {
    not_read(Reason::NotUtf8, format!("field `{name}` is not UTF-8"))
}

/// The text at a path; `None` where there is nothing.
fn text_at(look: &Look<'_>, path: &Path) -> Result<Option<String>, NotRead> {
    match look.get(path) {
        None | Some(Member::Json(Value::Null)) => Ok(None),
        Some(member) => match member.as_text() {
            Some(text) => Ok(Some(text.to_owned())),
            None => Err(not_read(
                Reason::Malformed,
                format!("`{}` is no text", path.dotted()),
            )),
        },
    }
}

fn scope_value(member: Option<Member<'_>>) -> String {
    match member {
        None | Some(Member::Json(Value::Null)) => String::new(),
        Some(Member::Text(text)) => text.to_owned(),
        Some(Member::Json(Value::String(text))) => text.clone(),
        Some(Member::Json(other)) => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
