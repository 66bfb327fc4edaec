//! The LLM as a judge of results: how right, brief, whole and dense a merged memory is. It grades what was measured, and
//! decides nothing.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::prompt::{Template, grading};
use super::{Llm, LlmError, answer};
use crate::summarize::SourceText;
use crate::summarize::pii::Mask;

/// Longest reason that is kept, in characters.
const MAX_REASON: usize = 300;

const NAME: &str = "grade-v1";
const DEFAULT: &str = include_str!("../prompts/grade-v1.en.md");
const DEFAULT_HAN: &str = include_str!("../prompts/grade-v1.zh.md");

/// A merge to grade.
#[derive(Clone, Copy, Debug)]
pub struct Merge<'a> {
    /// The memories before, each with an id of its own.
    pub sources: &'a [SourceText],
    /// The text in their place.
    pub result: &'a str,
    /// Older values that are kept beside it.
    pub history: &'a [String],
}

/// Grades of 1 (worst) to 5 (best).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grades {
    /// Nothing in it is false.
    pub accuracy: u8,
    /// Nothing in it is needless.
    pub brevity: u8,
    /// Nothing is missing.
    pub completeness: u8,
    /// Much is said in few words.
    pub density: u8,
    /// The model's reason, in its own words (at most 300 characters).
    pub why: String,
}

/// The prompt by which results are graded.
#[derive(Debug)]
pub struct GradePrompt(Template);

impl GradePrompt {
    /// The template of the file, or the built-in one.
    ///
    /// # Errors
    /// [`LlmError::Template`] if the file cannot be read or does not render.
    pub fn load(path: Option<&Path>) -> Result<Self, LlmError> {
        let template = match path {
            Some(path) => Template::of_file(path)?,
            None => Template::new(NAME, DEFAULT.to_owned(), Some(DEFAULT_HAN.to_owned())),
        };
        // Every branch once, so that a faulty template fails at the start.
        for text in ["text", "记忆"] {
            let source = SourceText {
                id: "m1".to_owned(),
                text: text.to_owned(),
                said_at: None,
            };
            for history in [&[][..], &[text.to_owned()]] {
                grading(&template, std::slice::from_ref(&source), text, history)?;
            }
        }
        Ok(Self(template))
    }

    /// Name of the template and the beginning of its SHA-256, such as `grade-v1@0123456789ab`.
    pub fn version(&self) -> &str {
        self.0.version()
    }
}

impl Llm {
    /// Asks how good a merge is. Personal data are hidden as in questions for a text.
    ///
    /// # Errors
    /// See [`Llm::summarize`]. An answer with other grades than whole numbers of 1 to 5 is none.
    pub async fn grade(&self, prompt: &GradePrompt, merge: &Merge<'_>) -> Result<Grades, LlmError> {
        let answered = self.ask_grades(prompt, merge).await;
        self.note(&answered);
        answered
    }

    async fn ask_grades(
        &self,
        prompt: &GradePrompt,
        merge: &Merge<'_>,
    ) -> Result<Grades, LlmError> {
        let mut texts: Vec<&str> = merge.sources.iter().map(|source| &*source.text).collect();
        texts.push(merge.result);
        texts.extend(merge.history.iter().map(String::as_str));
        self.check_size(&texts)?;
        let mask = self.mask(&texts)?;
        let hide = |text: &str| {
            mask.as_ref()
                .map_or(text.to_owned(), |mask: &Mask| mask.hide(text))
        };
        let sources: Vec<SourceText> = merge
            .sources
            .iter()
            .map(|source| SourceText {
                text: hide(&source.text),
                ..source.clone()
            })
            .collect();
        let history: Vec<String> = merge.history.iter().map(|text| hide(text)).collect();
        let rendered = grading(&prompt.0, &sources, &hide(merge.result), &history)?;
        let model = &self.settings.model;
        let completion = self.complete(model, &rendered, &schema()).await?;
        self.count(&completion);
        let content = answer::content(&completion, &rendered, self.settings.max_output_tokens)?;
        let mut grades = read_grades(content)?;
        if let Some(mask) = &mask {
            grades.why = mask.restore(&grades.why).unwrap_or(grades.why);
        }
        Ok(grades)
    }
}

#[derive(Deserialize)]
struct Wanted {
    accuracy: u8,
    brevity: u8,
    completeness: u8,
    density: u8,
    #[serde(default)]
    why: String,
}

/// What the content of a completion says.
fn read_grades(content: &str) -> Result<Grades, LlmError> {
    let wanted: Wanted = serde_json::from_str(answer::only_object(content)?).map_err(|_| {
        LlmError::bad("the JSON does not have the fields accuracy, brevity, completeness and density, each a whole number")
    })?;
    let grades = [
        wanted.accuracy,
        wanted.brevity,
        wanted.completeness,
        wanted.density,
    ];
    if !grades.iter().all(|grade| (1..=5).contains(grade)) {
        return Err(LlmError::bad("a grade is not one of 1 to 5"));
    }
    Ok(Grades {
        accuracy: wanted.accuracy,
        brevity: wanted.brevity,
        completeness: wanted.completeness,
        density: wanted.density,
        why: wanted.why.trim().chars().take(MAX_REASON).collect(),
    })
}

/// The form of the answer; [`read_grades`] checks the same.
fn schema() -> Value {
    let grade = json!({ "type": "integer", "enum": [1, 2, 3, 4, 5] });
    json!({
        "type": "json_schema",
        "json_schema": {
            "name": "grades",
            "strict": true,
            "schema": {
                "type": "object",
                "properties": {
                    "accuracy": grade, "brevity": grade, "completeness": grade, "density": grade,
                    "why": { "type": "string" },
                },
                "required": ["accuracy", "brevity", "completeness", "density", "why"],
                "additionalProperties": false,
            },
        },
    })
}
