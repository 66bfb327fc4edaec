//! The groups of a review that are open, kept between two sittings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha1::{Digest as _, Sha1};

use crate::cli::Context;
use crate::cli::plan_file::PlanFile;
use crate::memory::Plan;

/// The file of one user of one store; none where no place is known for it.
pub(super) struct Saved {
    path: Option<PathBuf>,
}

impl Saved {
    /// For the user's `partition` of the store in the settings.
    pub(super) fn of(context: &Context, partition: &str) -> Self {
        let env = &context.sources.env;
        let folder = |name: &str| env.get(name).filter(|path| Path::new(path).is_absolute());
        let state = match (folder("XDG_STATE_HOME"), folder("HOME")) {
            (Some(state), _) => Some(PathBuf::from(state)),
            (None, Some(home)) => Some(Path::new(home).join(".local/state")),
            (None, None) => None,
        };
        let store = context.settings.redis_url.masked();
        let name = Sha1::digest(format!("{store}\n{partition}"));
        Self {
            path: state.map(|state| state.join(format!("memfold/review-{name:x}.json"))),
        }
    }

    /// What was left open, if anything was.
    pub(super) fn read(&self) -> anyhow::Result<Option<Plan>> {
        let Some(path) = self.path.as_ref().filter(|path| path.exists()) else {
            return Ok(None);
        };
        // One that another version wrote is not worth an error: it can be planned anew.
        Ok(PlanFile::read(path)
            .ok()
            .and_then(|file| file.users.into_iter().next()))
    }

    /// Keeps what is open.
    pub(super) fn write(&self, plan: Plan) -> anyhow::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        if let Some(folder) = path.parent() {
            let shown = folder.display();
            fs::create_dir_all(folder).with_context(|| format!("cannot make {shown}"))?;
        }
        PlanFile::new(vec![plan]).write(path)
    }

    /// Drops the file: nothing is open.
    pub(super) fn remove(&self) -> anyhow::Result<()> {
        match &self.path {
            Some(path) if path.exists() => {
                fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
            }
            _ => Ok(()),
        }
    }
}
