//! Random bytes through guards, answer parser and verification: the fuzz targets themselves, compiled for the compiler at
//! hand, in the quick set. A fuzzer, which learns from the code that its bytes reach, needs cargo-fuzz.

use proptest::prelude::*;

/// In the place of libfuzzer's macro: the target is a function that is called with bytes.
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:expr) => {
        pub(crate) fn run($bytes: &[u8]) {
            $body
        }
    };
}
pub(crate) use fuzz_target;

#[allow(unused_attributes, unused_imports, clippy::duplicate_mod)]
#[path = "../../fuzz/fuzz_targets"]
mod targets {
    pub(super) mod answer;
    pub(super) mod judge;
    pub(super) mod verify;
}

#[test]
fn every_target_is_run_here() {
    let manifest = include_str!("../../fuzz/Cargo.toml");
    let manifest: toml::Value = toml::from_str(manifest).unwrap();
    let bins = manifest["bin"].as_array().unwrap().iter();
    let mut names: Vec<&str> = bins.map(|bin| bin["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["answer", "judge", "verify"]);
}

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
        targets::judge::run(&bytes);
    }

    #[test]
    fn the_answer_parser_holds(bytes in bytes()) {
        targets::answer::run(&bytes);
    }

    #[test]
    fn the_verification_holds(bytes in bytes()) {
        targets::verify::run(&bytes);
    }
}
