//! Which memories may be merged for how long they live, and how long the result lives.

use super::TtlRule;
use crate::layout::Source;

/// Rows that may share one life, by the rule.
pub(super) fn expiry_buckets(
    rows: &[usize],
    expiry: impl Fn(usize) -> Option<i64>,
    rule: TtlRule,
    now_ms: i64,
) -> Vec<Vec<usize>> {
    if rule != TtlRule::KeepApart {
        return vec![rows.to_vec()];
    }
    let mut sorted: Vec<(Option<i64>, usize)> = rows.iter().map(|&r| (expiry(r), r)).collect();
    sorted.sort_unstable();
    let mut buckets: Vec<(Option<i64>, Vec<usize>)> = Vec::new();
    for (at, row) in sorted {
        match buckets.last_mut() {
            Some((first, bucket)) if same_expiry(*first, at, now_ms) => bucket.push(row),
            _ => buckets.push((at, vec![row])),
        }
    }
    buckets
        .into_iter()
        .map(|(_, mut bucket)| {
            bucket.sort_unstable();
            bucket
        })
        .collect()
}

/// About the same time: within 1 % of what is left to live, and always within one second.
fn same_expiry(a: Option<i64>, b: Option<i64>, now_ms: i64) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => (a - b).abs() <= ((a.min(b) - now_ms) / 100).max(1000),
        _ => false,
    }
}

/// The absolute expiry of a result, by the rule; `None` = kept for ever.
pub(super) fn result_expiry(sources: &[Source], rule: TtlRule) -> Option<i64> {
    let expiries = || sources.iter().map(|s| s.memory.expires_at_ms);
    match rule {
        TtlRule::Min => expiries().flatten().min(),
        // Under keep-apart they differ by next to nothing; nothing may live shorter than promised.
        TtlRule::KeepApart | TtlRule::Max if expiries().all(|e| e.is_some()) => {
            expiries().flatten().max()
        }
        TtlRule::KeepApart | TtlRule::Max => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(expiries: &[Option<i64>], rule: TtlRule) -> Vec<Vec<usize>> {
        let rows: Vec<usize> = (0..expiries.len()).collect();
        expiry_buckets(&rows, |row| expiries[row], rule, 0)
    }

    #[test]
    fn memories_that_never_expire_stay_apart_from_those_that_do() {
        let found = buckets(&[None, Some(10_000), None], TtlRule::KeepApart);
        assert_eq!(found, vec![vec![0, 2], vec![1]]);
    }

    #[test]
    fn about_the_same_time_is_one_percent_of_the_rest_or_a_second() {
        let day = 86_400_000;
        let found = buckets(
            &[Some(day), Some(day + 800_000), Some(day + 900_000)],
            TtlRule::KeepApart,
        );
        assert_eq!(found, vec![vec![0, 1], vec![2]]);
        let found = buckets(&[Some(500), Some(1500), Some(1501)], TtlRule::KeepApart);
        assert_eq!(found, vec![vec![0, 1], vec![2]]);
    }

    #[test]
    fn min_and_max_let_all_meet() {
        assert_eq!(buckets(&[None, Some(1)], TtlRule::Min).len(), 1);
        assert_eq!(buckets(&[None, Some(1)], TtlRule::Max).len(), 1);
    }
}
