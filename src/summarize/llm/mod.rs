//! The LLM as summarizer: one question a group, over the chat completions protocol that OpenAI,
//! vLLM, Ollama, llama.cpp, LM Studio, LiteLLM and others speak.
//!
//! An [`Answer`] is well-formed and about exactly the memories that were sent; whether its text may
//! replace them is for the verification. Everything else is an [`LlmError`].

mod answer;
mod error;
mod grade;
mod prompt;
mod wire;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use secrecy::SecretString;
use tokio::sync::Semaphore;
use tracing::{error, info};

pub use self::{
    error::LlmError,
    grade::{GradePrompt, Grades, Merge},
    wire::Usage,
};

use self::{
    prompt::{Prompt, Rendered},
    wire::{Completion, Dialect},
};
use super::SourceText;
use super::pii::{Mask, Pii};
use crate::http::{Attempts, Failure, Http, HttpError, Patience, endpoint};

/// An answer is a few kB; this bounds what a faulty server can make us hold.
const MAX_ANSWER_BYTES: usize = 4 << 20;

/// Questions in a row that the server may leave without an answer; then it counts as down.
const MAX_UNANSWERED: u32 = 3;

/// How to reach the LLM, and how much to spend on it.
#[derive(Clone, Debug)]
pub struct LlmSettings {
    /// Such as `https://api.openai.com/v1` or `http://localhost:11434`; without a path, `/v1` is
    /// meant.
    pub base_url: String,
    /// A model that is asked first, on the same server; only what it calls the same goes on to
    /// `model`, and both must agree.
    pub judge_model: Option<String>,
    /// Sent as bearer token.
    pub api_key: Option<SecretString>,
    /// The model as the server names it.
    pub model: String,
    /// Longest time for one attempt, from connecting to the last byte of the answer.
    pub timeout: Duration,
    /// Attempts for one question, the first included.
    pub max_attempts: u32,
    /// Longest time for one question, all attempts and waits included.
    pub total_time: Duration,
    /// Most tokens that the model may write, its reasoning included.
    pub max_output_tokens: u32,
    /// Sampling temperature; `None` leaves it to the server.
    pub temperature: Option<f32>,
    /// Most requests that this client may send; 0 sends none.
    pub max_calls: Option<u64>,
    /// Most tokens after which it sends nothing more: the last answer may go past them.
    pub max_tokens: Option<u64>,
    /// Requests under way at once.
    pub max_concurrent: usize,
    /// A prompt template in place of the built-in one.
    pub prompt: Option<PathBuf>,
    /// Most characters of all memories of one question together. With the prompt around them they
    /// must fit the server's context: some servers cut what does not.
    pub max_input_chars: usize,
    /// What to do with personal data and secrets in the memories.
    pub pii: Pii,
    /// The wait after the first failed attempt; it doubles with each further one.
    pub backoff: Duration,
    /// Draws a number of 0 … 1 that shortens a wait by up to half.
    pub jitter: fn() -> f64,
}

impl LlmSettings {
    /// The defaults for a server and a model.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            judge_model: None,
            api_key: None,
            model: model.into(),
            timeout: Duration::from_secs(120),
            max_attempts: 4,
            total_time: Duration::from_secs(300),
            max_output_tokens: 1024,
            temperature: Some(0.0),
            max_calls: None,
            max_tokens: None,
            max_concurrent: 4,
            prompt: None,
            max_input_chars: 20_000,
            pii: Pii::Mask,
            backoff: Duration::from_millis(500),
            jitter: rand::random,
        }
    }
}

/// A question: may these memories be one, and which text says what they say?
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The type that the result must keep, such as `semantic`; may be empty.
    pub memory_type: &'a str,
    /// The memories, each with an id of its own.
    pub sources: &'a [SourceText],
    /// On the second try: what was wrong with the first answer, with the rejected text.
    pub fault: Option<&'a str>,
}

/// A well-formed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The memories are one.
    Merged {
        /// The text that is to replace them, not empty, not verified yet.
        text: String,
        /// The ids of the sources that it stands for, in the model's order: two at least, and with
        /// `left_out` exactly those that were sent.
        used: Vec<String>,
        /// The sources that do not go with the others.
        left_out: Vec<LeftOut>,
    },
    /// One memory says a newer value of what another one says.
    Update {
        /// What is superseded, in the model's own words (at most 300 characters).
        why: String,
    },
    /// The memories are not one.
    Declined {
        /// The model's reason, in its own words (at most 300 characters); may quote the memories.
        why: String,
    },
}

/// A source that the model left out of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its id.
    pub id: String,
    /// The model's reason (at most 300 characters).
    pub why: String,
}

impl Answer {
    /// The answer with its text changed by `change`.
    fn with_text<E>(self, change: impl FnOnce(&str) -> Result<String, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Merged {
                text,
                used,
                left_out,
            } => Self::Merged {
                text: change(&text)?,
                used,
                left_out,
            },
            Self::Update { why } => Self::Update {
                why: change(&why).unwrap_or(why),
            },
            Self::Declined { why } => Self::Declined {
                why: change(&why).unwrap_or(why),
            },
        })
    }
}

/// A question without the personal data of its sources.
struct Hidden<'a> {
    memory_type: &'a str,
    sources: Vec<SourceText>,
    fault: Option<String>,
}

impl<'a> Hidden<'a> {
    fn of(mask: &Mask, request: &Request<'a>) -> Self {
        let source = |source: &SourceText| SourceText {
            text: mask.hide(&source.text),
            ..source.clone()
        };
        Self {
            memory_type: request.memory_type,
            sources: request.sources.iter().map(source).collect(),
            fault: request.fault.map(|fault| mask.hide(fault)),
        }
    }

    fn request(&self) -> Request<'_> {
        Request {
            memory_type: self.memory_type,
            sources: &self.sources,
            fault: self.fault.as_deref(),
        }
    }
}

/// An answer and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub answer: Answer,
    /// The model as the server names it.
    pub model: String,
    /// Tokens of the attempt that was answered.
    pub usage: Usage,
}

/// A client for one run. It counts what it sends, and remembers which dialect its server speaks and
/// whether it can be used at all.
#[derive(Debug)]
pub struct Llm {
    name: String,
    settings: LlmSettings,
    http: Arc<Http>,
    prompt: Arc<Prompt>,
    dialect: Arc<Mutex<Dialect>>,
    /// Requests that may be under way at once, of all runs.
    slots: Arc<Semaphore>,
    calls: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
    unanswered: AtomicU32,
    outage: OnceLock<LlmError>,
}

/// What the content of a completion says of `sources`: the one JSON object in it, checked against
/// their ids. What a server says besides the content is not looked at.
pub fn read_content(content: &str, sources: &[SourceText]) -> Result<Answer, LlmError> {
    answer::of_content(content, sources)
}

impl Llm {
    /// Checks the settings and the prompt template; sends nothing.
    ///
    /// # Errors
    /// [`HttpError::Settings`] and [`LlmError::Template`].
    pub fn new(settings: LlmSettings) -> Result<Self, LlmError> {
        let chat = endpoint(&settings.base_url, "chat/completions")?;
        Ok(Self {
            http: Arc::new(Http::new(
                chat,
                settings.api_key.as_ref(),
                MAX_ANSWER_BYTES,
            )?),
            prompt: Arc::new(Prompt::load(settings.prompt.as_deref())?),
            slots: Arc::new(Semaphore::new(settings.max_concurrent.max(1))),
            name: match &settings.judge_model {
                Some(judge) => format!("{judge}, {}", settings.model),
                None => settings.model.clone(),
            },
            settings,
            dialect: Arc::default(),
            calls: AtomicU64::new(0),
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
            unanswered: AtomicU32::new(0),
            outage: OnceLock::new(),
        })
    }

    /// A client for another run, with limits and counts of its own: what this one met does not
    /// count there. Both share the connections, and how many requests may be under way at once.
    pub fn for_run(&self, max_calls: Option<u64>, max_tokens: Option<u64>) -> Self {
        Self {
            settings: LlmSettings {
                max_calls,
                max_tokens,
                ..self.settings.clone()
            },
            name: self.name.clone(),
            http: Arc::clone(&self.http),
            prompt: Arc::clone(&self.prompt),
            dialect: Arc::clone(&self.dialect),
            slots: Arc::clone(&self.slots),
            calls: AtomicU64::new(0),
            prompt_tokens: AtomicU64::new(0),
            completion_tokens: AtomicU64::new(0),
            unanswered: AtomicU32::new(0),
            outage: OnceLock::new(),
        }
    }

    /// The model, or both models, as configured.
    pub fn model(&self) -> &str {
        &self.name
    }

    /// Name of the prompt template and the beginning of its SHA-256, such as
    /// `merge-v2@0123456789ab`.
    pub fn prompt_version(&self) -> &str {
        self.prompt.version()
    }

    /// Requests sent so far, those that failed or were repeated included.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Tokens that the server has reported so far, unusable answers included.
    pub fn usage(&self) -> Usage {
        Usage {
            prompt_tokens: self.prompt_tokens.load(Ordering::Relaxed),
            completion_tokens: self.completion_tokens.load(Ordering::Relaxed),
        }
    }

    /// Prompt and completion tokens together.
    pub fn tokens(&self) -> u64 {
        let usage = self.usage();
        usage.prompt_tokens.saturating_add(usage.completion_tokens)
    }

    /// Whether the last question got no answer.
    pub fn is_silent(&self) -> bool {
        self.unanswered.load(Ordering::Relaxed) > 0
    }

    /// Why this client sends nothing more: the first error that further questions would meet too.
    pub fn outage(&self) -> Option<&LlmError> {
        self.outage.get()
    }

    /// Asks for one text for the sources.
    ///
    /// Asks again after 429, 500, 502, 503, 504 and failed connects, within the bounds of the
    /// settings; never after a time-out, which may have been billed. After an
    /// [outage](LlmError::is_outage), or three questions in a row that got no answer, nothing more
    /// is sent.
    ///
    /// # Errors
    /// See [`LlmError`]; after an outage, the error that it began with.
    pub async fn summarize(&self, request: &Request<'_>) -> Result<Reply, LlmError> {
        let result = self.ask(request).await;
        self.note(&result);
        result
    }

    /// Notes whether there was an answer, and an outage.
    fn note<T>(&self, result: &Result<T, LlmError>) {
        let unanswered = match result {
            Err(error) if error.is_unanswered() => {
                self.unanswered.fetch_add(1, Ordering::Relaxed) + 1
            }
            _ => {
                self.unanswered.store(0, Ordering::Relaxed);
                0
            }
        };
        if let Err(error) = result
            && (error.is_outage() || unanswered >= MAX_UNANSWERED)
            && self.outage.set(error.clone()).is_ok()
        {
            error!(error = %error.for_log(), "the LLM cannot be used, nothing more is asked");
        }
    }

    /// Where a model judges first, its word against a merge is the last one. A corrective question
    /// goes to the one whose text was rejected.
    async fn ask(&self, request: &Request<'_>) -> Result<Reply, LlmError> {
        let Some(judge) = self.settings.judge_model.as_deref() else {
            return self.ask_model(&self.settings.model, request).await;
        };
        if request.fault.is_some() {
            return self.ask_model(&self.settings.model, request).await;
        }
        let judged = self.ask_model(judge, request).await?;
        if !matches!(judged.answer, Answer::Merged { .. }) {
            return Ok(judged);
        }
        let mut reply = self.ask_model(&self.settings.model, request).await?;
        reply.model = format!("{}, {}", judged.model, reply.model);
        reply.usage = reply.usage.and(judged.usage);
        Ok(reply)
    }

    async fn ask_model(&self, model: &str, request: &Request<'_>) -> Result<Reply, LlmError> {
        let texts: Vec<&str> = request.sources.iter().map(|source| &*source.text).collect();
        self.check_size(&texts)?;
        let mask = self.mask(&texts)?;
        let hidden = mask.as_ref().map(|mask| Hidden::of(mask, request));
        let request = hidden.as_ref().map_or(*request, Hidden::request);
        let prompt = self.prompt.render(&request)?;
        let schema = wire::schema(request.sources);
        let completion = self.complete(model, &prompt, &schema).await?;
        let usage = self.count(&completion);
        let limit = self.settings.max_output_tokens;
        let answer = answer::read(&completion, &prompt, request.sources, limit)?;
        let answer = match &mask {
            Some(mask) => answer
                .with_text(|text| mask.restore(text))
                .map_err(|unknown| LlmError::bad(unknown.to_string()))?,
            None => answer,
        };
        let model = completion.model.unwrap_or_else(|| model.to_owned());
        Ok(Reply {
            answer,
            model,
            usage,
        })
    }

    fn check_size(&self, texts: &[&str]) -> Result<(), LlmError> {
        let chars = texts.iter().map(|text| text.chars().count()).sum();
        let limit = self.settings.max_input_chars;
        match chars > limit {
            true => Err(LlmError::InputTooLarge { chars, limit }),
            false => Ok(()),
        }
    }

    /// Counts the tokens of a completion.
    fn count(&self, completion: &Completion) -> Usage {
        let usage = completion.usage.unwrap_or_default();
        let counts = [
            (&self.prompt_tokens, usage.prompt_tokens),
            (&self.completion_tokens, usage.completion_tokens),
        ];
        for (count, tokens) in counts {
            count.fetch_add(tokens, Ordering::Relaxed);
        }
        usage
    }

    /// What hides the personal data of texts; `None` where all is sent as it is.
    fn mask(&self, texts: &[&str]) -> Result<Option<Mask>, LlmError> {
        if self.settings.pii == Pii::Allow {
            return Ok(None);
        }
        let mask = Mask::of(texts.iter().copied());
        let kinds: Vec<String> = mask.kinds().iter().map(ToString::to_string).collect();
        if self.settings.pii == Pii::Block && !kinds.is_empty() {
            return Err(LlmError::Private {
                kinds: kinds.join(", "),
            });
        }
        Ok(Some(mask))
    }

    /// Sends the question until it is completed or nothing more may be tried.
    async fn complete(
        &self,
        model: &str,
        prompt: &Rendered,
        schema: &serde_json::Value,
    ) -> Result<Completion, LlmError> {
        let settings = &self.settings;
        let mut attempts = Attempts::new(Patience {
            timeout: settings.timeout,
            max_attempts: settings.max_attempts,
            total_time: settings.total_time,
            backoff: settings.backoff,
            jitter: settings.jitter,
        });
        let mut dialect = *self.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outage) = self.outage() {
                return Err(outage.clone());
            }
            // Closed by nobody.
            let slot = self.slots.acquire().await;
            let timeout = attempts.timeout()?;
            self.spend_call()?;
            let body = serde_json::to_string(&dialect.request(settings, model, prompt, schema))
                .map_err(|error| HttpError::Settings(error.to_string()))?;
            match self.http.attempt(body, timeout).await {
                Ok(body) => {
                    *self.dialect.lock().unwrap_or_else(PoisonError::into_inner) = dialect;
                    return serde_json::from_slice(&body)
                        .map_err(|_| LlmError::bad("the server's reply is no chat completion"));
                }
                Err(Failure::Final(error)) => return Err(error.into()),
                Err(Failure::Refused { error, about }) => {
                    dialect = dialect.simpler(&about).ok_or(error)?;
                    info!(
                        ?dialect,
                        "the LLM server refused a parameter; asking without it"
                    );
                }
                Err(Failure::Retry { error, after }) => {
                    drop(slot);
                    attempts.again(error, after).await?;
                }
            }
        }
    }

    /// Takes one request out of the budget.
    fn spend_call(&self) -> Result<(), LlmError> {
        if let Some(limit) = self.settings.max_tokens
            && self.tokens() >= limit
        {
            return Err(LlmError::TokensSpent { limit });
        }
        let limit = self.settings.max_calls.unwrap_or(u64::MAX);
        self.calls
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |calls| {
                (calls < limit).then_some(calls + 1)
            })
            .map(drop)
            .map_err(|_| LlmError::BudgetExhausted { limit })
    }
}
