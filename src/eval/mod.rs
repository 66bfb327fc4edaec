//! How good the decisions are: labelled pairs and groups through the very pipeline that merges,
//! without a store, and the rates that come of it.
//!
//! [`run`] asks the pipeline; everything else is arithmetic on its answers. [`pairs`] answers "how
//! many false merges, how many found", [`curve`] what another threshold would change, and
//! [`groups`] whether the results are right, whole and shorter.

pub mod calibration;
pub mod curve;
pub mod groups;
pub mod input;
pub mod llm_judge;
pub mod pairs;
pub mod rate;
pub mod report;
pub mod run;
