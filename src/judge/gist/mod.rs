//! What a sentence says, whatever its words are: two sentences of one gist say the same.
//!
//! A gist is the carrying words of a sentence by their meaning (`sofa` and `couch` are one word,
//! `reads` and `is reading` too), each with what ties it: a denial, a limit, a preposition. Two gists are one if
//! their words are the same and stand in the same order, or in one that grammar leaves free: phrases of time and
//! place moved, members of a list exchanged, active and passive voice. Tense counts.
//!
//! | rule | file |
//! |---|---|
//! | synonyms, only where two facts hardly ever differ by nothing but the word | `synonyms`, `han` |
//! | voice, clefts, denials | `english`, `han` |
//! | endings | `lemma` |
//! | slips of the pen | `known` |

mod english;
pub(crate) mod han;
pub(crate) mod known;
mod lemma;
pub(crate) mod synonyms;

pub(crate) use self::lemma::base_of_irregular;
use super::form::{self, Token};
use super::sentences::is_han;

/// Whether a word (in lower case) is a form of the past of a verb.
pub(crate) fn is_participle(word: &str) -> bool {
    lemma::lemma(word).1
}

/// The carrying words of a sentence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gist {
    words: Vec<Word>,
    /// Emoji and the like, ascending.
    signs: Vec<String>,
    /// Whether it tells of the past.
    past: bool,
    /// Whether its words stand in an order that says something.
    ordered: bool,
    /// Persons and names.
    agents: usize,
    /// Whether it tells where somebody can be reached.
    contact: bool,
    /// Whether it wishes that something be so; none where it has no verb.
    wish: Option<bool>,
    /// Whether it speaks of a man, of a woman.
    he: bool,
    she: bool,
    /// Of whom it speaks where it does not name the user.
    person: Option<Person>,
    /// Whether one of several is meant: `French or Thai`.
    either: bool,
    /// The gists of it without what is added at its end.
    heads: Vec<Gist>,
}

/// Of whom a pronoun speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Person {
    Me,
    Us,
    You,
    One,
    Them,
}

/// What ties a word to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    None,
    /// A preposition whose phrase may stand elsewhere.
    Loose(&'static str),
    Strict(&'static str),
}

/// What tells which one a noun means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Article {
    /// `a dog`, `dogs`: any.
    None,
    /// `the dog`: a certain one.
    The,
    /// `his dog`, `Rex`: known without an article.
    Known,
}

/// A carrying word.
#[derive(Clone, Debug)]
struct Word {
    /// Its meaning, with what denies or limits it.
    key: String,
    link: Link,
    past: bool,
    /// Whether a phrase may begin here.
    free: bool,
    /// Whether it is a member of a list.
    joint: bool,
    /// Whether it is a number, a date or a code.
    item: bool,
    /// Whether it may be somebody who does something.
    agent: bool,
    /// Whether it begins an apposition: `Ana, the user's sister`.
    apposed: bool,
    article: Article,
    /// Whether it has no ending and begins its sentence or may be a past; whether it ends as a verb of the
    /// third person.
    bare: bool,
    third: bool,
}

impl Word {
    fn sign(text: &str) -> Self {
        Self {
            key: text.to_owned(),
            link: Link::None,
            past: false,
            free: true,
            joint: false,
            item: false,
            agent: false,
            apposed: false,
            article: Article::None,
            bare: false,
            third: false,
        }
    }

    fn same(&self, other: &Self) -> bool {
        // `milk chocolate` is not `milk, chocolate`.
        let joined = self.joint == other.joint || self.item;
        // `call Ana` is a task, `calls Ana` a habit.
        let told = !(self.bare && other.third || self.third && other.bare);
        let named = !matches!(
            (self.article, other.article),
            (Article::The, Article::None) | (Article::None, Article::The)
        );
        self.link == other.link
            && joined
            && told
            && named
            && self.key == other.key
            && self.past == other.past
    }

    /// Whether the word begins a phrase that may stand elsewhere.
    fn moves(&self) -> bool {
        self.item || self.link != Link::None && !self.owned()
    }

    /// Whether it belongs to the word before it: `Ben's mother`, `a friend of Ben`.
    fn owned(&self) -> bool {
        matches!(self.link, Link::Strict("'s" | "of"))
    }
}

impl Gist {
    /// The gist of a sentence; none where its words cannot be told.
    pub(crate) fn of(tokens: &[Token]) -> Option<Self> {
        let read = if tokens
            .iter()
            .any(|t| t.is_han() && t.text.chars().all(is_han))
        {
            han::read
        } else {
            english::read
        };
        let mut gist = read(tokens)?;
        gist.heads = form::heads(tokens).filter_map(read).collect();
        Some(gist)
    }

    /// Whether this says all that the other says: the same, or that and an addition at its end.
    pub(crate) fn says(&self, other: &Self) -> bool {
        self.same(other) || self.heads.iter().any(|head| head.same(other))
    }

    /// Makes the first member of each list a member.
    fn close_lists(&mut self) {
        for at in 1..self.words.len() {
            if self.words[at].joint {
                self.words[at - 1].joint = true;
            }
        }
    }

    /// `Her e-mail is …` and `she can be reached under …` say the same of an address or number.
    fn forget_contact(&mut self, words: &[&str]) {
        let reached = |key: &str| {
            let value = key
                .trim_start_matches('#')
                .split('|')
                .next()
                .unwrap_or_default();
            let digits = value.chars().filter(char::is_ascii_digit).count();
            value.contains('@')
                || digits >= 7
                    && value
                        .chars()
                        .all(|c| c.is_ascii_digit() || "+-() ".contains(c))
        };
        if self
            .words
            .iter()
            .filter(|w| w.item && reached(&w.key))
            .count()
            != 1
        {
            return;
        }
        self.contact = true;
        self.words
            .retain(|w| w.item || !words.contains(&w.key.trim_end_matches("+ed")));
        self.words
            .iter_mut()
            .filter(|w| w.item)
            .for_each(|w| w.link = Link::None);
    }

    /// `Ana, the user's sister` is `the user's sister Ana`.
    fn name_relations(&mut self, relations: &[&str]) {
        for at in 1..self.words.len() {
            let [name, relation] = [&self.words[at - 1], &self.words[at]];
            let related = relations.contains(&relation.key.as_str()) && relation.link == Link::None;
            let named = name.agent
                || relation.apposed
                || at == 1 && !name.item && name.link == Link::None && known::is_name(&name.key);
            if related && named && !relations.contains(&name.key.as_str()) {
                self.words.swap(at - 1, at);
            }
        }
    }

    /// Whether both say the same.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let user = |w: &&Word| w.key != "user";
        // Where nobody else is, all is said of the user.
        let alone = self.agents == 0 && other.agents == 0;
        let of = |gist: &'_ Self| -> Vec<Word> {
            gist.words
                .iter()
                .filter(|w| !alone || user(w))
                .cloned()
                .collect()
        };
        let (a, b) = (of(self), of(other));
        // `Ana has her keys` and `Ana has his keys`.
        let of_two = self.he != self.she && other.he != other.she && self.he != other.he;
        let wished = self.wish == other.wish || self.wish.is_none() || other.wish.is_none();
        (a.len() >= 2 || self.contact && other.contact)
            && a.len() == b.len()
            && self.past == other.past
            && !of_two
            && !(self.person.is_some() && other.person.is_some() && self.person != other.person)
            && self.either == other.either
            && self.signs == other.signs
            && wished
            && {
                let equal = a.iter().zip(&b).all(|(a, b)| a.same(b));
                equal
                    || self.contact && other.contact && keys(&a) == keys(&b)
                    || !self.ordered
                        && !other.ordered
                        && (times_aside(&a, &b) || rearranged(&a, &b))
            }
    }
}

/// The meanings of words, in an order of their own.
fn keys(words: &[Word]) -> Vec<&str> {
    let mut keys: Vec<&str> = words.iter().map(|word| word.key.as_str()).collect();
    keys.sort_unstable();
    keys
}

/// Whether the two are equal but for one time that stands first or last in each.
fn times_aside(a: &[Word], b: &[Word]) -> bool {
    fn split(words: &[Word]) -> Option<(&[Word], &[Word])> {
        let loose = |w: &&Word| w.item && w.link == Link::None;
        let first = words.iter().take_while(loose).count();
        let last = words.iter().rev().take_while(loose).count();
        match (first, last) {
            (0, 0) => None,
            (0, last) => Some((&words[..words.len() - last], &words[words.len() - last..])),
            (first, 0) => Some((&words[first..], &words[..first])),
            _ => None,
        }
    }
    let (Some((a, time)), Some((b, other))) = (split(a), split(b)) else {
        return false;
    };
    let equal =
        |a: &[Word], b: &[Word]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b));
    a.len() >= 2 && equal(a, b) && equal(time, other)
}

/// Most phrases that two arrangements of a sentence may fall into.
const PHRASES: usize = 5;

/// Whether `b` is `a` with phrases in another order that says nothing.
fn rearranged(a: &[Word], b: &[Word]) -> bool {
    // Where in `b` each word of `a` is. Of a word that occurs twice that is not known.
    let mut place = Vec::with_capacity(a.len());
    for (i, word) in a.iter().enumerate() {
        let found = b.iter().position(|other| word.same(other));
        let Some(at) = found else { return false };
        if place.contains(&at) || a[..i].iter().any(|w| w.key == word.key) {
            return false;
        }
        place.push(at);
    }
    let mut starts = vec![0];
    for i in 1..a.len() {
        if place[i] != place[i - 1] + 1 {
            // Both texts must part here.
            let parts = |w: &Word| (w.free || w.joint) && !w.owned();
            if !parts(&a[i]) || !(place[i] == 0 || parts(&b[place[i]])) {
                return false;
            }
            starts.push(i);
        }
    }
    if starts.len() > PHRASES {
        return false;
    }
    // Where a phrase of `b` goes on with another one of `a`, it must part too.
    if starts.iter().any(|&s| {
        let before = place[s].checked_sub(1);
        before.is_some() && !b[place[s]].free && !b[place[s]].joint
    }) {
        return false;
    }
    let moves = |s: &usize| a[*s].moves() || b[place[*s]].moves();
    let core: Vec<usize> = starts.iter().copied().filter(|s| !moves(s)).collect();
    let in_order = core.windows(2).all(|w| place[w[0]] < place[w[1]]);
    let listed = |s: &usize| a[*s].joint && b[place[*s]].joint;
    let agents = starts
        .iter()
        .filter(|s| a[**s].agent || b[place[**s]].agent)
        .count();
    in_order && agents < 2
        || core.len() == starts.len() && core.iter().filter(|s| !listed(s)).count() <= 1
}
