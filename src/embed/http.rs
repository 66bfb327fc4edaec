//! The embedder that asks a server: OpenAI's `/v1/embeddings`, which most servers speak, or the
//! native `/embed` of Text Embeddings Inference (TEI).

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use reqwest::Url;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::task;

use super::pool::{add, unit};
use super::{EmbedError, Embedder, Embedding};
use crate::http::{Attempts, Failure, Http, HttpError, Patience, endpoint};

/// 2,048 vectors of 4,096 numbers with 8 digits each.
const MAX_ANSWER_BYTES: usize = 80 << 20;
/// Requests under way at once: enough to hide the way to a server far off.
const CONCURRENCY: usize = 4;
/// Embedded when connecting. It shows whether the server can be used, how long its vectors are, and
/// later whether they are still the same model's.
const PROBE: &str = "The user prefers window seats on flights.";
/// Texts up to this many bytes are not divided: a server that refuses them refuses all.
const INDIVISIBLE: usize = 256;

/// How to reach an embedding server.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Such as `https://api.openai.com/v1`; without a path, `/v1` is meant. A URL that ends in
    /// `/embed` is TEI's native function.
    pub base_url: String,
    /// Sent as bearer token.
    pub api_key: Option<SecretString>,
    /// The model as the server names it. Servers with one model ignore it.
    pub model: String,
    /// Length of the vectors to ask for; `None` = the model's own.
    pub dims: Option<usize>,
    /// Put before every text, such as `query: `.
    pub prefix: String,
    /// Texts in one request at most.
    pub batch: usize,
    /// Longest time for one attempt.
    pub timeout: Duration,
    /// Attempts for one request, the first included.
    pub max_attempts: u32,
    /// Longest time for one request, all attempts and waits included.
    pub total_time: Duration,
    /// The wait after the first failed attempt; it doubles with each further one.
    pub backoff: Duration,
    /// Draws a number of 0 … 1 that shortens a wait by up to half.
    pub jitter: fn() -> f64,
}

impl HttpSettings {
    /// The defaults for a server and a model.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            dims: None,
            prefix: String::new(),
            batch: 32,
            timeout: Duration::from_secs(60),
            max_attempts: 4,
            total_time: Duration::from_secs(180),
            backoff: Duration::from_millis(500),
            jitter: rand::random,
        }
    }
}

/// A model behind a server.
///
/// A text that the server refuses as too long is divided, and the parts' vectors averaged by their
/// lengths. So nothing of a text is without influence on its vector; but such a vector is not the
/// one that a tool which cuts long texts has stored.
#[derive(Debug)]
pub struct HttpEmbedder {
    settings: HttpSettings,
    http: Http,
    protocol: Protocol,
    /// What the server made of [`PROBE`].
    probe: Vec<f32>,
    runtime: Handle,
}

impl HttpEmbedder {
    /// Connects to the server and embeds one short text. Must be called within a Tokio runtime,
    /// which later does the work; [`Embedder::embed`] must then be called from a thread that may
    /// block.
    ///
    /// # Errors
    /// [`EmbedError::Server`] and [`EmbedError::BadAnswer`].
    pub async fn connect(settings: HttpSettings) -> Result<Self, EmbedError> {
        let (protocol, url) = Protocol::of(&settings.base_url)?;
        let mut embedder = Self {
            http: Http::new(url, settings.api_key.as_ref(), MAX_ANSWER_BYTES)?,
            settings,
            protocol,
            probe: Vec::new(),
            runtime: Handle::current(),
        };
        let mut probe = embedder.request(&[embedder.prefixed(PROBE)]).await?;
        embedder.probe = probe.pop().unwrap_or_default();
        tracing::debug!(
            model = embedder.model(),
            dims = embedder.dims(),
            "embedding server answers"
        );
        Ok(embedder)
    }

    fn prefixed(&self, text: &str) -> String {
        format!("{}{text}", self.settings.prefix)
    }

    async fn embed_all(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        // Owned: what borrows across a stream's awaits is not known to be `Send`.
        let batches: Vec<Vec<String>> = texts
            .chunks(self.settings.batch.max(1))
            .map(|batch| batch.iter().map(|text| (*text).to_owned()).collect())
            .collect();
        let vectors: Vec<_> = stream::iter(batches)
            .map(|batch| self.embed_batch(batch))
            .buffered(CONCURRENCY)
            .try_collect()
            .await?;
        Ok(vectors.concat())
    }

    /// One request; as several if the server finds it too large.
    fn embed_batch(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, EmbedError>> {
        async move {
            let inputs: Vec<String> = texts.iter().map(|text| self.prefixed(text)).collect();
            match (self.request(&inputs).await, texts.as_slice()) {
                (Err(EmbedError::Server(error)), [text]) if is_too_large(&error) => {
                    let (one, other) = halves(text).ok_or(error)?;
                    let shares = [one, other].map(|part| part.len() as f32 / text.len() as f32);
                    let parts = [one, other].map(str::to_owned).to_vec();
                    let mut sum = vec![0.0; self.dims()];
                    for (vector, share) in self.embed_batch(parts).await?.iter().zip(shares) {
                        add(&mut sum, vector, share);
                    }
                    Ok(vec![unit(&sum).ok_or_else(directionless)?])
                }
                (Err(EmbedError::Server(error)), _) if is_too_large(&error) => {
                    let (first, second) = texts.split_at(texts.len() / 2);
                    let mut vectors = self.embed_batch(first.to_vec()).await?;
                    vectors.extend(self.embed_batch(second.to_vec()).await?);
                    Ok(vectors)
                }
                (result, _) => result,
            }
        }
        .boxed()
    }

    /// One request with its attempts: a unit vector for each input.
    async fn request(&self, inputs: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let settings = &self.settings;
        let mut attempts = Attempts::new(Patience {
            timeout: settings.timeout,
            max_attempts: settings.max_attempts,
            total_time: settings.total_time,
            backoff: settings.backoff,
            jitter: settings.jitter,
        });
        let body = self.protocol.body(settings, inputs).to_string();
        let answer = loop {
            match self.http.attempt(body.clone(), attempts.timeout()?).await {
                Ok(answer) => break answer,
                Err(Failure::Final(error) | Failure::Refused { error, .. }) => {
                    return Err(error.into());
                }
                Err(Failure::Retry { error, after }) => attempts.again(error, after).await?,
            }
        };
        let vectors = self.protocol.vectors(&answer, inputs.len())?;
        let expected = match (self.dims(), settings.dims) {
            (0, Some(asked)) => asked,
            (0, None) => vectors.first().map_or(0, Vec::len),
            (known, _) => known,
        };
        vectors
            .iter()
            .map(|vector| match vector.len() {
                found if found == expected && found > 0 => unit(vector).ok_or_else(directionless),
                found => Err(EmbedError::WrongDims { found, expected }),
            })
            .collect()
    }
}

impl Embedder for HttpEmbedder {
    fn model(&self) -> &str {
        &self.settings.model
    }

    fn dims(&self) -> usize {
        self.probe.len()
    }

    fn threshold(&self) -> Option<f64> {
        None
    }

    fn origin(&self) -> String {
        format!("at {}", self.http.address())
    }

    fn identity(&self) -> String {
        let HttpSettings { model, prefix, .. } = &self.settings;
        format!(
            "{} {model:?} {prefix:?} {}",
            self.http.address(),
            self.dims()
        )
    }

    fn probe(&self) -> Option<(&str, &[f32])> {
        Some((PROBE, &self.probe))
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        if let Some(index) = texts.iter().position(|text| text.trim().is_empty()) {
            return Err(EmbedError::EmptyText { index });
        }
        let vectors = task::block_in_place(|| self.runtime.block_on(self.embed_all(texts)))?;
        let embedding = |vector| Embedding {
            vector,
            unknown: 0.0,
        };
        Ok(vectors.into_iter().map(embedding).collect())
    }

    /// The server does not tell its tokens, so every text that has some counts as known.
    fn unknown(&self, text: &str) -> Result<f32, EmbedError> {
        Ok(if text.trim().is_empty() { 1.0 } else { 0.0 })
    }
}

/// What a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    OpenAi,
    Tei,
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    data: Vec<OpenAiItem>,
}

#[derive(Deserialize)]
struct OpenAiItem {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Protocol {
    fn of(base_url: &str) -> Result<(Self, Url), HttpError> {
        let url = endpoint(base_url, "embeddings")?;
        match url.path().strip_suffix("/embed/embeddings") {
            None => Ok((Self::OpenAi, url)),
            Some(base) => {
                let path = format!("{base}/embed");
                let mut url = url;
                url.set_path(&path);
                Ok((Self::Tei, url))
            }
        }
    }

    fn body(self, settings: &HttpSettings, inputs: &[String]) -> Value {
        let mut body = match self {
            Self::OpenAi => json!({ "model": settings.model, "input": inputs }),
            // What is cut in silence would count as said.
            Self::Tei => json!({ "inputs": inputs, "truncate": false }),
        };
        if let Some(dims) = settings.dims {
            body["dimensions"] = dims.into();
        }
        body
    }

    /// The vectors in the order of the `expected` inputs.
    fn vectors(self, answer: &[u8], expected: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let bad = |what: &str| EmbedError::BadAnswer(what.to_owned());
        let mut vectors = match self {
            Self::Tei => serde_json::from_slice::<Vec<Vec<f32>>>(answer)
                .map_err(|_| bad("it is no list of vectors"))?,
            Self::OpenAi => {
                let answer: OpenAiAnswer = serde_json::from_slice(answer)
                    .map_err(|_| bad("it is no list of embeddings"))?;
                let mut items: Vec<(usize, Vec<f32>)> = answer
                    .data
                    .into_iter()
                    .enumerate()
                    .map(|(at, item)| (item.index.unwrap_or(at), item.embedding))
                    .collect();
                items.sort_by_key(|(index, _)| *index);
                if items
                    .iter()
                    .enumerate()
                    .any(|(at, (index, _))| at != *index)
                {
                    return Err(bad("its embeddings are not those of the texts sent"));
                }
                items.into_iter().map(|(_, vector)| vector).collect()
            }
        };
        if vectors.len() != expected {
            let (found, what) = (vectors.len(), "vectors for");
            return Err(bad(&format!("it has {found} {what} {expected} texts")));
        }
        vectors.shrink_to_fit();
        Ok(vectors)
    }
}

/// Whether less might be accepted. llama.cpp says it with a status of its own failure.
fn is_too_large(error: &HttpError) -> bool {
    match error {
        HttpError::Refused { status, .. } => matches!(status, 400 | 413 | 422),
        HttpError::Failed { detail, .. } => detail.contains("too large"),
        _ => false,
    }
}

/// The text in two, divided at the white space nearest to its middle.
fn halves(text: &str) -> Option<(&str, &str)> {
    if text.len() <= INDIVISIBLE {
        return None;
    }
    let middle = text.len() / 2;
    let inner = |at: &usize| !text[..*at].trim().is_empty() && !text[*at..].trim().is_empty();
    let by_space = text
        .char_indices()
        .filter(|(_, c)| c.is_whitespace())
        .map(|(at, _)| at)
        .filter(inner)
        .min_by_key(|at| at.abs_diff(middle))
        // Far from the middle it would not make the text shorter.
        .filter(|at| at.abs_diff(middle) < middle / 2);
    let at = by_space.or_else(|| {
        let mut boundaries = (middle..text.len()).filter(|at| text.is_char_boundary(*at));
        boundaries.find(inner)
    })?;
    Some(text.split_at(at))
}

fn directionless() -> EmbedError {
    EmbedError::BadAnswer("it has a vector without direction".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_protocol_follows_from_the_url() {
        for (base, protocol, url) in [
            ("http://h:1", Protocol::OpenAi, "http://h:1/v1/embeddings"),
            (
                "http://h:1/v1/",
                Protocol::OpenAi,
                "http://h:1/v1/embeddings",
            ),
            (
                "https://h/v1/embeddings",
                Protocol::OpenAi,
                "https://h/v1/embeddings",
            ),
            ("http://h:1/embed", Protocol::Tei, "http://h:1/embed"),
            (
                "http://h:1/tei/embed/",
                Protocol::Tei,
                "http://h:1/tei/embed",
            ),
        ] {
            let (found, at) = Protocol::of(base).unwrap();
            assert_eq!((found, at.as_str()), (protocol, url), "{base}");
        }
    }

    #[test]
    fn vectors_are_put_in_the_order_of_the_texts() {
        let answer = br#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}"#;
        let vectors = Protocol::OpenAi.vectors(answer, 2).unwrap();
        assert_eq!(vectors, [[1.0], [2.0]]);
        let answer = br#"{"data":[{"embedding":[1e0]},{"embedding":[2.5]}]}"#;
        let vectors = Protocol::OpenAi.vectors(answer, 2).unwrap();
        assert_eq!(vectors, [[1.0], [2.5]]);
        assert_eq!(
            Protocol::Tei.vectors(b"[[1],[2]]", 2).unwrap(),
            [[1.0], [2.0]]
        );
    }

    #[test]
    fn answers_that_cannot_be_matched_to_the_texts_are_refused() {
        for answer in [
            &br#"{"data":[{"index":0,"embedding":[1]}]}"#[..],
            br#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            br#"{"data":[{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
            br#"{"data":[{"index":0,"embedding":"AACAPw=="},{"index":1,"embedding":[1]}]}"#,
            b"[[1],[2]]",
            b"",
        ] {
            assert!(Protocol::OpenAi.vectors(answer, 2).is_err());
        }
        assert!(Protocol::Tei.vectors(b"[[1]]", 2).is_err());
    }

    proptest! {
        #[test]
        fn halves_are_the_whole_text_and_both_shorter(text in "(\\PC| |\n){0,700}") {
            if let Some((one, other)) = halves(&text) {
                prop_assert_eq!(format!("{one}{other}"), text.clone());
                prop_assert!(!one.trim().is_empty() && !other.trim().is_empty());
            } else {
                prop_assert!(text.len() <= INDIVISIBLE || text.trim().len() < text.len());
            }
        }
    }
}
