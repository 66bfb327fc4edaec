//! The configuration file: where it is, and its keys as the settings' texts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{ConfigError, SETTINGS, Setting, TABLES};

const NAME: &str = "memfold.toml";

/// The file that counts when no flag names one.
pub(super) fn find(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let var = |name: &str| {
        env.get(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(named) = var("MEMFOLD_CONFIG") {
        return Some(named);
    }
    let home = var("XDG_CONFIG_HOME").or_else(|| var("HOME").map(|home| home.join(".config")));
    let places = [
        Some(PathBuf::from(NAME)),
        home.map(|home| home.join("memfold").join(NAME)),
    ];
    places.into_iter().flatten().find(|place| place.is_file())
}

/// Reads a file into texts by setting name.
pub(super) fn read(path: &Path) -> Result<BTreeMap<&'static str, String>, ConfigError> {
    let file = path.display().to_string();
    let failed = |detail: String| ConfigError::File {
        file: file.clone(),
        detail,
    };
    let text = std::fs::read_to_string(path).map_err(|e| failed(format!("cannot be read: {e}")))?;
    // The parser's message quotes the line it stumbles over, which may hold a secret.
    let table: Table = toml::from_str(&text).map_err(|e| {
        let line = e
            .span()
            .map_or(0, |span| text[..span.start].lines().count().max(1));
        failed(format!("line {line}: {}", e.message()))
    })?;
    let (mut texts, mut flat) = (BTreeMap::new(), Vec::new());
    flatten(&table, "", &mut flat);
    for (key, value) in flat {
        let setting = setting(&key).ok_or_else(|| unknown(&file, &key))?;
        let text = plain(value).ok_or_else(|| {
            failed(format!(
                "{key}: expected a string, a number, or a list or table of strings"
            ))
        })?;
        texts.insert(setting.name, text);
    }
    Ok(texts)
}

/// Keys with their table in front: `fields.text`. A table that is a setting itself stays whole.
fn flatten<'a>(table: &'a Table, before: &str, flat: &mut Vec<(String, &'a Value)>) {
    for (key, value) in table {
        let key = format!("{before}{key}");
        match value {
            Value::Table(inner) if setting(&key).is_none() => {
                flatten(inner, &format!("{key}."), flat);
                if inner.is_empty() && !TABLES.contains(&key.as_str()) {
                    flat.push((key, value));
                }
            }
            _ => flat.push((key, value)),
        }
    }
}

fn setting(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key() == key)
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        // A table of names, such as the rules of fields.
        Value::Table(table) => {
            let pair =
                |(name, value): (&String, &Value)| Some(format!("{name}={}", value.as_str()?));
            let pairs: Option<Vec<String>> = table.iter().map(pair).collect();
            pairs.map(|pairs| pairs.join(","))
        }
        Value::Array(items) => {
            let names: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            names.map(|names| names.join(","))
        }
        _ => None,
    }
}

fn unknown(file: &str, key: &str) -> ConfigError {
    let keys: Vec<String> = SETTINGS.iter().map(Setting::key).collect();
    let normal = key.to_lowercase().replace('-', "_");
    let closest = closest(&normal, &keys)
        .map(|(name, _)| name)
        .unwrap_or_default();
    ConfigError::UnknownKey {
        file: file.to_owned(),
        key: key.to_owned(),
        closest,
    }
}

/// The name with the fewest edits from `name`, and how many.
pub(super) fn closest(name: &str, known: &[String]) -> Option<(String, usize)> {
    known
        .iter()
        .map(|k| (k.clone(), edits(name, k)))
        .min_by_key(|(_, edits)| *edits)
}

/// Levenshtein distance in characters.
pub(crate) fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (a, b, n) in [
            ("", "abc", 3),
            ("index", "index", 0),
            ("indx", "index", 1),
            ("é", "e", 1),
        ] {
            assert_eq!(edits(a, b), n, "{a} {b}");
        }
    }
}
