//! The pipeline without a store, for the commands that measure it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;

use super::progress::Line;
use super::{Context, open};
use crate::clock::SystemClock;
use crate::embed::{Embedder, Nli};
use crate::eval::run::{Cases, Decided};
use crate::merge::{Distance, MergeOptions, Progress as _, Stations, WriteVector};
use crate::summarize::llm::Llm;

/// No two texts are farther apart.
const FARTHEST: f64 = 2.0;

/// What decides, as the settings say.
pub(super) struct Bench {
    pub(super) embedder: Option<Arc<dyn Embedder>>,
    nli: Option<Arc<Nli>>,
    pub(super) llm: Option<Arc<Llm>>,
    pub(super) options: MergeOptions,
    progress: Line,
}

impl Bench {
    pub(super) async fn open(context: &Context) -> anyhow::Result<Self> {
        let embedder = open::embedder(&context.settings).await?;
        let mut options = open::merge_options(&context.settings, embedder.as_deref());
        if embedder.is_none() {
            // Nothing is known of distances, so all count as near; texts need no vectors.
            options.distance = Distance::Stored;
            options.write_vector = WriteVector::Centroid;
        }
        Ok(Self {
            embedder,
            nli: open::nli(&context.settings)?,
            llm: open::llm(&context.settings)?,
            options,
            progress: Line::new(),
        })
    }

    /// What is not known without a model, for a note.
    pub(super) fn shortcoming(&self) -> Option<&'static str> {
        self.embedder.is_none().then_some(
            "no embedding model is configured (--onnxruntime and --model-dir, or --embed-url): distances are not \
             known, and all memories of a case count as near enough to be looked at together",
        )
    }

    /// Embeds the cases, if there is a model.
    pub(super) fn embed(&self, mut cases: Cases) -> anyhow::Result<Cases> {
        if let Some(embedder) = &self.embedder {
            self.progress.phase("embedding", cases.texts());
            let step = |texts| (0..texts).for_each(|_| self.progress.step());
            cases.embed(embedder.as_ref(), step)?;
        }
        Ok(cases)
    }

    /// Decides the cases as `merge` would.
    pub(super) async fn decide(&self, cases: &Cases) -> anyhow::Result<Decided> {
        self.decide_with(cases, self.options.clone()).await
    }

    /// The threshold up to which [`Bench::decide_wide`] looks: the widest, unless an LLM is asked,
    /// which costs.
    pub(super) fn reach(&self) -> f64 {
        match self.llm {
            Some(_) => self.options.threshold.value,
            None => FARTHEST,
        }
    }

    /// Decides the cases as `merge` would if the threshold were [`Bench::reach`].
    pub(super) async fn decide_wide(&self, cases: &Cases) -> anyhow::Result<Decided> {
        let mut options = self.options.clone();
        options.threshold.value = self.reach();
        self.decide_with(cases, options).await
    }

    /// Shows a phase of other work on the progress line.
    pub(super) fn phase(&self, name: &str, total: usize) {
        self.progress.phase(name, total);
    }

    /// One step of it is done.
    pub(super) fn step(&self) {
        self.progress.step();
    }

    /// Takes the progress line away.
    pub(super) fn clear(&self) {
        self.progress.clear();
    }

    async fn decide_with(&self, cases: &Cases, options: MergeOptions) -> anyhow::Result<Decided> {
        self.progress.phase("deciding", 0);
        let stations = Stations {
            embedder: self.embedder.clone(),
            nli: self.nli.clone(),
            llm: self.llm.clone(),
            clock: Arc::new(SystemClock),
            options,
        };
        let decided = cases.decide(stations).await;
        self.progress.clear();
        Ok(decided?)
    }
}

/// Reads a file of cases.
pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// Writes a file of results.
pub(super) fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
