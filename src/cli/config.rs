use serde_json::{Map, Value, json};

use super::exit::Exit;
use super::render::{columns, escape, pad};
use super::{Context, json, reference};
use crate::config::{Origin, SETTINGS, Setting, Settings};

/// Look at the configuration
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Debug)]
enum Command {
    /// Show every setting, its value and where it comes from; secrets are masked
    Show {
        /// One JSON document instead of text
        #[arg(long)]
        json: bool,
    },
    /// Print the reference of all settings as Markdown (docs/configuration.md)
    Reference,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    match args.command {
        Command::Show { json: true } => context.out.json(&document(&context.settings))?,
        Command::Show { json: false } => context.out.page(&table(context))?,
        Command::Reference => context.out.data(&reference::page())?,
    }
    Ok(Exit::Done)
}

fn document(settings: &Settings) -> Value {
    let entry = |setting: &Setting| {
        let origin = settings.origin(setting.name);
        let mut entry = json!({ "value": settings.show(setting), "origin": origin.name() });
        if let Origin::File(path) = origin {
            entry["file"] = json!(path.display().to_string());
        }
        (setting.key(), entry)
    };
    let all: Map<String, Value> = SETTINGS.iter().map(entry).collect();
    json!({ "version": json::VERSION, "settings": all })
}

fn table(context: &Context) -> String {
    let style = context.out.style;
    let rows: Vec<(String, String, String)> = SETTINGS
        .iter()
        .map(|setting| row(&context.settings, setting))
        .collect();
    let width = |texts: &mut dyn Iterator<Item = &String>| {
        texts.map(|text| columns(text)).max().unwrap_or(0)
    };
    let names = width(&mut rows.iter().map(|row| &row.0));
    let values = width(&mut rows.iter().map(|row| &row.1)).min(style.width / 2);
    let line = |(name, value, origin): &(String, String, String)| {
        let from = if origin == "default" {
            style.dim(origin)
        } else {
            style.cyan(origin)
        };
        format!(
            "{}  {}  {from}\n",
            style.bold(&pad(name, names)),
            pad(value, values)
        )
    };
    rows.iter().map(line).collect()
}

fn row(settings: &Settings, setting: &Setting) -> (String, String, String) {
    let origin = match settings.origin(setting.name) {
        Origin::Flag => format!("flag --{}", setting.flag()),
        Origin::Environment => format!("environment {}", setting.env()),
        other => other.to_string(),
    };
    let value = settings
        .show(setting)
        .unwrap_or_else(|| "(not set)".to_owned());
    (setting.key(), escape(&value), escape(&origin))
}
