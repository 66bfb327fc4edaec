//! A word of a sentence while the sentence is rewritten.

use super::words::LOOSE;
use crate::judge::form::Token;
use crate::judge::gist::lemma::lemma;
use crate::judge::gist::synonyms;

/// A token as it is rewritten.
#[derive(Clone)]
pub(super) struct Piece<'a> {
    pub(super) text: String,
    pub(super) token: &'a Token,
    /// Whether it is a verb of the past whose auxiliary went.
    pub(super) past: Option<bool>,
}

impl Piece<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        !self.token.is_item() && self.text == text
    }

    pub(super) fn is_any(&self, texts: &[&str]) -> bool {
        !self.token.is_item() && texts.contains(&self.text.as_str())
    }

    /// Whether it is a preposition of a phrase that may stand elsewhere.
    pub(super) fn is_loose(&self) -> bool {
        LOOSE.iter().any(|(word, _)| self.is(word))
    }
}

/// The longest phrase that the lists know at the start of `pieces`, and its size.
pub(super) fn phrase_at(pieces: &[Piece<'_>]) -> Option<(&'static str, usize)> {
    let mut lemmas = String::new();
    let mut found = None;
    for (size, piece) in pieces.iter().take(synonyms::LONGEST).enumerate() {
        if piece.token.is_item() {
            break;
        }
        if size > 0 {
            lemmas.push(' ');
        }
        lemmas.push_str(&lemma(&piece.text).0);
        if let Some(class) = synonyms::class(&lemmas) {
            found = Some((class, size + 1));
        }
    }
    found
}
