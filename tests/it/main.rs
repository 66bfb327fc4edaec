//! Integration tests against the real server and the real model.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may panic, as the tests do"
)]

mod commit;
mod crash;
mod embed;
mod lease;
mod llm;
mod llm_real;
mod support;
mod undo;
