//! The form in which the judge compares what two texts say.
//!
//! Wider than [`super::normalize`]: two texts of one form need not be equal, they say the same.
//!
//! | rule | file | what stays apart |
//! |---|---|---|
//! | numbers, dates and times by value | the guards | `3.10` and `3.1`, `1` and `1 km` |
//! | traditional Chinese characters as simplified ones | `script` | 於 and 于 in simplified text; Japanese |
//! | fillers, politeness, laughter dropped | `fillers` | hedges, corrections, limits |
//! | case | `homonyms` | `Turkey`, `Will`, `IT`, single letters |
//! | contractions, abbreviations, spellings | `short_forms` | everything that is not listed |
//! | order of lists and of phrases of time | `order`, `order_han` | roles, sequences, `respectively` |
//! | a sentence that says another one and adds to it | `superset`, `additions_han` | limits, conditions, endings |

mod additions_han;
mod fillers;
mod ground;
mod homonyms;
mod order;
mod order_han;
mod script;
mod short_forms;
mod superset;
mod token;

pub(crate) use self::fillers::stripped;
pub(crate) use self::script::{ambiguous, simplified};

pub(crate) use self::order::{RANKED, is_time};
pub(crate) use self::short_forms::{is_short, shortened};
pub(crate) use self::superset::heads;
pub(crate) use self::token::Token;
use super::facts::Facts;
use super::gist::known;
use super::normalize;

/// Whether a text (with its characters in comparison form) is prose, whose blanks and case are
/// layout. Money (`$5`, `~5`) is no sign of code.
pub(crate) fn is_prose(text: &str) -> bool {
    let sign = |at: usize| text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let mut plain = String::with_capacity(text.len());
    plain.extend(text.char_indices().map(|(at, c)| match c {
        '$' | '~' if sign(at) => ' ',
        c => c,
    }));
    normalize::is_prose(&plain) && !plain.trim().contains('\n')
}

/// Words (in any case) that another writing of a text may lack.
pub(crate) fn variable_words() -> impl Iterator<Item = &'static str> {
    short_forms::words()
}

/// Han characters that another writing of a text may lack.
pub(crate) fn variable_han() -> impl Iterator<Item = char> {
    short_forms::han()
}

/// A text as rows of comparable words, one a sentence.
#[derive(Clone, Debug)]
pub(crate) struct Form(Vec<Vec<Token>>);

impl Form {
    pub(crate) fn of(facts: &Facts) -> Self {
        Self(token::sentences(facts))
    }

    /// All tokens, sentence after sentence.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.0.iter().flatten()
    }

    /// The tokens of a text of one sentence.
    pub(crate) fn only_sentence(&self) -> Option<&[Token]> {
        match self.0.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether it tells what the user or a thing has or is: no `Ana drives a Golf`, no `likes the Golf`.
    pub(crate) fn is_of_what_the_user_has(&self) -> bool {
        const HAS: &[&str] = &[
            "has", "owns", "uses", "drives", "rides", "wears", "takes", "plays", "keeps", "rents",
            "runs", "'s", "are",
        ];
        let Some([first, second, ..]) = self.only_sentence() else {
            return false;
        };
        let verb = |t: &Token| t.unit().is_none() && crate::judge::openers::is_verb(&t.text);
        if first.is("user") && verb(second) {
            return second.is_any(HAS);
        }
        !verb(second) || second.is_any(&["'s", "are", "runs"])
    }

    /// Whether this text says, sentence by sentence, all that the other one says.
    pub(crate) fn says(&self, other: &Self) -> bool {
        !self.0.is_empty()
            && self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(a, b)| says(a, b))
    }
}

/// Whether the sentence `a` says all that the sentence `b` says.
fn says(a: &[Token], b: &[Token]) -> bool {
    covers(a, b) || order::is_reordered(a, b) || superset::contains(a, b) || corrects(a, b)
}

/// Most slips of the pen that a sentence may have.
const SLIPS: usize = 3;

/// Whether `b` is `a` with slips of the pen. A memory that begins with a verb misspelt has no subject.
fn corrects(a: &[Token], b: &[Token]) -> bool {
    let a = match a {
        [user, rest @ ..] if user.is("user") && rest.len() == b.len() => rest,
        all => all,
    };
    let mut slips = 0;
    a.len() == b.len()
        && a.len() >= 3
        && a.iter().zip(b).all(|(a, b)| {
            let slip = || {
                let words = !a.is_item() && !b.is_item() && !a.capital && !b.capital;
                words && known::is_slip_of(&b.text, &a.text)
            };
            a.covers(b)
                || slip() && {
                    slips += 1;
                    slips <= SLIPS
                }
        })
        && slips > 0
}

/// Whether the words are the same, one by one; a number or date of `a` may be more exact.
fn covers(a: &[Token], b: &[Token]) -> bool {
    a.len() == b.len() && a.iter().enumerate().all(|(at, a)| a.covers_at(b, at))
}
