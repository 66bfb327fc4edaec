//! The types that a setting can have, each with one text form for flags, environment and file.

use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo};
use secrecy::{ExposeSecret, SecretString};

use crate::layout::{KeyShape, Kind, MetadataForm, NAMES, Rule, TimeForm, kind};
use crate::merge::{Conflicts, Distance, TtlRule, WriteVector};
use crate::record::Storage;
use crate::summarize::pii::Pii;
use crate::worker::schedule::OffPeak;

/// A setting's type: read from its text form and shown in it.
pub(crate) trait Value: Sized {
    /// The only texts allowed, where there are few.
    const CHOICES: &'static [&'static str] = &[];

    /// Whether its text form may be in no message.
    const SECRET: bool = false;

    /// Reads the text form; the error says what is expected.
    fn parse(text: &str) -> Result<Self, String>;

    /// The text form with secrets masked; `None` = not set.
    fn show(&self) -> Option<String>;
}

impl<T: Value> Value for Option<T> {
    const CHOICES: &'static [&'static str] = T::CHOICES;
    const SECRET: bool = T::SECRET;

    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            Ok(None)
        } else {
            T::parse(text).map(Some)
        }
    }

    fn show(&self) -> Option<String> {
        self.as_ref().and_then(T::show)
    }
}

impl Value for String {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            Err("it may not be empty".into())
        } else {
            Ok(text.to_owned())
        }
    }

    fn show(&self) -> Option<String> {
        Some(self.clone())
    }
}

/// Names separated by commas.
impl Value for Vec<String> {
    fn parse(text: &str) -> Result<Self, String> {
        let names = text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    fn show(&self) -> Option<String> {
        if self.is_empty() {
            None
        } else {
            Some(self.join(","))
        }
    }
}

impl Value for PathBuf {
    fn parse(text: &str) -> Result<Self, String> {
        String::parse(text).map(Self::from)
    }

    fn show(&self) -> Option<String> {
        Some(self.display().to_string())
    }
}

macro_rules! numbers {
    ($($type:ty),+) => {
        $(impl Value for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| "expected a whole number".to_owned())
            }

            fn show(&self) -> Option<String> {
                Some(self.to_string())
            }
        })+
    };
}

numbers!(usize, u8, u32, u64);

/// More threads than any machine has are a slip.
const MOST_THREADS: usize = 1024;

/// A number of threads.
impl Value for NonZero<usize> {
    fn parse(text: &str) -> Result<Self, String> {
        let threads = text.parse().ok();
        threads
            .filter(|threads: &Self| threads.get() <= MOST_THREADS)
            .ok_or_else(|| format!("expected a whole number from 1 to {MOST_THREADS}"))
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for OffPeak {
    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn show(&self) -> Option<String> {
        Some(self.text().to_owned())
    }
}

impl Value for SocketAddr {
    fn parse(text: &str) -> Result<Self, String> {
        text.parse()
            .map_err(|_| "expected an address and a port, such as 127.0.0.1:9464".to_owned())
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for Duration {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Self::ZERO);
        }
        text.parse::<Span>()
            .and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()))
            .and_then(Self::try_from)
            .map_err(|_| "expected a time such as 500ms, 30s, 12h or 7d".to_owned())
    }

    fn show(&self) -> Option<String> {
        let millis = self.as_millis();
        let units = [
            ("d", 86_400_000),
            ("h", 3_600_000),
            ("m", 60_000),
            ("s", 1000),
            ("ms", 1),
        ];
        let (unit, size) = units
            .into_iter()
            .find(|(_, size)| millis > 0 && millis.is_multiple_of(*size))
            .unwrap_or(("s", 1000));
        Some(format!("{}{unit}", millis / size))
    }
}

impl Value for TimeZone {
    fn parse(text: &str) -> Result<Self, String> {
        // Known without the machine's zones, which a slim image lacks.
        if text.eq_ignore_ascii_case("UTC") {
            return Ok(Self::UTC);
        }
        Self::get(text).map_err(|_| "expected a time zone such as UTC or Europe/Berlin".to_owned())
    }

    fn show(&self) -> Option<String> {
        Some(self.iana_name().unwrap_or("UTC").to_owned())
    }
}

/// A cosine distance, 0 … 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CosineDistance(pub f64);

impl Value for CosineDistance {
    fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(value) if (0.0..=2.0).contains(&value) => Ok(Self(value)),
            _ => Err("expected a cosine distance from 0 (equal) to 2 (opposite)".to_owned()),
        }
    }

    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

/// A sum of money, in any currency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price(pub f64);

impl Value for Price {
    fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && value >= 0.0 => Ok(Self(value)),
            _ => Err("expected a price such as 0.0025".to_owned()),
        }
    }

    fn show(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("", 1),
];

impl Value for Bytes {
    fn parse(text: &str) -> Result<Self, String> {
        let read = |(unit, size): &(&str, u64)| {
            let count: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            count.checked_mul(*size).map(Self)
        };
        let size = UNITS.iter().find_map(read);
        size.ok_or_else(|| "expected a size such as 512MiB or 2GiB".to_owned())
    }

    fn show(&self) -> Option<String> {
        let fits = |(_, size): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*size);
        let (unit, size) = UNITS.iter().find(fits).unwrap_or(&("", 1));
        Some(format!("{}{unit}", self.0 / size))
    }
}

/// A secret without any part that may be shown.
impl Value for SecretString {
    const SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        String::parse(text).map(Self::from)
    }

    fn show(&self) -> Option<String> {
        Some("***".to_owned())
    }
}

/// A URL that may hold credentials: shown with them masked.
#[derive(Clone, Debug)]
pub struct SecretUrl(SecretString);

impl SecretUrl {
    /// The whole URL with its credentials: for the client, never for a message.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The URL with password, token and secret-looking query values masked.
    pub fn masked(&self) -> String {
        mask(self.expose())
    }
}

impl Value for SecretUrl {
    const SECRET: bool = true;

    fn parse(text: &str) -> Result<Self, String> {
        if text.contains("://") {
            Ok(Self(text.to_owned().into()))
        } else {
            Err("expected a URL with a scheme, such as redis://localhost:6379".to_owned())
        }
    }

    fn show(&self) -> Option<String> {
        Some(self.masked())
    }
}

/// Masks the user information (all but a plain user name) and secret-looking query values.
///
/// Everything up to the *last* `@` counts as user information: a password with a stray `/` or `?`
/// hides too much then, never too little.
fn mask(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (user, rest) = match rest.rsplit_once('@') {
        None => (String::new(), rest),
        Some((info, rest)) => match info.split_once(':') {
            Some((user, _)) if !user.contains(['/', '?', '#']) => (format!("{user}:***@"), rest),
            _ => ("***@".to_owned(), rest),
        },
    };
    let (path, query) = match rest.split_once('?') {
        None => (rest, String::new()),
        Some((path, query)) => {
            let pairs: Vec<String> = query.split('&').map(mask_pair).collect();
            (path, format!("?{}", pairs.join("&")))
        }
    };
    format!("{scheme}://{user}{path}{query}")
}

fn mask_pair(pair: &str) -> String {
    let Some((name, _)) = pair.split_once('=') else {
        return pair.to_owned();
    };
    let lower = name.to_lowercase();
    let secret = ["pass", "key", "token", "secret", "auth", "sig"]
        .iter()
        .any(|w| lower.contains(w));
    if secret {
        format!("{name}=***")
    } else {
        pair.to_owned()
    }
}

/// Gives an enum of few values its text forms, each named once.
macro_rules! choices {
    ($type:ty { $( $text:literal => $variant:ident ),+ $(,)? }) => {
        impl Value for $type {
            const CHOICES: &'static [&'static str] = &[$( $text ),+];

            fn parse(text: &str) -> Result<Self, String> {
                match text {
                    $( $text => Ok(Self::$variant), )+
                    _ => Err(format!("expected one of: {}", Self::CHOICES.join(", "))),
                }
            }

            fn show(&self) -> Option<String> {
                Some(match self { $( Self::$variant => $text, )+ }.to_owned())
            }
        }
    };
}

/// Which layout the index has.
#[derive(Clone, Copy, Debug)]
pub struct LayoutName(&'static Kind);

impl LayoutName {
    /// The layout.
    pub fn kind(self) -> &'static Kind {
        self.0
    }
}

impl Value for LayoutName {
    const CHOICES: &'static [&'static str] = &NAMES;

    fn parse(text: &str) -> Result<Self, String> {
        let kind = kind(text).ok_or_else(|| format!("expected one of: {}", NAMES.join(", ")))?;
        Ok(Self(kind))
    }

    fn show(&self) -> Option<String> {
        Some(self.0.name.to_owned())
    }
}

/// Who writes merged texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summarizer {
    /// The LLM where one is configured, else extractive.
    Auto,
    /// Only merges that keep one source's text unchanged; no LLM.
    Extractive,
    /// The LLM, for groups where no source says it all.
    Llm,
}

/// When to serve the dashboard and the HTTP API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpUse {
    /// Where only this machine reaches them, or a token is set.
    Auto,
    /// Always; other machines need a token.
    On,
    /// Never.
    Off,
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One line of text an event.
    Text,
    /// One JSON object an event.
    Json,
}

/// When to colour what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set or the terminal says that it is dumb.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Whether to colour what goes to a terminal, or to something else.
    pub fn on(self, terminal: bool) -> bool {
        let refused = || {
            std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                || std::env::var_os("TERM").is_some_and(|value| value == "dumb")
        };
        match self {
            Self::Auto => terminal && !refused(),
            Self::Always => true,
            Self::Never => false,
        }
    }
}

choices!(Summarizer { "auto" => Auto, "extractive" => Extractive, "llm" => Llm });
choices!(HttpUse { "auto" => Auto, "on" => On, "off" => Off });
choices!(LogFormat { "text" => Text, "json" => Json });
choices!(Color { "auto" => Auto, "always" => Always, "never" => Never });
choices!(Distance { "auto" => Auto, "stored" => Stored, "onnx" => Onnx });
choices!(WriteVector { "auto" => Auto, "centroid" => Centroid });
choices!(Pii { "mask" => Mask, "block" => Block, "allow" => Allow });
choices!(Conflicts { "keep" => Keep, "latest" => Latest });
choices!(TtlRule { "keep-apart" => KeepApart, "min" => Min, "max" => Max });
choices!(Storage { "hash" => Hash, "json" => Json });
choices!(TimeForm {
    "auto" => Auto, "iso" => Iso, "s" => Seconds, "ms" => Millis, "us" => Micros, "ns" => Nanos,
});
choices!(MetadataForm { "auto" => Auto, "json" => Json, "object" => Object });
choices!(Rule {
    "keep" => Keep, "latest" => Latest, "min" => Min, "max" => Max, "sum" => Sum, "union" => Union,
});

impl Value for KeyShape {
    fn parse(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }

    fn show(&self) -> Option<String> {
        Some(self.text().to_owned())
    }
}

/// Fields with their rules: `uses=sum,topics=union`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRules(pub Vec<(String, Rule)>);

impl Value for FieldRules {
    fn parse(text: &str) -> Result<Self, String> {
        let rule = |pair: &String| {
            let (field, rule) = pair
                .split_once('=')
                .ok_or("expected FIELD=RULE, several separated by commas")?;
            Ok((field.trim().to_owned(), Rule::parse(rule.trim())?))
        };
        let pairs: Vec<String> = Value::parse(text)?;
        pairs.iter().map(rule).collect::<Result<_, _>>().map(Self)
    }

    fn show(&self) -> Option<String> {
        let pair = |(field, rule): &(String, Rule)| format!("{field}={rule}");
        let pairs: Vec<String> = self.0.iter().map(pair).collect();
        pairs.show()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_needs_no_zones_of_the_machine() {
        assert_eq!(TimeZone::parse("utc").unwrap(), TimeZone::UTC);
        assert_eq!(TimeZone::UTC.show().as_deref(), Some("UTC"));
    }

    #[test]
    fn threads_are_as_many_as_a_machine_can_have() {
        let parse = |text| <NonZero<usize> as Value>::parse(text);
        assert_eq!(parse("8"), Ok(NonZero::new(8).unwrap()));
        for wrong in ["0", "-1", "1025", "4611686018427387904", "two"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rules_are_read_by_field() {
        let rules = FieldRules::parse("uses=sum, topics = union").unwrap();
        let expected = [
            ("uses".to_owned(), Rule::Sum),
            ("topics".to_owned(), Rule::Union),
        ];
        assert_eq!(rules.0, expected);
        assert_eq!(rules.show().as_deref(), Some("uses=sum,topics=union"));
        assert!(FieldRules::parse("").unwrap().0.is_empty());
        for wrong in ["uses", "uses=avg"] {
            assert!(FieldRules::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_read_and_shown_in_one_form() {
        for (text, shown) in [
            ("500ms", "500ms"),
            ("30s", "30s"),
            ("90s", "90s"),
            ("7d", "7d"),
            ("1w", "7d"),
            ("1h 30m", "90m"),
            ("24 hours", "1d"),
            ("0", "0s"),
            ("0s", "0s"),
        ] {
            let duration = Duration::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(duration.show().as_deref(), Some(shown), "{text}");
        }
        for text in ["", "7", "x", "-3s", "7 moons", "1.5.2s"] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn distances_are_bounded() {
        assert_eq!(CosineDistance::parse("0.1"), Ok(CosineDistance(0.1)));
        for text in ["-0.1", "2.01", "NaN", "inf", "ten", ""] {
            assert!(CosineDistance::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn urls_are_masked() {
        for (url, masked) in [
            ("redis://localhost:6379", "redis://localhost:6379"),
            ("redis://:pw@h:1/2", "redis://:***@h:1/2"),
            ("rediss://ann:p@ss:w@h:1", "rediss://ann:***@h:1"),
            ("redis://token@h", "redis://***@h"),
            ("redis://ann:p/w?x@h/0", "redis://ann:***@h/0"),
            ("redis://a/b:pw@h", "redis://***@h"),
            (
                "unix:///run/redis.sock?db=1&pass=pw",
                "unix:///run/redis.sock?db=1&pass=***",
            ),
            ("https://h/v1?api_key=k&v=2", "https://h/v1?api_key=***&v=2"),
        ] {
            assert_eq!(mask(url), masked, "{url}");
        }
    }
}
