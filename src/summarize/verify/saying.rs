//! What a text says, as far as the verification can compare it.

use super::answer::quotations;
use super::fault::Kind;
use super::words::{Token, Word, sentences};
use crate::judge::facts::Facts;
use crate::judge::items::Item;
use crate::judge::normalize::shape;

/// A text, read once.
pub(super) struct Saying {
    facts: Facts,
    /// The text in comparison form.
    shape: String,
    pub(super) quotations: Vec<String>,
    /// Its sentences.
    pub(super) sentences: Vec<Vec<Token>>,
}

impl Saying {
    pub(super) fn read(text: &str) -> Self {
        let facts = Facts::read(text);
        let shape = shape(text);
        Self {
            quotations: quotations(&shape),
            sentences: sentences(&facts),
            facts,
            shape,
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

    /// Quotations and words of this text that `other` does not have.
    pub(super) fn lacking_in(&self, other: &Self) -> Vec<(Kind, String)> {
        let quotations = self.quotations.iter();
        let mut lacking: Vec<(Kind, String)> = quotations
            .filter(|quotation| !other.shape.contains(*quotation))
            .map(|quotation| (Kind::Quotation, quotation.clone()))
            .collect();
        let words = self
            .words()
            .filter(|w| !other.words().any(|o| o.text == w.text));
        lacking.extend(words.map(|w| (w.kind(), w.text.clone())));
        lacking
    }

    /// Whether these words, in comparison form, stand in the text.
    pub(super) fn says(&self, words: &str) -> bool {
        self.shape.contains(words)
    }

    /// The words that no guard took.
    pub(super) fn words(&self) -> impl Iterator<Item = &Word> {
        let tokens = self.sentences.iter().flatten();
        tokens.filter_map(Token::word).filter(|w| w.item.is_none())
    }
}

/// A sentence as it is compared, for a message.
pub(super) fn shown(sentence: &[Token]) -> String {
    let mut shown = String::new();
    for token in sentence {
        match token {
            Token::Joint => shown.push(','),
            Token::Word(word) => {
                let close = shown.is_empty() || word.is_han();
                shown.push_str(if close { "" } else { " " });
                shown.push_str(&word.text);
            }
        }
    }
    shown
}
