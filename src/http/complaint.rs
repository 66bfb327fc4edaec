//! What a server says about an error.

use serde_json::Value;

/// What a server says about an error, whatever form it gives it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Complaint {
    /// The message alone.
    pub(super) message: String,
    /// The text that names the faulty parameter: `error.param` where given, else the whole body.
    pub(super) about: String,
    /// `error.code`, such as `insufficient_quota`.
    pub(super) code: String,
}

impl Complaint {
    pub(super) fn read(body: &str) -> Self {
        let value: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        let error = value.get("error").unwrap_or(&value);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let field = |name: &str| error.get(name).and_then(text);
        let message = text(error)
            .or_else(|| field("message"))
            .or_else(|| field("detail"))
            .or_else(|| error.pointer("/detail/0/msg").and_then(text))
            .unwrap_or_else(|| {
                if value.is_null() {
                    body.to_owned()
                } else {
                    String::new()
                }
            });
        Self {
            message,
            about: field("param").unwrap_or_else(|| body.to_owned()),
            code: field("code").unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_of_many_servers() {
        let openai = Complaint::read(
            r#"{"error":{"message":"Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
        );
        assert_eq!(openai.message, "Use 'max_completion_tokens' instead.");
        assert_eq!(openai.about, "max_tokens");
        assert_eq!(openai.code, "unsupported_parameter");
        let read = |body| Complaint::read(body).message;
        assert_eq!(read(r#"{"error":"no such model"}"#), "no such model");
        assert_eq!(
            read(r#"{"object":"error","message":"too long","code":400}"#),
            "too long"
        );
        assert_eq!(read(r#"{"detail":"Not Found"}"#), "Not Found");
        assert_eq!(
            read(
                r#"{"detail":[{"loc":["body","temperature"],"msg":"Extra inputs","input":"secret"}]}"#
            ),
            "Extra inputs"
        );
        assert_eq!(read("upstream gone"), "upstream gone");
        assert_eq!(read(r#"{"unknown":"form"}"#), "");
    }
}
