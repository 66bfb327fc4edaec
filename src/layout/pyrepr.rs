//! Python's `str(dict)`, which some agents store where JSON is meant.
//!
//! Strict: what has no exact counterpart in JSON (sets, bytes, `nan`, keys that are no strings,
//! repeated keys, lone surrogates) is not read at all, so that nothing is lost or bent.

use serde_json::{Map, Number, Value};

/// Nesting beyond this is not read, so that no text can exhaust the stack.
const MAX_DEPTH: usize = 100;

/// Reads the text of a Python literal made of dicts, lists, tuples, strings, numbers, booleans
/// and `None`; `None` for any other text.
pub(crate) fn parse(text: &str) -> Option<Value> {
    let mut parser = Parser {
        rest: text,
        depth: 0,
    };
    let value = parser.value()?;
    parser.blanks();
    parser.rest.is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn value(&mut self) -> Option<Value> {
        self.blanks();
        for (word, value) in [
            ("True", true.into()),
            ("False", false.into()),
            ("None", Value::Null),
        ] {
            if self.eat(word) {
                return Some(value);
            }
        }
        match self.rest.chars().next()? {
            '\'' | '"' => self.string().map(Value::String),
            '{' => self.nested(Self::dict),
            '[' => self.nested(|parser| parser.items('[', ']').map(|(items, _)| items.into())),
            '(' => self.nested(Self::tuple),
            _ => self.number(),
        }
    }

    fn nested(&mut self, read: impl Fn(&mut Self) -> Option<Value>) -> Option<Value> {
        self.depth += 1;
        let value = if self.depth > MAX_DEPTH {
            None
        } else {
            read(self)
        };
        self.depth -= 1;
        value
    }

    fn dict(&mut self) -> Option<Value> {
        self.eat("{").then_some(())?;
        let mut members = Map::new();
        loop {
            self.blanks();
            if self.eat("}") {
                return Some(members.into());
            }
            let key = self.string()?;
            self.blanks();
            self.eat(":").then_some(())?;
            let value = self.value()?;
            if members.insert(key, value).is_some() {
                return None;
            }
            self.separator('}')?;
        }
    }

    fn tuple(&mut self) -> Option<Value> {
        let (items, trailing_comma) = self.items('(', ')')?;
        // `(1)` is a number in parentheses; the tuple is `(1,)`.
        (items.len() != 1 || trailing_comma).then(|| items.into())
    }

    fn items(&mut self, open: char, close: char) -> Option<(Vec<Value>, bool)> {
        self.eat_char(open).then_some(())?;
        let mut items = Vec::new();
        let mut trailing_comma = false;
        loop {
            self.blanks();
            if self.eat_char(close) {
                return Some((items, trailing_comma));
            }
            items.push(self.value()?);
            trailing_comma = self.separator(close)?;
        }
    }

    /// Goes past a comma (true) or up to the closing bracket (false).
    fn separator(&mut self, close: char) -> Option<bool> {
        self.blanks();
        let comma = self.eat(",");
        (comma || self.rest.starts_with(close)).then_some(comma)
    }

    fn string(&mut self) -> Option<String> {
        let quote = self
            .rest
            .chars()
            .next()
            .filter(|c| matches!(c, '\'' | '"'))?;
        let mut chars = self.rest[1..].chars();
        let mut string = String::new();
        loop {
            match chars.next()? {
                '\\' => match chars.next()? {
                    'n' => string.push('\n'),
                    'r' => string.push('\r'),
                    't' => string.push('\t'),
                    c @ ('\\' | '\'' | '"') => string.push(c),
                    'x' => string.push(code_point(&mut chars, 2)?),
                    'u' => string.push(code_point(&mut chars, 4)?),
                    'U' => string.push(code_point(&mut chars, 8)?),
                    _ => return None,
                },
                '\n' | '\r' => return None,
                c if c == quote => break,
                c => string.push(c),
            }
        }
        self.rest = chars.as_str();
        Some(string)
    }

    /// A number that JSON can hold with the same digits.
    fn number(&mut self) -> Option<Value> {
        let in_number = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = self.rest.find(|c| !in_number(c)).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        let number: Number = text.parse().ok()?;
        self.rest = rest;
        Some(number.into())
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, word: &str) -> bool {
        let after = self.rest.strip_prefix(word);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn eat_char(&mut self, c: char) -> bool {
        let after = self.rest.strip_prefix(c);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }
}

fn code_point(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let mut code = 0u32;
    for _ in 0..digits {
        code = code.checked_mul(16)? + chars.next()?.to_digit(16)?;
    }
    char::from_u32(code)
}

#[cfg(test)]
pub(in crate::layout) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_python_prints_is_read() {
        let text = r#"{'a': True, 'b': None, 'n': [1, -2.5, 1e-05, 12345678901234567890], "it's": 'say "hi"', 't': (1, 'x'), 'one': (1,), 'e': (), 'd': {}, 's': 'a\n\t\\\'\xe9\u4e2d\U0001f600', '用户': '一'}"#;
        let value = parse(text).unwrap();
        let expected = json!({
            "a": true, "b": null, "n": [1, -2.5, 0, 0], "it's": "say \"hi\"",
            "t": [1, "x"], "one": [1], "e": [], "d": {}, "s": "a\n\t\\'é中😀", "用户": "一",
        });
        assert_eq!(value["n"][2].to_string(), "1e-05");
        assert_eq!(value["n"][3].to_string(), "12345678901234567890");
        for name in ["a", "b", "it's", "t", "one", "e", "d", "s", "用户"] {
            assert_eq!(value[name], expected[name], "{name}");
        }
    }

    #[test]
    fn what_json_cannot_say_is_not_read() {
        for text in [
            "",
            "{",
            "{'a'}",
            "{'a': 1",
            "{1: 'a'}",
            "{'a': b'x'}",
            "{'a': nan}",
            "{'a': inf}",
            "{1, 2}",
            "{'a': 1, 'a': 2}",
            "{'a': (1)}",
            "{'a': 1_000}",
            "{'a': 0x10}",
            "{'a': 1j}",
            "{'a': '\\ud800'}",
            "{'a': '\\q'}",
            "{'a': 'x}",
            "{'a': 1} x",
            "{,}",
            "[1 2]",
            "{'a': datetime.datetime(2026, 1, 1)}",
            "{'a': Truee}",
            "{'a': 01}",
            "{'a': +1}",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        assert_eq!(parse(&"[".repeat(100_000)), None);
        assert!(parse(&format!("{}{}", "[".repeat(100), "]".repeat(100))).is_some());
    }

    /// What Python's `repr` prints for a value.
    fn repr(value: &Value) -> String {
        let joined = |parts: Vec<String>| parts.join(", ");
        match value {
            Value::Null => "None".into(),
            Value::Bool(true) => "True".into(),
            Value::Bool(false) => "False".into(),
            Value::Number(number) => number.to_string(),
            Value::String(text) => {
                let escaped: String = text
                    .chars()
                    .map(|c| match c {
                        '\\' => "\\\\".into(),
                        '\'' => "\\'".into(),
                        c if c.is_control() => format!("\\U{:08x}", u32::from(c)),
                        c => c.to_string(),
                    })
                    .collect();
                format!("'{escaped}'")
            }
            Value::Array(items) => format!("[{}]", joined(items.iter().map(repr).collect())),
            Value::Object(map) => {
                let member = |(key, value): (&String, &Value)| {
                    format!("{}: {}", repr(&key.as_str().into()), repr(value))
                };
                format!("{{{}}}", joined(map.iter().map(member).collect()))
            }
        }
    }

    pub(crate) fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>()
                .prop_filter("finite", |n| n.is_finite())
                .prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_repr_reads_back(value in any_json()) {
            prop_assert_eq!(parse(&repr(&value)), Some(value));
        }

        #[test]
        fn no_text_panics(text in "[{}\\[\\](),:'\"\\\\xuU0-9a-fTrueNon é]*") {
            let _ = parse(&text);
        }
    }
}
