//! Integration tests against the real server and the real model.

mod embed;
