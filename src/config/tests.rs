use std::fs;

use super::*;

fn sources(flags: &[(&str, &str)], env: &[(&str, &str)], file: Option<&Path>) -> Sources {
    let map = |pairs: &[(&str, &str)]| {
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect()
    };
    Sources {
        flags: map(flags),
        env: map(env),
        file: file.map(Path::to_owned),
    }
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memfold.toml");
    fs::write(&path, text).unwrap();
    (dir, path)
}

/// A valid value unlike the default, for each setting.
fn another(setting: &Setting) -> String {
    match setting.name {
        "threshold" => "0.25".into(),
        "redis_url" | "llm_url" | "embed_url" | "otlp_url" => "http://h:1".into(),
        "timezone" => "Europe/Berlin".into(),
        "max_memory" => "2GiB".into(),
        "off_peak" => "* 1-5 * * *".into(),
        "listen" => "127.0.0.1:9".into(),
        "llm_input_price" | "llm_output_price" => "0.25".into(),
        "custom_key" => "note:{id}".into(),
        "custom_rules" => "uses=sum".into(),
        name if setting.value_name == "TIME" => {
            if name == "lease_ttl" { "9s" } else { "3h" }.into()
        }
        _ if matches!(setting.value_name, "COUNT" | "DAYS" | "PERCENT") => "77".into(),
        _ => setting
            .choices
            .last()
            .map_or("other".into(), |choice| (*choice).into()),
    }
}

#[test]
fn every_setting_follows_one_precedence() {
    for setting in SETTINGS {
        let value = another(setting);
        // A server needs both an address and a model, which is not what is tested here.
        let helpers: &[(&str, &str)] = match setting.name {
            "summarizer" => &[
                ("MEMFOLD_LLM_URL", "http://x:1"),
                ("MEMFOLD_LLM_MODEL", "m"),
            ],
            "llm_url" => &[("MEMFOLD_LLM_MODEL", "m")],
            "embed_url" => &[("MEMFOLD_EMBED_MODEL", "m")],
            "layout" => &[("MEMFOLD_INDEX", "i")],
            name if name.starts_with("custom_") => {
                &[("MEMFOLD_INDEX", "i"), ("MEMFOLD_LAYOUT", "custom")]
            }
            _ => &[],
        };
        let line = match setting.key().split_once('.') {
            Some((table, key)) => format!("[{table}]\n{key} = '{value}'"),
            None => format!("{} = '{value}'", setting.key()),
        };
        let (_dir, path) = file(&line);
        let env_name = setting.env();
        let mut env = helpers.to_vec();
        let from = |flags: &[(&str, &str)], env: &[(&str, &str)], file: Option<&Path>| {
            let settings = Settings::load(&sources(flags, env, file))
                .unwrap_or_else(|e| panic!("{}: {e}", setting.name));
            (
                settings.show(setting),
                settings.origin(setting.name).clone(),
            )
        };
        let default = from(&[], &env, None);
        assert_eq!(default.1, Origin::Default, "{}", setting.name);
        let in_file = from(&[], &env, Some(&path));
        assert_eq!(in_file.1, Origin::File(path.clone()), "{}", setting.name);
        if setting.choices.len() != 1 {
            assert_ne!(in_file.0, default.0, "{}: the value is read", setting.name);
        }
        env.push((&env_name, &value));
        assert_eq!(
            from(&[], &env, Some(&path)).1,
            Origin::Environment,
            "{}",
            setting.name
        );
        let flags = [(setting.name, value.as_str())];
        assert_eq!(
            from(&flags, &env, Some(&path)),
            (in_file.0, Origin::Flag),
            "{}",
            setting.name
        );
    }
}

#[test]
fn rules_of_fields_are_a_table_and_only_the_custom_layout_has_them() {
    let rules = "[custom]\nkey = 'n:{id}'\n[custom.rules]\nuses = 'sum'\n\"a.b\" = 'max'";
    let (_dir, path) = file(&format!("layout = 'custom'\nindex = 'n'\n{rules}"));
    let settings = Settings::load(&sources(&[], &[], Some(&path))).unwrap();
    let setting = |name| SETTINGS.iter().find(|s| s.name == name).unwrap();
    let shown = settings.show(setting("custom_rules"));
    assert_eq!(shown.as_deref(), Some("a.b=max,uses=sum"));

    let (_dir, path) = file(rules);
    let error = Settings::load(&sources(&[], &[], Some(&path))).unwrap_err();
    assert!(error.to_string().contains("custom.key is set"), "{error}");
    for wrong in ["uses = 'avg'", "uses = 1"] {
        let (_dir, path) = file(&format!(
            "layout = 'custom'\nindex = 'n'\n[custom.rules]\n{wrong}"
        ));
        let error = Settings::load(&sources(&[], &[], Some(&path))).unwrap_err();
        assert!(error.to_string().contains("custom.rules"), "{error}");
    }
}

#[test]
fn the_stronger_value_wins() {
    let (_dir, path) = file("index = 'of-file'");
    let env = [("MEMFOLD_INDEX", "of-env")];
    let index = |s: &Sources| Settings::load(s).unwrap().index().to_owned();
    assert_eq!(
        index(&sources(&[("index", "of-flag")], &env, Some(&path))),
        "of-flag"
    );
    assert_eq!(index(&sources(&[], &env, Some(&path))), "of-env");
    assert_eq!(
        index(&sources(&[], &[("MEMFOLD_INDEX", "")], Some(&path))),
        "of-file"
    );
    assert_eq!(index(&sources(&[], &[], None)), "agent_memories");
}

#[test]
fn defaults_are_valid_and_names_unique() {
    Settings::load(&Sources::default()).unwrap();
    let mut names: Vec<_> = SETTINGS.iter().map(|s| s.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), SETTINGS.len());
}

#[test]
fn toml_types_are_taken_as_they_are() {
    let (_dir, path) =
        file("threshold = 0.2\nmax_members = 7\n[fields]\nscope = ['namespace', 'agent']");
    let settings = Settings::load(&sources(&[], &[], Some(&path))).unwrap();
    assert_eq!(settings.threshold, Some(CosineDistance(0.2)));
    assert_eq!(settings.max_members, 7);
    assert_eq!(settings.fields_scope, ["namespace", "agent"]);
}

#[test]
fn unknown_keys_are_named_with_the_closest() {
    for (text, key, closest) in [
        ("tresholt = 0.1", "tresholt", "threshold"),
        ("redis-url = 'redis://h'", "redis-url", "redis_url"),
        ("[fields]\ntxt = 'a'", "fields.txt", "fields.text"),
        ("[worker]\nx = 1", "worker.x", ""),
    ] {
        let (_dir, path) = file(text);
        let error = Settings::load(&sources(&[], &[], Some(&path)))
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("`{key}`")), "{error}");
        assert!(error.contains(closest), "{error}");
    }
}

#[test]
fn unusable_values_name_their_place() {
    let (_dir, path) = file("undo_window = 'soon'");
    for (sources, parts) in [
        (
            sources(&[("threshold", "3")], &[], None),
            ["--threshold", "`3`", "cosine distance"],
        ),
        (
            sources(&[], &[("MEMFOLD_TTL", "mean")], None),
            ["MEMFOLD_TTL", "mean", "keep-apart"],
        ),
        (
            sources(&[], &[], Some(&path)),
            ["memfold.toml, undo_window", "soon", "7d"],
        ),
        (
            sources(&[("summarizer", "llm")], &[], None),
            ["summarizer", "llm", "--llm-url"],
        ),
        (
            sources(&[("llm_url", "http://h")], &[], None),
            ["--llm-url", "model", "--llm-model"],
        ),
        (
            sources(&[("max_members", "1")], &[], None),
            ["max_members", "2", "merge"],
        ),
    ] {
        let error = Settings::load(&sources).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}

#[test]
fn a_key_shape_is_no_secret() {
    let flags = sources(&[("custom_key", "notes:{uid}")], &[], None);
    let error = Settings::load(&flags).unwrap_err().to_string();
    assert!(error.contains("notes:{uid}"), "{error}");
}

#[test]
fn secrets_are_in_no_message() {
    let (_dir, path) = file("llm_key = hunter2");
    let (_dir2, missing) = file("");
    fs::remove_file(&missing).unwrap();
    for sources in [
        sources(&[("redis_url", "hunter2")], &[], None),
        sources(&[], &[], Some(&path)),
        sources(&[], &[("MEMFOLD_LLM_URL", "hunter2")], Some(&missing)),
    ] {
        let error = Settings::load(&sources).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
    let flags = [
        ("redis_url", "redis://ann:hunter2@h"),
        ("llm_key", "hunter2"),
        ("llm_url", "https://h/v1?key=hunter2"),
        ("llm_model", "m"),
    ];
    let settings = Settings::load(&sources(&flags, &[], None)).unwrap();
    let shown: Vec<_> = SETTINGS.iter().filter_map(|s| settings.show(s)).collect();
    assert!(shown.contains(&"redis://ann:***@h".to_owned()), "{shown:?}");
    assert!(
        !format!("{shown:?} {settings:?}").contains("hunter2"),
        "{settings:?}"
    );
}

#[test]
fn the_threshold_says_where_it_comes_from() {
    let unset = Settings::load(&Sources::default()).unwrap();
    assert_eq!(unset.threshold(None).origin, "default");
    assert_eq!(unset.threshold(Some(0.07)).value, 0.07);
    assert_eq!(unset.threshold(Some(0.07)).origin, "model manifest");
    let set = Settings::load(&sources(&[], &[("MEMFOLD_THRESHOLD", "0.3")], None)).unwrap();
    assert_eq!(set.threshold(Some(0.07)).value, 0.3);
    assert_eq!(set.threshold(Some(0.07)).origin, "environment");
}

#[test]
fn misspelt_variables_are_found() {
    let env = sources(
        &[],
        &[("MEMFOLD_TRESHOLD", "1"), ("MEMFOLD_TEST_PARTS", "x")],
        None,
    )
    .env;
    let found = misspelt_variables(&env);
    assert_eq!(
        found,
        [(
            "MEMFOLD_TRESHOLD".to_owned(),
            "MEMFOLD_THRESHOLD".to_owned()
        )]
    );
}
