//! The value of an item: where its text is, and what the library embeds of it.

use serde_json::{Map, Value};
use sha1::{Digest as _, Sha1};

use super::{not_read, python};
use crate::layout::NotRead;
use crate::layout::json::Path;
use crate::memory::{Frame, Reason};

/// Members under which agents usually keep the text of a memory, where the setting does not say.
const USUAL: [&str; 4] = ["content", "text", "memory", "data"];

/// What the library names the whole value, as the field that it embeds.
const WHOLE: &str = "$";

/// The members of a value that the library could not store as JSON.
const SERIALISED: [&str; 2] = ["__serde_type__", "__serde_data__"];

/// A value with one text that can be replaced.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) text: String,
    /// Where the text is within the value.
    pub(super) path: Path,
    /// The `kind` of LangMem's manager; empty where the value has none.
    pub(super) kind: String,
    /// Equal for values that differ in the text alone.
    pub(super) scope: String,
    pub(super) frame: Option<Frame>,
}

impl Shape {
    /// Finds the text of a value of which the library has embedded the field `embedded`.
    pub(super) fn of(value: &Value, embedded: &str, set: Option<&Path>) -> Result<Self, NotRead> {
        let structured = |detail: &str| not_read(Reason::Structured, detail);
        let Value::Object(members) = value else {
            return Err(structured("the value is no object"));
        };
        let has = |name: &&str| members.contains_key(*name);
        if members.len() == 2 && SERIALISED.iter().all(has) {
            return Err(structured("the value is serialised by the library"));
        }
        let kind = kind(members);
        let path = match set {
            Some(path) => path.clone(),
            None if kind.is_some() => manager_path(members)?,
            None => text_path(members, embedded)?,
        };
        let Some(Value::String(text)) = path.get(members) else {
            let detail = format!("`value.{}` is no text", path.dotted());
            return Err(structured(&detail));
        };
        let frame = match embedded {
            WHOLE => Some(frame(value, &path).ok_or_else(|| structured("the text has no place"))?),
            field if is_path(field, &path) => None,
            field => {
                let detail = format!(
                    "the vector is of `{field}`, not of the text at `{}`",
                    path.dotted()
                );
                return Err(structured(&detail));
            }
        };
        Ok(Self {
            text: text.clone(),
            kind: kind.unwrap_or_default().to_owned(),
            scope: scope(members, &path),
            path,
            frame,
        })
    }
}

/// The `kind` of a value that LangMem's manager wrote.
fn kind(members: &Map<String, Value>) -> Option<&str> {
    let of_manager = members.len() == 2 && members.contains_key("content");
    members.get("kind")?.as_str().filter(|_| of_manager)
}

/// The manager's memories hold their text in an object that its schema makes. Only the schema with
/// one text has a text.
fn manager_path(members: &Map<String, Value>) -> Result<Path, NotRead> {
    match members.get("content") {
        Some(Value::Object(content)) if content.len() == 1 && content.contains_key("content") => {
            Ok(Path::root("content").child("content"))
        }
        _ => Err(not_read(
            Reason::Structured,
            "a memory of a schema with other fields than `content`",
        )),
    }
}

/// The field that was embedded, if it is one text; else the first usual one.
fn text_path(members: &Map<String, Value>, embedded: &str) -> Result<Path, NotRead> {
    if embedded != WHOLE
        && let Some(path) = Path::parse(&format!("$.{embedded}"))
        && matches!(path.get(members), Some(Value::String(_)))
    {
        return Ok(path);
    }
    let usual = USUAL.into_iter().find(|name| members.contains_key(*name));
    usual.map(Path::root).ok_or_else(|| {
        let detail = "no member of the value is known to be its text (--fields-text names it)";
        not_read(Reason::Structured, detail)
    })
}

/// Whether the library's path `field` is this one.
fn is_path(field: &str, path: &Path) -> bool {
    Path::parse(&format!("$.{field}")).as_ref() == Some(path)
}

/// What the library embeds around the text.
fn frame(value: &Value, path: &Path) -> Option<Frame> {
    let (text, hole) = python::dumps(value, Some(path));
    let start = hole?;
    let Some(Value::String(inner)) = path.get(value.as_object()?) else {
        return None;
    };
    let end = start + Value::from(inner.as_str()).to_string().len();
    Some(Frame {
        before: text.get(..start)?.to_owned(),
        after: text.get(end..)?.to_owned(),
    })
}

/// The place of the text and a digest of everything else: no words of the value.
fn scope(members: &Map<String, Value>, path: &Path) -> String {
    let mut rest = members.clone();
    // The way to the text exists, so it can be set.
    let _ = path.set(&mut rest, Value::Null);
    let name = path.dotted();
    if rest.len() == 1 {
        return name;
    }
    let (text, _) = python::dumps(&Value::Object(rest), None);
    let digest = format!("{:x}", Sha1::digest(text.as_bytes()));
    format!("{name}+{}", &digest[..12])
}
