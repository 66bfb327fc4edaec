//! Where a value is in a JSON document, and the text it has there.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::record::{IndexFacts, Storage, Unfit};

/// A plain path: the names of members from the root down.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path(Vec<String>);

impl Path {
    /// The member `name` of the root.
    pub(crate) fn root(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }

    /// The names from the root down.
    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }

    /// Whether this is the member `name` of the root.
    pub(crate) fn is_root(&self, name: &[u8]) -> bool {
        matches!(self.0.as_slice(), [only] if only.as_bytes() == name)
    }

    /// Reads `$.a.b` or `$["a"]['b']`; `None` for paths that can mean several values.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut rest = path.strip_prefix('$')?;
        let mut names = Vec::new();
        while !rest.is_empty() {
            let (name, after) = if let Some(dotted) = rest.strip_prefix('.') {
                let end = dotted.find(['.', '[']).unwrap_or(dotted.len());
                dotted.split_at(end)
            } else {
                let quoted = rest.strip_prefix('[')?;
                let quote = quoted.chars().next().filter(|c| matches!(c, '"' | '\''))?;
                let (name, after) = quoted[1..].split_once(quote)?;
                (name, after.strip_prefix(']')?)
            };
            if name.is_empty() || name.contains(['*', '\\', '?', '@', '(', ')']) {
                return None;
            }
            names.push(name.to_owned());
            rest = after;
        }
        (!names.is_empty()).then_some(Self(names))
    }

    /// Where the field `name` of an index is in a record; one that the index has not is at the root.
    ///
    /// # Errors
    /// [`Unfit`] if the field's path can mean several values.
    pub(crate) fn of_field(facts: &IndexFacts, name: &str) -> Result<Self, Unfit> {
        let Some(field) = facts.field(name) else {
            return Ok(Self::root(name));
        };
        match facts.storage {
            Storage::Hash => Ok(Self::root(&field.path)),
            Storage::Json => Self::parse(&field.path).ok_or_else(|| {
                let path = &field.path;
                facts.unfit(format!(
                    "`{name}` is at {path}, which may be several values"
                ))
            }),
        }
    }

    /// The path of a member of the value here.
    pub(crate) fn child(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// The names, joined by dots; dots inside a name are escaped, so that no two paths are alike.
    pub(crate) fn dotted(&self) -> String {
        let escaped = |name: &String| name.replace('\\', "\\\\").replace('.', "\\.");
        self.0.iter().map(escaped).collect::<Vec<_>>().join(".")
    }

    /// Whether this is `other` or a value around it.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// The value here, if there is one.
    pub(crate) fn get<'a>(&self, root: &'a Map<String, Value>) -> Option<&'a Value> {
        let (last, parents) = self.0.split_last()?;
        let mut members = root;
        for name in parents {
            members = members.get(name)?.as_object()?;
        }
        members.get(last)
    }

    /// Puts a value here, with the objects around it where they are absent.
    ///
    /// Gives the value back if something else than an object is in the way.
    pub(crate) fn set(&self, root: &mut Map<String, Value>, value: Value) -> Result<(), Value> {
        let Some((last, parents)) = self.0.split_last() else {
            return Err(value);
        };
        let mut members = root;
        for name in parents {
            let member = members
                .entry(name.as_str())
                .or_insert_with(|| Map::new().into());
            match member {
                Value::Object(inner) => members = inner,
                _ => return Err(value),
            }
        }
        members.insert(last.clone(), value);
        Ok(())
    }

    /// The place of the value in the text of a document, if the text is sound up to there.
    pub(crate) fn span(&self, text: &str) -> Option<Range<usize>> {
        let mut scanner = Scanner { text, at: 0 };
        for name in &self.0 {
            scanner.enter_member(name)?;
        }
        scanner.value()
    }
}

/// Digits of the longest whole number that Python reads from text.
const PYTHON_DIGITS: usize = 4300;

/// Whether Python would fail on a JSON text for the length of a number in it.
pub(crate) fn has_endless_number(text: &str) -> bool {
    let mut runs = text.as_bytes().split(|byte| !byte.is_ascii_digit());
    runs.any(|run| run.len() > PYTHON_DIGITS)
}

/// Whether an object anywhere in a sound JSON text has two members of the same name, of which a
/// parser would drop one. `parsed` is what the parser made of it.
pub(crate) fn repeats_a_member(text: &str, parsed: &Value) -> bool {
    let mut in_string = false;
    let mut escaped = false;
    let mut colons = 0usize;
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b':' if !in_string => colons += 1,
            _ => {}
        }
    }
    colons != members(parsed)
}

fn members(value: &Value) -> usize {
    match value {
        Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
        Value::Array(items) => items.iter().map(members).sum(),
        _ => 0,
    }
}

/// Finds places in a text that a parser will check afterwards; on unsound text it gives up.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl Scanner<'_> {
    /// Goes from before an object to before the value of its member `name`.
    fn enter_member(&mut self, name: &str) -> Option<()> {
        self.expect(b'{')?;
        loop {
            self.blanks();
            let key = self.string()?;
            let found = serde_json::from_str::<String>(&self.text[key]).ok()? == name;
            self.expect(b':')?;
            if found {
                return Some(());
            }
            self.value()?;
            self.expect(b',')?;
        }
    }

    /// Goes past a value.
    fn value(&mut self) -> Option<Range<usize>> {
        self.blanks();
        let start = self.at;
        if self.flat_array().is_some() {
            return Some(start..self.at);
        }
        let mut depth = 0usize;
        loop {
            match self.peek()? {
                b'"' => self.at = self.string()?.end,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                _ if depth > 0 => self.at += 1,
                _ => self.scalar()?,
            }
            if depth == 0 {
                return Some(start..self.at);
            }
        }
    }

    /// Goes past an array that has no strings, arrays or objects in it, such as a vector.
    fn flat_array(&mut self) -> Option<()> {
        let inner = self.text.as_bytes()[self.at..].strip_prefix(b"[")?;
        let length = memchr::memchr(b']', inner)?;
        let flat = memchr::memchr3(b'"', b'[', b'{', &inner[..length]).is_none();
        flat.then(|| self.at += length + 2)
    }

    /// Goes past a number or a word.
    fn scalar(&mut self) -> Option<()> {
        let rest = &self.text.as_bytes()[self.at..];
        let end = |b: &u8| matches!(b, b',' | b'}' | b']') || b.is_ascii_whitespace();
        let length = rest.iter().position(end).filter(|length| *length > 0)?;
        self.at += length;
        Some(())
    }

    /// Goes past a string, with its quotes.
    fn string(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.expect(b'"')?;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return Some(start..self.at);
                }
                _ => self.at += 1,
            }
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.blanks();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn path(names: &[&str]) -> Path {
        Path(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn plain_paths_are_read_and_others_are_not() {
        assert_eq!(Path::parse("$.a"), Some(path(&["a"])));
        assert_eq!(Path::parse("$.a.b_c"), Some(path(&["a", "b_c"])));
        assert_eq!(Path::parse("$[\"u x\"]['b']"), Some(path(&["u x", "b"])));
        for several in [
            "$",
            "a",
            "$..a",
            "$.a[*]",
            "$.a[0]",
            "$.*",
            "$.a.",
            "$[?(@.x)]",
            "$['a",
        ] {
            assert_eq!(Path::parse(several), None, "{several}");
        }
    }

    #[test]
    fn a_span_is_the_text_of_the_value() {
        let text = r#" {"x":{"v":[9]}, "a\u0062" : {"s":"}],{\"", "v" :[1, -2.5e3] }, "v":null}"#;
        let slice = |names: &[&str]| path(names).span(text).map(|span| &text[span]);
        assert_eq!(slice(&["ab", "v"]), Some("[1, -2.5e3]"));
        assert_eq!(slice(&["x", "v"]), Some("[9]"));
        assert_eq!(slice(&["v"]), Some("null"));
        assert_eq!(slice(&["ab", "s"]), Some(r#""}],{\"""#));
        assert_eq!(slice(&["none"]), None);
        assert_eq!(slice(&["v", "v"]), None);
    }

    #[test]
    fn repeated_members_are_seen() {
        for (text, repeated) in [
            (r#"{"a":1,"a":2}"#, true),
            (r#"{"x":[{"b":1,"b":1}]}"#, true),
            (r#"{"a:b":"c:d","e":{"a":"\":"}}"#, false),
            ("[]", false),
        ] {
            let parsed = serde_json::from_str(text).unwrap();
            assert_eq!(repeats_a_member(text, &parsed), repeated, "{text}");
        }
    }

    #[test]
    fn set_makes_the_way_but_goes_over_nothing() {
        let mut root = json!({"a": 1}).as_object().unwrap().clone();
        path(&["b", "c"]).set(&mut root, json!(2)).unwrap();
        assert_eq!(Value::from(root.clone()), json!({"a": 1, "b": {"c": 2}}));
        assert!(path(&["a", "c"]).set(&mut root, json!(2)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[\\[\\]{}\",:\\\\a 1é]*") {
            let _ = path(&["a"]).span(&text);
        }

        #[test]
        fn spans_hold_the_value(members in prop::collection::btree_map("[a-c\"\\\\é]{1,3}", "[^\\p{C}]*", 1..5)) {
            let text = serde_json::to_string(&members).unwrap();
            for (name, value) in &members {
                let span = Path::root(name).span(&text).unwrap();
                prop_assert_eq!(&serde_json::from_str::<String>(&text[span]).unwrap(), value);
            }
        }
    }
}
