//! The languages of the dashboard. Templates are written in English; the other languages are tables
//! from its sentences.

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::http::{HeaderMap, header};

/// A language of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lang {
    En,
    Zh,
}

static ZH: LazyLock<HashMap<String, String>> =
    LazyLock::new(|| table(include_str!("words/zh.toml")));
static REASONS: LazyLock<HashMap<String, String>> =
    LazyLock::new(|| table(include_str!("words/reasons.toml")));

/// An unreadable table is an empty one; a test keeps it from coming to that.
fn table(text: &str) -> HashMap<String, String> {
    toml::from_str(text).unwrap_or_default()
}

impl Lang {
    /// The language of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "en" => Some(Self::En),
            "zh" => Some(Self::Zh),
            _ => None,
        }
    }

    /// The first language that a browser accepts.
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        let accepted = headers
            .get(header::ACCEPT_LANGUAGE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default();
        let mut wanted: Vec<(f32, &str)> = accepted
            .split(',')
            .filter_map(|part| {
                let mut part = part.split(';');
                let tag = part.next()?.trim();
                let weight = part.find_map(|p| p.trim().strip_prefix("q=")?.parse().ok());
                Some((weight.unwrap_or(1.0), tag))
            })
            .collect();
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        let named = |tag: &str| Self::named(tag.split('-').next()?.to_lowercase().as_str());
        wanted
            .into_iter()
            .find_map(|(_, tag)| named(tag))
            .unwrap_or(Self::En)
    }

    /// As in `lang="…"`.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh-CN",
        }
    }

    /// The name in `?lang=`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// A sentence in this language.
    pub(super) fn say(self, english: &str) -> &str {
        match self {
            Self::En => english,
            Self::Zh => ZH.get(english).map_or(english, String::as_str),
        }
    }

    /// What a reason code means.
    pub(super) fn reason(self, code: &str) -> &'static str {
        match REASONS.get(code) {
            Some(english) => self.say(english),
            None => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::memory::Reason;
    use crate::server::render::TEMPLATES;

    fn lang(accept: &str) -> Lang {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_LANGUAGE, accept.parse().unwrap());
        Lang::accepted(&headers)
    }

    #[test]
    fn a_browser_gets_its_language() {
        for (accept, expected) in [
            ("zh-CN,zh;q=0.9,en;q=0.8", Lang::Zh),
            ("en;q=0.8, zh-TW", Lang::Zh),
            ("de, fr;q=0.5", Lang::En),
            ("fr, en;q=0.3, zh;q=0.2", Lang::En),
            ("", Lang::En),
        ] {
            assert_eq!(lang(accept), expected, "{accept}");
        }
        assert_eq!(Lang::accepted(&HeaderMap::new()), Lang::En);
    }

    #[test]
    fn every_sentence_is_in_chinese_and_none_is_left_over() {
        let sentence = regex::Regex::new(r#"\bt\(\s*"((?:[^"\\]|\\.)*)""#).unwrap();
        let mut used: BTreeSet<String> = TEMPLATES
            .iter()
            .flat_map(|(_, text)| sentence.captures_iter(text))
            .map(|found| found[1].replace("\\\"", "\""))
            .collect();
        used.extend(
            crate::server::pages::SAYS
                .iter()
                .map(|text| (*text).to_owned()),
        );
        used.extend(REASONS.values().cloned());
        let known: BTreeSet<String> = ZH.keys().cloned().collect();
        let missing: Vec<_> = used.difference(&known).collect();
        let idle: Vec<_> = known.difference(&used).collect();
        assert!(
            missing.is_empty() && idle.is_empty(),
            "missing: {missing:#?}, idle: {idle:#?}"
        );
        // What is put into a sentence is put into its translation.
        let hole = regex::Regex::new(r"\{[a-z]+\}").unwrap();
        let holes = |text: &str| -> BTreeSet<String> {
            hole.find_iter(text)
                .map(|m| m.as_str().to_owned())
                .collect()
        };
        for (english, chinese) in ZH.iter() {
            assert_eq!(holes(english), holes(chinese), "{english}");
        }
    }

    #[test]
    fn every_reason_is_explained() {
        let all: Vec<Reason> = REASONS
            .keys()
            .map(|code| serde_json::from_value(code.clone().into()).unwrap())
            .collect();
        assert!(all.contains(&Reason::Deferred));
        let source = include_str!("../memory.rs");
        let code = regex::Regex::new(r#"Self::\w+ => "([a-z0-9-]+)","#).unwrap();
        for found in code.captures_iter(source) {
            assert!(!Lang::En.reason(&found[1]).is_empty(), "{}", &found[1]);
        }
    }
}
