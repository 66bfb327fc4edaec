//! Integration tests against the real server and the real model.

mod llm;
mod llm_real;
