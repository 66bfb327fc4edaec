//! The reference of all settings as Markdown, made from the one table they are declared in.

use crate::config::{SETTINGS, Setting};

const HEAD: &str = "\
# Configuration

<!-- Written by `memfold config reference`; a test compares. Change the table in src/config/table.rs. -->

A setting is a flag, an environment variable, or a key in `memfold.toml`; the first that is set wins, in this order, then
the default. An empty variable counts as not set. `memfold config show` prints all values and where each came from, with
secrets masked.

The file is that of `--config` or `MEMFOLD_CONFIG`, else `memfold.toml` in the working directory, else
`$XDG_CONFIG_HOME/memfold/memfold.toml` (`~/.config/memfold/memfold.toml`). A key that is no setting is an error that names
the nearest one. Keys with a dot are in a table of the file: `fields.text` is `text` under `[fields]`.

| value | what to write |
|---|---|
| TIME | a number with a unit: `500ms`, `30s`, `10m`, `24h`, `7d`; `0` where none is meant |
| SIZE | bytes with or without a unit: `512MiB`, `2GiB` |
| COUNT, DAYS, PERCENT | a whole number |
| DISTANCE | a cosine distance from 0 to 2 |
| several values | separated by commas; in the file a list works too |
";

/// The whole page.
pub(super) fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut group = "";
    for setting in SETTINGS {
        if setting.group != group {
            group = setting.group;
            page += &format!(
                "\n## {group}\n\n| key | flag | variable | value | default | meaning |\n\
                 |---|---|---|---|---|---|\n"
            );
        }
        page += &row(setting);
    }
    page
}

fn row(setting: &Setting) -> String {
    let value = match setting.choices {
        [] => setting.value_name.to_owned(),
        choices => {
            let choices: Vec<String> = choices.iter().map(|c| format!("`{c}`")).collect();
            choices.join(", ")
        }
    };
    let default = match setting.default {
        "" => "unset".to_owned(),
        default => format!("`{default}`"),
    };
    format!(
        "| `{}` | `--{}` | `{}` | {} | {default} | {} |\n",
        setting.key(),
        setting.flag(),
        setting.env(),
        cell(&value),
        cell(setting.help),
    )
}

/// Text that ends no cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace("* 1-5 * * *", "\\* 1-5 \\* \\* \\*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_in_the_reference_once() {
        let page = page();
        for setting in SETTINGS {
            assert_eq!(page.matches(&format!("| `{}` |", setting.key())).count(), 1);
        }
    }

    #[test]
    fn the_page_in_the_docs_is_the_one_of_this_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == page(),
            "docs/configuration.md is out of date: memfold config reference > docs/configuration.md"
        );
    }
}
