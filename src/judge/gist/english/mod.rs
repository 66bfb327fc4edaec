//! An English sentence as the words that carry it, in an order that voice and word order leave.
//!
//! | step | file |
//! |---|---|
//! | tokens as pieces that may be rewritten | `piece` |
//! | passive voice, clefts, wishes to the plain build | `rewrite` |
//! | carrying words and what ties them, from left to right | `gather` |
//! | what such a word means | `meaning` |
//! | what a verb's form and a noun's surroundings tell | `verbs`, `nouns` |
//! | the word lists of all these | `words` |

mod gather;
mod meaning;
mod nouns;
mod piece;
mod rewrite;
mod verbs;
mod words;

use self::gather::gather;
use self::piece::Piece;
use self::rewrite::{activate, name_user, to_compound, uncleave, unite_denials, wish};
use self::words::{CONTACT, ORDERED, RELATIONS};
use super::{Gist, Person};
use crate::judge::form::{self, Token};

/// The gist of a sentence; none where its words cannot be told.
pub(super) fn read(tokens: &[Token]) -> Option<Gist> {
    let plain =
        |t: &Token| t.is_item() || t.text.chars().all(|c| c.is_ascii() || !c.is_alphabetic());
    if tokens.is_empty()
        || tokens.len() > 40
        || !tokens.iter().all(plain)
        || tokens.iter().any(|t| t.is("?"))
    {
        return None;
    }
    let mut pieces: Vec<Piece<'_>> = tokens
        .iter()
        .map(|token| Piece {
            text: token.text.to_lowercase(),
            token,
            past: None,
        })
        .collect();
    name_user(&mut pieces, tokens);
    uncleave(&mut pieces);
    activate(&mut pieces);
    unite_denials(&mut pieces);
    let wish = wish(&mut pieces);
    to_compound(&mut pieces);
    let ordered = pieces
        .iter()
        .any(|p| p.is_any(ORDERED) || p.is_any(form::RANKED) && !p.is("not"));
    let mut gist = gather(&pieces, &tokens[0], ordered);
    gist.wish = wish;
    let has = |words: &[&str]| pieces.iter().any(|p| p.is_any(words));
    gist.he = has(&["he", "his", "him", "himself"]);
    gist.she = has(&["she", "her", "hers", "herself"]);
    gist.person = person(&pieces);
    gist.forget_contact(CONTACT);
    gist.name_relations(RELATIONS);
    Some(gist)
}

/// Of whom the pronouns speak. Where the user is named, they speak of the user.
fn person(pieces: &[Piece<'_>]) -> Option<Person> {
    if pieces.iter().any(|p| p.is("user")) {
        return None;
    }
    pieces.iter().find_map(|p| {
        Some(match p.text.as_str() {
            "i" | "me" | "my" | "mine" | "myself" => Person::Me,
            "we" | "us" | "our" | "ours" => Person::Us,
            "you" | "your" | "yours" => Person::You,
            "he" | "him" | "his" | "she" | "her" | "hers" => Person::One,
            "they" | "them" | "their" | "theirs" => Person::Them,
            _ => return None,
        })
    })
}
