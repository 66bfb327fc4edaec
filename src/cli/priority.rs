//! Who goes first on a machine that several share.

/// By how much what can wait yields to others on its machine.
const NICE: i32 = 10;

/// Lets what waits for an answer go first: Redis and the agents may be on the same machine. On Linux this
/// thread steps back, with those that it starts later, elsewhere the whole process.
pub(super) fn step_back() {
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the priority stays as it is");
    }
}
