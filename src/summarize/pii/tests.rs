use proptest::prelude::*;

use super::find::{FINDER_COUNT, finders};
use super::*;

fn hidden(text: &str) -> (String, Vec<(Kind, String)>) {
    let mask = Mask::of([text]);
    let found = mask
        .hidden
        .iter()
        .map(|(kind, _, original)| (*kind, original.clone()));
    (mask.hide(text), found.collect())
}

#[test]
fn all_patterns_are_valid() {
    assert_eq!(finders(), FINDER_COUNT);
}

#[test]
fn what_is_personal_is_found() {
    for (text, kind, original) in [
        (
            "Mail is ana.b+x@mail.example.com.",
            Kind::Email,
            "ana.b+x@mail.example.com",
        ),
        (
            "我的邮箱是wang@example.com，请记住",
            Kind::Email,
            "wang@example.com",
        ),
        (
            "Call +49 (0)30 123456-78 at noon",
            Kind::Phone,
            "+49 (0)30 123456-78",
        ),
        ("手机13812345678", Kind::Phone, "13812345678"),
        ("手机号是138-1234-5678", Kind::Phone, "138-1234-5678"),
        ("Number: 030 1234567", Kind::Phone, "030 1234567"),
        ("Home (555) 010-4477", Kind::Phone, "(555) 010-4477"),
        ("Her phone number is 5550104477", Kind::Phone, "5550104477"),
        (
            "Card 4111 1111 1111 1111, exp 12/27",
            Kind::Card,
            "4111 1111 1111 1111",
        ),
        ("Amex 3782-822463-10005", Kind::Card, "3782-822463-10005"),
        (
            "IBAN DE89 3704 0044 0532 0130 00 BIC X",
            Kind::Iban,
            "DE89 3704 0044 0532 0130 00",
        ),
        (
            "Konto GB82WEST12345698765432",
            Kind::Iban,
            "GB82WEST12345698765432",
        ),
        ("身份证号11010519491231002X", Kind::Id, "11010519491231002X"),
        (
            "身份证 440308199901101512 在此",
            Kind::Id,
            "440308199901101512",
        ),
        ("SSN 078-05-1120", Kind::Id, "078-05-1120"),
        ("DNI 12345678Z", Kind::Id, "12345678Z"),
        ("NIE Y1234567X", Kind::Id, "Y1234567X"),
        ("NI number AB 12 34 56 C", Kind::Id, "AB 12 34 56 C"),
        ("Steuer-ID 86 095 742 719", Kind::Id, "86 095 742 719"),
        ("Passport no. C01X00T47", Kind::Id, "C01X00T47"),
        ("护照号码是E12345678", Kind::Id, "E12345678"),
        (
            "Uses sk-proj-4f9aK2mQ8xY7bN1c for tests",
            Kind::Secret,
            "sk-proj-4f9aK2mQ8xY7bN1c",
        ),
        (
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            Kind::Secret,
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        ),
        (
            "key AKIAIOSFODNN7EXAMPLE",
            Kind::Secret,
            "AKIAIOSFODNN7EXAMPLE",
        ),
        ("password: hunter2!", Kind::Secret, "hunter2!"),
        ("Wifi password is Blue-Horse7", Kind::Secret, "Blue-Horse7"),
        ("银行卡密码是835201", Kind::Secret, "835201"),
        ("redis://app:s3cr3t@db:6379", Kind::Secret, "s3cr3t"),
        (
            "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
            Kind::Secret,
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        ),
        (
            "hash 9f86d081884c7d659a2feaa0c55ad015",
            Kind::Secret,
            "9f86d081884c7d659a2feaa0c55ad015",
        ),
    ] {
        let (masked, found) = hidden(text);
        assert_eq!(found, [(kind, original.to_owned())], "{text}");
        assert!(
            !masked.contains(original) && masked.contains(kind.name()),
            "{masked}"
        );
    }
}

#[test]
fn what_is_not_personal_stays() {
    for text in [
        "Moved in on 2024-05-01 and pays 1,200 EUR",
        "Bus 18 stops at 15:30; flat 3, order 4711",
        "Uses v2.3.1 of all-MiniLM-L6-v2-int8 on port 8090",
        "4111 1111 1111 1112 is no card",
        "身份证号110105194912310021不对吗",
        "Follows @ana and reads https://example.com/a/b?page=2",
        "Had 3 cats in 2019, 2020 and 2021",
        "The token economy is a hobby",
    ] {
        let (masked, found) = hidden(text);
        let unexpected: Vec<_> = found.iter().filter(|(kind, _)| *kind != Kind::Id).collect();
        // A number that is called one of an identity card is hidden, right or wrong.
        assert!(
            unexpected.is_empty() && (masked == text || !found.is_empty()),
            "{text} {found:?}"
        );
    }
}

#[test]
fn equal_data_has_one_placeholder_and_own_ones_stay() {
    let texts = [
        "Ana: a@example.com, {EMAIL_1}",
        "a@example.com or b@example.com",
    ];
    let mask = Mask::of(texts);
    let masked = texts.map(|text| mask.hide(text));
    assert_eq!(
        masked,
        ["Ana: {EMAIL_2}, {EMAIL_1}", "{EMAIL_2} or {EMAIL_3}"]
    );
    assert_eq!(masked.map(|text| mask.restore(&text).unwrap()), texts);
    assert_eq!(mask.restore("{EMAIL_4}"), Err(Unknown("{EMAIL_4}".into())));
    assert_eq!(
        mask.hide("c@example.com"),
        "…",
        "what is not known is left out"
    );
    assert_eq!(mask.kinds().len(), 1);
}

proptest! {
    #[test]
    fn what_is_hidden_comes_back(text in "[\\PC{}]{0,60}") {
        let mask = Mask::of([text.as_str()]);
        prop_assert_eq!(mask.restore(&mask.hide(&text)).unwrap(), text);
    }

    #[test]
    fn data_between_any_words_comes_back_and_is_not_seen(
        before in "[a-z 茶是,.]{0,12}", after in "[ 茶,.;][a-z 茶]{0,12}",
        data in prop::sample::select(vec![
            "ana@example.org", "+44 20 7946 0958", "4111111111111111", "DE89370400440532013000",
            "11010519491231002X", "sk-live-4f9aK2mQ8xY7bN1c",
        ]),
    ) {
        let text = format!("{before} {data}{after}");
        let mask = Mask::of([text.as_str()]);
        let masked = mask.hide(&text);
        prop_assert!(!masked.contains(data), "{}", masked);
        prop_assert_eq!(mask.restore(&masked).unwrap(), text);
    }
}
