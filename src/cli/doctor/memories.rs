//! What the layout makes of the store: how much would be read, what is left alone, what is
//! rewritten.

use std::cmp::Reverse;

use redis::aio::ConnectionManager;

use super::Check;
use crate::cli::render::count;
use crate::layout::Layout;
use crate::record::IndexFacts;
use crate::store::survey::{Left, Survey, survey};

/// Findings that are told of each reason.
const MOST: usize = 5;

pub(super) async fn checks(
    conn: &mut ConnectionManager,
    facts: &IndexFacts,
    layout: &dyn Layout,
) -> Vec<Check> {
    let mut checks = vec![rewritten(layout)];
    match survey(conn, facts, layout).await {
        Ok(survey) => checks.extend(told(&survey)),
        Err(error) => checks.push(Check::failed("memories", error)),
    }
    checks
}

fn rewritten(layout: &dyn Layout) -> Check {
    let fields = layout.fields();
    let names = |wanted: bool| {
        let fields = fields.iter().filter(|field| field.rewritten == wanted);
        let names: Vec<&str> = fields.map(|field| field.name.as_str()).collect();
        names.join(", ")
    };
    let found = format!(
        "{}: a merge rewrites {} of one memory and keeps {} and all else",
        layout.name(),
        names(true),
        names(false)
    );
    Check::ok("layout", found)
}

fn told(survey: &Survey) -> Vec<Check> {
    let memories = count(survey.memories, "memory", "memories");
    let mut found = format!("{memories} of {}", count(survey.users, "user", "users"));
    if survey.read < survey.keys {
        found += &format!(" in the first {} of {} keys", survey.read, survey.keys);
    }
    if survey.passed_over > 0 {
        found += &format!(
            "; {} cannot be any",
            count(survey.passed_over, "key", "keys")
        );
    }
    let mut checks = vec![Check::ok("memories", found)];
    for concern in &survey.concerns {
        let (found, advice) = (concern.found.clone(), concern.advice.clone());
        checks.push(if concern.refuses {
            Check::fail("state", found, advice)
        } else {
            Check::warn("state", found, advice)
        });
    }
    checks.extend(left_alone(survey));
    checks
}

/// What is left alone: each reason with what was found most often.
fn left_alone(survey: &Survey) -> Vec<Check> {
    let mut all: Vec<_> = survey.left_alone.iter().collect();
    all.sort_by_key(|((reason, _), left)| (*reason, Reverse(left.count)));
    let mut checks = Vec::new();
    for of_reason in all.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
        let (told, rest) = of_reason.split_at(of_reason.len().min(MOST));
        for ((reason, detail), Left { count, key }) in told {
            let found = format!("{count} {reason}: {detail} (first: {key})");
            checks.push(Check::skipped("left alone", found));
        }
        if let [((reason, _), _), ..] = rest {
            let more: usize = rest.iter().map(|(_, left)| left.count).sum();
            let found = format!("{more} {reason}: other details");
            checks.push(Check::skipped("left alone", found));
        }
    }
    checks
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cli::check::Status;
    use crate::layout::Concern;
    use crate::memory::Reason;

    #[test]
    fn what_is_left_alone_is_counted_by_reason() {
        let left = |count| Left {
            count,
            key: "store:1".into(),
        };
        let mut left_alone = BTreeMap::from([(
            (Reason::Structured, "the value is serialised".to_owned()),
            left(3),
        )]);
        for n in 1..=7 {
            left_alone.insert((Reason::Malformed, format!("detail {n}")), left(n));
        }
        let concern = Concern {
            refuses: true,
            found: "being rebuilt".into(),
            advice: "wait".into(),
        };
        let survey = Survey {
            keys: 9,
            read: 8,
            passed_over: 1,
            memories: 5,
            users: 1,
            left_alone,
            concerns: vec![concern],
        };
        let checks = told(&survey);
        let found: Vec<&str> = checks.iter().map(|check| &*check.found).collect();
        assert_eq!(
            found,
            [
                "5 memories of 1 user in the first 8 of 9 keys; 1 key cannot be any",
                "being rebuilt",
                "7 malformed: detail 7 (first: store:1)",
                "6 malformed: detail 6 (first: store:1)",
                "5 malformed: detail 5 (first: store:1)",
                "4 malformed: detail 4 (first: store:1)",
                "3 malformed: detail 3 (first: store:1)",
                "3 malformed: other details",
                "3 structured: the value is serialised (first: store:1)",
            ]
        );
        assert_eq!(checks[1].status, Status::Fail);
    }
}
