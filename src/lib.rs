//! memfold keeps the long-term memory of LLM agents small and true.
//!
//! ```text
//! snapshot ──► group ──► judge ──► summarize ──► verify ──► commit
//! (Redis)      (pure)    (pure)    (pure, LLM)   (pure)     (Redis, atomic)
//! ```
//!
//! Distance only proposes; guards and the judge decide; verification has the last word; deletion
//! comes last, inside one atomic commit, and can be undone. [`merge`] runs the pipeline for one
//! user, the other modules are its stations.

pub mod cli;
pub mod clock;
pub mod config;
pub mod embed;
pub mod eval;
pub mod group;
pub mod http;
pub mod judge;
pub mod layout;
pub mod memory;
pub mod merge;
pub mod record;
pub mod server;
pub mod store;
pub mod summarize;
pub mod telemetry;
mod tls;
pub mod worker;
