//! Integration tests against the real server and the real model.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may panic, as the tests do"
)]

mod commit;
mod connect;
mod crash;
mod layout;
mod lease;
mod snapshot;
mod support;
mod undo;
