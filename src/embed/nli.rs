//! A guard by a model: a cross-encoder for natural language inference reads two texts at once and says how likely the one
//! does not follow from the other. It only ever objects; that it does not is no evidence of sameness.

use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;
use serde::Deserialize;

use super::manifest::{self, ModelFile};
use super::onnx::{check, inference, session, unreadable};
use super::{EmbedError, runtime, tokenize};

/// Name of the manifest in the model's folder.
pub const NLI_MANIFEST: &str = "nli.toml";

/// Inputs in one run: more would need more memory without being faster.
const BATCH: usize = 16;

/// What memfold must know of the model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NliManifest {
    /// The model's name, for people.
    pub name: String,
    /// The licence of the weights.
    pub licence: String,
    /// Where the files come from, in words.
    pub source: String,
    /// What the model's numbers stand for, in their order.
    pub labels: Vec<String>,
    /// The labels among them that keep two texts apart; their probabilities are added up.
    pub objects: Vec<String>,
    /// The probability, 0 … 1, above which the guard objects.
    pub threshold: f64,
    /// Whether one reading suffices.
    #[serde(default)]
    pub directions: Directions,
    /// The longest input of the model in tokens: both texts and the special tokens.
    pub max_tokens: usize,
    /// What the model's numbers are.
    #[serde(default)]
    pub output: Scores,
    /// What the inputs of the graph are called.
    #[serde(default)]
    pub inputs: InputNames,
    /// One ONNX graph and `tokenizer.json`.
    pub files: Vec<ModelFile>,
}

/// A pair is read twice, with each text first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Directions {
    /// Both readings must object: a text that says more than the other one follows from neither side alone.
    #[default]
    Both,
    /// One reading suffices; for models whose label is `contradiction`.
    Either,
}

/// What a model's numbers are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scores {
    /// Numbers of which the softmax is taken.
    #[default]
    Logits,
    /// Probabilities.
    Probabilities,
}

/// Names of the inputs of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InputNames {
    /// The tokens.
    pub ids: String,
    /// 1 for a token, 0 for padding.
    pub mask: String,
    /// 0 for the first text, 1 for the second one; a graph need not have it.
    pub types: String,
}

impl Default for InputNames {
    fn default() -> Self {
        Self {
            ids: "input_ids".to_owned(),
            mask: "attention_mask".to_owned(),
            types: "token_type_ids".to_owned(),
        }
    }
}

impl NliManifest {
    /// Reads the text of a manifest; `origin` names it in errors.
    ///
    /// # Errors
    /// [`EmbedError::BadManifest`].
    pub fn parse(text: &str, origin: &str) -> Result<Self, EmbedError> {
        manifest::parse(text, origin, Self::fault)
    }

    fn fault(&self) -> Option<String> {
        let unknown = self
            .objects
            .iter()
            .find(|label| !self.labels.contains(label));
        if self.labels.len() < 2 {
            return Some("labels must name at least two".to_owned());
        }
        if self.objects.is_empty() || self.objects.len() >= self.labels.len() {
            return Some("objects must name some of the labels, but not all".to_owned());
        }
        if let Some(label) = unknown {
            return Some(format!(
                "objects names `{label}`, which is not among labels"
            ));
        }
        if !(0.0..1.0).contains(&self.threshold) {
            return Some("threshold is a probability, from 0 to less than 1".to_owned());
        }
        if self.max_tokens < 8 {
            return Some("max_tokens must be at least 8".to_owned());
        }
        let [graph, tokenizer] = self.graph_and_tokenizer();
        (graph.is_none() || tokenizer.is_none() || !self.files.iter().all(ModelFile::is_plain))
            .then(|| "files must be one .onnx graph and tokenizer.json, without folders".to_owned())
    }

    fn graph_and_tokenizer(&self) -> [Option<&ModelFile>; 2] {
        [
            ModelFile::graph(&self.files),
            ModelFile::tokenizer(&self.files),
        ]
    }
}

/// Why a pair is kept apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Objection {
    /// The probabilities of the two readings.
    Apart {
        /// The labels that object.
        labels: String,
        /// With the first text first, and with the second one first.
        probabilities: [f32; 2],
    },
    /// The pair has more tokens than the model takes; nothing is cut.
    TooLong {
        /// The pair's tokens.
        tokens: usize,
    },
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apart {
                labels,
                probabilities: [there, back],
            } => write!(f, "{labels} ({there:.2}, {back:.2})"),
            Self::TooLong { tokens } => write!(f, "{tokens} tokens, too long for the model"),
        }
    }
}

/// The model, loaded and checked.
pub struct Nli {
    manifest: NliManifest,
    tokenizer: tokenizers::Tokenizer,
    /// Running takes `&mut`.
    session: Mutex<Session>,
    /// Whether the graph asks which text a token is of.
    types: bool,
    /// The length that the graph wants of each input, if it takes no other.
    width: Option<usize>,
    output: String,
}

/// One reading of a pair.
struct Input {
    ids: Vec<i64>,
    types: Vec<i64>,
}

impl Nli {
    /// Loads the model in `dir`, which holds [`NLI_MANIFEST`] and the files that it names.
    ///
    /// # Errors
    /// [`EmbedError`]: something is missing, is not what it should be, or does not fit together. One pair is read on the way.
    pub fn load(library: &Path, dir: &Path, threads: usize) -> Result<Self, EmbedError> {
        let path = dir.join(NLI_MANIFEST);
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
        let manifest = NliManifest::parse(&text, &path.display().to_string())?;
        let unfit = |detail: String| EmbedError::ModelUnfit {
            model: manifest.name.clone(),
            detail,
        };
        let file = |file: Option<&ModelFile>| match file {
            Some(file) => check(dir, file),
            None => Err(unfit("a file is not named".to_owned())),
        };
        let [graph, tokenizer] = manifest.graph_and_tokenizer();
        let (graph, tokenizer) = (file(graph)?, file(tokenizer)?);
        let json = std::fs::read(&tokenizer).map_err(|error| unreadable(&tokenizer, &error))?;
        let tokenizer = tokenize::whole(&json).map_err(unfit)?;
        let session = session(&runtime::environment(library)?, &graph, threads).map_err(unfit)?;
        let names = &manifest.inputs;
        let inputs: Vec<&str> = session.inputs().iter().map(|input| input.name()).collect();
        let known = [&*names.ids, &*names.mask, &*names.types];
        if known[..2].iter().any(|name| !inputs.contains(name))
            || inputs.iter().any(|name| !known.contains(name))
        {
            return Err(unfit(format!("its inputs are {}", inputs.join(", "))));
        }
        let types = inputs.contains(&known[2]);
        let shape = session
            .inputs()
            .first()
            .and_then(|input| input.dtype().tensor_shape());
        let width = shape.and_then(|shape| usize::try_from(*shape.get(1)?).ok());
        if width.is_some_and(|width| width < manifest.max_tokens) {
            return Err(unfit(format!(
                "its inputs have {width:?} tokens, less than max_tokens"
            )));
        }
        let output = session
            .outputs()
            .first()
            .map(|output| output.name().to_owned());
        let output = output.ok_or_else(|| unfit("it has no output".to_owned()))?;
        let nli = Self {
            tokenizer,
            types,
            width,
            output,
            session: Mutex::new(session),
            manifest,
        };
        nli.objections(&[("a", "b")])?;
        tracing::debug!(model = nli.name(), "NLI model loaded");
        Ok(nli)
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// All that its objections depend on beside the texts.
    pub fn identity(&self) -> String {
        let NliManifest {
            name,
            objects,
            threshold,
            directions,
            files,
            ..
        } = &self.manifest;
        let files: Vec<&str> = files.iter().map(|file| file.sha256.as_str()).collect();
        format!(
            "{name:?} {objects:?} {threshold} {directions:?} {}",
            files.join(" ")
        )
    }

    /// What the model objects to in each pair. Blocking, for tens of milliseconds a pair.
    ///
    /// # Errors
    /// [`EmbedError`] if it cannot be asked; then nothing may be taken for agreed.
    pub fn objections(&self, pairs: &[(&str, &str)]) -> Result<Vec<Option<Objection>>, EmbedError> {
        let mut found: Vec<Option<Objection>> = vec![None; pairs.len()];
        let (mut inputs, mut asked) = (Vec::new(), Vec::new());
        for (at, (a, b)) in pairs.iter().enumerate() {
            let both = [self.input(a, b)?, self.input(b, a)?];
            let tokens = both[0].ids.len().max(both[1].ids.len());
            if tokens > self.manifest.max_tokens {
                found[at] = Some(Objection::TooLong { tokens });
                continue;
            }
            asked.push(at);
            inputs.extend(both);
        }
        let mut read = Vec::with_capacity(inputs.len());
        for batch in inputs.chunks(BATCH) {
            read.extend(self.run(batch)?);
        }
        for (at, read) in asked.into_iter().zip(read.chunks_exact(2)) {
            found[at] = self.objection([read[0], read[1]]);
        }
        Ok(found)
    }

    fn objection(&self, probabilities: [f32; 2]) -> Option<Objection> {
        let above = |p: &f32| f64::from(*p) > self.manifest.threshold;
        let objects = match self.manifest.directions {
            Directions::Both => probabilities.iter().all(above),
            Directions::Either => probabilities.iter().any(above),
        };
        objects.then(|| Objection::Apart {
            labels: self.manifest.objects.join(" or "),
            probabilities,
        })
    }

    fn input(&self, first: &str, second: &str) -> Result<Input, EmbedError> {
        let encoding = self
            .tokenizer
            .encode((first, second), true)
            .map_err(|error| EmbedError::Tokenizer(error.to_string()))?;
        let wide = |ids: &[u32]| ids.iter().copied().map(i64::from).collect();
        Ok(Input {
            ids: wide(encoding.get_ids()),
            types: wide(encoding.get_type_ids()),
        })
    }

    /// The probability of an objection for each input, all in one run.
    fn run(&self, inputs: &[Input]) -> Result<Vec<f32>, EmbedError> {
        let longest = inputs
            .iter()
            .map(|input| input.ids.len())
            .max()
            .unwrap_or(0);
        let width = self.width.unwrap_or(longest);
        let padded = |row: fn(&Input) -> Vec<i64>| {
            let rows = inputs.iter().flat_map(|input| {
                let mut row = row(input);
                row.resize(width, 0);
                row
            });
            Tensor::from_array(([inputs.len(), width], rows.collect::<Vec<i64>>()))
                .map_err(inference)
        };
        let names = &self.manifest.inputs;
        let mut feed: Vec<(&str, SessionInputValue<'_>)> = vec![
            (&names.ids, padded(|input| input.ids.clone())?.into()),
            (
                &names.mask,
                padded(|input| vec![1; input.ids.len()])?.into(),
            ),
        ];
        if self.types {
            feed.push((&names.types, padded(|input| input.types.clone())?.into()));
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(feed).map_err(inference)?;
        let output = outputs
            .get(&self.output)
            .ok_or_else(|| EmbedError::Inference(format!("no output {}", self.output)))?;
        let (shape, scores) = output.try_extract_tensor::<f32>().map_err(inference)?;
        let labels = self.manifest.labels.len();
        if shape[..] != [inputs.len() as i64, labels as i64] {
            return Err(EmbedError::ModelUnfit {
                model: self.manifest.name.clone(),
                detail: format!(
                    "its output has shape {shape:?} for {} inputs and {labels} labels",
                    inputs.len()
                ),
            });
        }
        scores
            .chunks_exact(labels)
            .map(|scores| self.probability(scores))
            .collect()
    }

    /// The probability of the labels that object.
    fn probability(&self, scores: &[f32]) -> Result<f32, EmbedError> {
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let probabilities: Vec<f32> = match self.manifest.output {
            Scores::Probabilities => scores.to_vec(),
            Scores::Logits => {
                let powers: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
                let sum: f32 = powers.iter().sum();
                powers.iter().map(|power| power / sum).collect()
            }
        };
        if probabilities.iter().any(|p| !(0.0..=1.0001).contains(p)) {
            return Err(EmbedError::Inference(
                "the NLI model's numbers are no probabilities".to_owned(),
            ));
        }
        let labels = self.manifest.labels.iter().zip(probabilities);
        let objects = labels.filter(|(label, _)| self.manifest.objects.contains(label));
        Ok(objects.map(|(_, p)| p).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        name = "some-nli"
        licence = "MIT"
        source = "made for this test"
        labels = ["entailment", "neutral", "contradiction"]
        objects = ["neutral", "contradiction"]
        threshold = 0.9
        max_tokens = 160
        [[files]]
        name = "model.onnx"
        sha256 = "00"
        bytes = 1
        [[files]]
        name = "tokenizer.json"
        sha256 = "00"
        bytes = 1
    "#;

    #[test]
    fn what_a_manifest_leaves_out_has_a_default() {
        let manifest = NliManifest::parse(TEXT, "test").unwrap();
        assert_eq!(manifest.directions, Directions::Both);
        assert_eq!(manifest.output, Scores::Logits);
        assert_eq!(manifest.inputs, InputNames::default());
    }

    #[test]
    fn faults_are_refused_and_named() {
        let faults = [
            ("threshold = 0.9", "threshold = 1.0", "threshold"),
            ("threshold = 0.9", "threshold = nan", "threshold"),
            ("threshold = 0.9", "", "threshold"),
            (
                "threshold = 0.9",
                "threshold = 0.9\nsurprise = 1",
                "surprise",
            ),
            (
                "\"neutral\", \"contradiction\"]\n        threshold",
                "\"other\"]\n        threshold",
                "other",
            ),
            (
                "objects = [\"neutral\", \"contradiction\"]",
                "objects = []",
                "objects",
            ),
            ("max_tokens = 160", "max_tokens = 2", "max_tokens"),
            ("\"model.onnx\"", "\"../model.onnx\"", ".onnx"),
            ("\"tokenizer.json\"", "\"vocab.txt\"", "tokenizer.json"),
        ];
        for (old, new, named) in faults {
            assert!(TEXT.contains(old), "{old}");
            let error = NliManifest::parse(&TEXT.replacen(old, new, 1), "test").expect_err(new);
            assert!(error.to_string().contains(named), "{new}: {error}");
        }
    }
}
