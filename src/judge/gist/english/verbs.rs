//! What the form of a verb and the words before it tell.

use super::piece::Piece;
use super::words::{BARE_PARTICIPLES, ENDS_OR_AIMS, LIGHT, LIMITING, NOW, STRICT};
use crate::judge::gist::known::is_word;
use crate::judge::gist::lemma::{base_of_irregular, lemma};
use crate::judge::openers::is_verb;

/// Whether it is surely a form of a verb.
pub(super) fn is_verb_form(piece: &Piece<'_>) -> bool {
    let irregular = base_of_irregular(&piece.text).is_some() && is_past(piece);
    !piece.token.is_item() && (is_verb(&piece.text) || irregular)
}

pub(super) fn is_past(piece: &Piece<'_>) -> bool {
    piece.past.unwrap_or_else(|| lemma(&piece.text).1)
}

/// Whether the form of the past at `at` tells of the past, and is no participle of now or adjective.
pub(super) fn is_past_at(pieces: &[Piece<'_>], at: usize) -> bool {
    let before = pieces[..at]
        .iter()
        .rev()
        .find(|p| !p.text.ends_with("ly") && !p.is("not"));
    !before.is_some_and(|p| {
        p.is_any(NOW)
            || p.is_any(&[
                "a", "an", "the", "her", "his", "their", "my", "of", "with", "to", "more", "in",
            ])
    })
}

/// Whether the word at `at` tells of the past; `is_form` says that it is a form of the past.
pub(super) fn is_of_past(pieces: &[Piece<'_>], at: usize, is_form: bool) -> bool {
    let piece = &pieces[at];
    // `the user quit`: in the present it is `quits`.
    let of_user = at == 1 && pieces[0].is("user");
    let bare = of_user && (piece.is("quit") || piece.is_any(BARE_PARTICIPLES));
    bare || piece
        .past
        .unwrap_or_else(|| is_form && is_past_at(pieces, at))
}

/// Whether the word at `at` is the auxiliary of a perfect: `has eaten`.
pub(super) fn is_perfect(pieces: &[Piece<'_>], at: usize) -> bool {
    const BARE: &[&str] = &["been", "become", "run", "come", "put", "set", "cut"];
    pieces[at].is_any(&["has", "have", "had"])
        && pieces
            .get(at + 1)
            .is_some_and(|p| lemma(&p.text).1 || p.is_any(BARE))
        && !is_noun_after_participle(&pieces[at + 2..])
}

/// Whether the word at `at` is the auxiliary of a passive: `got fired`.
pub(super) fn turns_passive(pieces: &[Piece<'_>], at: usize) -> bool {
    pieces[at].is_any(&["get", "gets", "getting", "got"])
        && pieces.get(at + 1).is_some_and(|p| lemma(&p.text).1)
}

/// Whether the word at `at` is the `to` of an infinitive that could as well be a gerund: `likes to swim`.
pub(super) fn is_infinitive(pieces: &[Piece<'_>], at: usize) -> bool {
    let aims = |before: &Piece<'_>| ENDS_OR_AIMS.contains(&lemma(&before.text).0.as_str());
    pieces[at].is("to")
        && pieces.get(at + 1).is_some_and(|p| is_plain_verb(&p.text))
        && !(at > 0 && aims(&pieces[at - 1]))
}

/// Whether the word at `at` is a participle of what is done to somebody, or of what they are.
pub(super) fn is_passive(pieces: &[Piece<'_>], at: usize) -> bool {
    let piece = &pieces[at];
    let before = pieces[..at]
        .iter()
        .rev()
        .find(|p| !p.text.ends_with("ly") && !p.is_any(&["not", "never", "always", "often"]));
    (lemma(&piece.text).1 || piece.is_any(BARE_PARTICIPLES))
        && before.is_some_and(|p| {
            p.is_any(NOW)
                || p.is_any(&["was", "were", "been", "got", "become", "becomes", "became"])
        })
}

/// Whether the word at `at` names a doing: `fishing`, `to fish`, but no `is fishing`, `the painting`.
pub(super) fn is_doing(pieces: &[Piece<'_>], at: usize) -> bool {
    let text = pieces[at].text.as_str();
    let mut before = pieces[..at].iter().rev();
    if before.clone().next().is_some_and(|p| p.is("to")) {
        // `needs to check` is no `needs checking`.
        let duty = at >= 2
            && pieces[at - 2].is_any(&["need", "needs", "needed", "have", "has", "had", "got"]);
        return is_plain_verb(text) && !duty;
    }
    let is_now = before
        .find(|p| !p.text.ends_with("ly") && !p.is_any(&["not", "always", "often", "now", "user"]));
    text.len() > 4
        && text.ends_with("ing")
        && !matches!(text, "morning" | "evening" | "during")
        && !is_now.is_some_and(|p| {
            p.is_any(NOW)
                || p.is_any(&[
                    "was", "were", "been", "a", "an", "the", "this", "her", "his", "their", "my",
                    "every", "each",
                ])
        })
}

/// Whether the word at `at` tells of something that is going on: `is drinking coffee` is no habit.
pub(super) fn is_going_on(pieces: &[Piece<'_>], at: usize) -> bool {
    let before = pieces[..at]
        .iter()
        .rev()
        .find(|p| !p.text.ends_with("ly") && !p.is_any(&["not", "always", "often", "now", "user"]));
    let text = pieces[at].text.as_str();
    text.len() > 4
        && text.ends_with("ing")
        && lemma(text).0 != text
        && before.is_some_and(|p| p.is_any(&["'s", "is", "are", "am", "be", "was", "were", "been"]))
}

/// Whether a bare noun follows, so that the participle before it may be an adjective: `has painted walls`.
fn is_noun_after_participle(rest: &[Piece<'_>]) -> bool {
    rest.first().is_some_and(|p| {
        !p.token.is_item()
            && p.token.text == p.text
            && p.text.chars().all(char::is_alphabetic)
            && !LIGHT.contains(&p.text.as_str())
            && !STRICT.contains(&p.text.as_str())
            && !p.is_loose()
            && !LIMITING.contains(&p.text.as_str())
            && !p.text.ends_with("ly")
            && !p.text.ends_with("ing")
            && !lemma(&p.text).1
            && !p.is_any(&[
                "near", "and", "or", "but", "out", "up", "off", "down", "away", "back", "home",
                "abroad", "here", "there", "this", "that", "user", "him", "them", "me", "us",
                "you", "one", "well", "not", "never", "again",
            ])
    })
}

/// Whether the word is a verb as it stands after `to`.
pub(super) fn is_plain_verb(text: &str) -> bool {
    // `thing` and `herring` are forms of no verb.
    if LIGHT.contains(&text) && !matches!(text, "be" | "do") {
        return false;
    }
    let (base, past) = lemma(text);
    base == text && !past && is_word(&format!("{}ing", text.trim_end_matches('e')))
        || is_word(&format!(
            "{text}{}ing",
            text.chars().next_back().unwrap_or_default()
        ))
        || text == "be"
}
