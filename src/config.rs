//! The settings: one table, one precedence.
//!
//! A setting is declared once, in `table.rs`: its help, name, type and default. Flag
//! (`--redis-url`), environment (`MEMFOLD_REDIS_URL`) and file key (`redis_url`) follow from the
//! name. The first that is set wins: flag, environment, file, default.

mod file;
mod table;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::memory::Threshold;
pub(crate) use file::edits;
pub use table::{SETTINGS, Setting, Settings};
use value::Value;
pub use value::{
    Bytes, Color, CosineDistance, FieldRules, HttpUse, LayoutName, LogFormat, Price, SecretUrl,
    Summarizer,
};

/// The threshold where neither a setting nor the model's manifest gives one (cosine distance).
pub const DEFAULT_THRESHOLD: f64 = 0.1;

/// The tables of the file: `fields_text` is `text` in `[fields]`.
const TABLES: [&str; 2] = ["fields", "custom"];

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A command-line flag.
    Flag,
    /// An environment variable.
    Environment,
    /// The configuration file at this path.
    File(PathBuf),
    /// The built-in default.
    Default,
}

impl Origin {
    /// The stable name: `flag`, `environment`, `file` or `default`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Environment => "environment",
            Self::File(_) => "file",
            Self::Default => "default",
        }
    }
}

/// What is wrong with the configuration, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value cannot be read.
    #[error("{place}: `{value}` is not usable: {expected}")]
    Invalid {
        /// The flag, variable, or file and key.
        place: String,
        /// The value, masked where the setting is secret.
        value: String,
        /// What is expected.
        expected: String,
    },
    /// The file has a key that is no setting.
    #[error("{file}: there is no setting `{key}`; did you mean `{closest}`?")]
    UnknownKey {
        /// The file.
        file: String,
        /// The key as written.
        key: String,
        /// The setting with the most similar name.
        closest: String,
    },
    /// The file cannot be read.
    #[error("{file}: {detail}")]
    File {
        /// The file.
        file: String,
        /// Why not, with line and column where known.
        detail: String,
    },
    /// Settings that do not go together.
    #[error("{0}")]
    Conflict(String),
}

/// Where the texts of the settings come from; plain data, so that tests can make it up.
#[derive(Debug, Default)]
pub struct Sources {
    /// Values of flags by setting name.
    pub flags: BTreeMap<String, String>,
    /// The environment.
    pub env: BTreeMap<String, String>,
    /// The configuration file to read, if any.
    pub file: Option<PathBuf>,
}

impl Sources {
    /// The sources of this process: `flags`, its environment, and the file named by `--config`,
    /// by `MEMFOLD_CONFIG`, or found at `./memfold.toml` or
    /// `$XDG_CONFIG_HOME/memfold/memfold.toml`.
    pub fn of_process(flags: BTreeMap<String, String>, config: Option<&Path>) -> Self {
        let env: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let file = config.map(Path::to_owned).or_else(|| file::find(&env));
        Self { flags, env, file }
    }
}

impl Settings {
    /// Reads all settings from `sources`, each from the first place that has it.
    ///
    /// # Errors
    /// [`ConfigError`]: a file that cannot be read, a key that is no setting, a value that cannot
    /// be used, or settings that do not go together.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let file = match &sources.file {
            Some(path) => file::read(path)?,
            None => BTreeMap::new(),
        };
        let settings = Self::read(&Texts { sources, file })?;
        settings.check()?;
        Ok(settings)
    }

    /// Where a setting's value comes from.
    pub fn origin(&self, name: &str) -> &Origin {
        self.origins.get(name).unwrap_or(&Origin::Default)
    }

    /// The threshold in force: the setting, else the model manifest's, else 0.1.
    pub fn threshold(&self, manifest: Option<f64>) -> Threshold {
        match (self.threshold, manifest) {
            (Some(CosineDistance(value)), _) => Threshold {
                value,
                origin: self.origin("threshold").name().to_owned(),
            },
            (None, Some(value)) => Threshold {
                value,
                origin: "model manifest".to_owned(),
            },
            (None, None) => Threshold {
                value: DEFAULT_THRESHOLD,
                origin: "default".to_owned(),
            },
        }
    }

    /// The name of the index in force: the setting, else the usual one of the layout.
    pub fn index(&self) -> &str {
        self.index.as_deref().unwrap_or(self.layout.kind().index)
    }

    /// Threads for comparing and judging: as many as are set, else one for each core.
    pub fn threads(&self) -> NonZero<usize> {
        let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        self.threads.unwrap_or_else(cores)
    }

    /// Threads for a model that runs in this process.
    pub fn embed_threads(&self) -> usize {
        self.embed_threads.unwrap_or_else(|| self.threads()).get()
    }

    /// True if an LLM is to write the texts that no source says by itself.
    pub fn uses_llm(&self) -> bool {
        match self.summarizer {
            Summarizer::Auto => self.llm_url.is_some(),
            Summarizer::Extractive => false,
            Summarizer::Llm => true,
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let conflict = |text: &str| Err(ConfigError::Conflict(text.to_owned()));
        if self.index().is_empty() {
            return Err(ConfigError::Conflict(format!(
                "layout {} has no usual index: name yours with --index",
                self.layout.kind().name
            )));
        }
        let is_custom = self.layout.kind().name == "custom";
        let custom = SETTINGS.iter().find(|setting| {
            setting.name.starts_with("custom_") && *self.origin(setting.name) != Origin::Default
        });
        if let Some(setting) = custom.filter(|_| !is_custom) {
            return Err(ConfigError::Conflict(format!(
                "{} is set, which only layout custom knows: set layout = custom",
                setting.key()
            )));
        }
        if self.summarizer == Summarizer::Llm && self.llm_url.is_none() {
            return conflict("summarizer = llm needs a server: set --llm-url");
        }
        if self.uses_llm() && self.llm_model.is_none() && self.summary_model.is_none() {
            return conflict("--llm-url is set, but no model: set --llm-model");
        }
        if self.embed_url.is_some() && self.embed_model.is_none() {
            return conflict("--embed-url is set, but no model: set --embed-model");
        }
        if self.embed_batch == 0 {
            return conflict("embed_batch must be at least 1");
        }
        if self.lease_ttl < Duration::from_millis(100) {
            return conflict(
                "lease_ttl must be at least 100ms: the lease is renewed while a run lasts",
            );
        }
        let times = [self.redis_timeout, self.llm_timeout, self.embed_timeout];
        if times.iter().any(Duration::is_zero) {
            return conflict(
                "redis_timeout, llm_timeout and embed_timeout must be longer than nothing",
            );
        }
        if self.max_members < 2 {
            return conflict("max_members must be at least 2: a merge needs two memories");
        }
        if self.concurrency == 0 || self.probe_every.is_zero() || self.period.is_zero() {
            return conflict("concurrency, probe_every and period must be more than nothing");
        }
        self.check_http()
    }

    /// Whether the dashboard and the API are served beside the worker's numbers.
    pub fn serves_http(&self) -> bool {
        let has_token = self.http_token.is_some() || self.http_token_file.is_some();
        let here = self
            .listen
            .is_some_and(|address| address.ip().is_loopback());
        match self.http {
            HttpUse::Auto => here || (has_token && self.listen.is_some()),
            HttpUse::On => true,
            HttpUse::Off => false,
        }
    }

    fn check_http(&self) -> Result<(), ConfigError> {
        let conflict = |text: &str| Err(ConfigError::Conflict(text.to_owned()));
        let has_token = self.http_token.is_some() || self.http_token_file.is_some();
        if self.http_token.is_some() && self.http_token_file.is_some() {
            return conflict("http_token and http_token_file are both set: leave one of them out");
        }
        if self.http == HttpUse::On {
            let Some(address) = self.listen else {
                return conflict("http = on needs an address: set --listen 127.0.0.1:9464");
            };
            if !address.ip().is_loopback() && !has_token {
                return conflict(
                    "http = on at an address that other machines reach needs a token: make one with \
                     `openssl rand -hex 32` and set --http-token-file",
                );
            }
        }
        Ok(())
    }
}

/// The text of each setting, found by precedence.
struct Texts<'a> {
    sources: &'a Sources,
    file: BTreeMap<&'static str, String>,
}

impl Texts<'_> {
    fn parse<T: Value>(
        &self,
        name: &'static str,
        origins: &mut BTreeMap<&'static str, Origin>,
    ) -> Result<T, ConfigError> {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
            return Err(ConfigError::Conflict(format!(
                "there is no setting `{name}`"
            )));
        };
        let (text, origin) = self.find(setting);
        let value = T::parse(&text).map_err(|expected| ConfigError::Invalid {
            place: place(setting, &origin),
            value: if T::SECRET {
                "***".to_owned()
            } else {
                text.clone()
            },
            expected,
        })?;
        origins.insert(name, origin);
        Ok(value)
    }

    /// An empty environment variable counts as not set: that is what `VAR=${OTHER:-}` leaves.
    fn find(&self, setting: &Setting) -> (String, Origin) {
        if let Some(text) = self.sources.flags.get(setting.name) {
            return (text.clone(), Origin::Flag);
        }
        if let Some(text) = self
            .sources
            .env
            .get(&setting.env())
            .filter(|text| !text.is_empty())
        {
            return (text.clone(), Origin::Environment);
        }
        match (self.file.get(setting.name), &self.sources.file) {
            (Some(text), Some(path)) => (text.clone(), Origin::File(path.clone())),
            _ => (setting.default.to_owned(), Origin::Default),
        }
    }
}

fn place(setting: &Setting, origin: &Origin) -> String {
    match origin {
        Origin::Flag => format!("--{}", setting.flag()),
        Origin::Environment => setting.env(),
        Origin::File(path) => format!("{}, {}", path.display(), setting.key()),
        Origin::Default => format!("the default of {}", setting.key()),
    }
}

/// The text form of a setting's value; `None` = not set.
pub(crate) fn shown(value: &impl Value) -> Option<String> {
    value.show()
}

/// Variables that begin like a setting's but are none, each with the setting it resembles.
pub fn misspelt_variables(env: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let known: Vec<String> = SETTINGS.iter().map(Setting::env).collect();
    env.keys()
        .filter(|name| name.starts_with("MEMFOLD_") && !known.contains(name))
        .filter_map(|name| {
            let (closest, distance) = file::closest(name, &known)?;
            (distance <= 2).then(|| (name.clone(), closest))
        })
        .collect()
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "file {}", path.display()),
            other => f.write_str(other.name()),
        }
    }
}

#[cfg(test)]
mod tests;
