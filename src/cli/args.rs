//! The flags of all settings, made from the settings' table, and those of every command.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::config::{SETTINGS, Setting};

/// Flags that every command takes besides the settings.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Common {
    /// Configuration file [default: ./memfold.toml, else $XDG_CONFIG_HOME/memfold/memfold.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Show everything: whole texts, every key that was left alone
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// The settings given as flags, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingFlags(pub(crate) BTreeMap<String, String>);

impl FromArgMatches for SettingFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for setting in SETTINGS {
            if let Some(text) = matches.get_one::<String>(setting.name) {
                self.0.insert(setting.name.to_owned(), text.clone());
            }
        }
        Ok(())
    }
}

impl Args for SettingFlags {
    fn augment_args(command: Command) -> Command {
        command.args(
            SETTINGS
                .iter()
                .zip(FLAGS.iter())
                .map(|(setting, name)| flag(setting, name)),
        )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The names of the flags; clap wants them for the life of the process.
static FLAGS: LazyLock<Vec<String>> =
    LazyLock::new(|| SETTINGS.iter().map(Setting::flag).collect());

fn flag(setting: &'static Setting, name: &'static str) -> Arg {
    let default = if setting.default.is_empty() {
        String::new()
    } else {
        format!(" [default: {}]", setting.default)
    };
    let arg = Arg::new(setting.name)
        .long(name)
        .value_name(setting.value_name)
        .help(format!("{}{default}", setting.help))
        .help_heading(setting.group)
        .global(true)
        .hide_short_help(setting.group != "Store");
    if setting.choices.is_empty() {
        arg
    } else {
        arg.value_parser(PossibleValuesParser::new(setting.choices))
    }
}
