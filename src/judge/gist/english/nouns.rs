//! What the words around a noun tell of it.

use super::piece::Piece;
use super::verbs::{is_plain_verb, is_verb_form};
use super::words::{DRINKS, LIGHT, RELATIONS, STRICT};
use crate::judge::form::is_short;
use crate::judge::gist::known::is_word;
use crate::judge::gist::lemma::lemma;
use crate::judge::gist::synonyms;
use crate::judge::openers::is_verb;

/// Whether a comma at `at` joins two words of a list or phrase.
pub(super) fn joins(pieces: &[Piece<'_>], at: usize) -> bool {
    let word = |p: &Piece<'_>| {
        let light = LIGHT.contains(&lemma(&p.text).0.as_str()) || p.is("user");
        !p.token.is_item() && p.text.chars().any(char::is_alphanumeric) && !light
    };
    let next = pieces.get(at + 1);
    // The second comma of `Tom, the user's brother, plays` ends what the first one began.
    let closes = (1..at)
        .any(|i| pieces[i].is_any(&[",", "("]) && (!word(&pieces[i + 1]) || !word(&pieces[i - 1])));
    !closes
        && at > 0
        && word(&pieces[at - 1])
        && next.is_some_and(|p| {
            word(p) && !p.is_any(STRICT) && !p.is_loose() && !p.is_any(&["because", "so"])
        })
}

/// Whether what follows `take` or `have` is a drink: no `coffee machine`, and nothing that one keeps
/// (`has tea at home`) or carries (`takes coffee to work`).
pub(super) fn is_drunk(rest: &[Piece<'_>], verb: &str) -> bool {
    let Some(at) = rest.iter().take(3).position(|p| p.is_any(DRINKS)) else {
        return false;
    };
    rest.get(at + 1).map_or(verb == "take", |p| {
        p.token.is_item()
            || p.is_any(&[
                "every", "each", "for", "with", "after", "before", "without", "daily",
            ])
    })
}

/// Whether the word at `at` is a noun that tells of several.
pub(super) fn is_plural(pieces: &[Piece<'_>], at: usize) -> bool {
    let text = &pieces[at].text;
    let (base, past) = lemma(text);
    if past || base == *text || text.ends_with("ing") || text == "'s" {
        return false;
    }
    let verb =
        |p: &Piece<'_>| p.is_any(&["'s", "are"]) || is_verb_form(p) || p.text.ends_with("ing");
    let told = pieces[..at].iter().any(verb);
    let determined = at > 0 && {
        let before = &pieces[at - 1];
        before.token.is_item()
            || before.is_any(STRICT)
            || before.is_loose()
            || before.is_any(&[
                "a", "the", "her", "his", "their", "my", "of", "some", "all", "many", "no", "'s",
            ])
    };
    let many = at == 0
        && pieces
            .get(1)
            .is_some_and(|p| p.is_any(&["are", "were", "have"]) || is_plain_verb(&p.text));
    told || determined || many || !is_plain_verb(&base)
}

/// Whether what is before a word makes it an apposition: a comma or bracket, and `the user's`.
pub(super) fn is_apposed(before: &[Piece<'_>]) -> bool {
    let own = before
        .iter()
        .rev()
        .take_while(|p| p.is_any(&["'s", "user", "her", "his", "their", "my", "the"]))
        .count();
    own > 0
        && before[..before.len() - own]
            .last()
            .is_some_and(|p| p.is_any(&[",", "("]))
}

/// Whether it surely begins nothing that somebody has: `the user's tea`, but `the user is drinking tea`.
fn is_no_thing(piece: &Piece<'_>) -> bool {
    piece.text.ends_with("ing")
        || lemma(&piece.text).1
        || piece.is_any(STRICT)
        || piece.is_any(&["a", "an", "the", "in", "on", "at", "not"])
}

/// Whether the word at `at` names the user as the owner of what follows.
pub(super) fn is_user_as_owner(pieces: &[Piece<'_>], at: usize) -> bool {
    pieces[at].is("user")
        && pieces.get(at + 1).is_some_and(|p| p.is("'s"))
        && !pieces.get(at + 2).is_some_and(is_no_thing)
}

/// Whether the `'s` at `at` surely makes what is before it the owner of what follows.
pub(super) fn makes_owner(pieces: &[Piece<'_>], at: usize) -> bool {
    // After a verb it is no verb: `likes her mother's cooking`.
    let told = pieces[..at].iter().any(|p| is_verb(&p.text) && !p.is("'s"));
    let thing = |p: &Piece<'_>| !p.token.is_item() && !is_no_thing(p);
    told || at > 0 && is_name(&pieces[at - 1]) && pieces.get(at + 1).is_some_and(thing)
}

/// Whether it is a name: written as one, or in no list.
fn is_name(piece: &Piece<'_>) -> bool {
    let word = piece.text.as_str();
    let relative = synonyms::class(word).is_some_and(|class| RELATIONS.contains(&class));
    let known = is_word(word) || is_short(word);
    !relative && !piece.token.is_item() && (piece.token.capital || !known)
}
