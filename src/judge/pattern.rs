//! Regular expressions in two widths.
//!
//! Most memories are ASCII. For these a pattern is narrowed: what only other characters match is
//! left out, so that it is compiled in a small part of the time and searched without the tables of
//! Unicode. On texts of the narrow alphabet both widths match the same, group by group.

use std::borrow::Cow;
use std::ops::{Index, Range};
use std::sync::LazyLock;

use regex_automata::Span;
use regex_automata::meta::{self, Regex};
use regex_automata::util::captures;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

use super::items::{MARKS, is_mark};

/// A pattern that is written in this crate. Only the widths that are used are compiled.
pub(crate) struct Pattern {
    narrow: LazyLock<Regex, Source>,
    wide: LazyLock<Regex, Source>,
}

type Source = Box<dyn FnOnce() -> Regex + Send>;

/// A pattern of the guards.
pub(crate) fn pattern(source: &str) -> Pattern {
    let [narrow, wide] = [source.to_owned(), source.to_owned()];
    Pattern {
        narrow: LazyLock::new(Box::new(move || compiled(&narrowed(parsed(&narrow))))),
        wide: LazyLock::new(Box::new(move || compiled(&parsed(&wide)))),
    }
}

/// Compiles an expression, within the limits that the crate `regex` has. That one takes only text, and
/// to parse once more what was narrowed takes longer than to compile it. No literals are extracted to
/// search for first: memories are short, and to extract them takes a third of the time to compile.
fn compiled(hir: &Hir) -> Regex {
    let limits = meta::Config::new()
        .nfa_size_limit(Some(10 << 20))
        .hybrid_cache_capacity(2 << 20)
        .auto_prefilter(false);
    let regex = Regex::builder().configure(limits).build_from_hir(hir);
    regex.expect("the patterns of the guards are not too large")
}

fn parsed(source: &str) -> Hir {
    regex_syntax::parse(source).expect("the patterns of the guards are valid")
}

/// A place in a text that a pattern, or a group of it, matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match<'t> {
    text: &'t str,
    span: Span,
}

impl<'t> Match<'t> {
    pub(crate) fn as_str(self) -> &'t str {
        &self.text[self.range()]
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.span.range()
    }

    pub(crate) fn start(self) -> usize {
        self.span.start
    }

    pub(crate) fn end(self) -> usize {
        self.span.end
    }
}

/// What a pattern and its groups match.
#[derive(Debug)]
pub(crate) struct Captures<'t> {
    pub(crate) whole: Match<'t>,
    groups: captures::Captures,
}

impl<'t> Captures<'t> {
    /// The group of a name, if it takes part in the match.
    pub(crate) fn name(&self, name: &str) -> Option<Match<'t>> {
        let span = self.groups.get_group_by_name(name)?;
        Some(Match { span, ..self.whole })
    }
}

impl Index<&str> for Captures<'_> {
    type Output = str;

    /// What the group of a name matches, nothing where it takes no part.
    fn index(&self, name: &str) -> &str {
        self.name(name).map_or("", |found| found.as_str())
    }
}

impl Pattern {
    /// The width for a text.
    fn of(&self, text: &str) -> &Regex {
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
        let groups = |regex: &Regex| -> Vec<Vec<(Option<String>, Range<usize>)>> {
            let named = |found: captures::Captures| {
                let names = found
                    .group_info()
                    .pattern_names(regex_automata::PatternID::ZERO);
                let groups = names.zip(found.iter()).enumerate();
                let mut groups: Vec<_> = groups
                    .filter(|(group, (name, _))| *group == 0 || name.is_some())
                    .filter_map(|(_, (name, span))| Some((name.map(str::to_owned), span?.range())))
                    .collect();
                groups.sort_by(|x, y| x.0.cmp(&y.0));
                groups
            };
            regex.captures_iter(text).map(named).collect()
        };
        assert_eq!(groups(&self.narrow), groups(&self.wide), "{text:?}");
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.of(text).is_match(text)
    }

    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        let span = self.of(text).find(text)?.span();
        Some(Match { text, span })
    }

    pub(crate) fn find_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Match<'t>> {
        let found = self.of(text).find_iter(text);
        found.map(move |found| Match {
            text,
            span: found.span(),
        })
    }

    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        self.captures_iter(text).next()
    }

    pub(crate) fn captures_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        // Most texts match few patterns, and to look for a match needs no room for groups.
        let regex = Some(self.of(text)).filter(|regex| regex.is_match(text));
        let found = regex
            .into_iter()
            .flat_map(move |regex| regex.captures_iter(text));
        found.filter_map(move |groups| {
            let span = groups.get_match()?.span();
            let whole = Match { text, span };
            Some(Captures { whole, groups })
        })
    }

    /// The text with what `by` makes of each match in its place.
    pub(crate) fn replace_all<'t>(
        &self,
        text: &'t str,
        mut by: impl FnMut(&Captures<'t>) -> String,
    ) -> Cow<'t, str> {
        let mut matches = self.captures_iter(text).peekable();
        if matches.peek().is_none() {
            return text.into();
        }
        let mut replaced = String::with_capacity(text.len());
        let mut done = 0;
        for captures in matches {
            replaced.push_str(&text[done..captures.whole.start()]);
            replaced.push_str(&by(&captures));
            done = captures.whole.end();
        }
        replaced.push_str(&text[done..]);
        replaced.into()
    }
}

/// The narrow alphabet: ASCII, and the marks that stand where guards took something.
fn is_narrow(c: char) -> bool {
    c.is_ascii() || is_mark(c)
}

/// The same as a class.
static ALPHABET: LazyLock<ClassUnicode> = LazyLock::new(|| {
    ClassUnicode::new([
        ClassUnicodeRange::new('\0', '\x7f'),
        ClassUnicodeRange::new(*MARKS.start(), *MARKS.end()),
    ])
});

/// The expression without what no text of the narrow alphabet matches.
fn narrowed(hir: Hir) -> Hir {
    match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.is_ascii() => Hir::literal(literal.0),
        HirKind::Literal(_) => Hir::fail(),
        HirKind::Class(Class::Unicode(mut class)) => {
            class.intersect(&ALPHABET);
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(bytes @ Class::Bytes(_)) => Hir::class(bytes),
        // No mark is part of a word.
        HirKind::Look(look) => Hir::look(match look {
            Look::WordUnicode => Look::WordAscii,
            Look::WordUnicodeNegate => Look::WordAsciiNegate,
            Look::WordStartUnicode => Look::WordStartAscii,
            Look::WordEndUnicode => Look::WordEndAscii,
            Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
            Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
            other => other,
        }),
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(narrowed(*repetition.sub));
            Hir::repetition(repetition)
        }
        HirKind::Capture(mut capture) => {
            capture.sub = Box::new(narrowed(*capture.sub));
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => {
            let parts: Vec<Hir> = parts.into_iter().map(narrowed).collect();
            if parts.iter().any(fails) {
                Hir::fail()
            } else {
                Hir::concat(parts)
            }
        }
        HirKind::Alternation(branches) => {
            let branches = branches.into_iter().map(narrowed);
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
            let narrow = compiled(&narrowed(parsed(source)));
            let expected = compiled(&parsed(expected));
            for text in ["K km kilo.", "5h 12", "x", "axb ab", "k\u{F0000}km x5h"] {
                let found = |regex: &Regex| -> Vec<Range<usize>> {
                    regex.find_iter(text).map(|found| found.range()).collect()
                };
                assert_eq!(found(&narrow), found(&expected), "{source} {text}");
            }
        }
        assert!(fails(&narrowed(parsed("[一二]三?"))));
    }
}
