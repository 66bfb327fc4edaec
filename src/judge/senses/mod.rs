//! Guards that read closed lists of words: what a text says of how much, how surely, how often, of
//! whom, where, and whether it still holds.
//!
//! Words of one class say the same (`about`, `roughly`). A guard objects where each text has a class
//! that the other lacks; those of [`ONE_SIDED`] also where one text has a class more.

mod antonyms;
mod ended;
mod modality;
mod names;
mod people;
mod quantifiers;
mod scope;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::form::{Form, Token};
use super::items::{Diff, Item};
use super::pattern::{Pattern, pattern};
use super::sentences::is_cjk;

/// The words of a guard by class. A phrase of several words has blanks between them.
pub(super) type Classes = &'static [(&'static str, &'static [&'static str])];

/// A guard's name as it stands in its findings, and its words.
struct Guard {
    name: &'static str,
    classes: Classes,
}

const GUARDS: [Guard; 6] = [
    Guard {
        name: "quantifiers",
        classes: quantifiers::CLASSES,
    },
    Guard {
        name: "modality",
        classes: modality::CLASSES,
    },
    Guard {
        name: "antonyms",
        classes: antonyms::CLASSES,
    },
    Guard {
        name: "subject",
        classes: people::CLASSES,
    },
    Guard {
        name: "scope",
        classes: scope::CLASSES,
    },
    Guard {
        name: "ended",
        classes: ended::CLASSES,
    },
];

/// Guards that object to a class that only one of two texts has.
const ONE_SIDED: [&str; 1] = ["ended"];

/// Longest phrase of the lists, in words.
const PHRASE: usize = 3;

/// What the guards found in a text: for each guard its items.
#[derive(Clone, Debug, Default)]
pub(crate) struct Senses {
    found: Vec<(&'static str, Vec<Item>)>,
    names: Vec<Item>,
}

/// By word or phrase: the guards that know it, each with the class.
type Known = HashMap<&'static str, Vec<(usize, &'static str)>>;

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let mut known = Known::new();
    for (guard, Guard { classes, .. }) in GUARDS.iter().enumerate() {
        for (class, words) in *classes {
            for word in *words {
                known.entry(word).or_default().push((guard, class));
            }
        }
    }
    known
});

/// All Chinese and Japanese phrases and signs of the lists, the longest first.
static HAN: LazyLock<Pattern> = LazyLock::new(|| {
    let mut phrases: Vec<&str> = KNOWN
        .keys()
        .copied()
        .filter(|p| !p.is_ascii() && !p.chars().any(|c| c.is_alphabetic() && !is_cjk(c)))
        .collect();
    phrases.sort_by_key(|phrase| (std::cmp::Reverse(phrase.len()), *phrase));
    pattern(&phrases.join("|"))
});

impl Senses {
    /// Reads a text in comparison form and in lower case.
    pub(crate) fn read(form: &Form, lower: &str) -> Self {
        let mut found: Vec<Vec<Item>> = GUARDS.iter().map(|_| Vec::new()).collect();
        let mut add = |words: &str| {
            for (guard, class) in KNOWN.get(words).into_iter().flatten() {
                found[*guard].push(Item::new(*class, "", words));
            }
        };
        let tokens: Vec<&Token> = form.tokens().collect();
        let mut at = 0;
        while at < tokens.len() {
            let phrase = |size: usize| -> Option<String> {
                let words = tokens.get(at..at + size)?;
                let plain = words.iter().all(|t| !t.is_item() && !t.is_han());
                plain.then(|| {
                    words
                        .iter()
                        .map(|t| t.text.to_lowercase())
                        .collect::<Vec<_>>()
                        .join(" ")
                })
            };
            let known = (1..=PHRASE).rev().find_map(|size| {
                phrase(size)
                    .filter(|p| KNOWN.contains_key(p.as_str()))
                    .map(|p| (size, p))
            });
            match known {
                Some((size, phrase)) => {
                    add(&phrase);
                    at += size;
                }
                None => at += 1,
            }
        }
        if !lower.is_ascii() {
            HAN.find_iter(lower).for_each(|found| add(found.as_str()));
        }
        Self {
            found: GUARDS.iter().map(|g| g.name).zip(found).collect(),
            names: names::read(&tokens),
        }
    }

    /// Compares two texts guard by guard: the name, the difference, and whether it is an objection.
    pub(crate) fn compare<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (&'static str, Diff, bool)> + 'a {
        let pairs = self.found.iter().zip(&other.found);
        let classes = pairs.map(|((name, left), (_, right))| {
            let diff = lacking(left, right);
            let objects =
                diff.left_more && diff.right_more || ONE_SIDED.contains(name) && !diff.is_empty();
            (*name, diff, objects)
        });
        let names = lacking(&self.names, &other.names);
        let differ = names.left_more && names.right_more;
        classes.chain(std::iter::once(("names", names, differ)))
    }
}

/// The classes that one text has and the other lacks, however often.
fn lacking(left: &[Item], right: &[Item]) -> Diff {
    let more = |of: &[Item], than: &[Item]| -> Vec<String> {
        let mut words: Vec<String> = of
            .iter()
            .filter(|item| than.iter().all(|o| o.value != item.value))
            .map(|item| item.words.clone())
            .collect();
        words.dedup();
        words
    };
    let (left, right) = (more(left, right), more(right, left));
    Diff {
        left_more: !left.is_empty(),
        right_more: !right.is_empty(),
        left,
        right,
    }
}
