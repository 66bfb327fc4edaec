//! The embedder that runs an ONNX model in this process.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use ort::ep;
use ort::session::{Session, SessionInputValue};
use ort::value::Tensor;
use sha2::{Digest, Sha256};

use super::batch::batches;
use super::pool::{add, pool, unit};
use super::runtime;
use super::tokenize::{Tokenizer, Tokens};
use super::{EmbedError, Embedder, Embedding, Manifest, ModelFile};

/// A model in ONNX form with its tokenizer, loaded and checked.
///
/// Texts longer than the model's limit are embedded in windows: cut between words into pieces of
/// about equal length, each through the model by itself, and the pieces' vectors averaged by their
/// number of tokens. So nothing of a text is without influence on its vector; but such a vector is
/// not the one that a tool which cuts long texts has stored.
///
/// A text's vector depends on the batch it was embedded in by rounding only (cosine > 0.9999).
pub struct Onnx {
    manifest: Manifest,
    tokenizer: Tokenizer,
    graph: Graph,
}

impl Onnx {
    /// Loads the model that `manifest` describes.
    ///
    /// `runtime` is the ONNX Runtime library, `dir` the folder that holds a folder named like the
    /// model with the model's files, `threads` the number of threads for a run (bounded by what
    /// the machine grants the process; 1 costs the least CPU time).
    ///
    /// # Errors
    /// [`EmbedError`]: the library or a file is missing or not what it should be, or the model
    /// does not fit its manifest. Everything is checked before a text comes: one short text is
    /// embedded on the way.
    pub fn load(
        runtime: &Path,
        manifest: Manifest,
        dir: &Path,
        threads: usize,
    ) -> Result<Self, EmbedError> {
        let dir = dir.join(&manifest.name);
        let incomplete = || EmbedError::BadManifest {
            origin: manifest.name.clone(),
            detail: "files must be one .onnx graph and tokenizer.json".to_owned(),
        };
        let graph = check(&dir, manifest.graph().ok_or_else(incomplete)?)?;
        let tokenizer = check(&dir, manifest.tokenizer().ok_or_else(incomplete)?)?;
        let json = std::fs::read(&tokenizer).map_err(|error| unreadable(&tokenizer, &error))?;
        let tokenizer = Tokenizer::new(&json, &manifest)?;
        let graph = Graph::load(runtime, &manifest, &graph, threads)?;
        let model = Self {
            manifest,
            tokenizer,
            graph,
        };
        model.embed(&["a"])?;
        tracing::debug!(model = model.model(), "embedding model loaded");
        Ok(model)
    }

    /// The vectors of `inputs`, in their order, not normalised.
    fn run(&self, inputs: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let lengths: Vec<usize> = inputs.iter().map(Vec::len).collect();
        let mut vectors = vec![Vec::new(); inputs.len()];
        for batch in batches(&lengths) {
            let members: Vec<&[u32]> = batch.iter().map(|at| inputs[*at].as_slice()).collect();
            for (at, vector) in batch.iter().zip(self.graph.run(&members, &self.manifest)?) {
                vectors[*at] = vector;
            }
        }
        Ok(vectors)
    }
}

impl Embedder for Onnx {
    fn model(&self) -> &str {
        &self.manifest.name
    }

    fn dims(&self) -> usize {
        self.manifest.dims
    }

    fn threshold(&self) -> Option<f64> {
        self.manifest.threshold
    }

    fn origin(&self) -> String {
        "files as its manifest says".to_owned()
    }

    fn identity(&self) -> String {
        let Manifest {
            name,
            prefix,
            pooling,
            max_tokens,
            files,
            ..
        } = &self.manifest;
        let files: Vec<&str> = files.iter().map(|file| file.sha256.as_str()).collect();
        format!(
            "{name:?} {prefix:?} {pooling:?} {max_tokens} {}",
            files.join(" ")
        )
    }

    fn unknown_limit(&self) -> f32 {
        self.manifest.unknown_limit
    }

    fn match_tolerance(&self) -> f64 {
        self.manifest.match_tolerance
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        let texts: Vec<Tokens> = texts
            .iter()
            .map(|text| self.tokenizer.tokens(text))
            .collect::<Result<_, _>>()?;
        // The text that each input belongs to, and its share of that text's tokens.
        let mut owners: Vec<(usize, f32)> = Vec::with_capacity(texts.len());
        let mut inputs = Vec::with_capacity(texts.len());
        for (index, tokens) in texts.iter().enumerate() {
            if tokens.ids.is_empty() {
                return Err(EmbedError::EmptyText { index });
            }
            for window in self.tokenizer.windows(tokens) {
                owners.push((index, window.len() as f32 / tokens.ids.len() as f32));
                inputs.push(self.tokenizer.input(&tokens.ids[window]));
            }
        }
        let mut sums = vec![vec![0.0; self.manifest.dims]; texts.len()];
        for ((index, share), vector) in owners.iter().zip(self.run(&inputs)?) {
            add(&mut sums[*index], &vector, *share);
        }
        texts
            .iter()
            .zip(&sums)
            .map(|(tokens, sum)| match unit(sum) {
                Some(vector) => Ok(Embedding {
                    vector,
                    unknown: tokens.unknown,
                }),
                None => Err(EmbedError::Inference(
                    "a vector without direction".to_owned(),
                )),
            })
            .collect()
    }

    fn unknown(&self, text: &str) -> Result<f32, EmbedError> {
        Ok(self.tokenizer.tokens(text)?.unknown)
    }
}

/// The ONNX graph in ONNX Runtime.
struct Graph {
    /// Running takes `&mut`.
    session: Mutex<Session>,
    /// Whether the graph asks for token types (all zero for single texts).
    token_types: bool,
    /// Name of the output with the tokens' vectors.
    output: String,
}

impl Graph {
    fn load(
        runtime: &Path,
        manifest: &Manifest,
        path: &Path,
        threads: usize,
    ) -> Result<Self, EmbedError> {
        let unfit = |detail: String| EmbedError::ModelUnfit {
            model: manifest.name.clone(),
            detail,
        };
        let environment = runtime::environment(runtime)?;
        let session = session(&environment, path, threads).map_err(unfit)?;
        let inputs: Vec<&str> = session.inputs().iter().map(|input| input.name()).collect();
        let known = ["input_ids", "attention_mask", "token_type_ids"];
        let missing = known[..2].iter().any(|name| !inputs.contains(name));
        if missing || inputs.iter().any(|name| !known.contains(name)) {
            return Err(unfit(format!("its inputs are {}", inputs.join(", "))));
        }
        let token_types = inputs.contains(&known[2]);
        let outputs: Vec<&str> = session
            .outputs()
            .iter()
            .map(|output| output.name())
            .collect();
        let output = *outputs
            .iter()
            .find(|name| **name == "last_hidden_state")
            .or(outputs.first())
            .ok_or_else(|| unfit("it has no output".to_owned()))?;
        let output = output.to_owned();
        Ok(Self {
            session: Mutex::new(session),
            token_types,
            output,
        })
    }

    /// One vector for each of `inputs`, all in one run, padded to the longest.
    fn run(&self, inputs: &[&[u32]], manifest: &Manifest) -> Result<Vec<Vec<f32>>, EmbedError> {
        let longest = inputs.iter().map(|input| input.len()).max().unwrap_or(0);
        let shape = [inputs.len(), longest];
        let padded = |value: fn(u32) -> i64| -> Vec<i64> {
            let row = |input: &&[u32]| {
                let mut row: Vec<i64> = input.iter().map(|id| value(*id)).collect();
                row.resize(longest, 0);
                row
            };
            inputs.iter().flat_map(row).collect()
        };
        let tensor = |numbers: Vec<i64>| Tensor::from_array((shape, numbers)).map_err(inference);
        let mut feed: Vec<(&str, SessionInputValue<'_>)> = vec![
            ("input_ids", tensor(padded(i64::from))?.into()),
            ("attention_mask", tensor(padded(|_| 1))?.into()),
        ];
        if self.token_types {
            feed.push(("token_type_ids", tensor(padded(|_| 0))?.into()));
        }
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let outputs = session.run(feed).map_err(inference)?;
        let output = outputs
            .get(&self.output)
            .ok_or_else(|| EmbedError::Inference(format!("no output {}", self.output)))?;
        let (found, hidden) = output.try_extract_tensor::<f32>().map_err(inference)?;
        let expected = [shape[0] as i64, shape[1] as i64, manifest.dims as i64];
        if found[..] != expected {
            return Err(EmbedError::ModelUnfit {
                model: manifest.name.clone(),
                detail: format!("its output has shape {found:?}, not {expected:?}"),
            });
        }
        Ok(hidden
            .chunks_exact(longest * manifest.dims)
            .zip(inputs)
            .map(|(hidden, input)| pool(hidden, input.len(), manifest.dims, manifest.pooling))
            .collect())
    }
}

/// A session with bounded threads and memory.
///
/// Workers do not spin (on a shared machine that doubles the CPU time). Memory patterns are off:
/// they are kept for every shape that ever came by, and shapes vary here. The arena never gives
/// back what its largest runs took, but small batches keep that below 100 MiB; without it the
/// system's allocator keeps more (up to 200 MiB in threads other than the first) and is slower.
pub(super) fn session(
    environment: &ort::environment::Environment,
    path: &Path,
    threads: usize,
) -> Result<Session, String> {
    let granted = thread::available_parallelism().map_or(1, usize::from);
    let cpu = ep::CPU::default().with_arena_allocator(true);
    // The builder's error carries the builder itself, which is not `Send`: keep the text only.
    Session::builder(environment)
        .map_err(message)?
        .with_intra_threads(threads.clamp(1, granted))
        .map_err(message)?
        .with_inter_threads(1)
        .map_err(message)?
        .with_intra_op_spinning(false)
        .map_err(message)?
        .with_memory_pattern(false)
        .map_err(message)?
        .with_execution_providers([cpu.build().error_on_failure()])
        .map_err(message)?
        .commit_from_file(path)
        .map_err(message)
}

fn message(error: impl Display) -> String {
    error.to_string()
}

pub(super) fn inference(error: ort::Error) -> EmbedError {
    EmbedError::Inference(error.to_string())
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> EmbedError {
    match error.kind() {
        io::ErrorKind::NotFound => EmbedError::ModelFileMissing {
            path: path.to_owned(),
        },
        _ => EmbedError::ModelFileUnreadable {
            path: path.to_owned(),
            detail: error.to_string(),
        },
    }
}

/// The path of a model file whose size and checksum are right.
pub(super) fn check(dir: &Path, file: &ModelFile) -> Result<PathBuf, EmbedError> {
    let path = dir.join(&file.name);
    let failed = |error: io::Error| unreadable(&path, &error);
    let mut content = File::open(&path).map_err(failed)?;
    let bytes = content.metadata().map_err(failed)?.len();
    if bytes != file.bytes {
        return Err(EmbedError::WrongSize {
            file: path,
            expected: file.bytes,
            found: bytes,
        });
    }
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match content.read(&mut buffer).map_err(failed)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    let found = format!("{:x}", hasher.finalize());
    if found != file.sha256 {
        let expected = file.sha256.clone();
        return Err(EmbedError::WrongChecksum {
            file: path,
            expected,
            found,
        });
    }
    Ok(path)
}
