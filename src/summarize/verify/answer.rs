//! What shows that a text is an LLM's answer to us and not a memory.

use crate::judge::normalize::plain;
use crate::judge::sentences::is_cjk;

/// Beginnings of refusals and preambles, in lower case.
#[rustfmt::skip]
const BEGINNINGS: &[&str] = &[
    "i cannot", "i can't", "i can not", "i'm sorry", "i am sorry", "i'm unable", "i am unable",
    "i apologize", "i apologise", "i'm not able", "i am not able", "i don't have", "i do not have",
    "i won't", "i will not", "sorry,", "sorry but", "apologies", "as an ai", "as a language model",
    "unfortunately, i", "here is the", "here are the", "here's the", "here is a", "here's a",
    "sure,", "sure!", "sure.", "sure thing", "certainly", "of course,", "of course!", "okay,",
    "ok,", "absolutely!", "the merged memory", "merged memory", "merged:", "the combined memory",
    "combined memory", "summary:", "the summary", "result:", "output:", "answer:", "memory:",
    "based on the", "the sources", "source ", "these memories", "the memories", "both memories",
    "all memories", "note:", "抱歉", "对不起", "對不起", "很抱歉", "非常抱歉", "不好意思",
    "我无法", "我無法", "我不能", "作为一个ai", "作为ai", "作为一名ai", "以下是", "好的,", "好的.",
    "好的。", "好的!", "当然", "合并后", "合并结果", "合并的记忆", "总结:", "根据", "申し訳",
    "すみません", "以下は", "lo siento", "entschuldigung", "hier ist",
];

/// Requests back to us, in lower case.
const REQUESTS: &[&str] = &[
    "could you",
    "can you please",
    "please provide",
    "please share",
    "please paste",
    "please clarify",
    "would you like me",
    "let me know",
    "请提供",
    "请问",
    "请您",
    "能否提供",
];

/// Markup and remnants of formats and prompts.
const MARKUP: &[&str] = &[
    "```", "**", "##", "<think", "</", "<|", "|>", "[inst", "{\"", "\"}", "\":", "<source",
    "<memory", "~~~", "&lt;", "&quot;", "\\n", "\\u", "](", "===", "---", "{{", "}}",
];

/// The words by which the text gives itself away as an answer, if it does and no source has them.
pub(super) fn not_a_memory(sources: &[&str], text: &str) -> Option<String> {
    let lower = |text: &str| plain(text).to_lowercase();
    let answer = lower(text);
    let answer = answer.trim_start_matches(['"', '\'', '*', '#', ' ']);
    let sources: Vec<String> = sources.iter().map(|s| lower(s)).collect();
    let known = |words: &str| sources.iter().any(|s| s.contains(words));
    let beginning = BEGINNINGS
        .iter()
        .find(|b| answer.starts_with(**b) && !known(b));
    let request = REQUESTS.iter().find(|r| answer.contains(**r) && !known(r));
    if let Some(words) = beginning.or(request) {
        return Some((*words).to_owned());
    }
    let asks = answer.contains('?') && !known("?");
    asks.then(|| "?".to_owned())
}

/// Markup, source ids, line breaks, invisible signs and type labels that no source has.
pub(super) fn markup(texts: &[&str], ids: &[&str], memory_type: &str, text: &str) -> Vec<String> {
    let shaped = plain(text);
    let lower = shaped.to_lowercase();
    let sources: Vec<String> = texts.iter().map(|s| plain(s).to_lowercase()).collect();
    let unknown = |words: &str| lower.contains(words) && !sources.iter().any(|s| s.contains(words));
    let mut found: Vec<String> = MARKUP
        .iter()
        .filter(|m| unknown(m))
        .map(|m| (*m).to_owned())
        .collect();
    if unknown("\n") {
        found.push("line break".to_owned());
    }
    let hidden = text.chars().filter(|c| is_hidden(*c));
    for c in hidden.filter(|c| !texts.iter().any(|t| t.contains(*c))) {
        let name = format!("U+{:04X}", u32::from(c));
        if !found.contains(&name) {
            found.push(name);
        }
    }
    for id in ids.iter().filter(|id| !id.is_empty()) {
        let id = id.to_lowercase();
        let word = |text: &str| {
            text.split(|c: char| !c.is_alphanumeric() || is_cjk(c))
                .any(|w| w == id)
        };
        if word(&lower) && !sources.iter().any(|s| word(s)) {
            found.push(id);
        }
    }
    let label = format!("{}:", memory_type.to_lowercase());
    for label in [label, format!("[{}]", memory_type.to_lowercase())] {
        if !memory_type.is_empty() && unknown(&label) {
            found.push(label);
        }
    }
    found
}

/// Whether a character shows nothing and may yet change what is read: controls other than the line
/// break (which is told by name), signs without width, and those that turn the direction of writing.
fn is_hidden(c: char) -> bool {
    let is_format = matches!(
        c,
        '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}'
    );
    is_format || c.is_control() && c != '\n'
}

/// Quoted and titled phrases with their marks.
pub(super) fn quotations(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (open, close) in [
        ('"', '"'),
        ('「', '」'),
        ('『', '』'),
        ('《', '》'),
        ('«', '»'),
    ] {
        let mut rest = text;
        while let Some(start) = rest.find(open) {
            let inner = &rest[start + open.len_utf8()..];
            let Some(end) = inner.find(close) else { break };
            let whole = &rest[start..start + open.len_utf8() + end + close.len_utf8()];
            if end > 0 && !found.iter().any(|f| f == whole) {
                found.push(whole.to_owned());
            }
            rest = &inner[end + close.len_utf8()..];
        }
    }
    found
}
