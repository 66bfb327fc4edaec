use insta::assert_snapshot;

use super::*;
use crate::cli::json;

const PLAIN: Style = Style {
    color: false,
    width: 80,
    verbose: false,
    whole: false,
};

#[test]
fn a_plan_reads_as_before_and_after() {
    assert_snapshot!(plan(&sample::plan(), PLAIN));
}

#[test]
fn verbose_shows_whole_texts_and_every_key() {
    assert_snapshot!(plan(
        &sample::plan(),
        Style {
            verbose: true,
            whole: false,
            ..PLAIN
        }
    ));
}

#[test]
fn a_report_says_what_was_done_and_how_to_undo_it() {
    assert_snapshot!(report(&sample::report(), PLAIN));
}

#[test]
fn nothing_to_merge_is_said() {
    let nothing = Plan {
        merges: vec![],
        groups_left: vec![],
        left_alone: vec![],
        ..sample::plan()
    };
    assert_snapshot!(plan(&nothing, PLAIN));
}

#[test]
fn a_run_that_was_stopped_does_not_say_that_there_was_nothing() {
    let stopped = Report {
        merged: vec![],
        not_committed: vec![],
        plan: Plan {
            merges: vec![],
            groups_left: vec![],
            ..sample::plan()
        },
        ..sample::report()
    };
    let text = report(&stopped, PLAIN);
    assert!(text.contains("stopped before the end; run again for the rest"));
    assert!(!text.contains("nothing to merge"));
}

#[test]
fn stored_text_cannot_drive_the_terminal() {
    let color = Style {
        color: true,
        width: 80,
        verbose: true,
        whole: false,
    };
    for text in [
        plan(&sample::plan(), color),
        report(&sample::report(), color),
    ] {
        let mut rest = text.as_str();
        while let Some(at) = rest.find('\x1b') {
            let sequence: String = rest[at..].chars().take_while(|c| *c != 'm').collect();
            let own = [
                "\x1b[0", "\x1b[1", "\x1b[2", "\x1b[31", "\x1b[32", "\x1b[33", "\x1b[35", "\x1b[36",
            ];
            assert!(own.contains(&sequence.as_str()), "{sequence:?}");
            rest = &rest[at + 1..];
        }
        assert!(!text.contains(['\r', '\u{202e}']), "{text:?}");
    }
}

#[test]
fn lines_fit_the_terminal() {
    for width in [40, 60, 80, 120] {
        let style = Style { width, ..PLAIN };
        for line in plan(&sample::plan(), style)
            .lines()
            .filter(|line| line.starts_with("  - "))
        {
            assert!(columns(line) <= width.max(60), "{width}: {line}");
        }
    }
}

#[test]
fn json_documents_have_stable_names() {
    let plan = sample::plan();
    let users = [
        json::User::plan(&plan),
        json::User::report(sample::report()),
        json::User::failure("alice", 6, "busy"),
    ];
    let mut document = json::Users::default();
    let mut text: String = users
        .iter()
        .map(|user| document.user(user).unwrap())
        .collect();
    text.push_str(&document.end(None, &[]).unwrap());
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    assert_snapshot!(text);
    let nobody = json::Users::default().end(None, &[]).unwrap();
    assert_eq!(nobody, "{\n  \"version\": 1,\n  \"users\": []\n}\n");
}
