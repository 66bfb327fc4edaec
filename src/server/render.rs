//! Pages from templates: everything that is put in is escaped.

use axum::response::Html;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, UndefinedBehavior, context};

use super::chart;
use super::problem::Problem;
use super::words::Lang;

macro_rules! templates {
    ($($name:literal),+ $(,)?) => {
        /// The templates by their names.
        pub(super) const TEMPLATES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("templates/", $name)))),+];
    };
}

templates![
    "base.html",
    "parts.html",
    "overview.html",
    "users.html",
    "user.html",
    "plan.html",
    "merges.html",
    "merge.html",
    "undo.html",
    "conflicts.html",
    "user_conflicts.html",
    "skipped.html",
    "user_skipped.html",
    "login.html",
    "problem.html",
];

/// The style sheet, the script and the icon.
pub(super) const STYLE: &str = include_str!("templates/style.css");
pub(super) const SCRIPT: &str = include_str!("templates/live.js");
pub(super) const ICON: &str = include_str!("templates/icon.svg");

/// Makes pages.
pub(super) struct Renderer(Environment<'static>);

impl Renderer {
    pub(super) fn new() -> Self {
        let mut env = Environment::new();
        env.set_undefined_behavior(UndefinedBehavior::Strict);
        env.set_trim_blocks(true);
        env.set_lstrip_blocks(true);
        for (name, text) in TEMPLATES {
            if let Err(error) = env.add_template(name, text) {
                // A test renders them all.
                tracing::error!("template {name}: {error}");
            }
        }
        env.add_function("sparkline", |figures: Vec<Option<u64>>| {
            chart::sparkline(&figures)
        });
        env.add_filter("grouped", chart::grouped);
        env.add_filter("moment", moment);
        env.add_filter("fixed", |number: f64| format!("{number:.1}"));
        env.add_filter("size", size);
        env.add_filter("distance", |distance: f64| format!("{distance:.3}"));
        Self(env)
    }

    /// A page in a language. `frame` is what all pages need, `page` what this one shows.
    pub(super) fn page(
        &self,
        name: &str,
        lang: Lang,
        frame: Value,
        page: Value,
    ) -> Result<Html<String>, Problem> {
        let now = Timestamp::now();
        // As values and not as functions of the environment: macros see what is in the context.
        let context = context! {
            lang => lang.name(),
            lang_tag => lang.tag(),
            t => Value::from_function(move |english: &str, holes: Kwargs| t(lang, english, &holes)),
            reason => Value::from_function(move |code: &str| lang.reason(code)),
            ago => Value::from_function(move |at_ms: i64| ago(lang, now.as_millisecond(), at_ms)),
            ..context! { ..frame, ..page }
        };
        let render = || self.0.get_template(name)?.render(context);
        render().map(Html).map_err(|error| {
            tracing::error!("page {name}: {error:#}");
            crate::merge::MergeError::Internal(format!("the page {name} cannot be made")).into()
        })
    }
}

/// A sentence in a language, with what stands in its braces.
fn t(lang: Lang, english: &str, holes: &Kwargs) -> Result<String, Error> {
    let mut text = lang.say(english).to_owned();
    for name in holes.args().map(str::to_owned).collect::<Vec<_>>() {
        let value: Value = holes.get(&name)?;
        text = text.replace(&format!("{{{name}}}"), &value.to_string());
    }
    Ok(text)
}

/// A time to the minute, in UTC; of text as JSON has it, or of ms since the epoch.
fn moment(value: &Value) -> String {
    let at = match value.as_i64() {
        Some(ms) => Timestamp::from_millisecond(ms).ok(),
        None => value.as_str().and_then(|text| text.parse().ok()),
    };
    at.map_or_else(
        || "–".to_owned(),
        |at| {
            let at = TimeZone::UTC.to_datetime(at);
            at.strftime("%Y-%m-%d %H:%M").to_string()
        },
    )
}

/// How long ago a time in ms was.
fn ago(lang: Lang, now_ms: i64, at_ms: i64) -> String {
    let seconds = (now_ms - at_ms).max(0) / 1000;
    let (count, unit) = match seconds {
        0..=119 => (seconds, "{n} s ago"),
        120..=7199 => (seconds / 60, "{n} min ago"),
        7200..=172_799 => (seconds / 3600, "{n} h ago"),
        _ => (seconds / 86_400, "{n} d ago"),
    };
    lang.say(unit).replace("{n}", &count.to_string())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..=9_999 => format!("{bytes} B"),
        10_000..=9_999_999 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
