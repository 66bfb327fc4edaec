//! Orders of a Chinese sentence that say nothing.
//!
//! The place of a word says in Chinese what it belongs to: 他周三建议复查 and 他建议周三复查 are two facts. So only
//! two places of a time are one: right before and right after a subject that is surely whole.

use super::additions_han::is_subject;
use super::token::{TIMES, Token};

/// Words of time that are no dates.
const TIME_WORDS: &[&str] = &[
    "每天", "每周", "每月", "每年", "每晚", "周末", "早上", "上午", "中午", "下午", "傍晚", "晚上",
    "冬天", "夏天", "春天", "秋天", "平时",
];

/// With what a subject goes on.
const GO_ON: &[&str] = &["的", "和", "跟", "与", "及", "们", "家", "妈", "爸", ","];

/// Longest phrase of time, and longest subject, in tokens.
const PHRASE: usize = 6;

/// Whether `b` is `a` with its first phrase of time behind the subject: 周六他教球, 他周六教球.
pub(super) fn is_time_behind_subject(a: &[Token], b: &[Token]) -> bool {
    let comma = |tokens: &[Token]| usize::from(tokens.first().is_some_and(|t| t.is(",")));
    (1..=PHRASE.min(a.len())).any(|cut| {
        let (time, rest) = a.split_at(cut);
        let rest = &rest[comma(rest)..];
        // The longest subject: of 他妈妈 it is not 他.
        let subject = (1..=PHRASE.min(rest.len()))
            .rev()
            .find(|end| is_subject(&rest[..*end]));
        is_time(time)
            && subject.is_some_and(|end| {
                let (subject, predicate) = rest.split_at(end);
                predicate.len() >= 2
                    && !predicate[0].is_any(GO_ON)
                    && b.len() == subject.len() + time.len() + predicate.len()
                    && subject
                        .iter()
                        .chain(time)
                        .chain(predicate)
                        .zip(b)
                        .all(|(a, b)| a.same(b))
            })
    })
}

/// Whether the tokens are nothing but dates, times and words of time.
fn is_time(tokens: &[Token]) -> bool {
    let mut rest = match tokens {
        [first, rest @ ..]
            if first.is_any(TIMES)
                || first.is("每") && rest.first().is_some_and(Token::is_item) =>
        {
            rest
        }
        all => all,
    };
    let some = !rest.is_empty();
    while let Some(first) = rest.first() {
        let size = if super::order::is_time(first) {
            1
        } else {
            let word = |size: usize| {
                let words = rest.get(..size)?;
                let text: String = words.iter().map(|t| t.text.as_str()).collect();
                (!words.iter().any(Token::is_item) && TIME_WORDS.contains(&text.as_str()))
                    .then_some(size)
            };
            match word(2) {
                Some(size) => size,
                None => return false,
            }
        };
        rest = &rest[size..];
    }
    some
}

/// Words before a list that is joined by nothing but commas.
#[rustfmt::skip]
const TAKE_LISTS: &[&str] = &["喜欢", "讨厌", "爱吃", "爱喝", "会说", "想学", "养了", "买了", "吃", "喝", "养", "会", "有", "学", "玩", "穿", "带"];

/// Whether what stands between commas and 和 after `before` is a list of things. Clauses tell what came first: 发烧,吃药,
/// 好转. Of 王菲的歌和电影 it cannot be told to what 王菲的 belongs.
pub(super) fn lists_things(members: &[Vec<Token>], joined: bool, before: &[Token]) -> bool {
    let plain = |t: &Token| !t.is_any(&["的", "了", "过", "着"]);
    let text = super::additions_han::text_of(before);
    members.iter().flatten().all(plain)
        && (joined || TAKE_LISTS.iter().any(|verb| text.ends_with(verb)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::form::token::characters as tokens;

    #[test]
    fn a_time_stands_on_either_side_of_a_subject() {
        for (a, b, one) in [
            ("周末用户去爬山", "用户周末去爬山", true),
            ("周末,用户去爬山", "用户周末去爬山", true),
            ("每天早上他跑步", "他每天早上跑步", true),
            ("早上用户的妻子跑步", "用户的妻子早上跑步", true),
            ("周末他妈来住", "他周末妈来住", false),
            ("周末他的狗叫", "他周末的狗叫", false),
            ("周末他说去爬山", "他说周末去爬山", false),
            ("周末小李的狗去爬山", "小李的狗周末去爬山", false),
            ("最近用户去爬山", "用户最近去爬山", false),
        ] {
            assert_eq!(is_time_behind_subject(&tokens(a), &tokens(b)), one, "{a}");
        }
    }

    #[test]
    fn lists_and_what_only_looks_like_one() {
        let members = |list: &str| -> Vec<Vec<Token>> { list.split(',').map(tokens).collect() };
        for (before, list, joined, things) in [
            ("用户喜欢", "猫,狗", false, true),
            ("", "苹果,梨", true, true),
            ("用户", "发烧,吃药,好转", false, false),
            ("喜欢", "王菲的歌,电影", true, false),
            ("", "结了婚,买房", true, false),
        ] {
            let found = lists_things(&members(list), joined, &tokens(before));
            assert_eq!(found, things, "{before}{list}");
        }
    }
}
