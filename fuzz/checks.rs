//! What must hold whatever a text is: checked by the fuzz targets with inputs that they look for,
//! and by a property test (`tests/it/raw_bytes.rs`), which runs the targets, with random ones.

use memfold::judge::{Claim, compatible_parts, judge as judge_pair};
use memfold::memory::Verdict;
use memfold::summarize::SourceText;
use memfold::summarize::extractive::fold;
use memfold::summarize::llm::{Answer, read_content};
use memfold::summarize::orders::gives_orders;
use memfold::summarize::verify::verify as verify_text;

/// The texts that bytes stand for: 0xFF parts them.
fn texts(bytes: &[u8]) -> Vec<String> {
    let parts = bytes.split(|byte| *byte == 0xFF);
    parts
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect()
}

/// The judge never panics; its verdict does not depend on the order; what is the same is folded,
/// and what is different is not.
pub(crate) fn judge(bytes: &[u8]) {
    let texts = texts(bytes);
    let said_at = "2024-05-01T12:00:00Z".parse().ok();
    let claims: Vec<Claim<'_>> = texts
        .iter()
        .take(4)
        .map(|text| Claim { text, said_at })
        .collect();
    for a in &claims {
        for b in &claims {
            let found = judge_pair(*a, *b);
            assert_eq!(found.verdict, judge_pair(*b, *a).verdict);
            let folded = !fold(&[*a, *b]).is_empty();
            assert!(!folded || found.verdict == Verdict::Same, "{a:?} {b:?}");
        }
    }
    let mut members: Vec<usize> = compatible_parts(&claims).concat();
    members.sort_unstable();
    assert_eq!(members, (0..claims.len()).collect::<Vec<_>>());
}

/// The parser of answers never panics, and knows no memory that it was not given.
pub(crate) fn answer(bytes: &[u8]) {
    let content = String::from_utf8_lossy(bytes);
    let sources = ["m1", "m2", "m3"].map(|id| SourceText {
        id: id.to_owned(),
        text: format!("The user likes {id}"),
        said_at: None,
    });
    if let Ok(Answer::Merged { used, text, .. }) = read_content(&content, &sources) {
        assert!(used.iter().all(|id| sources.iter().any(|s| s.id == *id)));
        assert!(!text.trim().is_empty());
    }
}

/// The verification never panics, says the same each time, and lets no invented number through.
pub(crate) fn verify(bytes: &[u8]) {
    let texts = texts(bytes);
    let (Some(text), Some(sources)) = (texts.first(), texts.get(1..)) else {
        return;
    };
    let source = |(i, text): (usize, &String)| SourceText {
        id: format!("m{i}"),
        text: text.clone(),
        said_at: None,
    };
    let sources: Vec<SourceText> = sources.iter().take(4).enumerate().map(source).collect();
    let found = verify_text(&sources, "semantic", text);
    assert_eq!(
        found.is_ok(),
        verify_text(&sources, "semantic", text).is_ok()
    );
    let invented = format!("{text} 774319");
    let known = sources.iter().any(|s| s.text.contains("774319"));
    assert!(known || verify_text(&sources, "semantic", &invented).is_err());
    let _ = gives_orders(text);
}
