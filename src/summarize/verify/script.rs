//! The scripts of a text, as far as a change of language shows in them.

use crate::judge::sentences::{is_han, is_kana};

/// A script, or a block of one that is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Latin,
    Han,
    Kana,
    Hangul,
    Cyrillic,
    Greek,
    Arabic,
    Hebrew,
    Thai,
    /// Letters of other scripts by blocks of 128.
    Other(u32),
}

fn of(c: char) -> Option<Script> {
    if !c.is_alphabetic() {
        return None;
    }
    Some(match c {
        c if is_han(c) => Script::Han,
        'ー' => return None,
        c if is_kana(c) => Script::Kana,
        '\0'..='\u{2AF}' | '\u{1E00}'..='\u{1EFF}' | '\u{FF21}'..='\u{FF5A}' => Script::Latin,
        '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' => Script::Greek,
        '\u{400}'..='\u{52F}' => Script::Cyrillic,
        '\u{590}'..='\u{5FF}' => Script::Hebrew,
        '\u{600}'..='\u{6FF}' | '\u{750}'..='\u{77F}' | '\u{8A0}'..='\u{8FF}' => Script::Arabic,
        '\u{E00}'..='\u{E7F}' => Script::Thai,
        '\u{1100}'..='\u{11FF}' | '\u{3130}'..='\u{318F}' | '\u{AC00}'..='\u{D7AF}' => {
            Script::Hangul
        }
        c => Script::Other(c as u32 / 128),
    })
}

/// The scripts of the text with the first character of each, in order.
pub(super) fn used(text: &str) -> Vec<(Script, char)> {
    let mut scripts: Vec<(Script, char)> = Vec::new();
    for c in text.chars() {
        if let Some(script) = of(c).filter(|s| scripts.iter().all(|(known, _)| known != s)) {
            scripts.push((script, c));
        }
    }
    scripts
}

/// The script of most letters; none for a text without letters.
pub(super) fn dominant(text: &str) -> Option<Script> {
    let count = |script| text.chars().filter(|c| of(*c) == Some(script)).count();
    used(text)
        .into_iter()
        .rev()
        .map(|(script, _)| script)
        .max_by_key(|script| count(*script))
}
