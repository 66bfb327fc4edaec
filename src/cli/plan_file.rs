//! The file between `merge --dry-run --plan-out` and `apply`.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::exit::usage;
use crate::memory::Plan;
use crate::merge::PLAN_VERSION;

/// Version of the file; its plans have one of their own.
const VERSION: u32 = 1;

/// Plans of one or more users over one index.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct PlanFile {
    version: u32,
    /// One plan a user.
    pub(super) users: Vec<Plan>,
}

impl PlanFile {
    pub(super) fn new(users: Vec<Plan>) -> Self {
        Self {
            version: VERSION,
            users,
        }
    }

    /// Refuses a path that no file can be written to, before the work of planning.
    pub(super) fn can_be_at(path: &Path) -> anyhow::Result<()> {
        let folder = path.parent().unwrap_or(Path::new(""));
        if path.is_dir() || !(folder.as_os_str().is_empty() || folder.is_dir()) {
            let shown = path.display();
            return Err(usage(format!(
                "--plan-out: {shown} is a folder, or in one that does not exist"
            )));
        }
        Ok(())
    }

    /// Writes the file whole or not at all, readable by its owner only: it holds memory texts.
    /// What is there already is replaced if it is a file; a device (`/dev/stdout`) or a pipe is not.
    pub(super) fn write(&self, path: &Path) -> anyhow::Result<()> {
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Err(usage(format!(
                "cannot write {}: it is not a file; for a pipe use --json",
                path.display()
            )));
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(name);
        let written =
            write_private(&part, &serde_json::to_vec(self)?).and_then(|()| fs::rename(&part, path));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written.with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads a file that [`Self::write`] wrote.
    pub(super) fn read(path: &PathBuf) -> anyhow::Result<Self> {
        let shown = path.display();
        let bytes = fs::read(path).map_err(|e| usage(format!("cannot read {shown}: {e}")))?;
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|e| usage(format!("{shown} is no plan: {e}")))?;
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => {
                return Err(usage(format!(
                    "{shown} has format {version}, this memfold reads {VERSION}; plan again"
                )));
            }
            None => return Err(usage(format!("{shown} is no plan: it has no version"))),
        }
        let file: Self = serde_json::from_value(value)
            .map_err(|e| usage(format!("{shown} is damaged: {e}; plan again")))?;
        let foreign = file.users.iter().find(|plan| plan.version != PLAN_VERSION);
        match foreign {
            Some(plan) => Err(usage(format!(
                "{shown} has a plan of format {}, this memfold reads {PLAN_VERSION}; plan again",
                plan.version
            ))),
            None => Ok(file),
        }
    }
}

pub(super) fn write_private(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::sample;

    #[test]
    fn a_plan_comes_back_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan.json");
        fs::write(&path, "an older file").unwrap();
        PlanFile::new(vec![sample::plan()]).write(&path).unwrap();
        assert_eq!(PlanFile::read(&path).unwrap().users, [sample::plan()]);
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no part is left behind"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("device");
        std::os::unix::fs::symlink("/dev/null", &path).unwrap();
        let error = PlanFile::new(vec![sample::plan()])
            .write(&path)
            .unwrap_err();
        assert!(error.to_string().contains("not a file"), "{error}");
        assert_eq!(fs::read_link(&path).unwrap(), Path::new("/dev/null"));
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan.json");
        for (text, message) in [
            ("oops", "is no plan"),
            ("{}", "no version"),
            ("{\"version\": 2, \"users\": []}", "format 2"),
            ("{\"version\": 1, \"users\": [{}]}", "damaged"),
        ] {
            fs::write(&path, text).unwrap();
            let error = PlanFile::read(&path).unwrap_err();
            assert!(error.to_string().contains(message), "{error}");
            assert_eq!(crate::cli::exit::of(&error), crate::cli::exit::Exit::Usage);
        }
    }
}
