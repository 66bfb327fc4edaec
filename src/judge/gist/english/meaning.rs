//! What a carrying word means, by the lists, by its form and by the words around it.

use super::nouns::{is_drunk, is_plural};
use super::piece::Piece;
use super::verbs::{is_doing, is_going_on, is_passive, is_plain_verb};
use super::words::{LASTING, UNCOUNTED};
use crate::judge::form;
use crate::judge::gist::known::is_word;
use crate::judge::gist::synonyms;
use crate::judge::openers::is_verb;

/// The meaning of the word at `at` without its form. `first` tells whether it is of the first token.
pub(super) fn class(
    pieces: &[Piece<'_>],
    at: usize,
    base: &str,
    first: bool,
    past: bool,
) -> String {
    let piece = &pieces[at];
    let text = piece.text.as_str();
    let written = &piece.token.text;
    if matches!(base, "take" | "have") && is_drunk(&pieces[at + 1..], base) {
        return "drink".to_owned();
    }
    // `a little money` is not `little money`.
    if text == "little" && at > 0 && pieces[at - 1].is("a") {
        return "some".to_owned();
    }
    if text == "used" && !past {
        return "second-hand".to_owned();
    }
    // `Turkey`, `IT` and `Rose` are no turkey, it and rose.
    if written.contains(char::is_uppercase) && !(first && is_capital_of_start(pieces, at)) {
        return written.clone();
    }
    synonyms::class(base).unwrap_or(base).to_owned()
}

/// Whether the first word has its capital of its place alone, as all words there: `Black tea`, `Will not fly`.
fn is_capital_of_start(pieces: &[Piece<'_>], at: usize) -> bool {
    let plain = |p: &Piece<'_>| p.token.text == p.text && is_word(&p.text) && !is_verb(&p.text);
    let mut rest = pieces[at].token.text.chars().skip(1);
    !rest.any(char::is_uppercase) && pieces.get(at + 1).is_some_and(|p| p.is("not") || plain(p))
}

/// Adds to the class of the word at `at` what its form says: two cats are not one, and `was paid` is
/// not `paid`, `likes fish` not `likes fishing`, `his work is` not `works`.
pub(super) fn add_form(class: &mut String, pieces: &[Piece<'_>], at: usize, dated: bool) {
    if is_plural(pieces, at) && !UNCOUNTED.contains(&class.as_str()) {
        class.push_str("+s");
    }
    if pieces[at].past.is_none() && is_passive(pieces, at) {
        class.push_str("+ed");
    } else if !dated && is_going_on(pieces, at) && !LASTING.contains(&class.as_str()) {
        class.push_str("+now");
    } else if is_doing(pieces, at) {
        class.push_str("+ing");
    } else if is_noun_of_user(pieces, at) {
        class.push_str("+n");
    }
}

/// `the user's work is`, where `work` could be a verb.
fn is_noun_of_user(pieces: &[Piece<'_>], at: usize) -> bool {
    at == 2 && pieces[0].is("user") && pieces[1].is("'s") && is_plain_verb(&pieces[at].text)
}

/// Whether the word at `at` may be somebody who does something: a name, a pronoun, or what begins a
/// sentence and is in no list.
pub(super) fn is_agent(pieces: &[Piece<'_>], at: usize, base: &str) -> bool {
    const PRONOUNS: &[&str] = &[
        "he", "she", "they", "him", "them", "i", "me", "we", "us", "you",
    ];
    let piece = &pieces[at];
    let text = piece.text.as_str();
    let is_unknown = || {
        !is_word(text) && text != "user" && synonyms::class(base).is_none() && !form::is_short(text)
    };
    piece.token.capital
        || PRONOUNS.contains(&text)
        || at == 0 && (piece.token.text.starts_with(char::is_uppercase) || is_unknown())
}
