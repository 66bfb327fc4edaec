//! The last word on a text that an LLM wrote: it must say what the sources say, and no more.
//!
//! Deterministic and strict. A good merge that is rejected costs a duplicate, a bad one that is
//! accepted costs a fact. Every word of content of every source must come back, up to its
//! inflection, and no other may come in; synonyms are not known. Numbers, dates, codes and names stay
//! beside a word beside which they stood.

mod answer;
mod fault;
mod order;
mod saying;
mod script;

pub use self::fault::{Fault, Kind};

use self::saying::{Place, Saying};
use self::script::Script;
use crate::judge::items::{Item, diff};
use crate::judge::normalize::{normalize, shape};
use crate::judge::roles;
use crate::judge::words;
use crate::summarize::SourceText;

/// A result may be this much longer than all sources together, in characters.
const SLACK: usize = 20;

/// Checks that `text` is a memory of the type `memory_type` that says all that `sources` say and
/// nothing else.
///
/// # Errors
/// All faults found, in the order of the checks. A text that is no memory at all yields that only.
pub fn verify(sources: &[SourceText], memory_type: &str, text: &str) -> Result<(), Vec<Fault>> {
    if normalize(text).is_empty() {
        return Err(vec![Fault::Empty]);
    }
    let texts: Vec<&str> = sources.iter().map(|s| s.text.as_str()).collect();
    if let Some(words) = answer::not_a_memory(&texts, text) {
        return Err(vec![Fault::NotAMemory { words }]);
    }
    let ids: Vec<&str> = sources.iter().map(|s| s.id.as_str()).collect();
    let mut faults: Vec<Fault> = answer::markup(&texts, &ids, memory_type, text)
        .into_iter()
        .map(|words| Fault::Markup { words })
        .collect();
    check_length(&texts, text, &mut faults);
    check_script(sources, text, &mut faults);
    let result = Saying::read(text);
    let sayings: Vec<(&str, Saying)> = sources
        .iter()
        .map(|s| (s.id.as_str(), Saying::read(&s.text)))
        .collect();
    for (id, source) in &sayings {
        check_missing(id, source, &result, &mut faults);
    }
    check_invented(&sayings, &result, &mut faults);
    check_places(&sayings, &result, &mut faults);
    check_roles(&sayings, &result, &mut faults);
    check_order(&sayings, &result, &mut faults);
    check_turned(&sayings, &result, &mut faults);
    let mut seen: Vec<Fault> = Vec::new();
    faults.retain(|fault| {
        !seen.contains(fault) && {
            seen.push(fault.clone());
            true
        }
    });
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults)
    }
}

/// At most all sources together, at least half of the longest one.
fn check_length(texts: &[&str], text: &str, faults: &mut Vec<Fault>) {
    let length = |text: &str| shape(text).chars().count();
    let chars = length(text);
    let max = texts.iter().map(|t| length(t)).sum::<usize>() + SLACK;
    let min = texts
        .iter()
        .map(|t| length(t))
        .max()
        .unwrap_or(0)
        .div_ceil(2);
    if chars > max {
        faults.push(Fault::TooLong { chars, max });
    }
    if chars < min {
        faults.push(Fault::TooShort { chars, min });
    }
}

fn check_script(sources: &[SourceText], text: &str, faults: &mut Vec<Fault>) {
    let used = script::used(text);
    for source in sources {
        if script::dominant(&source.text).is_some_and(|s| !used.iter().any(|(u, _)| *u == s)) {
            faults.push(Fault::ScriptLost {
                source_id: source.id.clone(),
            });
        }
    }
    let known: Vec<Script> = sources
        .iter()
        .flat_map(|s| script::used(&s.text))
        .map(|(script, _)| script)
        .collect();
    for (script, c) in used {
        if !known.contains(&script) {
            faults.push(Fault::ScriptNew {
                words: c.to_string(),
            });
        }
    }
}

/// All that a source says must be in the result.
fn check_missing(id: &str, source: &Saying, result: &Saying, faults: &mut Vec<Fault>) {
    let mut missing = |kind, words| {
        faults.push(Fault::Missing {
            kind,
            words,
            source_id: id.to_owned(),
        });
    };
    for ((kind, items), (_, found)) in source.items().into_iter().zip(result.items()) {
        // As multisets: two times 40 stay two.
        if diff(items, found).left_more {
            let covering = |list: &[Item], item| list.iter().filter(|o| o.covers(item)).count();
            for item in items
                .iter()
                .filter(|i| covering(found, i) < covering(items, i))
            {
                missing(kind, item.words.clone());
            }
        }
    }
    for (kind, words) in source.lacking_in(result) {
        missing(kind, words);
    }
    let denials = result.denials();
    for (at, item) in source.denials().iter().enumerate() {
        if at >= denials.len() || !denials.iter().any(|d| same_scope(d, item)) {
            missing(Kind::Negation, denial_words(item));
        }
    }
}

/// All that the result says must be in a source.
fn check_invented(sources: &[(&str, Saying)], result: &Saying, faults: &mut Vec<Fault>) {
    let mut invented = |kind, words| faults.push(Fault::Invented { kind, words });
    for (at, (kind, items)) in result.items().into_iter().enumerate() {
        for item in items {
            if !sources
                .iter()
                .any(|(_, s)| s.items()[at].1.iter().any(|i| i.covers(item)))
            {
                invented(kind, item.words.clone());
            }
        }
    }
    let mut unknown = result.lacking_in(&Saying::read(""));
    for (_, source) in sources {
        let lacking = result.lacking_in(source);
        unknown.retain(|words| lacking.contains(words));
    }
    for (kind, words) in unknown {
        invented(kind, words);
    }
    let allowed: usize = sources.iter().map(|(_, s)| s.denials().len()).sum();
    for (at, item) in result.denials().iter().enumerate() {
        let known = sources
            .iter()
            .any(|(_, s)| s.denials().iter().any(|i| same_scope(i, item)));
        if !known || at >= allowed {
            invented(Kind::Negation, denial_words(item));
        }
    }
}

/// Numbers, dates, codes and names must not change places: each keeps the word before or after it
/// that it has in a source, unless the sources hold one only.
fn check_places(sources: &[(&str, Saying)], result: &Saying, faults: &mut Vec<Fault>) {
    for place in result.places() {
        let fits = |known: &Place| {
            let side = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
            known.key == place.key
                && (side(&known.before, &place.before)
                    || side(&known.after, &place.after)
                    || (known.before == place.before && known.after == place.after))
        };
        let mut known = sources
            .iter()
            .flat_map(|(_, s)| s.places())
            .filter(|p| p.key == place.key)
            .peekable();
        // What no source has at all is reported as invented.
        if known.peek().is_some() && !known.any(fits) {
            faults.push(Fault::Moved {
                words: place.words.clone(),
            });
        }
    }
}

/// Two parts of a source must not change places: `flew from rome to oslo`.
fn check_roles(sources: &[(&str, Saying)], result: &Saying, faults: &mut Vec<Fault>) {
    for (_, source) in sources {
        let words = roles::diff(&source.lower, &result.lower).right;
        if !words.is_empty() {
            let words = words.join(" … ");
            faults.push(Fault::Moved { words });
        }
    }
}

/// Who does what to whom: each source's words keep their order, and no neighbours are made that a
/// source has the other way round.
fn check_order(sources: &[(&str, Saying)], result: &Saying, faults: &mut Vec<Fault>) {
    let mut moved = |words| faults.push(Fault::Moved { words });
    for (_, source) in sources {
        if let Some(words) = result.order.breaks(&source.order) {
            moved(words);
        }
    }
    let orders: Vec<_> = sources.iter().map(|(_, s)| &s.order).collect();
    if let Some(words) = result.order.invents(&orders) {
        moved(words);
    }
}

/// Past and plan must not change sides where the sources agree.
fn check_turned(sources: &[(&str, Saying)], result: &Saying, faults: &mut Vec<Fault>) {
    let mut check = |has: fn(&Saying) -> bool, added, lost| {
        let with = sources.iter().filter(|(_, s)| has(s)).count();
        if has(result) && with == 0 {
            faults.push(Fault::Turned { change: added });
        } else if !has(result) && with > 0 && with == sources.len() {
            faults.push(Fault::Turned { change: lost });
        }
    };
    check(|s| s.past, "puts into the past", "puts into the present");
    check(
        |s| s.modal,
        "makes a plan, possibility or duty of",
        "makes a plain fact of",
    );
}

fn same_scope(a: &Item, b: &Item) -> bool {
    words::stem(&a.value) == words::stem(&b.value)
}

fn denial_words(item: &Item) -> String {
    format!("{} {}", item.words, item.value).trim().to_owned()
}

#[cfg(test)]
mod tests;
