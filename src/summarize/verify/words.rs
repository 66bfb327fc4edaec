//! The sentences of a text as rows of words that two texts can be compared by.
//!
//! Nothing is free but what says nothing: articles, a subject `User`, `The user`, 用户 at the start
//! of a sentence, and quotation marks and stops. `and` and all signs that part a clause are one
//! *joint*. Contractions are written out. Numbers, dates and codes are compared by what they say.

use unicode_segmentation::UnicodeSegmentation;

use super::fault::Kind;
use crate::judge::facts::Facts;
use crate::judge::items::{Item, is_mark};
use crate::judge::negation;
use crate::judge::normalize::lower_first;
use crate::judge::sentences::{is_cjk, is_han, split};

/// A word, or a joint between parts of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Joint,
    Word(Word),
}

/// A word, a sign, or what a guard took (a number, a date, a code).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    /// As it is compared.
    pub(super) text: String,
    /// What a guard took.
    pub(super) item: Option<Item>,
}

/// Signs that part a clause; the hyphen only between blanks.
const JOINTS: &[&str] = &[
    ",", ";", ":", "(", ")", "、", "-", "&", "and", "和", "与", "與", "及",
];

/// Signs that are read with what they enclose or end.
const SILENT: &str = ".!。…\"'「」『』《》«»";

/// Words that carry a role, join clauses or point: none of them is a mere member of a list.
#[rustfmt::skip]
const ROLES: &[&str] = &[
    "of", "or", "as", "that", "which", "who", "whose", "whom", "this", "these", "those", "is",
    "are", "be", "being", "am", "has", "have", "having", "do", "does", "doing", "it", "its", "he",
    "she", "they", "them", "their", "theirs", "his", "her", "hers", "him", "i", "me", "my", "mine",
    "we", "us", "our", "you", "your", "user", "users", "user's", "there", "also", "too", "both",
    "so", "then", "than", "like", "called", "named", "very", "more", "less", "most",
    "被", "把", "给", "給", "对", "對", "在", "从", "從", "向", "跟", "同", "比", "让", "讓", "叫",
    "由", "替", "为", "為", "使", "的", "得", "地", "是", "有", "他", "她", "它", "我", "你", "用", "户",
];

/// Words that begin a phrase which is closed in itself: `with honey`.
#[rustfmt::skip]
const PREPOSITIONS: &[&str] = &[
    "with", "in", "at", "on", "for", "from", "to", "into", "onto", "by", "near", "under", "over",
    "about", "through", "around", "between", "behind", "above", "below", "towards", "via", "against",
];

/// Words that limit, condition, date or revoke what stands beside them. A text that has one more
/// of them does not say what one without it says.
#[rustfmt::skip]
const LIMITS: &[&str] = &[
    "if", "when", "whenever", "while", "unless", "until", "till", "only", "just", "except", "but",
    "though", "although", "because", "since", "before", "after", "once", "provided", "whether",
    "where", "wherever", "instead", "rather", "without", "may", "might", "maybe", "perhaps",
    "could", "would", "should", "must", "will", "shall", "can", "plans", "planning", "wants",
    "hopes", "intends", "tries", "tried", "probably", "possibly", "almost", "nearly", "hardly",
    "rarely", "seldom", "sometimes", "was", "were", "had", "did", "been", "used", "formerly",
    "previously", "former", "ex", "late", "ago", "quit", "stopped", "stops", "anymore", "longer",
    "?", "fake", "alleged", "said", "says", "claims", "thinks", "pretends", "half", "halb", "quarter", "viertel", "media", "past", "step", "fast",
    "according", "allegedly", "supposedly", "less", "never", "beinahe", "früher", "casi", "antes",
    "都", "只", "仅", "僅", "若", "曾", "前", "后", "後", "想", "要", "会", "會", "能", "可", "应",
    "必", "但", "除", "才", "假", "似", "像", "据", "说", "如", "当",
    "之", "吗", "嗎", "吧", "的", "么",
];

/// Words that may follow a noun without making another noun of it, as `allergy` does of `dog`.
const GOES_ON: &[&str] = &[
    "named", "called", "who", "which", "that", "she", "he", "they", "since", "lot", "much", "well",
    "often", "daily", "once", "again", "together", "alone", "here", "abroad", "as", "or",
];

/// Characters that tell of the noun after them, so that a list of nouns may share them.
const QUALIFIES_HAN: &str =
    "热冷冰凉冻温红白黑绿蓝黄大小新旧老多少好坏甜咸酸苦辣生熟干湿男女双单长短高低";

impl Word {
    fn lower(&self) -> String {
        self.text.to_lowercase()
    }

    pub(super) fn denies(&self) -> bool {
        self.item.is_none() && negation::only_denies(&self.lower())
    }

    pub(super) fn limits(&self) -> bool {
        self.item.is_none() && LIMITS.contains(&self.lower().as_str())
    }

    pub(super) fn is_preposition(&self) -> bool {
        self.item.is_none() && PREPOSITIONS.contains(&self.lower().as_str())
    }

    pub(super) fn is_han(&self) -> bool {
        self.text.chars().all(is_cjk)
    }

    /// Whether the word names or describes something, and nothing else.
    pub(super) fn is_content(&self) -> bool {
        self.item.is_none()
            && self.text.chars().all(char::is_alphanumeric)
            && !self.denies()
            && !self.limits()
            && !self.is_preposition()
            && !ROLES.contains(&self.lower().as_str())
    }

    /// Whether the word is content, a number or date, or an emoji.
    pub(super) fn describes(&self) -> bool {
        let sign = |c: char| !c.is_alphanumeric() && !c.is_ascii();
        self.item.is_some() || self.is_content() || self.text.chars().all(sign)
    }

    /// Whether the word, after a noun, leaves that one as it is.
    pub(super) fn goes_on(&self) -> bool {
        self.item.is_some()
            || self.is_han()
            || self.is_preposition()
            || self.text.ends_with("ly")
            || GOES_ON.contains(&self.text.as_str())
            || !self.text.chars().any(char::is_alphanumeric)
    }

    pub(super) fn is_capitalised(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }

    pub(super) fn qualifies(&self) -> bool {
        self.text.chars().any(|c| QUALIFIES_HAN.contains(c))
    }

    pub(super) fn kind(&self) -> Kind {
        if self.denies() {
            Kind::Negation
        } else if !self.text.chars().any(char::is_alphanumeric) {
            Kind::Symbol
        } else if self.is_capitalised() {
            Kind::Name
        } else {
            Kind::Word
        }
    }

    /// Whether this says what the other one says, or, of dates and numbers, more.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (&self.item, &other.item) {
            (Some(a), Some(b)) => a.covers(b),
            (None, None) => self.text == other.text,
            _ => false,
        }
    }
}

impl Token {
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Word(a), Self::Word(b)) => a.covers(b),
            (Self::Joint, Self::Joint) => true,
            _ => false,
        }
    }

    pub(super) fn word(&self) -> Option<&Word> {
        match self {
            Self::Word(word) => Some(word),
            Self::Joint => None,
        }
    }
}

/// The sentences of a text.
pub(super) fn sentences(facts: &Facts) -> Vec<Vec<Token>> {
    split(&facts.rest)
        .into_iter()
        .map(|sentence| tokens(&lower_first(sentence.trim()), facts))
        .filter(|tokens| !tokens.is_empty())
        .collect()
}

fn tokens(sentence: &str, facts: &Facts) -> Vec<Token> {
    let pieces: Vec<&str> = sentence.split_word_bounds().collect();
    let mut tokens = Vec::new();
    let mut push = |token: Token| {
        if token != Token::Joint || tokens.last().is_some_and(|last| *last != Token::Joint) {
            tokens.push(token);
        }
    };
    for (i, piece) in pieces.iter().enumerate() {
        let blank = |at: Option<&&str>| at.is_none_or(|p| p.trim().is_empty());
        if piece.trim().is_empty() || piece.chars().all(|c| SILENT.contains(c)) {
            continue;
        }
        if *piece == "-" && !(i > 0 && blank(pieces.get(i - 1)) && blank(pieces.get(i + 1))) {
            continue;
        }
        let article = matches!(*piece, "a" | "an" | "the");
        if article
            && pieces[i + 1..]
                .iter()
                .any(|p| p.chars().any(|c| c.is_alphanumeric() || is_mark(c)))
        {
            continue;
        }
        if JOINTS.contains(piece) {
            push(Token::Joint);
        } else if piece.chars().all(is_mark) {
            let taken = items(facts).filter(|item| piece.contains(item.mark));
            for item in taken {
                push(Token::Word(Word {
                    text: item.words.clone(),
                    item: Some(item.clone()),
                }));
            }
        } else {
            for (n, text) in written_out(piece).into_iter().enumerate() {
                let first = i == 0 && n == 0;
                let text = if first { lower_first(&text) } else { text };
                push(Token::Word(Word { text, item: None }));
            }
        }
    }
    if tokens.last() == Some(&Token::Joint) {
        tokens.pop();
    }
    without_subject(tokens)
}

fn items(facts: &Facts) -> impl Iterator<Item = &Item> {
    [
        &facts.identifiers,
        &facts.dates,
        &facts.relative,
        &facts.numbers,
    ]
    .into_iter()
    .flatten()
}

/// `doesn't` as `does not`; a run of kana, which is one word, by its characters.
fn written_out(piece: &str) -> Vec<String> {
    if piece.chars().all(|c| is_cjk(c) || is_han(c)) {
        return piece.chars().map(String::from).collect();
    }
    const ENDS: &[(&str, &str)] = &[
        ("n't", "not"),
        ("'ve", "have"),
        ("'re", "are"),
        ("'m", "am"),
        ("'ll", "will"),
    ];
    let (verb, rest) = match piece {
        "can't" | "cannot" => ("can", "not"),
        "won't" => ("will", "not"),
        _ => ENDS
            .iter()
            .find_map(|(end, word)| Some((piece.strip_suffix(end)?, *word)))
            .unwrap_or((piece, "")),
    };
    [verb, rest]
        .iter()
        .filter(|w| !w.is_empty())
        .map(ToString::to_string)
        .collect()
}

/// Drops the user as the subject, if the sentence says something of him.
fn without_subject(tokens: Vec<Token>) -> Vec<Token> {
    let word = |at: usize| {
        tokens
            .get(at)
            .and_then(Token::word)
            .map(|w| w.text.as_str())
    };
    let subject = match (word(0), word(1)) {
        (Some("user" | "User"), Some(_)) => 1,
        (Some("用"), Some("户" | "戶")) if word(2).is_some() => 2,
        _ => 0,
    };
    tokens.into_iter().skip(subject).collect()
}
