//! Exit codes: one list, for the code, the help and the man page.

use std::process::ExitCode;

use crate::config::ConfigError;
use crate::embed::EmbedError;
use crate::http::HttpError;
use crate::merge::MergeError;
use crate::record::Unfit;
use crate::store::{LeaseError, StoreError, UndoError};
use crate::summarize::llm::LlmError;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    Store,
    SomeNotMerged,
    OverLimit,
    Busy,
    UndoRefused,
    NoSuchUser,
    Interrupted,
}

/// Every exit code with its meaning.
pub(crate) const CODES: &[(Exit, u8, &str)] = &[
    (Exit::Done, 0, "done, also when there was nothing to do"),
    (
        Exit::Failed,
        1,
        "any other failure; `doctor`: a check failed",
    ),
    (Exit::Usage, 2, "wrong usage or configuration"),
    (
        Exit::Store,
        3,
        "the store cannot be reached or does not fit (server, login, search, index)",
    ),
    (
        Exit::SomeNotMerged,
        4,
        "some groups could not be merged because of an error; their memories are untouched",
    ),
    (
        Exit::OverLimit,
        5,
        "a safety limit refused the run; nothing was done",
    ),
    (
        Exit::Busy,
        6,
        "another memfold is working on this user's memories",
    ),
    (
        Exit::UndoRefused,
        7,
        "an undo was refused; that merge stands as it was",
    ),
    (Exit::NoSuchUser, 8, "the user has no memories"),
    (
        Exit::Interrupted,
        130,
        "interrupted; what was done is whole and recorded",
    ),
];

impl Exit {
    pub(crate) fn code(self) -> u8 {
        CODES
            .iter()
            .find(|(exit, _, _)| *exit == self)
            .map_or(1, |(_, code, _)| *code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The list as the help shows it.
pub(crate) fn help() -> String {
    let lines: Vec<String> = CODES
        .iter()
        .map(|(_, code, meaning)| format!("  {code:>3}  {meaning}"))
        .collect();
    lines.join("\n")
}

/// An error of the command line itself: a message and the code that goes with it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Stop {
    exit: Exit,
    message: String,
}

/// An error that ends with `exit`.
pub(crate) fn stop(exit: Exit, message: impl Into<String>) -> anyhow::Error {
    let message = message.into();
    Stop { exit, message }.into()
}

/// A usage error.
pub(crate) fn usage(message: impl Into<String>) -> anyhow::Error {
    stop(Exit::Usage, message)
}

/// The code that an error ends with: that of the first cause that has one.
pub(crate) fn of(error: &anyhow::Error) -> Exit {
    error.chain().find_map(of_cause).unwrap_or(Exit::Failed)
}

fn of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Exit> {
    if let Some(stop) = cause.downcast_ref::<Stop>() {
        return Some(stop.exit);
    }
    if let Some(error) = cause.downcast_ref::<MergeError>() {
        return of_merge(error);
    }
    if let Some(error) = cause.downcast_ref::<UndoError>() {
        return of_undo(error);
    }
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return Some(of_store(error));
    }
    if let Some(error) = cause.downcast_ref::<EmbedError>() {
        return of_embed(error);
    }
    if cause.is::<Unfit>() {
        return Some(Exit::Store);
    }
    (cause.is::<ConfigError>() || cause.is::<LlmError>()).then_some(Exit::Usage)
}

fn of_store(error: &StoreError) -> Exit {
    match error {
        StoreError::BadUrl(_) | StoreError::File(_) | StoreError::Database(_) => Exit::Usage,
        StoreError::TooLarge { .. } => Exit::OverLimit,
        _ => Exit::Store,
    }
}

/// A model that cannot be loaded or is refused is a fault of the configuration; one that fails, or
/// whose server is away, is not.
fn of_embed(error: &EmbedError) -> Option<Exit> {
    let at_work = match error {
        EmbedError::Server(error) => !matches!(
            error,
            HttpError::Settings(_) | HttpError::Auth { .. } | HttpError::Refused { .. }
        ),
        EmbedError::Tokenizer(_)
        | EmbedError::Inference(_)
        | EmbedError::EmptyText { .. }
        | EmbedError::BadAnswer(_) => true,
        _ => false,
    };
    Some(if at_work { Exit::Failed } else { Exit::Usage })
}

fn of_undo(error: &UndoError) -> Option<Exit> {
    match error {
        UndoError::Store(_) => Some(Exit::Store),
        UndoError::Broken(_) => Some(Exit::Failed),
        _ => Some(Exit::UndoRefused),
    }
}

fn of_merge(error: &MergeError) -> Option<Exit> {
    match error {
        MergeError::RetirementCap { .. } => Some(Exit::OverLimit),
        MergeError::Store(error) => Some(of_store(error)),
        MergeError::NoEmbedder | MergeError::WrongPlan(_) => Some(Exit::Usage),
        MergeError::Embed(error) => of_embed(error),
        MergeError::Lease(LeaseError::Store(_)) => Some(Exit::Store),
        MergeError::Midway { error, .. } => of_merge(error),
        MergeError::Lease(_) => Some(Exit::Busy),
        _ => Some(Exit::Failed),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn codes_are_told_from_any_depth() {
        let store = Err::<(), _>(StoreError::NoSearch)
            .context("reading")
            .context("merging alice");
        assert_eq!(of(&store.unwrap_err()), Exit::Store);
        let limit = MergeError::RetirementCap {
            proposed: 9,
            memories: 10,
            limit: 3,
        };
        assert_eq!(of(&limit.into()), Exit::OverLimit);
        assert_eq!(of(&usage("no")), Exit::Usage);
        assert_eq!(of(&anyhow::anyhow!("whatever")), Exit::Failed);
    }

    #[test]
    fn every_exit_has_one_code() {
        let mut codes: Vec<u8> = CODES.iter().map(|(_, code, _)| *code).collect();
        codes.dedup();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 130]);
    }
}
