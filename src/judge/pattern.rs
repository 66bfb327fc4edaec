//! Regular expressions in two widths.
//!
//! Most memories are ASCII. For these a pattern is narrowed: what only other characters match is
//! left out, so that it is compiled in a tenth of the time and searched without the tables of
//! Unicode. On texts of the narrow alphabet both widths match the same, group by group.

use std::sync::LazyLock;

use regex::{Captures, Match, Matches, Replacer};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition};

use super::items::is_mark;

/// A pattern that is written in this crate. Only the widths that are used are compiled.
pub(crate) struct Pattern {
    narrow: LazyLock<regex::Regex, Source>,
    wide: LazyLock<regex::Regex, Source>,
}

type Source = Box<dyn FnOnce() -> regex::Regex + Send>;

/// A pattern of the guards.
pub(crate) fn pattern(source: &str) -> Pattern {
    let [narrow, wide] = [source.to_owned(), source.to_owned()];
    Pattern {
        narrow: LazyLock::new(Box::new(move || {
            compiled(&narrowed(&parsed(&narrow)).to_string())
        })),
        wide: LazyLock::new(Box::new(move || compiled(&wide))),
    }
}

fn compiled(source: &str) -> regex::Regex {
    regex::Regex::new(source).expect("the patterns of the guards are valid")
}

fn parsed(source: &str) -> Hir {
    regex_syntax::parse(source).expect("the patterns of the guards are valid")
}

impl Pattern {
    /// The width for a text.
    fn of(&self, text: &str) -> &regex::Regex {
        if text.is_ascii() || text.chars().all(is_narrow) {
            #[cfg(test)]
            self.check(text);
            &self.narrow
        } else {
            &self.wide
        }
    }

    /// Both widths match the same in every text that any test of this crate lets the judge read.
    #[cfg(test)]
    fn check(&self, text: &str) {
        let groups = |regex: &regex::Regex| -> Vec<Vec<(Option<String>, String)>> {
            let named = |captures: Captures<'_>| {
                let names = regex.capture_names().map(|name| name.map(str::to_owned));
                let found = names.zip(captures.iter());
                let mut found: Vec<_> = found
                    .filter_map(|(name, group)| Some((name, group?.as_str().to_owned())))
                    .filter(|(name, _)| name.is_some())
                    .collect();
                found.sort();
                found.push((
                    None,
                    format!("{:?}", captures.get(0).map(|all| all.range())),
                ));
                found
            };
            regex.captures_iter(text).map(named).collect()
        };
        assert_eq!(groups(&self.narrow), groups(&self.wide), "{text:?}");
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.of(text).is_match(text)
    }

    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        self.of(text).find(text)
    }

    pub(crate) fn find_iter<'r, 't>(&'r self, text: &'t str) -> Matches<'r, 't> {
        self.of(text).find_iter(text)
    }

    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.matching(text)?.captures(text)
    }

    pub(crate) fn captures_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        let regex = self.matching(text).into_iter();
        regex.flat_map(move |regex| regex.captures_iter(text))
    }

    pub(crate) fn replace_all<'t>(
        &self,
        text: &'t str,
        by: impl Replacer,
    ) -> std::borrow::Cow<'t, str> {
        match self.matching(text) {
            Some(regex) => regex.replace_all(text, by),
            None => text.into(),
        }
    }

    /// The width for a text that it matches. Most texts match few patterns, and to look for a match
    /// needs no room for groups.
    fn matching(&self, text: &str) -> Option<&regex::Regex> {
        Some(self.of(text)).filter(|regex| regex.is_match(text))
    }
}

/// The narrow alphabet: ASCII, and the marks that stand where guards took something.
fn is_narrow(c: char) -> bool {
    c.is_ascii() || is_mark(c)
}

/// The expression without what no text of the narrow alphabet matches.
fn narrowed(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Empty | HirKind::Class(Class::Bytes(_)) => hir.clone(),
        HirKind::Literal(literal) if literal.0.is_ascii() => hir.clone(),
        HirKind::Literal(_) => Hir::fail(),
        HirKind::Class(Class::Unicode(class)) => {
            let mut class = class.clone();
            class.intersect(&alphabet());
            Hir::class(Class::Unicode(class))
        }
        // No mark is part of a word.
        HirKind::Look(look) => Hir::look(match look {
            Look::WordUnicode => Look::WordAscii,
            Look::WordUnicodeNegate => Look::WordAsciiNegate,
            Look::WordStartUnicode => Look::WordStartAscii,
            Look::WordEndUnicode => Look::WordEndAscii,
            Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
            Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
            other => *other,
        }),
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(narrowed(&repetition.sub)),
            ..repetition.clone()
        }),
        HirKind::Capture(capture) => {
            let mut capture = capture.clone();
            capture.sub = Box::new(narrowed(&capture.sub));
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => {
            let parts: Vec<Hir> = parts.iter().map(narrowed).collect();
            if parts.iter().any(fails) {
                Hir::fail()
            } else {
                Hir::concat(parts)
            }
        }
        HirKind::Alternation(branches) => {
            let branches = branches.iter().map(narrowed);
            Hir::alternation(branches.filter(|branch| !fails(branch)).collect())
        }
    }
}

/// Whether nothing matches.
fn fails(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => class.ranges().is_empty(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().is_empty(),
        HirKind::Capture(capture) => fails(&capture.sub),
        HirKind::Repetition(repetition) => repetition.min > 0 && fails(&repetition.sub),
        _ => false,
    }
}

fn alphabet() -> ClassUnicode {
    ClassUnicode::new([
        ClassUnicodeRange::new('\0', '\x7f'),
        ClassUnicodeRange::new('\u{F0000}', '\u{FFFFD}'),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_characters_match_is_left_out() {
        for (source, expected) in [
            (
                r"(?i)\bk(?:m|ilo)?\b",
                r"(?-u:\b)[Kk](?:[Mm]|[Ii][Ll][Oo])?(?-u:\b)",
            ),
            (r"\d+(?:点|h)", r"[0-9]+h"),
            (r"(?P<a>年)|(?P<b>x)", r"(?P<b>x)"),
            (r"a(?:每|x)?b", r"ax?b"),
        ] {
            let narrow = regex::Regex::new(&narrowed(&parsed(source)).to_string()).unwrap();
            let expected = regex::Regex::new(expected).unwrap();
            for text in ["K km kilo.", "5h 12", "x", "axb ab", "k\u{F0000}km x5h"] {
                let found = |regex: &regex::Regex| -> Vec<String> {
                    regex
                        .find_iter(text)
                        .map(|m| m.as_str().to_owned())
                        .collect()
                };
                assert_eq!(found(&narrow), found(&expected), "{source} {text}");
            }
        }
        assert!(fails(&narrowed(&parsed("[一二]三?"))));
    }
}
