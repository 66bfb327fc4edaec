//! What another threshold would change.
//!
//! The threshold only decides which memories are looked at together. So the decisions about pairs
//! at a wide threshold hold for every narrower one, except that those farther apart are not merged.

use serde::Serialize;

use super::input::Pair;
use super::pairs::{PairDecision, Rates};
use crate::judge::normalize;

/// Rates at one threshold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Cosine distance, inclusive.
    pub threshold: f64,
    /// The rates of all pairs.
    pub rates: Rates,
}

/// The rates at each of `thresholds`, from decisions made at a threshold that is not below any of
/// them.
pub fn curve(pairs: &[Pair], wide: &[PairDecision], thresholds: &[f64]) -> Vec<Point> {
    let point = |&threshold: &f64| {
        let mut rates = Rates::default();
        for (pair, decision) in pairs.iter().zip(wide) {
            rates.add(pair, decision, within(pair, decision, threshold));
        }
        Point { threshold, rates }
    };
    thresholds.iter().map(point).collect()
}

/// The decisions at a threshold, from decisions made at one that is not below it.
pub fn at(pairs: &[Pair], wide: &[PairDecision], threshold: f64) -> Vec<PairDecision> {
    let decision = |(pair, decision): (&Pair, &PairDecision)| PairDecision {
        merged: decision.merged && within(pair, decision, threshold),
        ..decision.clone()
    };
    pairs.iter().zip(wide).map(decision).collect()
}

/// Thresholds to draw a curve over, up to `reach`.
pub fn grid(reach: f64) -> Vec<f64> {
    (0..=35)
        .map(|i| f64::from(i) * 0.02)
        .filter(|t| *t <= reach)
        .collect()
}

/// Whether the two are looked at together at a threshold: equal texts are at any.
fn within(pair: &Pair, decision: &PairDecision, threshold: f64) -> bool {
    decision.distance.is_none_or(|d| d <= threshold) || normalize(&pair.a) == normalize(&pair.b)
}

/// The largest threshold whose false-merge rate is within `budget` (0 … 1), from decisions made at
/// the widest threshold.
///
/// Beyond the farthest merge nothing was seen, so the threshold is never larger than that one's
/// distance, rounded up to three digits. `None` if no pair with a distance was merged, or if even
/// the nearest false merges exceed the budget.
pub fn largest_within(pairs: &[Pair], wide: &[PairDecision], budget: f64) -> Option<f64> {
    let merged = wide.iter().filter(|d| d.merged);
    let mut steps: Vec<f64> = merged
        .filter_map(|d| d.distance)
        .map(|d| (d * 1000.0).ceil() / 1000.0)
        .collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    let points = curve(pairs, wide, &steps);
    let within = |p: &&Point| {
        p.rates
            .false_merges
            .share()
            .is_none_or(|rate| rate <= budget)
    };
    // The rate only grows with the threshold.
    points.iter().take_while(within).last().map(|p| p.threshold)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::input::Label;
    use crate::memory::Verdict;

    fn case(at: usize, label: Label, merged: bool, distance: f64) -> (Pair, PairDecision) {
        let pair = Pair {
            id: at.to_string(),
            a: "a".into(),
            b: format!("b{at}"),
            label,
            kind: String::new(),
            lang: String::new(),
            source: String::new(),
            a_created_at: None,
            b_created_at: None,
            memory_type: None,
        };
        let decision = PairDecision {
            id: pair.id.clone(),
            verdict: if merged {
                Verdict::Same
            } else {
                Verdict::Unsure
            },
            merged,
            distance: Some(distance),
            reasons: Vec::new(),
            text: None,
        };
        (pair, decision)
    }

    fn cases() -> (Vec<Pair>, Vec<PairDecision>) {
        [
            case(0, Label::Same, true, 0.05),
            case(1, Label::Same, true, 0.1201),
            case(2, Label::Different, true, 0.2),
            case(3, Label::Same, true, 0.25),
            case(4, Label::Update, true, 0.3),
            case(5, Label::Different, false, 0.01),
            case(6, Label::Same, false, 0.01),
        ]
        .into_iter()
        .unzip()
    }

    #[test]
    fn rates_grow_with_the_threshold() {
        let (pairs, wide) = cases();
        let points = curve(&pairs, &wide, &[0.0, 0.05, 0.22, 1.0]);
        let recall: Vec<usize> = points.iter().map(|p| p.rates.recall.hits).collect();
        let wrong: Vec<usize> = points.iter().map(|p| p.rates.false_merges.hits).collect();
        assert_eq!((recall, wrong), (vec![0, 1, 2, 3], vec![0, 0, 1, 2]));
        assert!(points.iter().all(|p| p.rates.recall.of == 4));
    }

    #[test]
    fn the_largest_threshold_keeps_within_the_budget() {
        let (pairs, wide) = cases();
        let largest = |budget| largest_within(&pairs, &wide, budget);
        assert_eq!(largest(0.0), Some(0.121), "no farther than what was seen");
        assert_eq!(largest(0.34), Some(0.25));
        assert_eq!(largest(1.0), Some(0.3));
        let (near, decided): (Vec<_>, Vec<_>) =
            [case(0, Label::Different, true, 0.1)].into_iter().unzip();
        assert_eq!(largest_within(&near, &decided, 0.5), None);
    }
}
