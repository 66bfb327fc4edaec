//! Checks and their report: what was looked at, what was found, and what to do about it.

use serde::Serialize;
use serde_json::json;

use super::exit::Exit;
use super::json;
use super::output::Output;
use super::render::{Style, escape};

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    Ok,
    Warn,
    Fail,
    Skipped,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    /// The stable name, such as `server`.
    pub(super) name: &'static str,
    pub(super) status: Status,
    /// What was found.
    pub(super) found: String,
    /// What to do, where there is something to do.
    pub(super) advice: Option<String>,
}

impl Check {
    pub(super) fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Ok,
            found: found.into(),
            advice: None,
        }
    }

    pub(super) fn warn(
        name: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            name,
            status: Status::Warn,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }

    pub(super) fn fail(
        name: &'static str,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self {
            name,
            status: Status::Fail,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }

    /// A failure whose error says what to do.
    pub(super) fn failed(name: &'static str, error: impl ToString) -> Self {
        Self {
            name,
            status: Status::Fail,
            found: error.to_string(),
            advice: None,
        }
    }

    pub(super) fn skipped(name: &'static str, why: impl Into<String>) -> Self {
        Self {
            name,
            status: Status::Skipped,
            found: why.into(),
            advice: None,
        }
    }
}

/// Prints the checks and what they come to; the exit code is 1 if one failed.
///
/// With `as_json`: `{"version": 1, "ok": bool, "checks": [{name, status, found, advice}]}`.
pub(super) fn report(checks: &[Check], as_json: bool, out: &Output) -> anyhow::Result<Exit> {
    let ok = checks.iter().all(|check| check.status != Status::Fail);
    if as_json {
        out.json(&json!({ "version": json::VERSION, "ok": ok, "checks": checks }))?;
    } else {
        out.data(&text(checks, out.style))?;
    }
    Ok(if ok { Exit::Done } else { Exit::Failed })
}

fn text(checks: &[Check], style: Style) -> String {
    let line = |check: &Check| {
        let status = match check.status {
            Status::Ok => style.green("ok  "),
            Status::Warn => style.yellow("warn"),
            Status::Fail => style.red("FAIL"),
            Status::Skipped => style.dim("–   "),
        };
        let advice = check.advice.as_ref().map_or_else(String::new, |advice| {
            format!("{:20}{} {}\n", "", style.cyan("→"), escape(advice))
        });
        let name = style.bold(&format!("{:12}", check.name));
        format!("{status}  {name}  {}\n{advice}", escape(&check.found))
    };
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let sum = format!(
        "{} failed, {} warned\n",
        count(Status::Fail),
        count(Status::Warn)
    );
    checks.iter().map(line).collect::<String>() + &sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_told_with_what_to_do() {
        let checks = [
            Check::ok("server", "Redis 8.2.3, primary"),
            Check::warn(
                "eviction",
                "allkeys-lru \u{1b}[31m",
                "set maxmemory-policy noeviction",
            ),
            Check::failed("index", "there is no index `x`; the server has: none"),
            Check::skipped("llm", "none configured"),
        ];
        let style = Style {
            color: false,
            width: 80,
            verbose: false,
            whole: false,
        };
        insta::assert_snapshot!(text(&checks, style));
    }
}
