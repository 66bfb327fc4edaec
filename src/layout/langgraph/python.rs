//! JSON as Python's `json.dumps(value, sort_keys=True, ensure_ascii=False)` writes it: that is the
//! text that the library embeds.

use serde_json::{Number, Value};

use crate::layout::json::Path;

/// The text of a value, and in it the place of the string at `hole`.
pub(super) fn dumps(value: &Value, hole: Option<&Path>) -> (String, Option<usize>) {
    let mut writer = Writer {
        out: String::new(),
        hole: None,
    };
    writer.value(value, hole.map(Path::names));
    (writer.out, writer.hole)
}

struct Writer {
    out: String,
    hole: Option<usize>,
}

impl Writer {
    /// `path` leads on to the hole, if it is within this value.
    fn value(&mut self, value: &Value, path: Option<&[String]>) {
        if path.is_some_and(<[String]>::is_empty) {
            self.hole = Some(self.out.len());
        }
        match value {
            Value::Number(number) => self.out += &number_text(number),
            Value::Array(items) => {
                self.out.push('[');
                for (i, item) in items.iter().enumerate() {
                    self.out += if i > 0 { ", " } else { "" };
                    self.value(item, None);
                }
                self.out.push(']');
            }
            Value::Object(members) => {
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_by_key(|(name, _)| *name);
                self.out.push('{');
                for (i, (name, member)) in sorted.into_iter().enumerate() {
                    self.out += if i > 0 { ", " } else { "" };
                    self.out += &Value::from(name.as_str()).to_string();
                    self.out += ": ";
                    let within = path.and_then(<[String]>::split_first);
                    let within = within.filter(|(first, _)| *first == name);
                    self.value(member, within.map(|(_, rest)| rest));
                }
                self.out.push('}');
            }
            // Strings, `true`, `false` and `null` are written alike.
            plain => self.out += &plain.to_string(),
        }
    }
}

/// A number as Python prints it after reading it.
fn number_text(number: &Number) -> String {
    let text = number.to_string();
    if !text.contains(['.', 'e', 'E']) {
        return text;
    }
    let Ok(float) = text.parse::<f64>() else {
        return text;
    };
    // The shortest digits that read back, as `d.ddde±x`.
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return text;
    };
    match exponent.parse::<i32>() {
        Ok(-4..16) if float.fract() == 0.0 => format!("{float:.1}"),
        Ok(-4..16) => float.to_string(),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        Err(_) => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each right side is what Python 3.11 prints.
    #[test]
    fn values_are_written_as_python_writes_them() {
        for (json, python) in [
            (
                r#"{"b":1,"a":[true,null,{}],"Z":[]}"#,
                r#"{"Z": [], "a": [true, null, {}], "b": 1}"#,
            ),
            (
                r#"{"t":"é \"x\" \\ \n \u0001 😀 /"}"#,
                "{\"t\": \"é \\\"x\\\" \\\\ \\n \\u0001 😀 /\"}",
            ),
            (
                "[1.0,1.50,1e5,-0.0,12345678901234567890]",
                "[1.0, 1.5, 100000.0, -0.0, 12345678901234567890]",
            ),
            (
                "[1e16,1e-5,0.0001,1.5e300,1e15]",
                "[1e+16, 1e-05, 0.0001, 1.5e+300, 1000000000000000.0]",
            ),
        ] {
            let value = serde_json::from_str(json).unwrap();
            assert_eq!(dumps(&value, None).0, python, "{json}");
        }
    }

    #[test]
    fn the_hole_is_where_the_text_is() {
        let value = serde_json::json!({"kind": "Memory", "content": {"content": "a", "b": "a"}});
        let path = Path::parse("$.content.content").unwrap();
        let (text, hole) = dumps(&value, Some(&path));
        assert_eq!(
            text,
            r#"{"content": {"b": "a", "content": "a"}, "kind": "Memory"}"#
        );
        assert_eq!(&text[hole.unwrap()..][..4], "\"a\"}");
        assert_eq!(dumps(&value, Path::parse("$.x").as_ref()).1, None);
    }
}
