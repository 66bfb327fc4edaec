//! Reading the answer: whole, in the form asked for, and about exactly the memories that were sent.
//! Whether its text keeps what the memories say is for the verification.

use serde::Deserialize;

use super::{
    Answer, LeftOut, LlmError,
    prompt::Rendered,
    wire::{Choice, Completion},
};
use crate::summarize::SourceText;

/// Longest reason for "different" that is kept, in characters.
const MAX_REASON: usize = 300;

/// The object that the model is asked for. Which memories the text stands for is told by `facts`,
/// or by `used`, where a template of one's own asks for that.
#[derive(Deserialize)]
struct Wanted {
    verdict: String,
    text: String,
    #[serde(default)]
    facts: Option<Vec<Fact>>,
    #[serde(default)]
    used: Option<Vec<String>>,
    #[serde(default)]
    superseded: Vec<Superseded>,
    #[serde(default)]
    left_out: Vec<LeftOutBy>,
}

/// A thing that the text says, and the memories that say it.
#[derive(Deserialize)]
struct Fact {
    #[serde(rename = "text")]
    _text: String,
    sources: Vec<String>,
}

/// A thing that a newer memory says otherwise.
#[derive(Deserialize)]
struct Superseded {
    text: String,
    source: String,
}

/// A memory that does not go with the others.
#[derive(Deserialize)]
struct LeftOutBy {
    id: String,
    reason: String,
}

/// Turns a completion into an answer, or says why it is none.
pub(super) fn read(
    completion: &Completion,
    prompt: &Rendered,
    sources: &[SourceText],
    max_output_tokens: u32,
) -> Result<Answer, LlmError> {
    of_content(content(completion, prompt, max_output_tokens)?, sources)
}

/// What a completion says, if it is whole and the question was.
pub(super) fn content<'a>(
    completion: &'a Completion,
    prompt: &Rendered,
    max_output_tokens: u32,
) -> Result<&'a str, LlmError> {
    let Some(choice) = completion.choices.first() else {
        return Err(LlmError::Empty { reasoning: false });
    };
    whole_prompt_was_read(completion, prompt)?;
    finished_content(choice, max_output_tokens)
}

/// Turns the content of a completion into an answer.
pub(super) fn of_content(content: &str, sources: &[SourceText]) -> Result<Answer, LlmError> {
    accept(parse(content)?, sources)
}

/// Some servers cut a long prompt without a word; then the answer knows only a part of the memories.
fn whole_prompt_was_read(completion: &Completion, prompt: &Rendered) -> Result<(), LlmError> {
    let read = completion.usage.unwrap_or_default().prompt_tokens;
    let sent = least_tokens(&prompt.system) + least_tokens(&prompt.user);
    if read > 0 && read < sent {
        Err(LlmError::ContextCut { sent, read })
    } else {
        Ok(())
    }
}

/// A lower bound of the tokens that any tokenizer in use makes of a text: no token spans two words,
/// and few span more than four characters of a script without spaces.
fn least_tokens(text: &str) -> u64 {
    let unspaced = text
        .chars()
        .filter(|c| matches!(c, '\u{2e80}'..='\u{d7ff}'))
        .count();
    (text.split_whitespace().count() + unspaced / 4) as u64
}

/// The content of a choice that was neither refused nor cut nor left empty.
fn finished_content(choice: &Choice, limit: u32) -> Result<&str, LlmError> {
    let filled =
        |field: &Option<String>| field.as_ref().is_some_and(|text| !text.trim().is_empty());
    let message = &choice.message;
    let reasoning = filled(&message.reasoning_content) || filled(&message.reasoning);
    if filled(&message.refusal) {
        return Err(LlmError::Refused {
            by: "message.refusal",
        });
    }
    match (choice.finish_reason.as_deref(), &message.content) {
        (Some("content_filter"), _) => Err(LlmError::Refused {
            by: "content_filter",
        }),
        (Some("length"), content) => {
            let begun = content.as_deref().map(without_reasoning);
            Err(LlmError::Cut {
                limit,
                reasoning: !begun.is_some_and(|text| text.contains('{')),
            })
        }
        (_, Some(content)) if !content.trim().is_empty() => Ok(content),
        _ => Err(LlmError::Empty { reasoning }),
    }
}

fn parse(content: &str) -> Result<Wanted, LlmError> {
    wanted(only_object(content)?)
}

/// Finds the one JSON object of the content.
pub(super) fn only_object(content: &str) -> Result<&str, LlmError> {
    let content = content.trim();
    // First as it stands: a memory may speak of `</think>` itself.
    if let [object] = objects(content)[..]
        && object == content
    {
        return Ok(object);
    }
    let visible = without_reasoning(content);
    if visible.is_empty() {
        return Err(LlmError::Empty { reasoning: true });
    }
    match objects(visible)[..] {
        [object] => Ok(object),
        [] => Err(LlmError::bad("there is no whole JSON object in it")),
        _ => Err(LlmError::bad("there is more than one JSON object in it")),
    }
}

fn wanted(object: &str) -> Result<Wanted, LlmError> {
    serde_json::from_str(object).map_err(|error| {
        // The parser's own words may quote the answer.
        let what = match error.classify() {
            serde_json::error::Category::Data => {
                "the JSON does not have the fields verdict (a string), text (a string), facts (an \
                 array of objects with text and sources), superseded and left_out, each once"
            }
            _ => "it is not JSON",
        };
        LlmError::bad(what)
    })
}

/// What follows the model's reasoning, where the server leaves that in the content.
fn without_reasoning(content: &str) -> &str {
    match content.rsplit_once("</think>") {
        Some((_, answer)) => answer.trim(),
        None if content.trim_start().starts_with("<think>") => "",
        None => content.trim(),
    }
}

/// The JSON objects in a text, leaving out those inside another.
fn objects(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find('{') {
        let rest = &text[at + offset..];
        let mut stream =
            serde_json::Deserializer::from_str(rest).into_iter::<serde::de::IgnoredAny>();
        let length = match stream.next() {
            Some(Ok(_)) => {
                found.push(&rest[..stream.byte_offset()]);
                stream.byte_offset()
            }
            _ => 1,
        };
        at += offset + length;
    }
    found
}

fn accept(wanted: Wanted, sources: &[SourceText]) -> Result<Answer, LlmError> {
    let text = wanted.text.trim();
    match wanted.verdict.as_str() {
        "different" => Ok(Answer::Declined { why: brief(text) }),
        "update" => Ok(Answer::Update {
            why: brief(&superseded(&wanted.superseded, text)),
        }),
        // What is superseded is not the same, whatever the verdict says.
        "same" if !wanted.superseded.is_empty() => Ok(Answer::Update {
            why: brief(&superseded(&wanted.superseded, text)),
        }),
        "same" if text.is_empty() => Err(LlmError::bad("the text is empty")),
        "same" => {
            let left_out = wanted.left_out;
            let used = match (wanted.facts, wanted.used) {
                (Some(facts), _) => distinct(facts.into_iter().flat_map(|fact| fact.sources)),
                (None, Some(used)) => used,
                (None, None) => {
                    return Err(LlmError::bad(
                        "the JSON does not have the fields facts or used",
                    ));
                }
            };
            let named = used.iter().chain(left_out.iter().map(|left| &left.id));
            every_id_once(&named.cloned().collect::<Vec<_>>(), sources)?;
            if used.len() < 2 && !left_out.is_empty() {
                let why = left_out.into_iter().map(|left| left.reason).next();
                let why = brief(&why.unwrap_or_default());
                return Ok(Answer::Declined { why });
            }
            Ok(Answer::Merged {
                text: text.to_owned(),
                used,
                left_out: left_out
                    .into_iter()
                    .map(|left| LeftOut {
                        id: left.id,
                        why: brief(&left.reason),
                    })
                    .collect(),
            })
        }
        _ => Err(LlmError::bad(
            "the verdict is none of `same`, `update` and `different`",
        )),
    }
}

fn brief(reason: &str) -> String {
    reason.chars().take(MAX_REASON).collect()
}

fn distinct(ids: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::new();
    for id in ids {
        if !distinct.contains(&id) {
            distinct.push(id);
        }
    }
    distinct
}

/// What is superseded, in words; the text of the answer where nothing is named.
fn superseded(named: &[Superseded], text: &str) -> String {
    let named: Vec<String> = named
        .iter()
        .map(|s| format!("{} ({})", s.text, s.source))
        .collect();
    if named.is_empty() {
        text.to_owned()
    } else {
        named.join("; ")
    }
}

/// A merge of some of the memories, or of others, is not what was asked for.
fn every_id_once(named: &[String], sources: &[SourceText]) -> Result<(), LlmError> {
    let known = |id: &String| sources.iter().any(|source| source.id == *id);
    let times = |source: &SourceText| named.iter().filter(|id| **id == source.id).count();
    let unknown = named.iter().filter(|id| !known(id)).count();
    if unknown > 0 {
        return Err(LlmError::bad(format!(
            "{unknown} of the ids in it were never given"
        )));
    }
    for source in sources {
        let fault = match times(source) {
            1 => continue,
            0 => "misses",
            _ => "repeats",
        };
        return Err(LlmError::bad(format!("it {fault} the id {}", source.id)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"verdict":"same","text":"Ana likes tea.","used":["m2","m1"]}"#;

    fn sources() -> Vec<SourceText> {
        let source = |id: &str| SourceText {
            id: id.to_owned(),
            text: "Ana likes tea.".to_owned(),
            said_at: None,
        };
        vec![source("m1"), source("m2")]
    }

    fn answer(content: &str) -> Result<Answer, LlmError> {
        accept(parse(content)?, &sources())
    }

    fn is_merged(content: &str) -> bool {
        matches!(answer(content), Ok(Answer::Merged { text, used, left_out })
            if text == "Ana likes tea." && used == ["m2", "m1"] && left_out.is_empty())
    }

    fn fault(content: &str) -> String {
        match answer(content) {
            Err(LlmError::BadAnswer { what }) => what,
            other => panic!("{content}: {other:?}"),
        }
    }

    #[test]
    fn one_object_is_found_wherever_it_stands() {
        for content in [
            GOOD.to_owned(),
            format!("\n {GOOD}\n"),
            format!("```json\n{GOOD}\n```"),
            format!("Sure! Here it is: {GOOD} Anything else {{so far}}?"),
            format!("<think>m1 {GOOD} or {{\"verdict\":1}}?</think>\n{GOOD}"),
            format!("the opening tag was in the prompt</think>{GOOD}"),
        ] {
            assert!(is_merged(&content), "{content}: {:?}", answer(&content));
        }
    }

    #[test]
    fn a_memory_may_speak_of_tags_and_braces() {
        let text = r#"Uses </think> and ```json {\"a\": 1} in prompts."#;
        let content = format!(r#"{{"verdict":"same","text":"{text}","used":["m1","m2"]}}"#);
        let Ok(Answer::Merged { text, .. }) = answer(&content) else {
            panic!("{content}")
        };
        assert_eq!(text, r#"Uses </think> and ```json {"a": 1} in prompts."#);
    }

    #[test]
    fn not_exactly_one_object_is_refused() {
        for content in [
            "Ana likes tea.",
            "I cannot help with that.",
            "抱歉，我无法帮忙。",
            &GOOD[..40],
        ] {
            assert!(fault(content).contains("no whole JSON object"), "{content}");
        }
        assert!(fault(&format!("{GOOD}\n{GOOD}")).contains("more than one"));
        assert!(fault(&format!("{{}} {GOOD}")).contains("more than one"));
        let unclosed = format!("<think>maybe {GOOD}");
        assert_eq!(answer(&unclosed), Err(LlmError::Empty { reasoning: true }));
        assert_eq!(
            answer("<think>hm</think> "),
            Err(LlmError::Empty { reasoning: true })
        );
    }

    #[test]
    fn the_fields_must_be_as_asked_for() {
        for content in [
            "{}",
            r#"{"verdict":{"same":null},"text":"x","used":["m1","m2"]}"#,
            r#"{"verdict":"same","text":null,"used":["m1","m2"]}"#,
            r#"{"verdict":"same","text":["x"],"used":["m1","m2"]}"#,
            r#"{"verdict":"same","text":"x","used":"m1,m2"}"#,
            r#"{"verdict":"same","text":"x","used":[1,2]}"#,
            r#"{"verdict":"same","text":"x"}"#,
            r#"{"verdict":"same","verdict":"different","text":"x","used":["m1","m2"]}"#,
        ] {
            assert!(fault(content).contains("fields"), "{content}");
        }
        assert!(fault(r#"{"verdict":"same","text":" ","used":["m1","m2"]}"#).contains("empty"));
        for verdict in ["maybe", "Same", ""] {
            let content = format!(r#"{{"verdict":"{verdict}","text":"x","used":["m1","m2"]}}"#);
            assert!(fault(&content).contains("none of"), "{content}");
        }
    }

    #[test]
    fn every_id_must_be_used_once() {
        let used = |ids: &str| {
            fault(&format!(
                r#"{{"verdict":"same","text":"x","used":[{ids}]}}"#
            ))
        };
        assert!(used(r#""m1""#).contains("misses the id m2"));
        assert!(used("").contains("misses the id m1"));
        assert!(used(r#""m1","m2","m2""#).contains("repeats the id m2"));
        assert!(used(r#""m1","m2","m12""#).contains("1 of the ids"));
        assert!(used(r#""m1","M2""#).contains("never given"));
    }

    /// The form that the built-in templates ask for.
    fn structured(verdict: &str, facts: &str, superseded: &str, left_out: &str) -> String {
        format!(
            r#"{{"verdict":"{verdict}","text":"Ana likes tea.","facts":[{facts}],
                "superseded":[{superseded}],"left_out":[{left_out}]}}"#
        )
    }

    #[test]
    fn facts_name_the_memories_that_say_them() {
        let facts = r#"{"text":"Ana","sources":["m2","m1"]},{"text":"tea","sources":["m1"]}"#;
        assert!(is_merged(&structured("same", facts, "", "")));
        let one = r#"{"text":"Ana","sources":["m1"]}"#;
        assert!(fault(&structured("same", one, "", "")).contains("misses the id m2"));
        let unknown = r#"{"text":"Ana","sources":["m1","m2","m7"]}"#;
        assert!(fault(&structured("same", unknown, "", "")).contains("never given"));
        assert!(fault(&structured("same", r#"{"sources":[]}"#, "", "")).contains("fields"));
    }

    #[test]
    fn what_is_left_out_is_neither_used_nor_unknown() {
        let left = r#"{"id":"m2","reason":"another tea"}"#;
        let one = r#"{"text":"Ana","sources":["m1"]}"#;
        let why = "another tea".to_owned();
        assert_eq!(
            answer(&structured("same", one, "", left)),
            Ok(Answer::Declined { why })
        );
        let both = r#"{"text":"Ana","sources":["m1","m2"]}"#;
        assert!(fault(&structured("same", both, "", left)).contains("repeats the id m2"));
        let unknown = r#"{"id":"m9","reason":"x"}"#;
        assert!(fault(&structured("same", both, "", unknown)).contains("never given"));
        let three = [
            sources(),
            vec![SourceText {
                id: "m3".into(),
                ..sources()[0].clone()
            }],
        ]
        .concat();
        let left = r#"{"id":"m3","reason":"another tea"}"#;
        let accepted = accept(parse(&structured("same", both, "", left)).unwrap(), &three);
        let Ok(Answer::Merged { used, left_out, .. }) = accepted else {
            panic!("{accepted:?}")
        };
        assert_eq!(used, ["m1", "m2"]);
        assert_eq!(
            left_out,
            [LeftOut {
                id: "m3".into(),
                why: "another tea".into()
            }]
        );
    }

    #[test]
    fn what_is_superseded_makes_an_update_whatever_the_verdict() {
        let both = r#"{"text":"Ana","sources":["m1","m2"]}"#;
        let old = r#"{"text":"coffee","source":"m1"}"#;
        for verdict in ["same", "update"] {
            let why = "coffee (m1)".to_owned();
            assert_eq!(
                answer(&structured(verdict, both, old, "")),
                Ok(Answer::Update { why })
            );
        }
        let why = "Ana likes tea.".to_owned();
        assert_eq!(
            answer(&structured("update", "", "", "")),
            Ok(Answer::Update { why })
        );
    }

    #[test]
    fn a_reason_is_kept_short() {
        let why = "年".repeat(1000);
        let content = format!(r#"{{"verdict":"different","text":"{why}","used":["m9"]}}"#);
        let Ok(Answer::Declined { why }) = answer(&content) else {
            panic!("{content}")
        };
        assert_eq!(why.chars().count(), MAX_REASON);
    }

    #[test]
    fn the_bound_of_tokens_counts_words_and_unspaced_scripts() {
        assert_eq!(least_tokens(""), 0);
        assert_eq!(least_tokens("I like  tea.\n"), 3);
        assert_eq!(least_tokens(&"茶".repeat(40)), 11);
    }

    proptest::proptest! {
        #[test]
        fn any_content_is_answered_without_a_panic(content in "[{}\\[\\]\":,a<>/think é茶\\\\]{0,60}") {
            let _ = answer(&content);
            for object in objects(&content) {
                proptest::prop_assert!(serde_json::from_str::<serde_json::Value>(object).is_ok());
            }
        }

        #[test]
        fn any_text_comes_through_unchanged(text in "[^\\s\u{0}-\u{1f}](.*[^\\s])?") {
            let content = serde_json::json!({"verdict": "same", "text": text, "used": ["m1", "m2"]});
            let used = vec!["m1".to_owned(), "m2".to_owned()];
            let expected = Answer::Merged { text, used, left_out: Vec::new() };
            proptest::prop_assert_eq!(answer(&format!("```json\n{content}\n```")), Ok(expected));
        }
    }
}
