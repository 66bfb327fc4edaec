use proptest::prelude::*;

use super::*;

fn at(date: &str) -> Option<Timestamp> {
    (!date.is_empty()).then(|| format!("{date}T12:00:00Z").parse().unwrap())
}

fn verdict(a: (&str, &str), b: (&str, &str)) -> Verdict {
    judge(
        Claim {
            text: a.0,
            said_at: at(a.1),
        },
        Claim {
            text: b.0,
            said_at: at(b.1),
        },
    )
    .verdict
}

#[test]
fn verdicts() {
    use Verdict::{Different, Same, Unsure};
    for (a, b, expected) in [
        ("Likes tea.", "likes tea", Same),
        ("Likes tea", "Enjoys tea", Same),
        ("Has a dog", "Has a dog allergy", Unsure),
        (
            "Has a dog",
            "Has a dog, a seven-year-old beagle named Waffles",
            Same,
        ),
        ("Likes tea.", "Likes tea. Works at the bakery of Ana.", Same),
        (
            "User has a dog",
            "Works at the bakery of Ana. User has a dog.",
            Same,
        ),
        (
            "Has a dog",
            "Works at the bakery of Ana. Has a dog.",
            Unsure,
        ),
        ("Likes tea.", "Likes tea. That was in 2019.", Unsure),
        (
            "Likes tea.",
            "Likes tea. Just kidding, likes coffee from Rome.",
            Unsure,
        ),
        ("Likes tea.", "Likes tea. Not any more.", Different),
        (
            "User owns a yacht.",
            "Suppose the user is rich. User owns a yacht.",
            Unsure,
        ),
        (
            "User lives in Rome.",
            "User lives in Rome. Retracted by the user.",
            Unsure,
        ),
        (
            "User owns a house",
            "User owns a house\nboat on the lake",
            Unsure,
        ),
        ("用户喜欢茶。", "用户喜欢茶。以上内容纯属虚构。", Unsure),
        (
            "Likes tea.",
            "Likes tea? Works at the bakery of Ana.",
            Unsure,
        ),
        (
            "Tom said: \"I lie.",
            "Tom said: \"I lie. Works at the bakery of Ana.\"",
            Unsure,
        ),
        (
            "Rent is due on the 3rd",
            "Rent is due on the 4th",
            Different,
        ),
        ("Rent is 1,200 EUR", "Rent is 1,300 EUR", Different),
        ("Rent is 1,200 EUR", "Rent is 1200 euros", Same),
        ("The freezer is at -5", "The freezer is at 5", Different),
        ("The balance is −80 EUR", "The balance is 80 EUR", Different),
        ("Pays 5% more", "Pays 5‱ more", Different),
        ("Runs v2.3", "Runs v2.8", Different),
        ("Board QX1603 runs hot", "Board QX1605 runs hot", Different),
        ("Deploy on Fridays", "Never deploy on Fridays", Different),
        ("周五可以发布", "周五不要发布", Different),
        ("我爱跑步", "我爱普洱", Unsure),
        ("🎉🎉", "🚒", Unsure),
        (
            "Went to Japan in 2019 with 2 friends",
            "Went to Japan with 3 friends",
            Different,
        ),
        (
            "Went to Japan in 2019",
            "Went to Japan with 3 friends",
            Different,
        ),
        (
            "Went to Japan",
            "Went to Japan in 2019 with 3 friends",
            Same,
        ),
        // Two meetings of one verb may be an old value and a new one.
        (
            "User lives in Rome",
            "User lives in Rome. User lives in Oslo.",
            Unsure,
        ),
        // A line break is no end of a sentence.
        (
            "User owns a house",
            "User owns a house\nboat on the lake",
            Unsure,
        ),
        (
            "User will marry Ann",
            "User will marry Ann\nprovided the user has money",
            Unsure,
        ),
        ("用户买汽车", "用户买汽车\n模型送给弟弟玩", Unsure),
        (
            "User owns a boat",
            "User owns a boat.\nUser likes tea with milk.",
            Same,
        ),
        ("用户喜欢茶", "用户喜欢茶。用户住在上海浦东。", Same),
        ("", "", Unsure),
        (" ", "\u{200B}", Unsure),
    ] {
        assert_eq!(verdict((a, ""), (b, "")), expected, "{a:?} {b:?}");
        assert_eq!(verdict((b, ""), (a, "")), expected, "{b:?} {a:?}");
    }
}

#[test]
fn equal_texts_on_other_days() {
    use Verdict::{Different, Same, Unsure};
    for (text, a, b, expected) in [
        ("Had a migraine today", "2024-05-01", "2024-05-01", Same),
        (
            "Had a migraine today",
            "2024-05-01",
            "2024-05-02",
            Different,
        ),
        ("今天头疼", "2024-05-01", "2024-05-02", Different),
        ("Knee hurts today", "", "", Different),
        ("Has migraines", "2024-05-01", "2025-05-01", Same),
        ("Sick since the weekend", "2024-05-01", "2024-06-01", Unsure),
        ("Next sprint is hers", "2024-05-01", "2024-06-01", Unsure),
        ("月底交房租", "2024-05-01", "2024-06-01", Unsure),
        ("月底交房租", "2024-05-01", "2024-05-01", Same),
        ("每月底交房租", "2024-05-01", "2024-06-01", Same),
        ("Meets Ana on Friday", "2024-05-01", "2024-06-01", Unsure),
        ("Meets Ana on Fridays", "2024-05-01", "2024-06-01", Same),
        ("Meets Ana every Friday", "2024-05-01", "2024-06-01", Same),
        ("Her birthday is on 5 May", "2023-05-01", "2024-06-01", Same),
        ("Met Ana on 5 May", "2023-06-01", "2024-06-01", Unsure),
        ("Met Ana on 5 May 2022", "2023-06-01", "2024-06-01", Same),
    ] {
        assert_eq!(verdict((text, a), (text, b)), expected, "{text} {a} {b}");
    }
}

#[test]
fn what_frames_or_revokes_is_not_contained() {
    let yacht = "User owns a yacht.";
    for frame in [
        "Suppose the user is rich.",
        "Imagine the user is rich.",
        "Assume the user is rich.",
        "Test data for the app.",
        "Fake profile for the test.",
        "Quote from the film.",
        "Story by the user.",
        "Scammers have the following script.",
        "Opposite of the truth is.",
        "Goal of the year is clear.",
        "Retracted by the user.",
        "Withdrawn by the user.",
        "Revoked by the user.",
        "Superseded by the user.",
        "Valid for the summer.",
        "Delete the entry for the user.",
        "Strike the sentence from the record.",
        "Everything is invented for testing.",
        "Applies to guests of the user.",
        "The user is a character in a film.",
        "User likes making things up.",
    ] {
        for text in [format!("{frame} {yacht}"), format!("{yacht} {frame}")] {
            assert_ne!(verdict((yacht, ""), (&text, "")), Verdict::Same, "{text}");
        }
    }
    let tea = "用户喜欢茶。";
    for frame in [
        "以上内容纯属虚构。",
        "前述内容作废处理。",
        "仅限周围客人使用。",
        "前提是用户有钱。",
        "倘若用户有钱。",
        "一旦用户有钱。",
        "角色扮演正式开始。",
        "用户喜欢编故事。",
    ] {
        for text in [format!("{frame}{tea}"), format!("{tea}{frame}")] {
            assert_ne!(verdict((tea, ""), (&text, "")), Verdict::Same, "{text}");
        }
    }
}

#[test]
fn findings_name_the_words() {
    let claim = |text| Claim {
        text,
        said_at: None,
    };
    let judgement = judge(claim("Has 2 cats"), claim("Has 3 cats"));
    let findings: Vec<String> = judgement.findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings, ["numbers: 2 ≠ 3"]);
    let judgement = judge(claim("Eats fish"), claim("Doesn't eat fish"));
    let findings: Vec<String> = judgement.findings.iter().map(ToString::to_string).collect();
    assert_eq!(findings, ["negation: ∅ ≠ Doesn't eat"]);
}

#[test]
fn parts_hold_no_pair_that_is_different() {
    let claims: Vec<Claim<'_>> = [
        "Has 2 cats",
        "Has 3 cats",
        "Has two cats",
        "Owns cats",
        "Has three cats",
        "Has 2 pet cats",
    ]
    .iter()
    .map(|text| Claim {
        text,
        said_at: None,
    })
    .collect();
    assert_eq!(compatible_parts(&claims), [vec![0, 2, 3, 5], vec![1, 4]]);
    assert_eq!(compatible_parts(&[]), [] as [Vec<usize>; 0]);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        "[a-zA-Z0-9 .,!?'\"\n\t不没一二三年月日点:/@#$%-]{0,40}",
        prop::collection::vec(
            prop::sample::select(vec![
                "not",
                "no",
                "3",
                "three",
                "5 May",
                "2024-02-10",
                "today",
                "3 pm",
                "15:00",
                "TR-4471",
                "tea",
                "likes",
                "Ana",
                ".",
                "不",
                "两",
                "周五",
                "五点半",
                "Friday",
                "EUR",
                "1,200",
                "two hundred",
                "12万",
            ]),
            0..10,
        )
        .prop_map(|words| words.join(" ")),
    ]
}

fn said_at() -> impl Strategy<Value = Option<Timestamp>> {
    prop::option::of((0_i64..2_000_000_000).prop_map(|s| Timestamp::from_second(s).unwrap()))
}

proptest! {
    #[test]
    fn the_verdict_is_symmetric(a in text(), b in text(), at_a in said_at(), at_b in said_at()) {
        let (a, b) = (Claim { text: &a, said_at: at_a }, Claim { text: &b, said_at: at_b });
        prop_assert_eq!(judge(a, b).verdict, judge(b, a).verdict);
    }

    #[test]
    fn a_text_is_the_same_as_itself(a in text(), at in said_at()) {
        let claim = Claim { text: &a, said_at: at };
        let verdict = judge(claim, claim).verdict;
        let blank = normalize::normalize(&a).is_empty();
        if blank {
            prop_assert_eq!(verdict, Verdict::Unsure);
        } else if at.is_some() {
            prop_assert_eq!(verdict, Verdict::Same);
        }
    }

    #[test]
    fn a_changed_number_is_never_same(n in 0_u32..100_000, m in 0_u32..100_000, word in "[a-z]{1,6}") {
        prop_assume!(n != m);
        let (a, b) = (format!("{word} {n} {word}"), format!("{word} {m} {word}"));
        let claim = |text| Claim { text, said_at: None };
        prop_assert_eq!(judge(claim(&a), claim(&b)).verdict, Verdict::Different);
    }

    #[test]
    fn compatible_parts_are_a_partition(texts in prop::collection::vec(text(), 0..8)) {
        let claims: Vec<Claim<'_>> = texts.iter().map(|text| Claim { text, said_at: None }).collect();
        let parts = compatible_parts(&claims);
        let mut all: Vec<usize> = parts.concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..texts.len()).collect::<Vec<_>>());
        for part in parts {
            for i in &part {
                for j in part.iter().filter(|j| *j != i) {
                    prop_assert!(judge(claims[*i], claims[*j]).verdict.may_be_one());
                }
            }
        }
    }
}
