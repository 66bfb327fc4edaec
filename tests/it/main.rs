//! Integration tests against the real server and the real model.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may panic, as the tests do"
)]

mod connect;
mod layout;
mod snapshot;
mod support;
