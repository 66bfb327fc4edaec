//! Which memories are near enough to be looked at together: an exact cosine threshold join and
//! complete linkage. Pure and deterministic.
//!
//! Distance only proposes. Equal vectors do not make two texts one fact: that is for the judge.

mod codes;
mod compared;
mod dense;
mod join;
mod kernel;
mod linkage;
mod screen;
mod sketch;
pub(crate) mod threads;

pub use compared::Compared;
#[doc(hidden)]
pub use join::joins;
pub use join::{Pair, TooManyPairs, join_changed, threshold_join};
pub use linkage::complete_linkage;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::num::NonZero;

use join::Rows;
use ndarray::ArrayView2;

/// The groups of rows to look at together, each with at least two rows, ascending; ordered by
/// their first row.
///
/// * `vectors`: n × d, one row a memory, in the order of the keys (ties are decided by it).
/// * `classes`: for each row the one that stands for it and is in its own class; rows of one class
///   are together whatever their vectors.
/// * `readable`: the rows whose vectors say something about their texts.
/// * `threshold`: greatest cosine distance between two members of a group, inclusive.
/// * `threads`: how many are used; they do not change the answer.
/// * `cap`: how many *different* texts a group may have, since these are what somebody must read.
///   Twins beside them are free: a hundred copies of one text are one group under any cap.
///
/// A class is where the vector of the row that stands for it is, else of its first readable row (of
/// those that are not zero, NaN or out of all bounds, see [`threshold_join`]); classes are grouped by [`complete_linkage`] and
/// then replaced by all of their rows. Classes without such a row are compared with nothing: where
/// they have two rows or more, they are a group for themselves.
///
/// Classes with the very same vector are compared with the others as one, so that a store which
/// got one fallback vector for everything does not make n² / 2 pairs; beyond the cap they are
/// split in the order of the rows.
///
/// # Panics
/// If `classes` or `readable` has another length than `vectors` has rows.
pub fn group(
    vectors: ArrayView2<'_, f32>,
    classes: &[usize],
    readable: &[bool],
    threshold: f64,
    cap: usize,
    threads: NonZero<usize>,
) -> Vec<Vec<u32>> {
    let rule = Rule {
        threshold,
        cap,
        threads,
        most_pairs: usize::MAX,
    };
    let found = group_changed(vectors, classes, readable, &Compared::default(), rule);
    // There are not so many pairs.
    found.map(|(groups, _)| groups).unwrap_or_default()
}

/// How rows are grouped, and what that may take.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Greatest cosine distance between two members of a group, inclusive.
    pub threshold: f64,
    /// Different texts of a group at most.
    pub cap: usize,
    /// Threads to use.
    pub threads: NonZero<usize>,
    /// Pairs within the threshold at most, see [`BYTES_A_PAIR`].
    pub most_pairs: usize,
}

/// Memory that grouping takes for a pair within the threshold, at most about: to find it, to sort
/// it, and to count it between two clusters.
pub const BYTES_A_PAIR: u64 = 64;

/// The groups that [`group`] gives, and what was compared for them, where some is `known` from an
/// earlier time: rows that were compared then and have the same vectors now, and all pairs of them
/// within the same threshold. With k other rows among n this takes time k · n.
///
/// # Errors
/// [`TooManyPairs`] if more are within the threshold than the rule allows.
///
/// # Panics
/// If `classes` or `readable` has another length than `vectors` has rows, or something known names
/// no row.
pub fn group_changed(
    vectors: ArrayView2<'_, f32>,
    classes: &[usize],
    readable: &[bool],
    known: &Compared,
    rule: Rule,
) -> Result<(Vec<Vec<u32>>, Compared), TooManyPairs> {
    let n = vectors.nrows();
    assert!(
        classes.len() == n && readable.len() == n,
        "one class and one mark for each row"
    );
    let mut rows = Rows::new(vectors, rule.threads);
    let Placed {
        classes,
        apart: mut groups,
    } = placed(classes, |row| readable[row] && rows.takes_part(row));
    let stand_ins = stand_ins(vectors, classes, rule.cap);
    let texts = stand_ins.iter().map(|stand_in| stand_in.texts);
    let texts: Vec<usize> = texts.collect();
    (0..n)
        .filter(|&row| texts[row] == 0)
        .for_each(|row| rows.leave_out(row));

    let mut changed = vec![true; n];
    known
        .rows
        .iter()
        .for_each(|&row| changed[row as usize] = false);
    let pairs = rows.join_changed(&known.pairs, &changed, rule.threshold, rule.most_pairs)?;
    let used = (0..n).filter(|&row| rows.takes_part(row));
    let compared = Compared::of(used, n, &pairs);
    for cluster in linkage::link(&texts, pairs, rule.cap) {
        let members = cluster
            .iter()
            .flat_map(|&row| &stand_ins[row as usize].rows);
        groups.push(members.copied().collect());
    }
    Ok((sorted(groups), compared))
}

/// Where classes are.
struct Placed {
    /// Those that are somewhere, each at a row of its own.
    classes: Vec<(usize, Vec<usize>)>,
    /// Those that are nowhere, and a group for themselves.
    apart: Vec<Vec<usize>>,
}

/// A class is where the row that stands for it is, else its first row that `shows` where it is.
fn placed(classes: &[usize], shows: impl Fn(usize) -> bool) -> Placed {
    let mut placed = Placed {
        classes: Vec::new(),
        apart: Vec::new(),
    };
    for (standing, class) in members_of(classes) {
        let mut shown = class.iter().copied().filter(|&row| shows(row));
        let own = shown.clone().find(|&row| row == standing);
        match own.or_else(|| shown.next()) {
            Some(row) => placed.classes.push((row, class)),
            None => placed.apart.push(class),
        }
    }
    placed
}

/// What a row is compared for.
#[derive(Clone, Default)]
struct StandIn {
    /// Classes; none, where another row stands in for its own.
    texts: usize,
    /// Their rows.
    rows: Vec<usize>,
}

/// Classes with one vector are compared under the row of the first of them, as many as a group may
/// have. One for each row.
fn stand_ins(
    vectors: ArrayView2<'_, f32>,
    mut classes: Vec<(usize, Vec<usize>)>,
    cap: usize,
) -> Vec<StandIn> {
    let mut stand_ins = vec![StandIn::default(); vectors.nrows()];
    classes.sort_unstable_by(|x, y| bitwise(vectors, x.0, y.0).then(x.0.cmp(&y.0)));
    for equal in classes.chunk_by(|x, y| bitwise(vectors, x.0, y.0).is_eq()) {
        for classes in equal.chunks(cap.max(1)) {
            let rows = classes.iter().flat_map(|(_, class)| class);
            stand_ins[classes[0].0] = StandIn {
                texts: classes.len(),
                rows: rows.copied().collect(),
            };
        }
    }
    stand_ins
}

/// The classes by name, each with its rows, ascending.
fn members_of(classes: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (row, &class) in classes.iter().enumerate() {
        members.entry(class).or_default().push(row);
    }
    members
}

/// The groups of two and more, in the order of their rows.
fn sorted(groups: Vec<Vec<usize>>) -> Vec<Vec<u32>> {
    let mut groups: Vec<Vec<u32>> = groups
        .into_iter()
        .filter(|group| group.len() > 1)
        .map(|group| group.into_iter().map(|row| row as u32).collect())
        .collect();
    groups.iter_mut().for_each(|group| group.sort_unstable());
    groups.sort_unstable();
    groups
}

/// For each of `members` (row numbers), the cosine distance to the farthest other one.
///
/// Rows that cannot be compared (see [`threshold_join`]) are in a group because of their text
/// alone: they count as at distance 0 from everything.
///
/// # Panics
/// If a member is no row of `vectors`.
pub fn distances(vectors: ArrayView2<'_, f32>, members: &[u32]) -> Vec<f64> {
    let indices: Vec<usize> = members.iter().map(|&row| row as usize).collect();
    let chosen = vectors.select(ndarray::Axis(0), &indices);
    let rows = Rows::new(chosen.view(), NonZero::<usize>::MIN);

    // Of equal rows, one is compared: twins may be many.
    let mut order: Vec<usize> = (0..indices.len())
        .filter(|&row| rows.takes_part(row))
        .collect();
    order.sort_unstable_by(|&x, &y| bitwise(chosen.view(), x, y));
    let equals: Vec<&[usize]> = order
        .chunk_by(|&x, &y| bitwise(chosen.view(), x, y).is_eq())
        .collect();

    let mut farthest = vec![0.0; indices.len()];
    for (i, x) in equals.iter().enumerate() {
        for y in &equals[..i] {
            let distance = rows.distance(x[0], y[0]);
            for &row in x.iter().chain(*y) {
                farthest[row] = distance.max(farthest[row]);
            }
        }
    }
    farthest
}

/// Orders rows by their numbers, so that equal ones come together.
fn bitwise(vectors: ArrayView2<'_, f32>, x: usize, y: usize) -> Ordering {
    let pairs = vectors.row(x).into_iter().zip(vectors.row(y));
    pairs
        .map(|(x, y)| x.total_cmp(y))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
