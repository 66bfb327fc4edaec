//! The last word on a text that an LLM wrote: it must say what the sources say, and no more.
//!
//! Deterministic and strict. A good merge that is rejected costs a duplicate, a bad one that is
//! accepted costs a fact. So the text may only put together what the sources say in their own words
//! and order (the rule stands in `order`, what is free in `words`): it is the source that says
//! all that the others say, or one with their last words as a list, or several sentences of theirs
//! each of which says one plain thing of the user.

mod answer;
mod entities;
mod fault;
mod order;
mod saying;
mod script;
mod words;

pub use self::entities::Entities;
pub use self::fault::{Fault, Kind};

use self::saying::{Saying, shown};
use self::script::Script;
use self::words::Token;
use crate::judge::cues;
use crate::judge::items::{Item, diff};
use crate::judge::normalize::{normalize, shape};
use crate::judge::sentences;
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
    check_order(&sayings, &result, &mut faults);
    check_joined(&sayings, &result, text, &mut faults);
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
}

/// The sentences of the result must be those of the sources.
fn check_order(sources: &[(&str, Saying)], result: &Saying, faults: &mut Vec<Fault>) {
    let known: Vec<&[Token]> = sources
        .iter()
        .flat_map(|(_, s)| s.sentences.iter().map(Vec::as_slice))
        .collect();
    let strange = result
        .sentences
        .iter()
        .filter(|s| !order::is_built(s, &known));
    faults.extend(strange.map(|s| Fault::Mixed { words: shown(s) }));
    for (id, source) in sources {
        let mut rest = result.sentences.as_slice();
        for sentence in &source.sentences {
            match rest.iter().position(|s| order::covers(s, sentence)) {
                Some(at) => rest = &rest[at..],
                None => faults.push(Fault::Rewritten {
                    words: shown(sentence),
                    source_id: (*id).to_owned(),
                }),
            }
        }
    }
}

/// Sentences that no source has beside each other must each say one plain thing of the user.
fn check_joined(sources: &[(&str, Saying)], result: &Saying, text: &str, faults: &mut Vec<Fault>) {
    let known = sources.iter().any(|(_, s)| s.sentences == result.sentences);
    if known || result.sentences.len() < 2 {
        return;
    }
    let touching = sentences::sentences(text)
        .into_iter()
        .filter(|s| !(cues::names_its_subject(s) && cues::stands_alone(s)));
    faults.extend(touching.map(|words| Fault::Mixed { words }));
}

#[cfg(test)]
mod tests;
