//! In which order a text says its words, for who did what to whom.
//!
//! `The dog bit the cat` and `The cat bit the dog` hold the same words. So every source must stand
//! in the merged text word after word, with whatever else in between; only the members of a list
//! and whole sentences may change places. Words that could be anything's (articles, `and`, forms of
//! `be` and `have`) are left out; pronouns may go but not come; everything else counts, above all
//! `user`, prepositions, `or`, `if`, denials.

use crate::judge::facts::Facts;
use crate::judge::items::Item;
use crate::judge::words::{self, Word};

/// Words that say nothing about who, what, where or whether.
#[rustfmt::skip]
const FREE: &[&str] = &[
    "a", "an", "the", "is", "are", "be", "being", "am", "has", "have", "having", "do", "does",
    "doing", "that", "which", "who", "called", "named", "also", "too", "both", "well",
    "please", "basically", "yeah", "der", "die", "das", "ein", "eine", "einen", "el", "la", "los",
    "las", "un", "una", "ist", "的", "地", "得", "也", "都", "就", "啊", "吧", "呢", "呀", "哈", "嘛",
    "之", "这", "這", "那", "个", "個",
];

/// Words that a source may lose, since they stand for what is named elsewhere, but that no text
/// may gain.
#[rustfmt::skip]
const POINTERS: &[&str] = &[
    "it", "its", "he", "she", "they", "them", "their", "theirs", "his", "her", "hers", "him", "i",
    "me", "my", "mine", "we", "us", "our", "you", "your", "this", "these", "those", "there", "他", "她",
    "它", "我", "你", "您", "其", "们", "們",
];

/// Words between the members of a list.
const JOINTS: &[&str] = &["and", "&", "y", "und", "和", "与", "與", "及", "并", "且"];

/// Han characters that name the user together.
const USER_HAN: [&str; 4] = ["用", "户", "用", "戶"];

/// A word, or what a guard took.
#[derive(Clone, Debug)]
enum Token {
    Word(String),
    Item(Item),
}

impl Token {
    /// Whether this token of the merged text says what `source`'s token says.
    fn says(&self, source: &Self) -> bool {
        match (self, source) {
            (Self::Word(a), Self::Word(b)) => a == b,
            (Self::Item(a), Self::Item(b)) => a.covers(b),
            _ => false,
        }
    }

    fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(w) if w == word)
    }

    fn words(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Item(item) => &item.words,
        }
    }
}

/// The words of a text in order, in runs whose order among each other is free.
pub(super) struct Order(Vec<Vec<Token>>);

impl Order {
    pub(super) fn read(facts: &Facts) -> Self {
        let items = || {
            facts
                .identifiers
                .iter()
                .chain(&facts.dates)
                .chain(&facts.relative)
                .chain(&facts.numbers)
        };
        let mut runs = vec![Vec::new()];
        for (word, first) in words::all_marked(&facts.rest) {
            let joins = JOINTS.contains(&word.lower());
            if (first || joins) && runs.last().is_some_and(|run| !run.is_empty()) {
                runs.push(Vec::new());
            }
            let names = word.text == "A" && !word.first;
            if joins || FREE.contains(&word.lower()) && !names {
                continue;
            }
            let item = items().find(|item| word.text.chars().eq([item.mark]));
            let tokens = match item {
                Some(item) => vec![Token::Item(item.clone())],
                None => plain(&word).into_iter().map(Token::Word).collect(),
            };
            if let Some(run) = runs.last_mut() {
                run.extend(tokens);
            }
        }
        Self(runs)
    }

    fn has(&self, token: &Token) -> bool {
        self.0.iter().flatten().any(|t| t.says(token))
    }

    /// The first run of `source` that does not stand in this text word after word.
    pub(super) fn breaks(&self, source: &Self) -> Option<String> {
        let names_user = |order: &Self| {
            order
                .0
                .iter()
                .flatten()
                .any(|t| t.is("user") || USER_HAN.iter().any(|c| t.is(c)))
        };
        let all: Vec<&Token> = self.0.iter().flatten().collect();
        let unnamed = !names_user(self);
        source.0.iter().find_map(|run| {
            let mut rest = all.iter();
            let stands = run
                .iter()
                .enumerate()
                .filter(|(at, t)| {
                    !(unnamed && *at < 2 && (t.is("user") || USER_HAN.iter().any(|c| t.is(c))))
                })
                .filter(|(_, t)| !POINTERS.iter().any(|p| t.is(p)) || self.has(t))
                .all(|(_, token)| rest.any(|t| t.says(token)));
            (!stands).then(|| run.iter().map(Token::words).collect::<Vec<_>>().join(" "))
        })
    }

    /// The first two neighbours of this text that no source has in this order although one has both,
    /// or a small word that no source has.
    pub(super) fn invents(&self, sources: &[&Self]) -> Option<String> {
        let follows = |x: &Token, y: &Token| {
            let both = sources.iter().filter(|s| {
                s.0.iter().flatten().any(|t| x.says(t)) && s.0.iter().flatten().any(|t| y.says(t))
            });
            let in_order = |source: &&&Self| {
                source.0.iter().any(|run| {
                    run.iter()
                        .position(|t| x.says(t))
                        .is_some_and(|at| run[at + 1..].iter().any(|t| y.says(t)))
                })
            };
            let both: Vec<_> = both.collect();
            both.is_empty() || both.iter().any(in_order)
        };
        let foreign = self.0.iter().flatten().find(|t| {
            matches!(t, Token::Word(w) if w != "user" && !USER_HAN.contains(&w.as_str()))
                && !sources
                    .iter()
                    .any(|s| s.0.iter().flatten().any(|o| t.says(o)))
        });
        if let Some(token) = foreign {
            return Some(token.words().to_owned());
        }
        self.0.iter().find_map(|run| {
            run.windows(2)
                .find(|pair| !follows(&pair[0], &pair[1]))
                .map(|pair| format!("{} {}", pair[0].words(), pair[1].words()))
        })
    }
}

/// The form in which words are compared: stems, denials with what they deny the power of.
fn plain(word: &Word) -> Vec<String> {
    let lower = word.lower();
    if let Some(verb) = lower.strip_suffix("n't") {
        let verb = match verb {
            "ca" => "can",
            "wo" => "will",
            "sha" => "shall",
            other => other,
        };
        let verb = Some(verb).filter(|v| !FREE.contains(v)).map(str::to_owned);
        return verb.into_iter().chain(["not".to_owned()]).collect();
    }
    vec![match lower {
        "cannot" => return vec!["can".to_owned(), "not".to_owned()],
        // A name or an item of a list, not the article.
        "a" if word.text == "A" && !word.first => "A".to_owned(),
        "users" => "user".to_owned(),
        _ => word.stem.clone(),
    }]
}
