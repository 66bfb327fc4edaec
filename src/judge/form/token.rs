//! A text as rows of comparable words, one a sentence.

use unicode_segmentation::UnicodeSegmentation;

use super::{homonyms, short_forms};
use crate::judge::dates::{DATE, WEEKDAY};
use crate::judge::facts::Facts;
use crate::judge::gist;
use crate::judge::items::{Item, is_mark};
use crate::judge::openers::{is_opener, is_verb};
use crate::judge::sentences::{is_cjk, is_han, split};

/// A word, a sign, or what a guard took (a number, a date, a code), in the form that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// A word or sign; for an item its value.
    pub(crate) text: String,
    /// The unit of a number, the kind of a date; `None` for a word or sign.
    pub(super) unit: Option<String>,
    /// Whether it was written with a capital inside a sentence.
    pub(crate) capital: bool,
}

/// A word for each character, as Chinese has them.
#[cfg(test)]
pub(super) fn characters(text: &str) -> Vec<Token> {
    text.chars().map(|c| Token::word(c.to_string())).collect()
}

impl Token {
    pub(super) fn word(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            unit: None,
            capital: false,
        }
    }

    fn item(item: &Item) -> Self {
        Self {
            text: item.value.clone(),
            unit: Some(item.unit.clone()),
            capital: false,
        }
    }

    /// Whether this is the word or sign `text`.
    pub(crate) fn is(&self, text: &str) -> bool {
        self.unit.is_none() && self.text == text
    }

    pub(crate) fn is_any(&self, texts: &[&str]) -> bool {
        self.unit.is_none() && texts.contains(&self.text.as_str())
    }

    pub(crate) fn is_item(&self) -> bool {
        self.unit.is_some()
    }

    /// The unit of a number, the kind of a date.
    pub(crate) fn unit(&self) -> Option<&str> {
        self.unit.as_deref()
    }

    pub(crate) fn is_han(&self) -> bool {
        self.unit.is_none() && self.text.chars().all(is_cjk)
    }

    /// Whether the two say the same; a capital inside a sentence is looked at by others.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.text == other.text && self.unit == other.unit
    }

    /// Whether this says what the other says, or, of numbers and dates, more.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (&self.unit, &other.unit) {
            (Some(a), Some(b)) => {
                // `900` is said by `900 euros`, but neither by `900 %` nor by `0.9 km`.
                let money = a.len() == 3 && a.bytes().all(|c| c.is_ascii_uppercase());
                (a == b || money)
                    && Item::new(&self.text, a, "").covers(&Item::new(&other.text, b, ""))
            }
            (None, None) => self.text == other.text,
            _ => false,
        }
    }

    /// Whether this covers the token at `at` of a sentence. In Chinese what follows a bare number is
    /// what it counts, so that 三折 is not covered by 三次折; and what holds for a month or on a day of
    /// each month is not covered by what holds on one day of it.
    pub(super) fn covers_at(&self, sentence: &[Self], at: usize) -> bool {
        let Some(other) = sentence.get(at).filter(|other| self.covers(other)) else {
            return false;
        };
        let chinese = || sentence.iter().any(Self::is_han);
        let counts = || sentence.get(at + 1).is_some_and(Self::is_han);
        if !self.is_item() || self.same(other) || !chinese() {
            return true;
        }
        if self.text == other.text {
            return !counts();
        }
        // 5月3日 and 2024年5月3日
        other
            .text
            .strip_prefix("????")
            .is_some_and(|day| !day.contains('?') && self.text.ends_with(day))
    }
}

/// Signs that are read with what they enclose or end.
const SILENT: &str = ".!。";

/// Words of one letter that a sign makes (`&`), and ways to write a word.
fn usual(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "&" | "+" => "and",
        "、" => ",",
        _ => return None,
    })
}

/// The sentences of a text as tokens; empty ones are left out.
pub(super) fn sentences(facts: &Facts) -> Vec<Vec<Token>> {
    split(&facts.rest)
        .into_iter()
        .map(|sentence| tokens(sentence.trim(), facts))
        .filter(|tokens| !tokens.is_empty())
        .collect()
}

fn tokens(sentence: &str, facts: &Facts) -> Vec<Token> {
    let sentence = if sentence.chars().any(is_han) {
        short_forms::shorten_han(sentence)
    } else {
        sentence.to_owned()
    };
    let pieces = pieces(&sentence);
    let shouted = pieces.len() > 2 && !sentence.chars().any(char::is_lowercase);
    let mut tokens: Vec<Token> = Vec::with_capacity(pieces.len());
    for (i, piece) in pieces.iter().enumerate() {
        if piece.trim().is_empty() {
            if is_list_blank(&pieces, i) {
                tokens.push(Token::word(","));
            }
        } else if piece.starts_with(is_mark) {
            // The dash of `3-1` went with the number after it.
            let dash = i > 0 && pieces[i - 1].starts_with(is_mark);
            if dash && !sentence.chars().any(is_cjk) {
                tokens.push(Token::word("-"));
            }
            take_items(piece, facts, &mut tokens);
        } else if !piece.chars().all(|c| SILENT.contains(c)) || piece.chars().count() > 2 {
            let lower = piece.to_lowercase();
            let word = if shouted && is_opener(&lower) {
                &lower
            } else {
                *piece
            };
            take_word(word, i == 0, &mut tokens);
        }
    }
    write_out_has(&mut tokens);
    let mut tokens = shorten(tokens);
    unify_spans(&mut tokens);
    name_subject(&sentence, &mut tokens);
    drop_repeated_signs(&mut tokens);
    drop_commas(&mut tokens);
    tokens
}

/// Words with their hyphens and apostrophes, Han characters one by one, signs, blanks.
fn pieces(sentence: &str) -> Vec<&str> {
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    let bytes: Vec<(usize, &str)> = sentence.split_word_bound_indices().collect();
    let mut i = 0;
    while i < bytes.len() {
        let (start, piece) = bytes[i];
        let mut end = start + piece.len();
        i += 1;
        let latin = |p: &str| p.starts_with(|c: char| c.is_alphanumeric() && !is_cjk(c));
        let next = |i: usize| bytes.get(i).map_or("", |(_, piece)| *piece);
        if piece.eq_ignore_ascii_case("w") && next(i) == "/" && next(i + 1).trim().is_empty() {
            end += 1;
            i += 1;
        }
        // `night-shift`, `w/o`, `e.g`: joined where a letter stands on both sides.
        while latin(piece)
            && i + 1 < bytes.len()
            && matches!(bytes[i].1, "-" | "/" | "&")
            && latin(bytes[i + 1].1)
        {
            end = bytes[i + 1].0 + bytes[i + 1].1.len();
            i += 2;
        }
        // `C++` and `C#` are names of their own.
        let signs = bytes[i..]
            .iter()
            .take_while(|(_, piece)| matches!(*piece, "+" | "#"))
            .count();
        let ends = next(i + signs);
        if latin(piece) && signs > 0 && !latin(ends) && !ends.starts_with(is_mark) {
            end = bytes[i + signs - 1].0 + 1;
            i += signs;
        }
        pieces.push((start, end));
    }
    pieces
        .into_iter()
        .map(|(start, end)| &sentence[start..end])
        .collect()
}

/// Single characters that stand between blanks only where a text is written word by word.
const SEPARATE: &[&str] = &[
    "在", "的", "是", "了", "和", "与", "有", "把", "被", "对", "给", "会", "不", "都", "也", "就",
    "到", "去", "用户",
];

/// Whether a blank between Han characters may part the members of a list. It does not where the
/// text is written with blanks between all of its words.
fn is_list_blank(pieces: &[&str], at: usize) -> bool {
    let han = |piece: Option<&&str>| {
        piece.is_some_and(|p| p.starts_with(is_cjk) && !p.starts_with(['、', '。']))
    };
    if at == 0 || !han(pieces.get(at - 1)) || !han(pieces.get(at + 1)) {
        return false;
    }
    let text = pieces.concat();
    !text.split(' ').any(|word| SEPARATE.contains(&word))
}

fn take_items(piece: &str, facts: &Facts, tokens: &mut Vec<Token>) {
    for mark in piece.chars().filter(|c| is_mark(*c)) {
        let lists = [
            &facts.identifiers,
            &facts.relative,
            &facts.dates,
            &facts.numbers,
        ];
        for item in lists.into_iter().flatten().filter(|item| item.mark == mark) {
            // `WiFi` and `PhD` are words with capitals inside.
            if item.unit.is_empty() && item.value.chars().all(char::is_alphabetic) {
                take_word(&item.value, false, tokens);
            } else {
                // `on Friday` and `Friday`.
                if item.unit == DATE || item.value.starts_with(WEEKDAY) {
                    while tokens
                        .last()
                        .is_some_and(|t| t.is_any(&["on", "am", "the"]))
                    {
                        tokens.pop();
                    }
                }
                tokens.push(Token::item(item));
            }
        }
    }
}

fn take_word(word: &str, first: bool, tokens: &mut Vec<Token>) {
    if let Some(usual) = usual(word) {
        tokens.push(Token::word(usual));
        return;
    }
    // No word of English alone: `an` is one of German too, but then in both texts.
    if word.eq_ignore_ascii_case("an") {
        tokens.push(Token::word("a"));
        return;
    }
    if let Some(short) = short_forms::capital(word) {
        tokens.push(Token::word(short));
        return;
    }
    let lower = word.to_lowercase();
    if let Some(long) = short_forms::contraction(&lower) {
        tokens.extend(long.into_iter().map(Token::word));
        return;
    }
    // `She is` and `She's`, `She has been` and `She's been`.
    let text = match lower.as_str() {
        "is" => "'s".to_owned(),
        "been" | "got" if tokens.last().is_some_and(|t| t.is("has")) => {
            tokens.pop();
            tokens.push(Token::word("'s"));
            lower
        }
        _ if first && is_opener(word) => lower,
        _ => homonyms::fold(word),
    };
    let capital = !first && word.starts_with(char::is_uppercase);
    tokens.push(Token {
        text,
        unit: None,
        capital,
    });
}

/// `She's moved the meeting` is `she has moved the meeting`.
fn write_out_has(tokens: &mut [Token]) {
    const OBJECT: &[&str] = &["the", "a", "her", "his", "their", "my", "its"];
    for at in 1..tokens.len().saturating_sub(2) {
        let has = tokens[at].is("'s")
            && tokens[at - 1].is_any(&["she", "he", "it", "who", "user"])
            && gist::is_participle(&tokens[at + 1].text)
            && tokens[at + 2].is_any(OBJECT);
        if has {
            tokens[at].text = "has".to_owned();
        }
    }
}

/// Long forms as short ones, `the user` as `user`.
fn shorten(tokens: Vec<Token>) -> Vec<Token> {
    let words: Vec<&str> = tokens
        .iter()
        .map(|t| {
            if t.is_item() {
                "\u{FFFC}"
            } else {
                t.text.as_str()
            }
        })
        .collect();
    let mut out = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if let Some((short, count)) = short_forms::shorten(&words[at..]) {
            out.push(Token::word(short));
            at += count;
        } else if tokens[at].is("the") && tokens.get(at + 1).is_some_and(|t| t.is("user")) {
            at += 1;
        } else {
            out.push(tokens[at].clone());
            at += 1;
        }
    }
    out
}

/// Beginnings of a Chinese sentence that lacks its subject, the user.
#[rustfmt::skip]
const SUBJECTLESS_HAN: &[&str] = &[
    "喜欢", "不喜欢", "喜爱", "偏爱", "讨厌", "不吃", "不喝", "不爱", "爱吃", "爱喝", "住在", "想", "打算", "计划",
    "需要", "希望", "偏好", "养了", "买了", "会说", "不会", "每天", "每周", "对",
];

/// A memory that begins with a verb is about the user.
fn name_subject(sentence: &str, tokens: &mut Vec<Token>) {
    // `In January bought a laptop`: the verb follows the time.
    let start = match tokens.iter().position(|t| !t.is_item()) {
        Some(0) if tokens[0].is_any(TIMES) && tokens.get(1).is_some_and(Token::is_item) => 2,
        Some(at) => at,
        None => return,
    };
    if SUBJECTLESS_HAN
        .iter()
        .any(|verb| sentence.starts_with(verb))
    {
        tokens.splice(..0, ["用", "户"].map(Token::word));
    } else if tokens
        .get(start)
        .is_some_and(|t| t.unit.is_none() && is_verb(&t.text))
    {
        tokens.insert(start, Token::word("user"));
    }
}

/// `from 9 to 5`, `9 - 5`, 从9点到5点: one way to write a span.
fn unify_spans(tokens: &mut Vec<Token>) {
    let between = |tokens: &[Token], at: usize| {
        at > 0
            && tokens[at - 1].is_item()
            && tokens.get(at + 1).is_some_and(Token::is_item)
            && tokens[at].is_any(&["-", "to", "until", "till", "~", "到", "至", "bis"])
    };
    let mut at = 0;
    while at < tokens.len() {
        if between(tokens, at) {
            tokens[at].text = "-".to_owned();
            if at >= 2 && tokens[at - 2].is_any(&["from", "从", "自", "von"]) {
                tokens.remove(at - 2);
                continue;
            }
        }
        at += 1;
    }
}

/// Prepositions before a time.
pub(super) const TIMES: &[&str] = &[
    "on", "in", "at", "since", "during", "every", "by", "until", "在", "于",
];

/// An emoji or sign of joy said three times is said once.
fn drop_repeated_signs(tokens: &mut Vec<Token>) {
    let sign = |t: &Token| {
        t.unit.is_none() && !t.text.is_ascii() && !t.text.chars().any(char::is_alphanumeric)
    };
    tokens.dedup_by(|a, b| sign(a) && a.same(b));
}

/// Words that begin a phrase after which a comma may stand or not.
const INTRODUCES: &[&str] = &[
    "on", "in", "at", "during", "after", "before", "when", "if", "because", "since", "while",
    "for", "from", "until", "by", "with", "as", "once", "every", "每", "如果", "因",
];

/// Drops commas that grammar leaves free: before `and` and `or`, after an introducing phrase.
fn drop_commas(tokens: &mut Vec<Token>) {
    let mut free = tokens
        .first()
        .is_some_and(|t| t.is_any(INTRODUCES) || t.is_item());
    let old = std::mem::take(tokens);
    let mut rest = old.into_iter().peekable();
    while let Some(token) = rest.next() {
        if token.is(",") {
            let before_joint = rest.peek().is_some_and(|t| t.is_any(&["and", "or", "but"]));
            let introduced = std::mem::take(&mut free)
                && !rest.peek().is_some_and(Token::is_han)
                && !tokens.iter().any(|t| is_verb(&t.text));
            if before_joint || introduced || rest.peek().is_none() {
                continue;
            }
        }
        tokens.push(token);
    }
}
