//! Integration tests against the real server and the real model.

mod llm;
mod llm_real;
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may panic, as the tests do"
)]

mod support;
