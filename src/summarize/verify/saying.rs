//! What a text says, as far as the verification can compare it.

use super::answer::{quotations, symbols};
use super::fault::Kind;
use crate::judge::facts::Facts;
use crate::judge::items::Item;
use crate::judge::normalize::plain;
use crate::judge::sentences::is_cjk;
use crate::judge::words::{self, Word};

/// A text, read once.
pub(super) struct Saying {
    /// The text as the guards read it.
    pub(super) plain: String,
    lower: String,
    facts: Facts,
    names: Vec<String>,
    quotations: Vec<String>,
    symbols: Vec<String>,
    words: Vec<Word>,
    /// It speaks of the past or of an end.
    pub(super) past: bool,
    /// It speaks of a plan, a possibility or a duty.
    pub(super) modal: bool,
}

impl Saying {
    pub(super) fn read(text: &str) -> Self {
        let plain = plain(text);
        let facts = Facts::read(text);
        Self {
            // What a guard claimed (a month, a unit, a code) is its own, not a name or a word.
            names: words::names(&facts.rest),
            words: words::content(&facts.rest),
            quotations: quotations(&plain),
            symbols: symbols(&plain),
            past: words::is_past(&facts.rest),
            modal: words::is_modal(&facts.rest),
            lower: plain.to_lowercase(),
            facts,
            plain,
        }
    }

    /// The guards' finds that are compared as multisets.
    pub(super) fn items(&self) -> [(Kind, &[Item]); 4] {
        [
            (Kind::Identifier, &self.facts.identifiers),
            (Kind::Date, &self.facts.dates),
            (Kind::RelativeTime, &self.facts.relative),
            (Kind::Number, &self.facts.numbers),
        ]
    }

    /// The denials.
    pub(super) fn denials(&self) -> &[Item] {
        &self.facts.negations
    }

    /// Names, quotations, symbols and words of content of this text that `other` does not have.
    pub(super) fn lacking_in(&self, other: &Self) -> Vec<(Kind, String)> {
        let list =
            |kind: Kind, words: &[String], has: &dyn Fn(&str) -> bool| -> Vec<(Kind, String)> {
                words
                    .iter()
                    .filter(|w| !has(w))
                    .map(|w| (kind, w.clone()))
                    .collect()
            };
        let mut lacking = list(Kind::Quotation, &self.quotations, &|w| {
            other.plain.contains(w)
        });
        lacking.extend(list(Kind::Symbol, &self.symbols, &|w| {
            other.plain.contains(w)
        }));
        lacking.extend(list(Kind::Name, &self.names, &|w| other.has_name(w, self)));
        let word = self.words.iter().filter(|w| {
            // A name is reported as such.
            !other.words.iter().any(|o| o.stem == w.stem) && !self.names.contains(&w.text)
        });
        lacking.extend(word.map(|w| (Kind::Word, w.text.clone())));
        lacking
    }

    /// Whether this text has the name in the same case; at the start of a sentence, where the
    /// capital says nothing, in any case.
    fn has_name(&self, name: &str, from: &Self) -> bool {
        self.words.iter().any(|w| w.name() == name)
            || self.names.iter().any(|n| n == name)
            || contains_word(&self.plain, name)
            || from.words.iter().any(|w| w.first && w.name() == name)
                && self
                    .words
                    .iter()
                    .any(|w| w.stem == words::stem(&name.to_lowercase()))
                && contains_word(&self.lower, &name.to_lowercase())
    }
}

fn contains_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || is_cjk(c));
    text.match_indices(word).any(|(at, _)| {
        edge(text[..at].chars().next_back()) && edge(text[at + word.len()..].chars().next())
    })
}
