//! Structured logs on stderr.
//!
//! No memory text, no user id and no secret is logged above `debug`.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::config::{ConfigError, LogFormat, Settings};

/// Starts logging as the settings say. Call once, before any work.
///
/// # Errors
/// [`ConfigError::Invalid`] if `log` is neither a level nor a filter.
pub fn start(settings: &Settings) -> Result<(), ConfigError> {
    let terminal = io::stderr().is_terminal();
    let filter = filter(settings, terminal)?;
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(settings.color.on(terminal))
        .with_span_events(FmtSpan::NONE);
    // A second start (in a test, say) keeps the first.
    let _ = match settings.log_format {
        LogFormat::Text => logs.try_init(),
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
    Ok(())
}

/// A bare level means memfold's own events; the libraries below speak up only from `warn`.
fn filter(settings: &Settings, terminal: bool) -> Result<EnvFilter, ConfigError> {
    let log = settings
        .log
        .as_deref()
        .unwrap_or(if terminal { "warn" } else { "info" });
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    let directives = if levels.contains(&log) {
        match log {
            "off" | "error" => log.to_owned(),
            level => format!("warn,memfold={level}"),
        }
    } else {
        log.to_owned()
    };
    EnvFilter::try_new(&directives).map_err(|_| ConfigError::Invalid {
        place: "log".to_owned(),
        value: log.to_owned(),
        expected:
            "a level (error, warn, info, debug, trace) or a filter such as warn,memfold=debug"
                .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Sources;

    fn with_log(log: &str) -> Settings {
        let flags = [("log".to_owned(), log.to_owned())].into();
        Settings::load(&Sources {
            flags,
            ..Sources::default()
        })
        .unwrap()
    }

    #[test]
    fn levels_and_filters_are_taken() {
        for log in [
            "error",
            "debug",
            "off",
            "warn,memfold=trace",
            "memfold::store=debug",
        ] {
            assert!(filter(&with_log(log), true).is_ok(), "{log}");
        }
        assert!(filter(&with_log("memfold=loud"), true).is_err());
        let quiet = filter(&with_log("debug"), false).unwrap().to_string();
        assert!(
            quiet.contains("memfold=debug") && quiet.contains("warn"),
            "{quiet}"
        );
    }
}
