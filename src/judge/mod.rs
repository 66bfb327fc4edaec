//! May these be one memory? Pure: texts and dates in, a verdict with its findings out.
//!
//! Guards only ever object. A pair that no guard objects to is `same` where one text provably says
//! all that the other says, else `unsure`.
//!
//! | guard | reads | objects if |
//! |---|---|---|
//! | `identifiers` | addresses, codes, versions, phone numbers, file names | each text has one that the other lacks |
//! | `numbers` | counts, measures, money, percentages, spelled or not | the same |
//! | `dates` | dates, weekdays, times, parts of the day | the same |
//! | `relative` | `today`, `last week`, 刚才 | the same, or both have some and were not said on one day |
//! | `timeish` | any other time that is neither dated in full nor recurring | never, but texts that have one are `same` only if said on one day |
//! | `names` | words with a capital inside a sentence | the same |
//! | `quantifiers`, `modality`, `antonyms`, `subject`, `scope` | lists of words: how much, how surely, which of two opposites, of whom, where | the same |
//! | `ended` | words that say that something is over | only one text says so |
//! | `roles` | the order of words | two parts of one sentence changed places |
//! | `negation` | denials and endings | their number differs, or they deny each other's words |
//!
//! One text says all that the other says by its form (`form`), by its gist, whatever its words
//! are (`gist`), or by its sentences. Old and new values are told apart by `update` and `held`.
//!
//! "Each has one that the other lacks" is judged over the guards together: a pair passes if one of
//! the texts says all the numbers, dates and identifiers of the other.

pub(crate) mod cues;
mod dates;
pub(crate) mod facts;
mod form;
pub(crate) mod gist;
pub(crate) mod held;
mod identifiers;
pub(crate) mod items;
pub(crate) mod negation;
pub(crate) mod normalize;
mod numbers;
mod numerals;
pub(crate) mod openers;
pub(crate) mod partition;
mod pattern;
mod relative;
mod roles;
mod senses;
pub(crate) mod sentences;
mod timeish;
mod times;
mod units;
pub(crate) mod update;
pub(crate) mod words;

pub use self::normalize::normalize;

use std::sync::{Once, OnceLock};

use jiff::Timestamp;

use self::facts::Facts;
use self::form::Form;
use self::gist::Gist;
use self::held::Held;
use self::items::{Diff, Item, diff};
use self::senses::Senses;
use self::update::Topic;
use crate::memory::{Finding, Verdict};

/// What the judge sees of a memory.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The text.
    pub text: &'a str,
    /// When it was said, as far as known.
    pub said_at: Option<Timestamp>,
}

/// The judge's word on a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// `Update` means that the later said of the two replaces the other one; without two different
    /// dates a contradiction is `Different`.
    pub verdict: Verdict,
    /// What the guards saw.
    pub findings: Vec<Finding>,
}

/// Judges a pair. The verdict does not depend on the order of the two.
///
/// `Same` means that one text provably says all that the other says. Blank texts say nothing and
/// are `Unsure`.
pub fn judge(a: Claim<'_>, b: Claim<'_>) -> Judgement {
    Reading::of(a).judge(&Reading::of(b))
}

/// Compiles what judging plain texts needs, so that it is there when the first is judged.
pub fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        let claim = |text| Claim {
            text,
            said_at: Some(Timestamp::UNIX_EPOCH),
        };
        judge(
            claim("Met two people at 5 pm on 3 May 2024"),
            claim("No longer meets them today"),
        );
    });
}

/// Splits a group into parts in which each pair may be one memory.
///
/// Every index of `claims` stands in exactly one part (which may hold it alone), ascending within
/// its part; the largest parts come first. The partition of the texts does not depend on the order
/// of `claims`.
pub fn compatible_parts(claims: &[Claim<'_>]) -> Vec<Vec<usize>> {
    let readings: Vec<Reading> = claims.iter().map(|claim| Reading::of(*claim)).collect();
    partition::cliques(claims, |i, j| {
        readings[i].judge(&readings[j]).verdict.may_be_one()
    })
}

/// A claim with all that judging needs of it, read once.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// The sentences in comparison form; none for a blank text.
    pub(crate) sentences: Vec<String>,
    facts: Facts,
    /// What is compared where the texts differ; `None` where every character may count.
    form: Option<Form>,
    /// What it says whatever its words are, read when it is first asked for; `None` where that cannot be told.
    gist: OnceLock<Option<Gist>>,
    /// What it says that somebody has, read when it is first asked for.
    held: OnceLock<Option<Held>>,
    /// What it speaks of.
    topic: Topic,
    /// How much, how surely, of whom.
    senses: Senses,
    /// The text in lower case, for the words around a denial.
    lower: String,
    /// Of a text in traditional Chinese, the characters that simplified ones do not tell apart.
    ambiguous: Option<Vec<char>>,
    said_at: Option<Timestamp>,
}

impl Reading {
    pub(crate) fn of(claim: Claim<'_>) -> Self {
        let shaped = normalize::shape(claim.text);
        let prose = form::is_prose(&shaped);
        // What every guard reads: fillers deny and count nothing, and one script is enough.
        let text = match form::simplified(&shaped) {
            Some(text) if prose => form::stripped(&text),
            _ if prose => form::stripped(&shaped),
            _ => claim.text.to_owned(),
        };
        let facts = Facts::read(&text);
        let lower = normalize::plain(&text).to_lowercase();
        let form = prose.then(|| Form::of(&facts));
        Self {
            sentences: sentences::sentences(claim.text),
            senses: form
                .as_ref()
                .map(|form| Senses::read(form, &lower))
                .unwrap_or_default(),
            topic: form
                .as_ref()
                .map(|form| Topic::of(form, &lower))
                .unwrap_or_default(),
            form,
            gist: OnceLock::new(),
            held: OnceLock::new(),
            facts,
            lower,
            ambiguous: form::ambiguous(&shaped),
            said_at: claim.said_at,
        }
    }

    fn gist(&self) -> Option<&Gist> {
        let read = || Gist::of(self.form.as_ref()?.only_sentence()?);
        self.gist.get_or_init(read).as_ref()
    }

    /// When it was said.
    pub(crate) fn said_at(&self) -> Option<Timestamp> {
        self.said_at
    }

    pub(crate) fn judge(&self, other: &Self) -> Judgement {
        let said = [self.said_at, other.said_at];
        let (a, b) = (&self.facts, &other.facts);
        let mut findings = Findings::default();
        findings.add("identifiers", diff(&a.identifiers, &b.identifiers));
        findings.add("numbers", diff(&a.numbers, &b.numbers));
        findings.add("dates", diff(&a.dates, &b.dates));
        findings.add("relative-time", diff(&a.relative, &b.relative));
        let denials = negation::diff(&a.negations, &b.negations, &self.lower, &other.lower);
        let mut objection = !denials.is_empty();
        findings.add("negation", denials);
        let roles = roles::diff(&self.lower, &other.lower);
        objection |= !roles.is_empty();
        findings.add("roles", roles);
        objection |= findings.left_more && findings.right_more;
        if relative::other_day(&a.relative, &b.relative, said) {
            findings.note("relative-time", &a.relative, &b.relative);
            objection = true;
        }
        for (guard, diff, objects) in self.senses.compare(&other.senses) {
            objection |= objects;
            if objects {
                findings.show(guard, diff);
            }
        }
        let floats = self.floats_against(other);
        if floats {
            findings.list.push(Finding {
                guard: "undated".to_owned(),
                left: self.facts.floating.clone(),
                right: other.facts.floating.clone(),
            });
        }
        if !objection && !floats && (self.contains(other) || other.contains(self)) {
            return Judgement {
                verdict: Verdict::Same,
                findings: findings.list,
            };
        }
        let verdict = match self.update(other) {
            Some(finding) => {
                findings.list.push(finding);
                Verdict::Update
            }
            None if objection => Verdict::Different,
            None => Verdict::Unsure,
        };
        Judgement {
            verdict,
            findings: findings.list,
        }
    }

    /// Whether the verdict is `Same`. Most pairs are told apart by their numbers, dates and codes, before the words are read.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let (a, b) = (&self.facts, &other.facts);
        let mut seen = Findings::default();
        for (left, right) in [
            (&a.numbers, &b.numbers),
            (&a.dates, &b.dates),
            (&a.identifiers, &b.identifiers),
        ] {
            seen.weigh(&diff(left, right));
            if seen.left_more && seen.right_more {
                return false;
            }
        }
        // What contains nothing of the other is not the same; that is seen sooner than all that may object.
        (self.contains(other) || other.contains(self)) && self.judge(other).verdict == Verdict::Same
    }

    /// What shows that the later said of the two tells what became of the other one. Without two
    /// different dates there is no later one.
    pub(crate) fn update(&self, other: &Self) -> Option<Finding> {
        let (a, b) = (self.said_at?, other.said_at?);
        if a == b {
            return None;
        }
        let codes = [&self.facts.identifiers, &other.facts.identifiers];
        let apart = codes.iter().all(|codes| !codes.is_empty())
            && !codes[0]
                .iter()
                .any(|c| codes[1].iter().any(|o| c.value == o.value));
        if apart {
            return None;
        }
        let (older, newer) = if a < b { (self, other) } else { (other, self) };
        let sign = older.replaced_by(newer).or_else(|| {
            update::sign(
                (&older.topic, older.form.as_ref()?),
                (&newer.topic, newer.form.as_ref()?),
            )
        })?;
        let (left, right) = if a < b {
            (None, Some(sign))
        } else {
            (Some(sign), None)
        };
        Some(Finding {
            guard: "update".to_owned(),
            left: left.into_iter().collect(),
            right: right.into_iter().collect(),
        })
    }

    /// What shows that `newer` gives another value of what this one gives a value of, or tells that
    /// the value which this one gives was replaced.
    fn replaced_by(&self, newer: &Self) -> Option<String> {
        if let (Some(old), Some(new)) = (self.held(), newer.held()) {
            let other = old.what == new.what
                && old.owner == new.owner
                && held::are_two(&old.value, &new.value);
            return other.then(|| format!("{}: {}", new.what, new.value));
        }
        if let Some(sign) = held::does_instead(&self.lower, &newer.lower) {
            return Some(sign);
        }
        let replacement = held::replacement(&newer.lower)?;
        if !self.form.as_ref()?.is_of_what_the_user_has() {
            return None;
        }
        let ends = self
            .lower
            .trim_end_matches(['.', '!', '。'])
            .ends_with(&replacement.old);
        (ends
            && self.topic.is_about_one_thing()
            && self.topic.people() == newer.topic.people()
            && !self.lower.contains(&replacement.new))
        .then(|| format!("{} → {}", replacement.old, replacement.new))
    }

    fn held(&self) -> Option<&Held> {
        let read = || self.form.as_ref().and_then(|_| held::held(&self.lower));
        self.held.get_or_init(read).as_ref()
    }

    /// Whether the two contradict each other, whatever their dates: they give other values of one
    /// thing, or one denies the other word by word.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        let forms = self.form.as_ref().zip(other.form.as_ref());
        forms.is_some_and(|(a, b)| update::replaces(a, b).is_some())
    }

    /// Whether words of time keep two texts apart that were said on two days. They do not where
    /// only the text that says all of the other has some, and was said last: it stays as it was.
    fn floats_against(&self, other: &Self) -> bool {
        let [here, there] = [self, other].map(|r| !r.facts.floating.is_empty());
        if !here && !there || relative::on_one_day([self.said_at, other.said_at]) {
            return false;
        }
        if relative::on_one_date([&self.facts, &other.facts], [self.said_at, other.said_at]) {
            return false;
        }
        let stays =
            |last: &Self, first: &Self| last.said_at >= first.said_at && last.contains(first);
        match (here, there) {
            (true, false) => !stays(self, other),
            (false, true) => !stays(other, self),
            _ => true,
        }
    }

    /// Whether this has, where both are in traditional Chinese, each character of the other that a
    /// simplified one would not tell from another.
    fn has_characters_of(&self, other: &Self) -> bool {
        let (Some(here), Some(there)) = (&self.ambiguous, &other.ambiguous) else {
            return true;
        };
        let mut rest = here.iter();
        there.iter().all(|c| rest.any(|h| h == c))
    }

    /// Whether this text provably says all that the other, not blank one says: it has the same
    /// sentences, or those and further ones that do not touch them.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        if other.sentences.is_empty() {
            return false;
        }
        if self.sentences == other.sentences {
            return true;
        }
        if let (Some(form), Some(others)) = (&self.form, &other.form)
            && self.has_characters_of(other)
            && (form.says(others)
                || self
                    .gist()
                    .is_some_and(|gist| other.gist().is_some_and(|o| gist.says(o))))
        {
            return true;
        }
        let (first, further): (bool, Vec<&String>) = if self.sentences.starts_with(&other.sentences)
        {
            // What comes first means the same with and without what follows.
            (
                true,
                self.sentences[other.sentences.len()..].iter().collect(),
            )
        } else {
            let mut wanted = other.sentences.iter().peekable();
            let rest = self
                .sentences
                .iter()
                .filter(|s| wanted.next_if(|w| w == s).is_none())
                .collect();
            if wanted.peek().is_some() {
                return false;
            }
            (false, rest)
        };
        other
            .sentences
            .iter()
            .all(|s| is_closed(s) && (first || cues::names_its_subject(s)))
            && further.into_iter().all(|s| {
                cues::stands_alone(s) && other.sentences.iter().all(|o| cues::are_apart(o, s))
            })
    }
}

/// Whether a sentence neither opens a list or a bracket nor asks nor leaves off.
fn is_closed(sentence: &str) -> bool {
    sentence.ends_with(|c: char| c.is_alphanumeric() || "!)%".contains(c))
        && sentence.matches('(').count() == sentence.matches(')').count()
}

/// The findings so far, and which text says something that the other does not.
#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    left_more: bool,
    right_more: bool,
}

impl Findings {
    fn add(&mut self, guard: &str, diff: Diff) {
        self.weigh(&diff);
        if !diff.is_empty() {
            self.list.push(Finding {
                guard: guard.to_owned(),
                left: diff.left,
                right: diff.right,
            });
        }
    }

    fn weigh(&mut self, diff: &Diff) {
        self.left_more |= diff.left_more;
        self.right_more |= diff.right_more;
    }

    /// Records a difference that says nothing of which text says more.
    fn show(&mut self, guard: &str, diff: Diff) {
        self.list.push(Finding {
            guard: guard.to_owned(),
            left: diff.left,
            right: diff.right,
        });
    }

    /// Records items that both texts hold but that may mean different things.
    fn note(&mut self, guard: &str, left: &[Item], right: &[Item]) {
        let words = |items: &[Item]| items.iter().map(|item| item.words.clone()).collect();
        self.list.push(Finding {
            guard: guard.to_owned(),
            left: words(left),
            right: words(right),
        });
    }
}

#[cfg(test)]
mod tests;
