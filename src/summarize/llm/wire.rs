//! The chat completions protocol: what is sent, what comes back, and the dialects servers speak.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LlmSettings, prompt::Rendered};
use crate::summarize::SourceText;

/// The request body.
#[derive(Serialize)]
pub(super) struct ChatRequest<'a> {
    model: &'a str,
    messages: [Message<'a>; 2],
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

/// Which of the protocol's variants a server accepts. Starts with the richest; see [`Self::simpler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    format: Format,
    token_limit: TokenLimit,
    temperature: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Schema,
    JsonObject,
    Unsaid,
}

/// Most servers know `max_tokens` alone; newer models of some know its successor alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenLimit {
    MaxTokens,
    MaxCompletionTokens,
}

impl Default for Dialect {
    fn default() -> Self {
        Self {
            format: Format::Schema,
            token_limit: TokenLimit::MaxTokens,
            temperature: true,
        }
    }
}

impl Dialect {
    /// The dialect to try after the server refused a request, or `None` if its complaint is about
    /// something else. Every step leaves one parameter behind for good, so there are at most four.
    pub(super) fn simpler(self, complaint: &str) -> Option<Self> {
        let complaint = complaint.to_lowercase();
        let speaks_of = |words: &[&str]| words.iter().any(|word| complaint.contains(word));
        if self.temperature && speaks_of(&["temperature"]) {
            Some(Self {
                temperature: false,
                ..self
            })
        } else if self.token_limit == TokenLimit::MaxTokens && speaks_of(&["max_tokens"]) {
            Some(Self {
                token_limit: TokenLimit::MaxCompletionTokens,
                ..self
            })
        } else if speaks_of(&[
            "response_format",
            "response format",
            "json_schema",
            "json schema",
        ]) || speaks_of(&["json_object", "structured output"])
        {
            let format = match self.format {
                Format::Schema => Format::JsonObject,
                Format::JsonObject => Format::Unsaid,
                Format::Unsaid => return None,
            };
            Some(Self { format, ..self })
        } else {
            None
        }
    }

    pub(super) fn request<'a>(
        self,
        settings: &'a LlmSettings,
        model: &'a str,
        prompt: &'a Rendered,
        schema: &Value,
    ) -> ChatRequest<'a> {
        let limit = settings.max_output_tokens;
        ChatRequest {
            model,
            messages: [
                Message {
                    role: "system",
                    content: &prompt.system,
                },
                Message {
                    role: "user",
                    content: &prompt.user,
                },
            ],
            stream: false,
            max_tokens: (self.token_limit == TokenLimit::MaxTokens).then_some(limit),
            max_completion_tokens: (self.token_limit == TokenLimit::MaxCompletionTokens)
                .then_some(limit),
            temperature: settings.temperature.filter(|_| self.temperature),
            response_format: match self.format {
                Format::Schema => Some(schema.clone()),
                Format::JsonObject => Some(json!({ "type": "json_object" })),
                Format::Unsaid => None,
            },
        }
    }
}

/// The form of the answer; `answer::read` checks the same, as servers may ignore it.
pub(super) fn schema(sources: &[SourceText]) -> Value {
    let ids: Vec<_> = sources.iter().map(|source| source.id.as_str()).collect();
    let id = json!({ "type": "string", "enum": ids });
    let list = |properties: &Value| {
        let names: Vec<&String> = properties
            .as_object()
            .into_iter()
            .flatten()
            .map(|(n, _)| n)
            .collect();
        json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": properties,
                "required": names,
                "additionalProperties": false,
            },
        })
    };
    json!({
        "type": "json_schema",
        "json_schema": {
            "name": "merged_memory",
            "strict": true,
            "schema": {
                "type": "object",
                "properties": {
                    "verdict": { "type": "string", "enum": ["same", "update", "different"] },
                    "text": { "type": "string" },
                    "facts": list(&json!({
                        "text": { "type": "string" },
                        "sources": { "type": "array", "items": id },
                    })),
                    "superseded": list(&json!({ "text": { "type": "string" }, "source": id })),
                    "left_out": list(&json!({ "id": id, "reason": { "type": "string" } })),
                },
                "required": ["verdict", "text", "facts", "superseded", "left_out"],
                "additionalProperties": false,
            },
        },
    })
}

/// The reply, as far as it is read.
#[derive(Debug, Deserialize)]
pub(super) struct Completion {
    pub(super) model: Option<String>,
    pub(super) choices: Vec<Choice>,
    pub(super) usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    pub(super) message: Reply,
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Reply {
    pub(super) content: Option<String>,
    pub(super) refusal: Option<String>,
    /// Servers name their reasoning field differently; it is never an answer.
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
}

/// Tokens as the server reports them, 0 where it is silent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written, reasoning included.
    pub completion_tokens: u64,
}

impl Usage {
    /// Both together.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            completion_tokens: self
                .completion_tokens
                .saturating_add(other.completion_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_degrades_in_order_and_then_ends() {
        let schema = Dialect::default();
        let object = schema
            .simpler("Invalid parameter: 'response_format'")
            .unwrap();
        assert_eq!(object.format, Format::JsonObject);
        let unsaid = object
            .simpler("'response_format.type' must be 'json_schema' or 'text'")
            .unwrap();
        assert_eq!(unsaid.format, Format::Unsaid);
        assert_eq!(unsaid.simpler("response_format"), None);
    }

    #[test]
    fn one_parameter_changes_at_a_time() {
        let first = Dialect::default();
        let second = first
            .simpler("temperature and max_tokens are not supported")
            .unwrap();
        assert_eq!(
            second,
            Dialect {
                temperature: false,
                ..first
            }
        );
        let third = second
            .simpler("temperature and max_tokens are not supported")
            .unwrap();
        assert_eq!(
            third,
            Dialect {
                token_limit: TokenLimit::MaxCompletionTokens,
                ..second
            }
        );
        assert_eq!(
            third.simpler("temperature and max_tokens are not supported"),
            None
        );
        assert_eq!(first.simpler("model `x` does not exist"), None);
    }
}
