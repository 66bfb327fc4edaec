//! The settings: one table, one precedence.
//!
//! A setting is declared once, in [`settings!`](self) below: its help, name, type and default. Flag
//! (`--redis-url`), environment (`MEMFOLD_REDIS_URL`) and file key (`redis_url`) follow from the
//! name. The first that is set wins: flag, environment, file, default.

mod file;
mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::tz::TimeZone;
use secrecy::SecretString;

use crate::layout::{KeyShape, MetadataForm, TimeForm};
use crate::memory::Threshold;
use crate::merge::{Conflicts, Distance, TtlRule, WriteVector};
use crate::store::Storage;
use crate::summarize::pii::Pii;
use crate::worker::schedule::OffPeak;
pub(crate) use file::edits;
use value::Value;
pub use value::{
    Bytes, Color, CosineDistance, FieldRules, HttpUse, LayoutName, LogFormat, Price, SecretUrl,
    Summarizer,
};

/// The threshold where neither a setting nor the model's manifest gives one (cosine distance).
pub const DEFAULT_THRESHOLD: f64 = 0.1;

/// The tables of the file: `fields_text` is `text` in `[fields]`.
const TABLES: [&str; 2] = ["fields", "custom"];

/// A setting as declared: everything but its value.
#[derive(Debug)]
pub struct Setting {
    /// The name in [`Settings`], such as `redis_url` or `fields_text`.
    pub name: &'static str,
    /// The heading under which the help lists it.
    pub group: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// What the value is called in the help, such as `URL`.
    pub value_name: &'static str,
    /// The default's text form; empty = not set.
    pub default: &'static str,
    /// The only texts allowed; empty = free.
    pub choices: &'static [&'static str],
}

impl Setting {
    /// The flag without its dashes: `redis-url`.
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// The environment variable: `MEMFOLD_REDIS_URL`.
    pub fn env(&self) -> String {
        format!("MEMFOLD_{}", self.name.to_uppercase())
    }

    /// The key in the file: `redis_url`, `fields.text`.
    pub fn key(&self) -> String {
        for table in TABLES {
            if let Some(key) = self
                .name
                .strip_prefix(table)
                .and_then(|rest| rest.strip_prefix('_'))
            {
                return format!("{table}.{key}");
            }
        }
        self.name.to_owned()
    }
}

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

macro_rules! settings {
    ($( $group:literal { $( #[doc = $help:literal] $name:ident ($value:literal): $type:ty = $default:literal; )* } )*) => {
        /// Every setting's value.
        #[derive(Debug)]
        pub struct Settings {
            $($( #[doc = $help] pub $name: $type, )*)*
            origins: BTreeMap<&'static str, Origin>,
        }

        /// Every setting, in the order of the help.
        pub const SETTINGS: &[Setting] = &[
            $($( Setting {
                name: stringify!($name),
                group: $group,
                help: $help.trim_ascii_start(),
                value_name: $value,
                default: $default,
                choices: <$type as Value>::CHOICES,
            }, )*)*
        ];

        impl Settings {
            fn read(texts: &Texts) -> Result<Self, ConfigError> {
                let mut origins = BTreeMap::new();
                Ok(Self {
                    $($( $name: texts.parse::<$type>(stringify!($name), &mut origins)?, )*)*
                    origins,
                })
            }

            /// The text form of a setting's value, secrets masked; `None` = not set.
            pub fn show(&self, setting: &Setting) -> Option<String> {
                match setting.name {
                    $($( stringify!($name) => self.$name.show(), )*)*
                    _ => None,
                }
            }
        }
    };
}

settings! {
    "Store" {
        /// Address of the Redis server; credentials are better kept in the environment or file
        redis_url ("URL"): SecretUrl = "redis://127.0.0.1:6379";
        /// How long to wait for one answer of the server
        redis_timeout ("TIME"): Duration = "30s";
        /// Name of the search index that holds the memories; unset = the usual one of the layout, such as agent_memories
        index ("NAME"): Option<String> = "";
        /// How the memories are laid out in it (see `memfold inspect`)
        layout ("LAYOUT"): LayoutName = "redisvl";
        /// Namespaces that hold the memories of users, such as memories/{user}; * stands for any label (layouts with namespaces)
        namespace ("PATTERN"): Option<String> = "";
        /// Name of the index with the vectors, where the layout has one of its own; unset = the usual one beside --index
        vector_index ("NAME"): Option<String> = "";
    }
    "Connection" {
        /// File with the server's password, in place of one in the URL
        redis_password_file ("FILE"): Option<PathBuf> = "";
        /// PEM file of the authorities that a rediss:// server is checked by, in place of the system's
        redis_tls_ca ("FILE"): Option<PathBuf> = "";
        /// PEM file of the client's certificate for rediss://
        redis_tls_cert ("FILE"): Option<PathBuf> = "";
        /// PEM file of its key
        redis_tls_key ("FILE"): Option<PathBuf> = "";
    }
    "Fields of a memory" {
        /// Field that holds the text
        fields_text ("FIELD"): Option<String> = "";
        /// Field that holds the vector
        fields_vector ("FIELD"): Option<String> = "";
        /// Field that holds the user id
        fields_user ("FIELD"): Option<String> = "";
        /// Field that holds the type, such as episodic or semantic
        fields_memory_type ("FIELD"): Option<String> = "";
        /// Field that holds the memory's own id
        fields_id ("FIELD"): Option<String> = "";
        /// Field that holds the date of creation
        fields_created_at ("FIELD"): Option<String> = "";
        /// Field that holds the metadata, and after a merge its provenance
        fields_metadata ("FIELD"): Option<String> = "";
        /// Further fields, comma-separated, whose values must be equal for memories to be merged, such as namespace
        fields_scope ("FIELDS"): Vec<String> = "";
        /// Time zone of dates that name none
        timezone ("ZONE"): TimeZone = "UTC";
    }
    "Layout custom" {
        /// Kind of keys that the index is over
        custom_storage ("KIND"): Option<Storage> = "";
        /// What keys of memories look like, such as notes:{id} or notes:{user}:{id}; others are passed over
        custom_key ("SHAPE"): Option<KeyShape> = "";
        /// How dates of creation are written: as ISO text, or as a number of seconds, ms, us or ns since 1970
        custom_created_at ("FORM"): TimeForm = "auto";
        /// How metadata are written: as JSON in text, or as an object
        custom_metadata ("FORM"): MetadataForm = "auto";
        /// Further fields, each with the rule by which it is merged: keep, latest, min, max, sum or union
        custom_rules ("FIELD=RULE,…"): FieldRules = "";
    }
    "Grouping" {
        /// Cosine distance up to which memories are looked at together; unset = the model's calibrated value, else 0.1
        threshold ("DISTANCE"): Option<CosineDistance> = "";
        /// Distances from the stored vectors, from fresh embeddings of the model (onnx), or from the stored ones where the model is proven to match
        distance ("SOURCE"): Distance = "auto";
        /// Most different texts in one group; larger groups are split
        max_members ("COUNT"): usize = "100";
        /// Most characters that one group may send to the LLM; larger groups are left alone, texts are never cut
        max_group_chars ("COUNT"): usize = "24000";
        /// Most memory that planning for one user may take, such as 2GiB; larger users are refused with the size they need
        max_memory ("SIZE"): Option<Bytes> = "";
        /// What to do with memories that expire at different times: never merge them, or let the result expire with the first or the last
        ttl ("RULE"): TtlRule = "keep-apart";
        /// What to do with an old value and a new one: keep both (see `memfold conflicts`), or let the newest win and keep the others as its history
        conflicts ("RULE"): Conflicts = "keep";
    }
    "Embedding model" {
        /// Name of a model manifest, or the path of one
        model ("MODEL"): String = "all-MiniLM-L6-v2-int8";
        /// Folder that holds the model's folder, named as the model, with its files
        model_dir ("DIR"): Option<PathBuf> = "";
        /// Path of the ONNX Runtime library (libonnxruntime.so)
        onnxruntime ("FILE"): Option<PathBuf> = "";
        /// Threads that the model may use
        embed_threads ("COUNT"): usize = "1";
        /// Base URL of an embedding server to use instead (OpenAI-compatible, such as http://localhost:8080/v1, or TEI's http://localhost:8080/embed)
        embed_url ("URL"): Option<SecretUrl> = "";
        /// Its API key; better kept in the environment or file
        embed_key ("KEY"): Option<SecretString> = "";
        /// Name of the model on that server
        embed_model ("NAME"): Option<String> = "";
        /// Length of the vectors to ask that server for; unset = the model's own
        embed_dims ("COUNT"): Option<usize> = "";
        /// Put before every text that is sent there, as some models want it, such as 'query: '
        embed_prefix ("TEXT"): Option<String> = "";
        /// Most texts in one request to that server
        embed_batch ("COUNT"): usize = "32";
        /// How long one answer of that server may take
        embed_timeout ("TIME"): Duration = "60s";
        /// Folder in which vectors are kept, so that no text is embedded twice; unset = none is kept
        embed_cache ("DIR"): Option<PathBuf> = "";
        /// Most MiB of vectors kept there for a model
        embed_cache_mib ("COUNT"): u64 = "512";
        /// Vector of a new text: embedded by the model, which must match the index, or the mean of the sources' vectors
        write_vector ("SOURCE"): WriteVector = "auto";
    }
    "Summarizer" {
        /// Who writes merged texts; auto = the LLM if --llm-url is set, else extractive
        summarizer ("NAME"): Summarizer = "auto";
        /// Base URL of an OpenAI-compatible server, such as http://localhost:11434/v1
        llm_url ("URL"): Option<SecretUrl> = "";
        /// Its API key; better kept in the environment or file
        llm_key ("KEY"): Option<SecretString> = "";
        /// Name of the model on that server
        llm_model ("NAME"): Option<String> = "";
        /// Model that writes merged texts, if it is to be another one than --llm-model
        summary_model ("NAME"): Option<String> = "";
        /// Model that is asked first on that server; only what it calls the same goes on, and both must agree
        judge_model ("NAME"): Option<String> = "";
        /// How long one answer of the LLM may take
        llm_timeout ("TIME"): Duration = "120s";
        /// Most LLM calls in one run; unset = no limit
        llm_max_calls ("COUNT"): Option<u64> = "";
        /// Most tokens that the LLM may write in one answer, its reasoning included
        llm_max_tokens ("COUNT"): u32 = "1024";
        /// LLM calls under way at once
        llm_concurrency ("COUNT"): usize = "4";
        /// Personal data and secrets in memories that an LLM is asked about: masked and restored, kept from it, or sent
        pii ("RULE"): Pii = "mask";
        /// File with a prompt template to use instead of the built-in one
        prompt ("FILE"): Option<PathBuf> = "";
    }
    "Safety" {
        /// Most memories of a user that one run may retire by the LLM's word; unset = the larger of 20 and 30 % of the user's memories
        max_retire ("COUNT"): Option<usize> = "";
        /// The same for a day, for all runs of the worker; unset = the larger of 50 and 50 % of the user's memories
        max_retire_day ("COUNT"): Option<usize> = "";
        /// How long the originals of a merge can be brought back; 0 = not at all
        undo_window ("TIME"): Duration = "7d";
        /// Days that the record of a merge is kept
        ledger_days ("DAYS"): u32 = "90";
        /// How long a user's memories stay reserved for a run that has died
        lease_ttl ("TIME"): Duration = "60s";
    }
    "Worker" {
        /// Least time between two runs over a user that is written to
        period ("TIME"): Duration = "10m";
        /// How often the index is asked which users have changed
        probe_every ("TIME"): Duration = "2m";
        /// Longest time between two full readings of a user: the probe cannot see an edit that keeps count and newest time
        full_every ("TIME"): Duration = "24h";
        /// So many new memories make a user due before its period is over; unset = never
        after_new ("COUNT"): Option<u64> = "";
        /// So many failures in a row, reported by an agent, make its user due
        after_failures ("COUNT"): u32 = "3";
        /// Times of scheduled work as a cron expression with time zone, such as "* 1-5 * * * Europe/Berlin"; unset = always
        off_peak ("CRON"): Option<OffPeak> = "";
        /// Shared user ids, comma-separated, that are worked on as well: system, or "" for memories of nobody
        shared_users ("USERS"): Vec<String> = "";
        /// Users that one worker works on at once
        concurrency ("COUNT"): usize = "2";
        /// Most LLM tokens in one run over a user; unset = no limit
        llm_run_tokens ("COUNT"): Option<u64> = "";
        /// Most LLM calls for one user in a day; unset = no limit
        llm_user_calls ("COUNT"): Option<u64> = "";
        /// Most LLM tokens for one user in a day; unset = no limit
        llm_user_tokens ("COUNT"): Option<u64> = "";
        /// Most LLM calls of all workers in a day; unset = no limit
        llm_day_calls ("COUNT"): Option<u64> = "";
        /// Most LLM tokens of all workers in a day; unset = no limit
        llm_day_tokens ("COUNT"): Option<u64> = "";
        /// Price of 1000 tokens that the LLM reads, for the number memfold_llm_cost
        llm_input_price ("PRICE"): Price = "0";
        /// Price of 1000 tokens that it writes
        llm_output_price ("PRICE"): Price = "0";
        /// Percentage of all memories that all workers may retire in a day (1000 in any case); more stops them until `memfold resume`
        mass_percent ("PERCENT"): u8 = "50";
        /// Take no work while the server answers slower than this
        max_latency ("TIME"): Duration = "500ms";
        /// Take no work while the server uses more than this percentage of its memory limit
        max_memory_percent ("PERCENT"): u8 = "95";
        /// Address for /healthz, /readyz and /metrics, such as 127.0.0.1:9464; unset = none
        listen ("ADDRESS"): Option<SocketAddr> = "";
        /// The dashboard and the HTTP API on that address too; auto = where only this machine reaches it, or a token is set
        http ("WHEN"): HttpUse = "auto";
        /// Token that the dashboard and the HTTP API ask for, of 16 characters or more; better kept in the environment or a file. Without one they only show
        http_token ("TOKEN"): Option<SecretString> = "";
        /// File with that token
        http_token_file ("FILE"): Option<PathBuf> = "";
    }
    "Output" {
        /// What to log on stderr: error, warn, info, debug, trace or a tracing filter; unset = warn on a terminal, else info
        log ("LEVEL"): Option<String> = "";
        /// Form of the log lines
        log_format ("FORMAT"): LogFormat = "text";
        /// Base URL of an OpenTelemetry collector (OTLP over HTTP) to send traces to, such as http://localhost:4318; unset = OTEL_EXPORTER_OTLP_ENDPOINT, or none
        otlp_url ("URL"): Option<SecretUrl> = "";
        /// When to colour the output
        color ("WHEN"): Color = "auto";
    }
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
        if self.embed_threads == 0 {
            return conflict("embed_threads must be at least 1");
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
