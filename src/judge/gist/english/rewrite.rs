//! Sentences in another voice or build, rewritten to the plain one before their words are read.

use super::piece::{Piece, phrase_at};
use super::verbs::is_plain_verb;
use super::words::{ENDS, NOW, THEN};
use crate::judge::form::Token;
use crate::judge::gist::lemma::lemma;
use crate::judge::openers::is_verb;

/// A sentence that begins with a verb of the third person is about the user.
pub(super) fn name_user<'a>(pieces: &mut Vec<Piece<'a>>, tokens: &'a [Token]) {
    let [first, second, ..] = pieces.as_slice() else {
        return;
    };
    let verb = first.text.ends_with('s')
        && !first.token.is_item()
        && first.token.text == first.text
        && lemma(&first.text).0 != first.text
        && is_plain_verb(&lemma(&first.text).0);
    let governs = second.is_any(&["a", "an", "the", "her", "his", "their", "my"])
        || second.is_loose()
        || second.token.capital;
    let other = |p: &Piece<'_>| p.is(":") || p.is_any(&["should", "must"]) || is_verb(&p.text);
    if verb && governs && !pieces[1..].iter().any(other) {
        pieces.insert(
            0,
            Piece {
                text: "user".to_owned(),
                token: &tokens[0],
                past: None,
            },
        );
    }
}

/// `Tea is what the user drinks` is `the user drinks tea`.
pub(super) fn uncleave(pieces: &mut Vec<Piece<'_>>) {
    let Some(at) = pieces.iter().position(|p| p.is("what")) else {
        return;
    };
    if at >= 2 && pieces[at - 1].is("'s") && pieces.get(at + 1).is_some_and(|p| p.is("user")) {
        let mut clause = pieces.split_off(at + 1);
        pieces.truncate(at - 1);
        let verb = 2.min(clause.len());
        clause.splice(verb..verb, pieces.drain(..));
        *pieces = clause;
    }
}

/// `The bike was repaired by Kofi` is `Kofi repaired the bike`.
pub(super) fn activate(pieces: &mut Vec<Piece<'_>>) {
    let Some((aux, by)) = passive(pieces) else {
        return;
    };
    let after = &pieces[by + 1..];
    let length = after
        .iter()
        .position(|p| p.is_any(ENDS) || p.token.is_item())
        .unwrap_or(after.len());
    let mut first = aux;
    while first > 0 && pieces[first - 1].is_any(&["has", "have", "had", "be", "been", "get", "got"])
    {
        first -= 1;
    }
    let mut verb = pieces[aux + 1].clone();
    verb.past = Some(pieces[first..=aux].iter().any(|p| p.is_any(THEN)));
    let agent = pieces[by + 1..by + 1 + length].to_vec();
    let rest = pieces[by + 1 + length..].to_vec();
    let patient = pieces[..first].to_vec();
    *pieces = [agent, vec![verb], patient, rest].concat();
}

/// Where the auxiliary and the `by` of a passive are that tells who does it.
fn passive(pieces: &[Piece<'_>]) -> Option<(usize, usize)> {
    let by = pieces.iter().position(|p| p.is("by"))?;
    let aux = pieces[..by]
        .iter()
        .rposition(|p| p.is_any(NOW) || p.is_any(THEN))?;
    let [verb] = &pieces[aux + 1..by] else {
        return None;
    };
    if phrase_at(&pieces[aux..]).is_some_and(|(_, size)| size > 2) {
        return None;
    }
    let (_, participle) = lemma(&verb.text);
    let starts_noun = pieces
        .get(by + 1)
        .is_some_and(|p| !p.token.is_item() && !p.text.ends_with("ing"));
    (participle && starts_noun && aux > 0).then_some((aux, by))
}

/// `eats neither fish nor meat` is `not eats fish or meat`; `free of` is `no`.
pub(super) fn unite_denials(pieces: &mut Vec<Piece<'_>>) {
    if let Some(at) = pieces.iter().position(|p| p.is("neither"))
        && at >= 1
    {
        let mut piece = pieces.remove(at);
        piece.text = "not".to_owned();
        pieces.insert(at - 1, piece);
        pieces
            .iter_mut()
            .filter(|p| p.is("nor"))
            .for_each(|p| p.text = "or".to_owned());
    }
    for at in 0..pieces.len().saturating_sub(1) {
        if pieces[at].is("free") && pieces[at + 1].is_any(&["of", "from"]) {
            pieces[at].text = "no".to_owned();
            pieces[at + 1].text = "of".to_owned();
        }
    }
    // An order: `never call`, `do not call`.
    if pieces.first().is_some_and(|p| p.is("never")) {
        pieces[0].text = "not".to_owned();
    }
}

/// Takes out what makes a wish of how something is to be done (`wants … as a table`, `… should
/// come as a table`, `please keep …`), and tells whether there was one; none where there is no verb.
pub(super) fn wish(pieces: &mut Vec<Piece<'_>>) -> Option<bool> {
    let wished = want(pieces).or_else(|| duty(pieces).then_some(true));
    if wished.is_some() {
        return wished;
    }
    let verb = |p: &Piece<'_>| p.is_any(&["'s", "are", "was", "were"]) || is_verb(&p.text);
    let title = pieces.iter().any(|p| p.is(":")) && !pieces.iter().any(verb);
    (!title).then_some(false)
}

/// Takes out the `user wants` that begins a sentence, unless the user wants to do it; none where it
/// begins otherwise.
fn want(pieces: &mut Vec<Piece<'_>>) -> Option<bool> {
    const WISHES: &[&str] = &["wants", "want", "prefers", "prefer", "expects", "asks"];
    let [user, verb, ..] = pieces.as_slice() else {
        return None;
    };
    if !user.is("user") || !verb.is_any(WISHES) {
        return None;
    }
    let asks = verb.is("asks");
    let next = |word: &str| pieces.get(2).is_some_and(|p| p.is(word));
    if next("to") || asks && !next("for") {
        return Some(false);
    }
    pieces.drain(..2 + usize::from(asks));
    Some(true)
}

/// Takes out `should come` and its like where they are not said of the user, and tells whether there were some.
fn duty(pieces: &mut Vec<Piece<'_>>) -> bool {
    const DUTIES: &[&str] = &["should", "must", "has", "have", "needs", "need", "ought"];
    #[rustfmt::skip]
    const COMES: &[&str] = &[
        "be", "come", "arrive", "get", "sent", "written", "delivered", "stay", "remain",
    ];
    let Some(at) = pieces
        .iter()
        .position(|p| p.is_any(DUTIES))
        .filter(|at| *at > 0 && !pieces[0].is("user"))
    else {
        return false;
    };
    let infinitive = pieces.get(at + 1).is_some_and(|p| p.is("to"));
    let duty = infinitive || pieces[at].is_any(&["should", "must"]);
    let from = at + 1 + usize::from(infinitive);
    let comes = pieces[from..]
        .iter()
        .take_while(|p| p.is_any(COMES))
        .count();
    if !duty || comes == 0 {
        return false;
    }
    pieces.drain(at..from + comes);
    true
}

/// `messages to clients` are `client messages`.
pub(super) fn to_compound(pieces: &mut [Piece<'_>]) {
    const SENT: &[&str] = &[
        "message", "msg", "msgs", "emails", "replies", "email", "letter", "reply", "mail", "call",
        "invoice", "report",
    ];
    for at in 0..pieces.len().saturating_sub(2) {
        if pieces[at + 1].is("to")
            && SENT.contains(&lemma(&pieces[at].text).0.as_str())
            && !pieces[at + 2].token.is_item()
        {
            pieces[at + 1].text = "of".to_owned();
            pieces[at + 2].text = lemma(&pieces[at + 2].text).0;
            pieces.swap(at, at + 2);
        }
    }
}
