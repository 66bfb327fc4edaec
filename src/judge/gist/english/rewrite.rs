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
    let Some(by) = pieces.iter().position(|p| p.is("by")) else {
        return;
    };
    let Some(aux) = pieces[..by]
        .iter()
        .rposition(|p| p.is_any(NOW) || p.is_any(THEN))
    else {
        return;
    };
    let after = &pieces[by + 1..];
    let [verb] = &pieces[aux + 1..by] else {
        return;
    };
    if phrase_at(&pieces[aux..]).is_some_and(|(_, size)| size > 2) {
        return;
    }
    let (_, participle) = lemma(&verb.text);
    let starts_noun = after
        .first()
        .is_some_and(|p| !p.token.is_item() && !p.text.ends_with("ing"));
    if !participle || !starts_noun || aux == 0 {
        return;
    }
    let length = after
        .iter()
        .position(|p| p.is_any(ENDS) || p.token.is_item())
        .unwrap_or(after.len());
    let mut first = aux;
    while first > 0 && pieces[first - 1].is_any(&["has", "have", "had", "be", "been", "get", "got"])
    {
        first -= 1;
    }
    let mut verb = verb.clone();
    verb.past = Some(pieces[first..=aux].iter().any(|p| p.is_any(THEN)));
    let agent = pieces[by + 1..by + 1 + length].to_vec();
    let rest = pieces[by + 1 + length..].to_vec();
    let patient = pieces[..first].to_vec();
    *pieces = [agent, vec![verb], patient, rest].concat();
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
    const WISHES: &[&str] = &["wants", "want", "prefers", "prefer", "expects", "asks"];
    const DUTIES: &[&str] = &["should", "must", "has", "have", "needs", "need", "ought"];
    const COMES: &[&str] = &[
        "be",
        "come",
        "arrive",
        "get",
        "sent",
        "written",
        "delivered",
        "stay",
        "remain",
    ];
    let to = |piece: Option<&Piece<'_>>| piece.is_some_and(|p| p.is("to"));
    if pieces.first().is_some_and(|p| p.is("user"))
        && pieces.get(1).is_some_and(|p| p.is_any(WISHES))
    {
        let asks = pieces[1].is("asks");
        let other = pieces.get(2);
        if to(other) || asks && !other.is_some_and(|p| p.is("for")) {
            return Some(false);
        }
        pieces.drain(..2 + usize::from(asks));
        return Some(true);
    }
    if let Some(at) = pieces
        .iter()
        .position(|p| p.is_any(DUTIES))
        .filter(|at| *at > 0 && !pieces[0].is("user"))
    {
        let infinitive = to(pieces.get(at + 1));
        let duty = infinitive || pieces[at].is_any(&["should", "must"]);
        let from = at + 1 + usize::from(infinitive);
        let comes = pieces[from.min(pieces.len())..]
            .iter()
            .take_while(|p| p.is_any(COMES))
            .count();
        if duty && comes > 0 {
            pieces.drain(at..from + comes);
            return Some(true);
        }
    }
    let verb = |p: &Piece<'_>| p.is_any(&["'s", "are", "was", "were"]) || is_verb(&p.text);
    let title = pieces.iter().any(|p| p.is(":")) && !pieces.iter().any(verb);
    (!title).then_some(false)
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
