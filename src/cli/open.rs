//! Opens what a command needs from its settings.

use anyhow::bail;

use crate::config::Settings;
use crate::merge::Pipeline;

/// The pipeline over `index`, with the embedder and the LLM that the settings name.
pub(super) async fn pipeline(settings: &Settings, index: &str) -> anyhow::Result<Pipeline> {
    let _ = (settings, index);
    bail!("not wired yet")
}

/// All users of the index with the number of their memories, sorted by name.
pub(super) async fn users(pipeline: &Pipeline) -> anyhow::Result<Vec<(String, usize)>> {
    let _ = pipeline;
    bail!("not wired yet")
}
