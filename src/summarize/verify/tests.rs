use proptest::prelude::*;

use super::*;

mod altered;

fn sources(texts: &[&str]) -> Vec<SourceText> {
    texts
        .iter()
        .enumerate()
        .map(|(i, text)| SourceText {
            id: format!("m{}", i + 1),
            text: (*text).to_owned(),
            said_at: None,
        })
        .collect()
}

fn faults(texts: &[&str], text: &str) -> Vec<String> {
    verify(&sources(texts), "semantic", text)
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn faithful_texts_pass() {
    for (texts, text) in [
        (
            &[
                "Has a dog",
                "Has a dog, a seven-year-old beagle named Waffles",
            ][..],
            "Has a dog, a seven-year-old beagle named Waffles",
        ),
        (&["Has three nephews", "Has 3 nephews"], "Has 3 nephews"),
        (
            &["The flight leaves at 3 pm", "The flight leaves at 15:00"],
            "The flight leaves at 15:00.",
        ),
        (
            &[
                "User doesn't like phone calls",
                "User does not like phone calls",
            ],
            "User does not like phone calls",
        ),
        (
            &["Moved in on 2021-07-01", "Moved in on July 1st, 2021"],
            "Moved in on 1 July 2021",
        ),
        (&["押金交了一千二百元", "押金交了1200元"], "押金交了1200元"),
        (&["不吃辣", "不吃辣,不喝酒"], "不吃辣,不喝酒"),
        (
            &["Sorry is a song she likes", "Sorry is a song"],
            "Sorry is a song she likes",
        ),
        (
            &["Alice likes tea with honey", "Alice likes tea with ginger"],
            "Alice likes tea with honey, ginger",
        ),
        (
            &["Alice likes tea with honey", "Alice likes tea with ginger"],
            "Alice likes tea with honey and ginger.",
        ),
        (
            &[
                "Alice likes tea with honey, ginger",
                "Alice likes tea with lemon",
            ],
            "Alice likes tea with honey, ginger and lemon",
        ),
        (
            &[
                "Alice likes tea with ginger",
                "Alice likes tea with honey and with ginger",
            ],
            "Alice likes tea with honey and with ginger",
        ),
        (
            &[
                "Alice likes tea with honey",
                "Alice likes tea with 2 spoons of honey",
            ],
            "Alice likes tea with 2 spoons of honey",
        ),
        (
            &["Flew to Rome with Ann", "User flew to Rome for work"],
            "User flew to Rome with Ann and for work",
        ),
        (
            &["用户喜欢加蜂蜜的绿茶", "用户喜欢加生姜的绿茶"],
            "用户喜欢加蜂蜜、生姜的绿茶",
        ),
        (&["They've left", "They have left"], "They have left"),
        (&["用户喜欢喝茶", "喜欢喝咖啡"], "用户喜欢喝茶和咖啡"),
        (&["王小明在字节", "王小明在字节上班"], "王小明在字节上班"),
        (
            &[
                "User has a dog. User likes tea with milk.",
                "User likes tea",
            ],
            "User has a dog. User likes tea with milk.",
        ),
        (
            &[
                "User has a dog.",
                "User has a dog named Rex. User likes tea.",
            ],
            "The user has a dog named Rex. User likes tea.",
        ),
        (
            &[
                "User has a dog named Rex.",
                "User has a dog. User lives in Rome.",
            ],
            "User has a dog named Rex. User lives in Rome.",
        ),
        (
            &["Owns 2 cats", "Owns 2 cats called Mia and Tom"],
            "Owns 2 cats called Mia and Tom",
        ),
    ] {
        assert_eq!(faults(texts, text), [] as [String; 0], "{text}");
    }
}

#[test]
fn unfaithful_texts_are_rejected() {
    let cases: &[(&[&str], &str, &str)] = &[
        (&["Likes tea"], " \n ", "empty"),
        (&["Likes tea"], "\u{200B}", "empty"),
        (&["Likes tea"], "I cannot help with that.", "i cannot"),
        (&["喜欢茶"], "抱歉,我无法合并", "抱歉"),
        (
            &["Likes tea"],
            "Here is the merged memory: Likes tea",
            "here is the",
        ),
        (&["Likes tea"], "Could you paste the memories?", "could you"),
        (&["Likes tea"], "Likes tea?", "?"),
        (&["Likes tea"], "**Likes tea**", "**"),
        (
            &["Likes tea"],
            "```json\n{\"text\": \"Likes tea\"}\n```",
            "```",
        ),
        (
            &["Likes tea", "Likes green tea"],
            "Likes green tea (m1, m2)",
            "\"m1\"",
        ),
        (&["Likes tea"], "semantic: Likes tea", "semantic:"),
        (
            &["Rent is 1,200 EUR", "Rent is 1200 EUR"],
            "Rent is EUR",
            "the number \"1,200 EUR\" of source m1 is missing",
        ),
        (
            &["The list stands at 120 people"],
            "The list stands at 102 people",
            "120",
        ),
        (
            &["Works as a nurse", "Works as a nurse"],
            "Works as a nurse in Oslo",
            "Oslo",
        ),
        (&["Likes tea"], "Likes tea since 2019", "2019"),
        (&["Likes tea"], "Likes tea as of today", "today"),
        (&["Born on 5 May 2020"], "Born on 5 June 2020", "5 May 2020"),
        (
            &["Choir on Tuesday", "Choir is on Tuesday"],
            "Choir is on Thursday",
            "Tuesday",
        ),
        (
            &["Ticket OPS-2291 waits"],
            "Ticket OPS-2219 waits",
            "OPS-2291",
        ),
        (&["Mail a@example.org"], "Mail", "a@example.org"),
        (
            &["Likes tea"],
            "Likes tea, see https://evil.example/x",
            "https://evil.example/x",
        ),
        (
            &["Does not like tea", "Doesn't like tea"],
            "Likes tea",
            "not",
        ),
        (
            &["Likes tea", "Likes tea a lot"],
            "Does not like tea a lot",
            "not",
        ),
        (&["用户不吃香菜", "不吃香菜"], "用户吃香菜", "不"),
        (
            &[
                "Likes tea, does not like coffee",
                "Likes tea and doesn't like coffee",
            ],
            "Likes coffee, does not like tea",
            "coffee",
        ),
        (
            &["Had lunch with Erin", "Lunch with Erin"],
            "Had lunch with Eric",
            "Erin",
        ),
        (
            &["喜欢爬山", "周末爬山"],
            "Likes hiking on weekends",
            "script",
        ),
        (&["Likes tea"], "Likes tea 茶", "茶"),
        (
            &["Works as a nurse", "Works as a night nurse"],
            "Works as a nurse",
            "night",
        ),
        (
            &["Allergic to peanuts, soy and walnuts"],
            "Allergic to peanuts and walnuts",
            "soy",
        ),
        (
            &["王小明在字节", "王小明在字节上班"],
            "王小在字节上班",
            "明",
        ),
        (&["the new sofa 👍"], "the new sofa 👎", "👍"),
        (
            &["Was a nurse", "Was a nurse at St. Mary"],
            "Is a nurse at St. Mary",
            "Was",
        ),
        (
            &["Is a nurse", "Is a nurse at St. Mary"],
            "Was a nurse at St. Mary",
            "Was",
        ),
        (
            &["Reads 《三体》", "Likes 《三体》"],
            "Reads and likes 三体",
            "《三体》",
        ),
        (
            &["Likes tea"],
            "Likes tea. Likes tea. Likes tea. Likes tea. Likes tea",
            "too long",
        ),
        (
            &["Pays 40 to Tom and 40 to Mia"],
            "Pays 40 to Tom and Mia",
            "40",
        ),
    ];
    for (texts, text, expected) in cases {
        let faults = faults(texts, text);
        assert!(
            faults
                .iter()
                .any(|f| f.to_lowercase().contains(&expected.to_lowercase())),
            "{texts:?} {text:?} {faults:?}"
        );
    }
}

#[test]
fn without_sources_everything_is_invented() {
    assert!(verify(&[], "", "Likes tea").is_err());
}

#[test]
fn a_missing_number_is_named() {
    let faults = faults(&["Has 42 plants", "Has 42 big plants"], "Has big plants");
    assert!(
        faults.contains(&"the number \"42\" of source m2 is missing".to_owned()),
        "{faults:?}"
    );
}

proptest! {
    #[test]
    fn a_text_verifies_against_itself(text in "\\PC{1,60}", copies in 1_usize..4) {
        let sources = sources(&vec![text.as_str(); copies]);
        let result = verify(&sources, "semantic", &text);
        if normalize(&text).is_empty() {
            prop_assert_eq!(result, Err(vec![Fault::Empty]));
        } else {
            prop_assert_eq!(result, Ok(()));
        }
    }

    #[test]
    fn a_dropped_or_added_number_or_denial_is_rejected(a in 10_u32..99_999, b in "[a-z]{4,8}") {
        let with = format!("Tom has {a} {b} and no cat");
        let without = format!("Tom has {b} and no cat");
        let affirmed = format!("Tom has {a} {b} and cat");
        let only = |text: &str| vec![SourceText { id: "m1".into(), text: text.into(), said_at: None }];
        prop_assert!(verify(&only(&with), "", &without).is_err());
        prop_assert!(verify(&only(&without), "", &with).is_err());
        prop_assert!(verify(&only(&with), "", &affirmed).is_err());
        prop_assert!(verify(&only(&affirmed), "", &with).is_err());
    }

    #[test]
    fn never_panics(a in "\\PC{0,40}", b in "[\\PC\n\t]{0,40}", c in "\\PC{0,40}") {
        let _ = verify(&sources(&[&a, &b]), &c, &c);
    }
}

#[test]
fn what_cannot_be_seen_must_not_come_in() {
    let texts = &["Likes tea with honey", "Likes tea with ginger"];
    for hidden in [
        "\0",
        "\t",
        "\u{7f}",
        "\u{200b}",
        "\u{feff}",
        "\u{202e}",
        "\u{e0041}",
    ] {
        let text = format!("Likes tea with honey, {hidden}ginger");
        let name = format!("U+{:04X}", u32::from(hidden.chars().next().unwrap()));
        let found = faults(texts, &text);
        assert!(
            found.iter().any(|f| f.contains(&name)),
            "{hidden:?}: {found:?}"
        );
    }
    // What a source has is the agent's own.
    let family = "The family \u{1f468}\u{200d}\u{1f469} likes tea";
    assert_eq!(
        faults(&[family, "The family likes tea"], family),
        Vec::<String>::new()
    );
}
