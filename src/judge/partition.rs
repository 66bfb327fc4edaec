//! Splitting a group so that every pair of a part is allowed, whatever the order of its members.

use std::cmp::Reverse;

use super::Claim;
use crate::memory::Verdict;

/// Greedy partition into cliques of `allowed`, which must be symmetric: the largest first.
pub(crate) fn cliques(
    claims: &[Claim<'_>],
    allowed: impl Fn(usize, usize) -> bool,
) -> Vec<Vec<usize>> {
    let size = claims.len();
    let matrix = matrix(size, allowed);
    // What decides ties is what the claims say, so that the order of the input does not.
    let mut left: Vec<usize> = (0..size).collect();
    left.sort_by_key(|i| canonical(&claims[*i]));
    let mut parts = Vec::new();
    while !left.is_empty() {
        let degree = |i: usize| left.iter().filter(|j| matrix[i][**j]).count();
        let mut order: Vec<(Reverse<usize>, usize)> =
            left.iter().map(|i| (Reverse(degree(*i)), *i)).collect();
        order.sort_by_key(|(degree, _)| *degree);
        let mut best: Vec<usize> = Vec::new();
        for (_, seed) in &order {
            let mut clique = vec![*seed];
            for (_, next) in &order {
                if *next != *seed && clique.iter().all(|member| matrix[*member][*next]) {
                    clique.push(*next);
                }
            }
            if clique.len() > best.len() {
                best = clique;
            }
        }
        left.retain(|i| !best.contains(i));
        best.sort_unstable();
        parts.push(best);
    }
    parts
}

/// The chains of values of a group: sets of claims of which every pair is an update, oldest first.
/// The last of each is the value that holds.
pub(crate) fn chains(
    claims: &[Claim<'_>],
    verdict: impl Fn(usize, usize) -> Verdict,
) -> Vec<Vec<usize>> {
    let mut chains = cliques(claims, |i, j| verdict(i, j) == Verdict::Update);
    chains.retain(|chain| chain.len() > 1);
    for chain in &mut chains {
        chain.sort_by_key(|i| canonical(&claims[*i]));
    }
    chains
}

/// An order of claims by what they say and when.
pub(crate) fn canonical<'a>(claim: &Claim<'a>) -> (Option<jiff::Timestamp>, &'a str) {
    (claim.said_at, claim.text)
}

/// All pairs of a symmetric relation over `0..size`; false on the diagonal.
pub(crate) fn matrix(size: usize, holds: impl Fn(usize, usize) -> bool) -> Vec<Vec<bool>> {
    let lower: Vec<Vec<bool>> = (0..size)
        .map(|i| (0..i).map(|j| holds(i, j)).collect())
        .collect();
    (0..size)
        .map(|i| {
            (0..size)
                .map(|j| i != j && lower[i.max(j)][i.min(j)])
                .collect()
        })
        .collect()
}
