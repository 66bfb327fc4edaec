//! The command line as a user meets it, without a server.
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may panic, as the tests do"
)]

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use assert_cmd::assert::Assert;
use predicates::prelude::*;
use predicates::str::contains;

/// memfold in an empty folder with an empty environment.
struct Cli {
    dir: tempfile::TempDir,
    env: Vec<(&'static str, String)>,
}

impl Cli {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            env: Vec::new(),
        }
    }

    fn env(mut self, name: &'static str, value: &str) -> Self {
        self.env.push((name, value.to_owned()));
        self
    }

    fn file(self, name: &str, text: &str) -> Self {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_memfold"));
        command
            .env_clear()
            .current_dir(self.dir.path())
            .envs(self.env.iter().cloned());
        command.env("HOME", self.dir.path());
        command
    }

    fn run(&self, args: &[&str]) -> Assert {
        Assert::new(self.command().args(args).output().unwrap())
    }

    fn stdout(&self, args: &[&str]) -> String {
        let assert = self.run(args).success();
        String::from_utf8(assert.get_output().stdout.clone()).unwrap()
    }
}

/// An address where nothing listens.
fn nowhere() -> String {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("redis://127.0.0.1:{}", socket.local_addr().unwrap().port())
}

#[test]
fn help_teaches() {
    insta::assert_snapshot!(Cli::new().stdout(&["-h"]));
    let long = Cli::new().stdout(&["merge", "--help"]);
    for part in [
        "--max-retire",
        "[default: 7d]",
        "What is safe",
        "Examples:",
        "keep-apart",
    ] {
        assert!(long.contains(part), "{part} in {long}");
    }
}

/// A file of this repository.
fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn the_readme_lists_the_commands_and_exit_codes_of_the_help() {
    let help = Cli::new().stdout(&["--help"]);
    let (_, commands) = help.split_once("\nCommands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let block = format!("<!-- equals: memfold --help -->\n```text\nCommands:\n{commands}\n```\n");
    let readme = page("README.md");
    assert!(readme.contains(&block), "the README must hold: {block}");
    let (_, codes) = help.split_once("Exit codes:\n").unwrap();
    for code in codes
        .lines()
        .filter_map(|line| line.split_whitespace().next())
    {
        assert!(
            readme.contains(&format!("\n| {code} | ")),
            "exit code {code}"
        );
    }
}

/// Every layout has a row with a command that can be pasted: all that it lacks is a server.
#[test]
fn the_commands_of_the_readmes_stores_work() {
    let readme = page("README.md");
    let table = readme.split("| library (tested version) |").nth(1).unwrap();
    let rows: Vec<&str> = table
        .lines()
        .skip(2)
        .take_while(|l| !l.is_empty())
        .collect();
    assert_eq!(rows.len(), memfold::layout::NAMES.len());
    let mut told = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [.., command] = cells[..] else {
            panic!("{row}")
        };
        assert_eq!(cells.len(), 6, "{row}");
        for part in command.trim_matches('`').split(" && ") {
            let mut words = part.split(' ').map(|word| word.trim_matches('\''));
            assert_eq!(words.next(), Some("memfold"), "{part}");
            let args: Vec<&str> = words.collect();
            let cli = Cli::new().env("MEMFOLD_REDIS_URL", &nowhere());
            cli.run(&args).code(3);
            if let Some(at) = args.iter().position(|arg| *arg == "--layout") {
                told.push(args[at + 1].to_owned());
            } else if args.contains(&"--write-config") {
                told.push("custom".to_owned());
            }
        }
    }
    told.sort();
    let mut names = memfold::layout::NAMES;
    names.sort_unstable();
    assert_eq!(told, names);
}

#[test]
fn every_command_has_help() {
    let commands = [
        "merge",
        "apply",
        "undo",
        "history",
        "show",
        "doctor",
        "inspect",
        "config",
        "self-check",
    ];
    for command in commands.iter().chain(&["completions", "man"]) {
        let help = Cli::new().stdout(&[command, "--help"]);
        assert!(
            help.contains(&format!("Usage: memfold {command}")),
            "{help}"
        );
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    let plan = ["merge", "--user", "a", "--plan-out", "p.json"];
    for args in [
        &["merge"][..],
        &["merge", "--dry-run"],
        &["merge", "--usr", "alice"],
        &["nonsense"],
        &["merge", "--user", "a", "--threshold", "3"],
        &["merge", "--user", "a", "--distance", "far"],
        &["undo"],
        &["undo", "--force"],
        &["undo", "01A", "--run", "01B"],
        &["apply", "missing.json"],
        &["history", "--limit", "many"],
        &["merge", "--user", "a", "--config", "missing.toml"],
        &["config", "show", "--log", "memfold=loud"],
        &plan,
        &[],
    ] {
        Cli::new()
            .run(args)
            .code(2)
            .stdout("")
            .stderr(predicate::str::is_empty().not());
    }
}

#[test]
fn no_server_ends_with_3_and_says_what_to_do() {
    for command in [
        &["merge", "--user", "a"][..],
        &["history"],
        &["undo", "01A"],
        &["inspect"],
    ] {
        let url = nowhere();
        Cli::new()
            .run(&[command, &["--redis-url", &url]].concat())
            .code(3)
            .stdout("")
            .stderr(contains("no Redis server answers").and(contains("--redis-url")));
    }
}

#[test]
fn a_setting_has_one_precedence() {
    let cli = Cli::new()
        .file(
            "memfold.toml",
            "index = 'in-file'\nlayout = 'redisvl'\n[fields]\ntext = 'memory'\n",
        )
        .file("other.toml", "index = 'in-other'\n")
        .env("MEMFOLD_INDEX", "in-env");
    let show = |args: &[&str]| -> serde_json::Value {
        let text = cli.stdout(&[&["config", "show", "--json"], args].concat());
        serde_json::from_str(&text).unwrap()
    };
    let settings = &show(&["--index", "in-flag"])["settings"];
    assert_eq!(
        settings["index"],
        serde_json::json!({ "value": "in-flag", "origin": "flag" })
    );
    let settings = &show(&[])["settings"];
    assert_eq!(settings["index"]["value"], "in-env");
    assert_eq!(settings["fields.text"]["value"], "memory");
    assert_eq!(settings["fields.text"]["file"], "memfold.toml");
    assert_eq!(settings["ttl"]["origin"], "default");
    assert_eq!(settings["llm_url"]["value"], serde_json::Value::Null);
    let settings = &show(&["--config", "other.toml"])["settings"];
    assert_eq!(settings["fields.text"]["value"], serde_json::Value::Null);
}

#[test]
fn the_file_is_found_in_its_places() {
    let index = |cli: &Cli| {
        let text = cli.stdout(&["config", "show", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&text).unwrap();
        shown["settings"]["index"]["value"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let cli = Cli::new().file(".config/memfold/memfold.toml", "index = 'at-home'");
    assert_eq!(index(&cli), "at-home");
    let cli = cli.file("xdg/memfold/memfold.toml", "index = 'in-xdg'");
    let xdg = cli.dir.path().join("xdg").display().to_string();
    let cli = cli.env("XDG_CONFIG_HOME", &xdg);
    assert_eq!(index(&cli), "in-xdg");
    let cli = cli.file("memfold.toml", "index = 'here'");
    assert_eq!(index(&cli), "here");
    let cli = cli
        .file("named.toml", "index = 'named'")
        .env("MEMFOLD_CONFIG", "named.toml");
    assert_eq!(index(&cli), "named");
}

#[test]
fn an_unknown_key_is_named_with_the_closest() {
    Cli::new()
        .file("memfold.toml", "tresholt = 0.2")
        .run(&["config", "show"])
        .code(2)
        .stderr(
            contains("`tresholt`")
                .and(contains("`threshold`"))
                .and(contains("memfold.toml")),
        );
    Cli::new()
        .env("MEMFOLD_TRESHOLD", "0.2")
        .run(&["config", "show"])
        .success()
        .stderr(contains("MEMFOLD_TRESHOLD").and(contains("MEMFOLD_THRESHOLD")));
}

#[test]
fn secrets_are_masked() {
    let cli = Cli::new()
        .file(
            "memfold.toml",
            "llm_url = 'https://u:hunter2@h/v1'\nllm_model = 'm'",
        )
        .env("MEMFOLD_LLM_KEY", "hunter2");
    for form in [&["config", "show"][..], &["config", "show", "--json"]] {
        let shown = cli.stdout(&[form, &["--redis-url", "redis://ann:hunter2@h:1"]].concat());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("redis://ann:***@h:1"), "{shown}");
    }
    cli.run(&[
        "history",
        "--redis-url",
        "redis://ann:hunter2@127.0.0.1:1",
        "--log",
        "trace",
    ])
    .code(3)
    .stderr(contains("hunter2").not());
}

#[test]
fn an_installation_checks_itself_without_a_server() {
    let cli = Cli::new();
    let text = cli.stdout(&["self-check", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["ok"], true, "{text}");
    let without_a_model = Cli::new()
        .env("MEMFOLD_ONNXRUNTIME", "libonnxruntime.so")
        .env("MEMFOLD_MODEL_DIR", ".");
    without_a_model
        .run(&["self-check"])
        .code(1)
        .stdout(contains("model.onnx is missing"));
}

#[test]
fn completions_and_man_pages_are_made() {
    let cli = Cli::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = cli.stdout(&["completions", shell]);
        for word in ["memfold", "merge", "redis-url", "keep-apart"] {
            assert!(script.contains(word), "{word} in the script for {shell}");
        }
    }
    assert!(cli.stdout(&["man"]).contains(".TH memfold 1"));
    cli.run(&["man", "--out", "pages/man1"])
        .success()
        .stdout("");
    for page in [
        "memfold.1",
        "memfold-merge.1",
        "memfold-undo.1",
        "memfold-config-show.1",
    ] {
        let text = fs::read_to_string(cli.dir.path().join("pages/man1").join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}: {text}");
    }
    let page = fs::read_to_string(cli.dir.path().join("pages/man1/memfold.1")).unwrap();
    assert!(
        page.contains("130") && page.contains("interrupted"),
        "{page}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let cli = Cli::new();
    let mut child = cli
        .command()
        .args(["completions", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut errors = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(errors, "");
}

#[cfg(unix)]
#[test]
fn signals_end_with_130() {
    // A server that takes the connection and never answers.
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", socket.local_addr().unwrap());
    for (command, signals) in [
        (&["history"][..], &["-INT"][..]),
        (&["history"], &["-TERM"]),
        (&["merge", "--user", "a", "--dry-run"], &["-INT"]),
        (&["merge", "--user", "a"], &["-INT", "-TERM"]),
    ] {
        let cli = Cli::new();
        let mut child = cli
            .command()
            .args([command, &["--redis-url", &url]].concat())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _connection = socket.accept().unwrap();
        let mut errors = child.stderr.take().unwrap();
        for (sent, signal) in signals.iter().enumerate() {
            if sent > 0 {
                let mut told = [0; 10];
                errors.read_exact(&mut told).unwrap();
                assert_eq!(&told, b"\nstopping ");
            }
            let pid = child.id().to_string();
            assert!(
                Command::new("kill")
                    .args([signal, pid.as_str()])
                    .status()
                    .unwrap()
                    .success()
            );
        }
        assert_eq!(child.wait().unwrap().code(), Some(130), "{command:?}");
    }
}

#[test]
fn colours_are_off_in_a_pipe_and_can_be_forced() {
    let cli = Cli::new();
    assert!(!cli.stdout(&["config", "show"]).contains('\x1b'));
    assert!(
        cli.stdout(&["config", "show", "--color", "always"])
            .contains('\x1b')
    );
}

#[test]
fn plans_of_other_versions_are_refused() {
    let cli = Cli::new().file("plan.json", "{\"version\": 2, \"users\": []}");
    cli.run(&["apply", "plan.json"])
        .code(2)
        .stderr(contains("format 2").and(contains("plan again")));
    let cli = Cli::new().file("plan.json", "{\"version\": 1, \"users\": []}");
    cli.run(&["apply", "plan.json"])
        .success()
        .stdout("")
        .stderr(contains("nothing to do"));
}

const PAIRS: &str = r#"{"id":"p1","a":"Likes tea","b":"Likes tea.","label":"same","kind":"surface","lang":"en","source":"own"}
{"id":"p2","a":"Has 2 cats","b":"Has 3 cats","label":"different","kind":"number","lang":"en","source":"own"}
{"id":"p3","a":"Likes tea","b":" ","label":"different","kind":"blank","lang":"en","source":"own"}
"#;

#[test]
fn eval_measures_pairs_without_server_and_model() {
    let cli = Cli::new().file("pairs.jsonl", PAIRS);
    let args = ["eval", "pairs.jsonl", "--decisions", "out.jsonl", "--json"];
    let assert = cli
        .run(&args)
        .success()
        .stderr(contains("distances are not known"));
    let document: serde_json::Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    let all = &document["rows"][0]["rates"];
    assert_eq!(all["recall"]["hits"], 1);
    assert_eq!(all["false_merges"]["hits"], 0);
    assert_eq!(all["false_merges"]["of"], 2);
    let decisions = fs::read_to_string(cli.dir.path().join("out.jsonl")).unwrap();
    let lines: Vec<&str> = decisions.lines().collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        lines[0],
        r#"{"id":"p1","verdict":"same","merged":true,"distance":null,"reasons":[]}"#
    );
    assert!(lines[1].contains(r#""verdict":"different","merged":false"#));
    assert!(lines[1].contains("numbers: 2 ≠ 3"), "{}", lines[1]);
    assert!(lines[2].contains("empty-text"), "{}", lines[2]);
    for name in ["report.md", "report.html"] {
        let _ = cli.stdout(&["eval", "pairs.jsonl", "--report", name]);
        let report = fs::read_to_string(cli.dir.path().join(name)).unwrap();
        assert!(
            report.contains("own/surface") && report.contains("0.10"),
            "{report}"
        );
    }
}

#[test]
fn eval_scores_groups() {
    let group = r#"{"id":"g1","members":[{"id":"m1","content":"Likes tea","metadata":{"user_id":"a"}},{"id":"m2","content":"likes tea.","metadata":{"user_id":"a"}},{"id":"m3","content":"Likes tea","metadata":{"user_id":"b"}}],"facts":["tea"],"forbidden":[],"partition":[["m1","m2"],["m3"]],"block_actions":["merge","keep"]}"#;
    let cli = Cli::new().file("groups.jsonl", group);
    let out = cli.stdout(&[
        "eval",
        "groups.jsonl",
        "--groups",
        "--decisions",
        "out.jsonl",
    ]);
    assert!(out.contains("1 of 1 (100.0 %)"), "{out}");
    let decision = fs::read_to_string(cli.dir.path().join("out.jsonl")).unwrap();
    assert_eq!(
        decision.trim_end(),
        r#"{"id":"g1","partition":[["m1","m2"],["m3"]],"merged":[{"ids":["m1","m2"],"text":"likes tea.","history":[]}],"skipped":[]}"#
    );
}

#[test]
fn eval_and_calibrate_say_what_is_wrong_with_their_input() {
    let cli = Cli::new()
        .file("pairs.jsonl", PAIRS)
        .file("bad.jsonl", "{}\n");
    let fails = |args: &[&str], code: i32, text: &str| {
        cli.run(args).code(code).stderr(contains(text));
    };
    fails(&["eval", "bad.jsonl"], 2, "line 1 is no pair");
    fails(&["eval", "none.jsonl"], 1, "none.jsonl cannot be read");
    fails(
        &["eval", "pairs.jsonl", "--report", "x.pdf"],
        2,
        ".md or .html",
    );
    fails(&["calibrate", "pairs.jsonl"], 2, "--onnxruntime");
    fails(&["calibrate", "pairs.jsonl", "--budget", "7"], 2, "a share");
}
