//! Where in a text personal data and secrets stand. In doubt it is hidden: what is hidden for
//! nothing comes back unchanged.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Kind;

/// A pattern, the group of it that is hidden, and what must hold of that.
struct Finder {
    kind: Kind,
    pattern: Regex,
    group: usize,
    check: fn(&str) -> bool,
}

/// Kind, pattern, group and check of a [`Finder`].
type Pattern = (Kind, &'static str, usize, fn(&str) -> bool);

/// In the order of precedence: what one has taken, no later one takes.
static FINDERS: LazyLock<Vec<Finder>> = LazyLock::new(|| {
    let any: fn(&str) -> bool = |_| true;
    let finders: &[Pattern] = &[
        (
            Kind::Secret,
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
            0,
            any,
        ),
        (
            Kind::Secret,
            r"eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)?",
            0,
            any,
        ),
        (
            Kind::Secret,
            r"(?:sk|pk|rk)[-_](?:live|test|proj|ant|or)?[-_A-Za-z0-9]{12,}",
            0,
            any,
        ),
        (
            Kind::Secret,
            r"(?:gh[pousr]_|github_pat_|glpat-|hf_|xox[abeoprs]-|npm_|pypi-|shpat_|SG\.|ya29\.)[A-Za-z0-9_.-]{10,}",
            0,
            any,
        ),
        (
            Kind::Secret,
            r"(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,}",
            0,
            any,
        ),
        (
            Kind::Secret,
            r"[a-z][a-z0-9+.-]*://[^/\s:@]*:([^/\s@]+)@",
            1,
            any,
        ),
        (
            Kind::Secret,
            r"(?i)\bbearer\s+([A-Za-z0-9._~+/-]{8,}=*)",
            1,
            any,
        ),
        (
            Kind::Secret,
            r#"(?i)(?:pass(?:word|wort|phrase|code)|pwd|contraseña|mot de passe|api[ _-]?key|secret(?: key)?|access token|token|\bpin(?: code)?|cvv|cvc|密码|密碼|口令|验证码|パスワード|暗証番号)["'”」]?\s*(?:is|was|ist|lautet|es|est|are|[:=：＝]|是|为|為|は)+\s*["'“「]?([^\s"'”」，。；]{3,})"#,
            1,
            any,
        ),
        (Kind::Secret, r"[A-Za-z0-9+/_-]{24,}={0,2}", 0, is_random),
        (
            Kind::Email,
            r"[\p{Latin}0-9._%+'-]*[\p{Latin}0-9_%+-]@[\p{Latin}0-9-]+(?:\.[\p{Latin}0-9-]+)*\.\p{Latin}{2,}",
            0,
            any,
        ),
        (Kind::Iban, r"[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}", 0, any),
        (Kind::Id, r"\d{17}[\dXx]", 0, is_resident_id),
        (Kind::Id, r"\d{3}-\d{2}-\d{4}", 0, any),
        (Kind::Id, r"[XYZ]?\d{7,8}-?[A-Z]", 0, is_spanish_id),
        (
            Kind::Id,
            r"[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]",
            0,
            any,
        ),
        (Kind::Id, r"\d{2} ?\d{3} ?\d{3} ?\d{3}", 0, is_german_tax_id),
        (
            Kind::Id,
            r"(?i)(?:passport|reisepass|pass(?:nummer| no| number)|personalausweis|driver'?s? licen[cs]e|social security|tax id|steuer-?id|身份证|身分證|护照|護照|社保|驾照|マイナンバー|パスポート番号)(?:\s*(?:card|number|nummer|no\.?|nr\.?|is|ist|号码|號碼|号|號|是|为|[:：#]))*\s*([A-Za-z0-9][A-Za-z0-9-]{4,19})",
            1,
            has_digits,
        ),
        (Kind::Card, r"\d(?:[ -]?\d){12,18}", 0, is_card),
        (
            Kind::Phone,
            r"(?:\+|\b00)\d(?:[ ()./-]{0,2}\d){6,14}",
            0,
            any,
        ),
        (Kind::Phone, r"1[3-9]\d[ -]?\d{4}[ -]?\d{4}", 0, any),
        (
            Kind::Phone,
            r"\(?0\d{1,4}\)?[ /-]{0,2}\d{2,4}(?:[ /-]?\d{2,4}){1,3}",
            0,
            is_phone,
        ),
        (Kind::Phone, r"\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}", 0, any),
        (
            Kind::Phone,
            r"(?i)(?:phone|mobile|cell|call|tel(?:efon|éfono)?|handy|fax|电话|電話|手机|手機|携帯)\D{0,12}?(\d(?:[ ()./-]{0,2}\d){5,14})",
            1,
            any,
        ),
    ];
    finders
        .iter()
        .filter_map(|&(kind, pattern, group, check)| {
            let pattern = Regex::new(pattern).ok()?;
            Some(Finder {
                kind,
                pattern,
                group,
                check,
            })
        })
        .collect()
});

/// How many patterns there should be.
#[cfg(test)]
pub(super) const FINDER_COUNT: usize = 23;

#[cfg(test)]
pub(super) fn finders() -> usize {
    FINDERS.len()
}

/// What stands where, in order, without overlaps.
pub(super) fn find(text: &str) -> Vec<(Kind, Range<usize>)> {
    let mut found: Vec<(Kind, Range<usize>)> = Vec::new();
    for finder in FINDERS.iter() {
        let mut at = 0;
        while let Some(captures) = finder.pattern.captures_at(text, at) {
            let Some(hidden) = captures.get(finder.group) else {
                break;
            };
            let range = match finder.kind {
                Kind::Iban => iban(text, hidden.range()),
                _ => Some(hidden.range()),
            };
            let free = |r: &Range<usize>| {
                found
                    .iter()
                    .all(|(_, f)| r.end <= f.start || f.end <= r.start)
            };
            let whole = finder.group > 0 || stands_alone(text, hidden.range());
            match range.filter(|r| free(r) && whole && (finder.check)(&text[r.clone()])) {
                Some(range) => {
                    at = range.end;
                    found.push((finder.kind, range));
                }
                // Something else may begin within.
                None => at = next_char(text, hidden.start()),
            }
            if at >= text.len() {
                break;
            }
        }
    }
    found.sort_by_key(|(_, range)| range.start);
    found
}

fn next_char(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Whether neither letters nor digits of the same run go on beside a find. CJK text is written
/// without blanks, so its characters end a run.
fn stands_alone(text: &str, range: Range<usize>) -> bool {
    let runs_on = |c: char| c.is_ascii_alphanumeric();
    !text[..range.start].ends_with(runs_on) && !text[range.end..].starts_with(runs_on)
}

/// The account number at the beginning of a find, which may run on into the words after it.
fn iban(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let ends = range.clone().rev().map(|last| last + 1);
    ends.map(|end| range.start..end)
        .find(|r| is_iban(&text[r.clone()]) && stands_alone(text, r.clone()))
}

fn is_iban(text: &str) -> bool {
    let chars: Vec<char> = text.chars().filter(char::is_ascii_alphanumeric).collect();
    if !(15..=34).contains(&chars.len()) || !text.ends_with(|c: char| c.is_ascii_alphanumeric()) {
        return false;
    }
    let value = |c: &char| c.to_digit(36).unwrap_or_default();
    let moved = chars[4..].iter().chain(&chars[..4]);
    moved.map(value).fold(0, |rest, digit| {
        (rest * if digit > 9 { 100 } else { 10 } + digit) % 97
    }) == 1
}

fn digits(text: &str) -> Vec<u32> {
    text.chars().filter_map(|c| c.to_digit(10)).collect()
}

fn has_digits(text: &str) -> bool {
    digits(text).len() >= 3
}

/// Luhn's check.
fn is_card(text: &str) -> bool {
    let digits = digits(text);
    let doubled = |(at, digit): (usize, &u32)| match digit * 2 {
        double if at % 2 == 1 && double > 9 => double - 9,
        double if at % 2 == 1 => double,
        _ => *digit,
    };
    let sum: u32 = digits.iter().rev().enumerate().map(doubled).sum();
    (13..=19).contains(&digits.len()) && sum.is_multiple_of(10) && digits.iter().any(|d| *d > 0)
}

/// A Chinese resident id: weighted sum modulo 11, with a month and day in it.
fn is_resident_id(text: &str) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let values: Vec<u32> = text.chars().map(|c| c.to_digit(10).unwrap_or(10)).collect();
    let sum: u32 = values.iter().zip(WEIGHTS).map(|(v, w)| v * w).sum();
    let number = |range: Range<usize>| values[range].iter().fold(0, |n, d| n * 10 + d);
    values.len() == 18
        && (12 - sum % 11) % 11 == values[17]
        && (1..=12).contains(&number(10..12))
        && (1..=31).contains(&number(12..14))
}

/// DNI and NIE: the letter follows from the number.
fn is_spanish_id(text: &str) -> bool {
    const LETTERS: &[u8; 23] = b"TRWAGMYFPDXBNJZSQVHLCKE";
    let prefix = match text.chars().next() {
        Some('Y') => 1,
        Some('Z') => 2,
        _ => 0,
    };
    let number = digits(text).iter().fold(prefix, |n, d| n * 10 + d);
    text.as_bytes().last() == LETTERS.get(number as usize % 23)
}

/// ISO 7064 mod 11,10; the first digit is not 0.
fn is_german_tax_id(text: &str) -> bool {
    let digits = digits(text);
    let [first, .., last] = digits[..] else {
        return false;
    };
    let product = digits[..digits.len() - 1]
        .iter()
        .fold(10, |product, digit| {
            let sum = (digit + product) % 10;
            (if sum == 0 { 10 } else { sum }) * 2 % 11
        });
    digits.len() == 11 && first != 0 && (11 - product) % 10 == last
}

fn is_phone(text: &str) -> bool {
    (8..=13).contains(&digits(text).len())
}

/// A long run of letters and digits that is no word: capitals, small letters and digits mixed, or
/// hexadecimal with both.
fn is_random(text: &str) -> bool {
    let count = |test: fn(&char) -> bool| text.chars().filter(test).count();
    let digits = count(char::is_ascii_digit);
    let (upper, lower) = (
        count(char::is_ascii_uppercase),
        count(char::is_ascii_lowercase),
    );
    let hex = text.chars().all(|c| c.is_ascii_hexdigit());
    let slashes = count(|c| matches!(c, '/' | '-' | '_'));
    digits >= 3 && slashes <= 4 && (upper >= 3 && lower >= 3 || hex && upper + lower >= 3)
}
