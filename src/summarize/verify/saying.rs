//! What a text says, as far as the verification can compare it.

use super::answer::{quotations, symbols};
use super::fault::Kind;
use super::order::Order;
use crate::judge::facts::Facts;
use crate::judge::items::Item;
use crate::judge::normalize::plain;
use crate::judge::sentences::is_cjk;
use crate::judge::words::{self, Word};

/// A text, read once.
pub(super) struct Saying {
    /// The text as the guards read it.
    pub(super) plain: String,
    /// The same in lower case.
    pub(super) lower: String,
    facts: Facts,
    names: Vec<String>,
    quotations: Vec<String>,
    symbols: Vec<String>,
    words: Vec<Word>,
    places: Vec<Place>,
    /// Its words in order.
    pub(super) order: Order,
    /// It speaks of the past or of an end.
    pub(super) past: bool,
    /// It speaks of a plan, a possibility or a duty.
    pub(super) modal: bool,
}

/// Where a number, date, code or name stands.
pub(super) struct Place {
    /// What stands there.
    pub(super) key: String,
    /// Its words.
    pub(super) words: String,
    /// The word of content, number, date or code before it.
    pub(super) before: Option<String>,
    /// The one after it.
    pub(super) after: Option<String>,
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
            places: places(&facts),
            order: Order::read(&facts),
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

    /// Where numbers, dates, codes and names stand, in order.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
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

fn places(facts: &Facts) -> Vec<Place> {
    let names = words::names(&facts.rest);
    let items = || {
        facts
            .identifiers
            .iter()
            .chain(&facts.dates)
            .chain(&facts.numbers)
    };
    let item = |word: &Word| items().find(|item| word.text.chars().eq([item.mark]));
    let key = |word: &Word| {
        item(word).map_or_else(|| word.stem.clone(), |i| format!("{} {}", i.value, i.unit))
    };
    let sequence = words::sequence(&facts.rest);
    let keys: Vec<String> = sequence.iter().map(key).collect();
    let at = |at: Option<usize>| at.and_then(|at| keys.get(at)).cloned();
    sequence
        .iter()
        .enumerate()
        .filter_map(|(i, word)| {
            let words = match item(word) {
                Some(item) => item.words.clone(),
                None => names.iter().find(|n| *n == word.name())?.clone(),
            };
            Some(Place {
                key: keys[i].clone(),
                words,
                before: at(i.checked_sub(1)),
                after: at(Some(i + 1)),
            })
        })
        .collect()
}

fn contains_word(text: &str, word: &str) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() || is_cjk(c));
    text.match_indices(word).any(|(at, _)| {
        edge(text[..at].chars().next_back()) && edge(text[at + word.len()..].chars().next())
    })
}
