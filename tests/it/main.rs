//! Integration tests against the real server and the real model.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may panic, as the tests do"
)]

// The fuzz targets are run by `raw_bytes`, which stands in for the crate that they are made for.
extern crate self as libfuzzer_sys;
pub(crate) use raw_bytes::fuzz_target;

mod cli;
mod commit;
mod connect;
mod crash;
mod custom;
mod direct;
mod embed;
mod embed_http;
mod layout;
mod lease;
mod llm;
mod llm_real;
mod merge_llm;
mod nli;
mod quality;
mod raw_bytes;
mod several_keys;
mod snapshot;
mod support;
mod undo;
mod users;
mod worker;
