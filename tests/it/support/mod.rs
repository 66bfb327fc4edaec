//! What the integration tests share: a real server, an index, memories, a picture of the store, the talk of models.
#![allow(dead_code, reason = "each test module uses its own part")]

pub(crate) mod cli;
pub(crate) mod merging;
pub(crate) mod model;
pub(crate) mod picture;
pub(crate) mod schema;
pub(crate) mod server;
pub(crate) mod store;
pub(crate) mod way;
