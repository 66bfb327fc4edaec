//! What of its sources a result does not say in their words, and keeps beside its text.

use crate::layout::{Past, Source};
use crate::memory::{Author, PlannedMerge};
use crate::summarize::extractive::has_words_of;

/// Whether the text of a source goes into the history of a result.
fn goes_to_history(author: &Author, result: &str, text: &str) -> bool {
    match author {
        Author::Latest { .. } => text != result,
        // What a person left out against the verification stays readable beside the result.
        Author::Person { overridden } if overridden.is_empty() => false,
        Author::Extractive { .. } | Author::Person { .. } => !has_words_of(result, text),
        Author::Llm { .. } => false,
    }
}

/// The texts that the result replaces or says in other words.
pub(crate) fn replaced(merge: &PlannedMerge) -> Vec<&str> {
    let texts = merge.sources.iter().map(|source| &*source.text);
    texts
        .filter(|text| goes_to_history(&merge.author, &merge.text, text))
        .collect()
}

/// The same as it is stored with the result, oldest first. The newest value says when it was said
/// last; that it was said before is history too.
pub(super) fn history(merge: &PlannedMerge, sources: &[Source]) -> Vec<Past> {
    let last = match merge.author {
        Author::Latest { .. } => sources.iter().map(|s| s.memory.said_at).max(),
        Author::Extractive { .. } | Author::Person { .. } | Author::Llm { .. } => None,
    };
    let past = |(source, s): (usize, &Source)| Past {
        source,
        text: s.memory.text.clone(),
        said_at: s.memory.said_at,
    };
    let mut history: Vec<Past> = sources.iter().enumerate().map(past).collect();
    history.retain(|past| {
        goes_to_history(&merge.author, &merge.text, &past.text)
            || last.is_some_and(|last| past.said_at != last)
    });
    history.sort_by(|a, b| (a.said_at, &a.text).cmp(&(b.said_at, &b.text)));
    history
}
