//! The JSON documents on stdout. Their names are stable; a new name is no break, a changed one is.

use serde_json::{Value, json};

use crate::memory::Plan;
use crate::merge::Report;

/// Version of all documents; it changes when a name or a meaning does.
pub(crate) const VERSION: u32 = 1;

/// `{"version", "users": […]}`, always a list, also for one user.
pub(crate) fn users(users: Vec<Value>) -> Value {
    json!({ "version": VERSION, "users": users })
}

/// A plan without its vectors, which only `apply` needs.
pub(crate) fn plan(plan: &Plan) -> serde_json::Result<Value> {
    let mut value = serde_json::to_value(plan)?;
    let merges = value.get_mut("merges").and_then(Value::as_array_mut);
    for merge in merges
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        merge.remove("vector");
    }
    Ok(value)
}

/// What was done for one user: the merges made, those that could not be, the plan, and the cost.
pub(crate) fn report(report: &Report) -> serde_json::Result<Value> {
    Ok(json!({
        "user": report.plan.user,
        "run_id": report.run_id,
        "merged": report.merged,
        "not_committed": report.not_committed,
        "llm": report.llm,
        "stopped": report.stopped,
        "plan": plan(&report.plan)?,
    }))
}

/// A user for whom nothing came about, and why.
pub(crate) fn failure(user: &str, code: u8, message: &str) -> Value {
    json!({ "user": user, "error": { "exit_code": code, "message": message } })
}
