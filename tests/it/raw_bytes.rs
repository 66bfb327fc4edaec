//! Random bytes through guards, answer parser and verification: what the fuzz targets check, in the
//! quick set.

use proptest::prelude::*;

#[path = "../../fuzz/checks.rs"]
mod checks;

/// Pieces that parsers stumble over, between bytes of any kind.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        prop::sample::select(vec![
            "Lives in Rome",
            "moved to Oslo",
            "doesn't",
            " is what the user drinks",
            " by ",
            "neither",
            " nor ",
            "用户",
            "被",
            "改喝",
            "不",
            "，",
            "3 May",
            "1,000",
            "5pm",
            "{\"verdict\":\"same\",\"text\":\"",
            "\",\"used\":[\"m1\"]}",
            "</think>",
            "```",
            "\"",
            ": ",
            "(",
            "the user's sister",
            "\u{200B}",
            "\u{F0000}",
            "é",
            "e\u{301}",
            "🎉",
            "ß",
            "İ",
            "二十",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        Just(vec![0xFF]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_judge_holds(bytes in bytes()) {
        checks::judge(&bytes);
    }

    #[test]
    fn the_answer_parser_holds(bytes in bytes()) {
        checks::answer(&bytes);
    }

    #[test]
    fn the_verification_holds(bytes in bytes()) {
        checks::verify(&bytes);
    }
}
