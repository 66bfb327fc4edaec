//! Which words of the memories are not in the text that took their place, and the other way round.

use std::time::Duration;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// The comparison of one pair of texts may take so long; then it is coarser.
const TIMEOUT: Duration = Duration::from_millis(50);

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Span {
    pub(super) text: String,
    /// Whether the other side has it not.
    pub(super) differs: bool,
}

/// The parts of each text of `before`, and of `after`: what differs in it is in none of them.
pub(super) fn spans(before: &[&str], after: &str) -> (Vec<Vec<Span>>, Vec<Span>) {
    let mut sides = Vec::with_capacity(before.len());
    let mut result: Vec<(String, bool)> = Vec::new();
    for &text in before {
        let mut side = Vec::new();
        let mut at = 0;
        let mut config = TextDiff::configure();
        config.timeout(TIMEOUT);
        for change in config.diff_unicode_words(text, after).iter_all_changes() {
            let differs = change.tag() != ChangeTag::Equal;
            if change.tag() != ChangeTag::Insert {
                side.push((change.value().to_owned(), differs));
            }
            if change.tag() != ChangeTag::Delete {
                match result.get_mut(at) {
                    Some((_, everywhere)) => *everywhere &= differs,
                    None => result.push((change.value().to_owned(), differs)),
                }
                at += 1;
            }
        }
        sides.push(join(side));
    }
    if before.is_empty() {
        result.push((after.to_owned(), false));
    }
    (sides, join(result))
}

/// A text of which nothing is known to differ.
pub(super) fn plain(text: &str) -> Vec<Span> {
    vec![Span {
        text: text.to_owned(),
        differs: false,
    }]
}

/// Neighbours of one kind as one; a gap between two that differ belongs to them.
fn join(words: Vec<(String, bool)>) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some((text, differs)) = words.next() {
        let blank = text.trim().is_empty();
        let next = words.peek().is_some_and(|(_, differs)| *differs);
        let differs = match spans.last() {
            Some(last) if blank => last.differs && next,
            _ => differs && !blank,
        };
        match spans.last_mut() {
            Some(last) if last.differs == differs => last.text.push_str(&text),
            _ => spans.push(Span { text, differs }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(spans: &[Span]) -> String {
        let show = |span: &Span| match span.differs {
            true => format!("[{}]", span.text),
            false => span.text.clone(),
        };
        spans.iter().map(show).collect()
    }

    #[test]
    fn words_that_differ_are_marked_on_both_sides() {
        let (before, after) = spans(
            &["Likes black tea", "likes green tea a lot"],
            "Likes green tea",
        );
        assert_eq!(marked(&before[0]), "Likes [black] tea");
        assert_eq!(marked(&before[1]), "[likes] green tea [a lot]");
        assert_eq!(marked(&after), "Likes green tea");
        let (before, after) = spans(&["喜欢喝绿茶"], "喜欢喝红茶");
        assert_eq!(marked(&before[0]), "喜欢喝[绿]茶");
        assert_eq!(marked(&after), "喜欢喝[红]茶");
    }

    #[test]
    fn what_no_source_says_stands_out() {
        let (_, after) = spans(&["Lives in Rome"], "Lives in Rome now");
        assert_eq!(marked(&after), "Lives in Rome [now]");
        let (_, after) = spans(&[], "Lives in Rome");
        assert_eq!(marked(&after), "Lives in Rome");
    }

    proptest! {
        #[test]
        fn no_text_is_lost(before in prop::collection::vec(".{0,40}", 0..4), after in ".{0,40}") {
            let texts: Vec<&str> = before.iter().map(String::as_str).collect();
            let (sides, result) = spans(&texts, &after);
            let whole = |spans: &[Span]| spans.iter().map(|s| s.text.as_str()).collect::<String>();
            for (side, text) in sides.iter().zip(&texts) {
                prop_assert_eq!(&whole(side), text);
            }
            prop_assert_eq!(whole(&result), after);
        }
    }
}
