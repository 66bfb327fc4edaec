//! The table of the settings: the one place where a setting is declared.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use jiff::tz::TimeZone;
use secrecy::SecretString;

use super::value::Value;
use super::{
    Bytes, Color, ConfigError, CosineDistance, FieldRules, HttpUse, LayoutName, LogFormat, Origin,
    Price, SecretUrl, Summarizer, TABLES, Texts,
};
use crate::layout::{KeyShape, MetadataForm, TimeForm};
use crate::merge::{Conflicts, Distance, TtlRule, WriteVector};
use crate::record::Storage;
use crate::summarize::pii::Pii;
use crate::worker::schedule::OffPeak;

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

macro_rules! settings {
    ($( $group:literal { $( #[doc = $help:literal] $name:ident ($value:literal): $type:ty = $default:literal; )* } )*) => {
        /// Every setting's value.
        #[derive(Debug)]
        pub struct Settings {
            $($( #[doc = $help] pub $name: $type, )*)*
            pub(super) origins: BTreeMap<&'static str, Origin>,
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
            pub(super) fn read(texts: &Texts<'_>) -> Result<Self, ConfigError> {
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
        /// Threads that comparing, judging and the model may use; unset = as many as there are cores for the process
        threads ("COUNT"): Option<NonZero<usize>> = "";
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
        /// Threads that the model may use; unset = --threads
        embed_threads ("COUNT"): Option<NonZero<usize>> = "";
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
        /// Folder of an NLI model with its nli.toml, a further guard that only ever objects (see docs/deciding.md); needs --onnxruntime
        nli_model_dir ("DIR"): Option<PathBuf> = "";
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
        /// Longest time between two full readings of a user: the probe cannot see an edit that keeps keys and times
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
        /// Address for /healthz, /readyz, /metrics and the dashboard, such as 127.0.0.1:9464; unset = none
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
