//! Structured logs on stderr, and traces to an OpenTelemetry collector.
//!
//! No memory text, no user id and no secret is logged above `debug`, and none is sent in a trace.

use std::io::{self, IsTerminal};
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, fmt};

use crate::config::{ConfigError, LogFormat, Settings};
use crate::tls;

/// Variables of the environment that name a collector, as every program with traces reads them.
const ENDPOINTS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
];
/// How long the last traces may take to be sent when the program ends.
const FLUSH: Duration = Duration::from_secs(2);

/// What is to be done when the program ends: the last traces are sent on drop.
#[derive(Debug, Default)]
pub struct Telemetry {
    traces: Option<SdkTracerProvider>,
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(traces) = &self.traces {
            // A collector that is away is no failure of the program.
            let _ = traces.shutdown_with_timeout(FLUSH);
        }
    }
}

/// Starts logs and traces as the settings say. Call once, before any work and outside of any
/// runtime.
///
/// # Errors
/// [`ConfigError::Invalid`] if `log` is neither a level nor a filter, or the collector's URL none.
pub fn start(settings: &Settings) -> Result<Telemetry, ConfigError> {
    let terminal = io::stderr().is_terminal();
    let filter = filter(settings, terminal)?;
    let logs = fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(settings.color.on(terminal))
        // It would be told on stderr, which is what cannot be written to.
        .log_internal_errors(false);
    let logs = match settings.log_format {
        LogFormat::Text => logs.boxed(),
        LogFormat::Json => logs.json().flatten_event(true).boxed(),
    };
    let traces = traces(settings)?;
    let spans = traces.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer("memfold"))
            .with_filter(FilterFn::new(is_traced).with_max_level_hint(LevelFilter::DEBUG))
    });
    // A second start (in a test, say) keeps the first.
    let _ = tracing_subscriber::registry()
        .with(logs.with_filter(filter))
        .with(spans)
        .try_init();
    Ok(Telemetry { traces })
}

/// Spans of memfold's own, and what is logged within them by default.
fn is_traced(of: &Metadata<'_>) -> bool {
    let most = if of.is_span() {
        Level::DEBUG
    } else {
        Level::INFO
    };
    of.target().starts_with("memfold") && *of.level() <= most
}

/// Where traces go; `None` = nowhere.
fn traces(settings: &Settings) -> Result<Option<SdkTracerProvider>, ConfigError> {
    let named = |name: &&str| std::env::var_os(name).is_some_and(|url| !url.is_empty());
    let mut exporter = SpanExporter::builder().with_http();
    match &settings.otlp_url {
        Some(url) => {
            let url = url.expose().trim_end_matches('/');
            exporter = exporter.with_endpoint(format!("{url}/v1/traces"));
        }
        None if ENDPOINTS.iter().any(named) => {}
        None => return Ok(None),
    }
    tls::install_provider();
    let exporter = exporter.build().map_err(|_| ConfigError::Invalid {
        place: "otlp_url".to_owned(),
        value: "***".to_owned(),
        expected: "the base URL of a collector, such as http://localhost:4318".to_owned(),
    })?;
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let mut resource = Resource::builder().with_attribute(version);
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("memfold");
    }
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_resource(resource.build());
    Ok(Some(provider.build()))
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
