//! What rules out most pairs of rows from less arithmetic than an exact distance takes.

use std::ops::Range;

use ndarray::{Array2, s};

use super::codes::{ROUNDING, Row};
use super::join::{Pass, Rows};
use super::kernel::{Block, COLUMNS, Kernel, Panel, ROWS, STEP};
use super::sketch::{Basis, Centres, Turned};
use super::threads;

/// Codes of the rows that are compared with one panel after the other: half of a common
/// second-level cache.
const BAND_BYTES: usize = 256 << 10;

/// From how many rows on it is asked whether the first dimensions are enough: a smaller join is done
/// sooner.
pub(super) const LEAST_ROWS: usize = 2_048;

/// From how many rows on it is asked whether it pays to look for better directions.
const LEAST_TURNED: usize = 16_384;

/// Rows by which that is seen.
pub(super) const SAMPLE: usize = 512;

/// Rows from which the directions of sketches are taken, and others by which they are judged.
const SAMPLE_FOR_TURNING: usize = 1_024;

/// So many times fewer rows than there are, at least, so that comparing a sample takes a small part
/// of the time.
const FEWER: usize = 8;

/// Lengths of sketches that are tried, of which the last is the greatest.
const LENGTHS: [usize; 3] = [32, 64, 128];

/// So many times shorter than rows sketches are, at least: the first dimensions do as well as longer ones.
const SHORTER: usize = 4;

/// How many first dimensions are tried: of so many parts of all.
pub(super) const PARTS: [usize; 3] = [4, 3, 2];

/// A sketch of so many numbers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sketch {
    /// Of the first dimensions.
    First(usize),
    /// Of the directions in which the rows are longest.
    Turned(usize),
}

/// The rows that take part as codes. Every pair of rows within the threshold passes.
pub(super) struct Screen {
    kernel: Kernel,
    /// The rows in the order in which they are scanned. Slots are places in it.
    order: Vec<usize>,
    /// The codes of all slots, or those of their sketches, 64 a panel.
    panels: Vec<Panel>,
    floor: f32,
    /// The codes of all slots, where `panels` has sketches; and their floor.
    fine: Option<(Vec<Panel>, f32)>,
}

impl Screen {
    /// A screen of some rows, of which the `first` are to be compared with all later ones.
    pub(super) fn new(rows: &Rows<'_>, order: Vec<usize>, first: usize, threshold: f64) -> Self {
        match Plan::new(rows, &order[..first], threshold) {
            Some(plan) => Self::sketched(rows, order, first, threshold, &plan),
            None => Self::plain(rows, order, threshold),
        }
    }

    pub(super) fn plain(rows: &Rows<'_>, order: Vec<usize>, threshold: f64) -> Self {
        Self {
            kernel: rows.kernel,
            panels: coded(rows, &order),
            order,
            floor: floor(threshold, 0.0),
            fine: None,
        }
    }

    /// With a sketch, whether it is worth it or not; without, where no basis is good enough.
    pub(super) fn forced(
        rows: &Rows<'_>,
        order: Vec<usize>,
        threshold: f64,
        sketch: Sketch,
    ) -> Self {
        let (sample, all) = (sample(rows, &order, SAMPLE_FOR_TURNING), order.len());
        let basis = match sketch {
            Sketch::First(length) => Basis::first(length, rows.dims),
            Sketch::Turned(length) => Some(Basis::Turned(Turned::of(&sample, length))),
        };
        match basis.and_then(|basis| Plan::on(basis, &sample)) {
            Some(plan) => Self::sketched(rows, order, all, threshold, &plan),
            None => Self::plain(rows, order, threshold),
        }
    }

    fn sketched(
        rows: &Rows<'_>,
        mut order: Vec<usize>,
        first: usize,
        threshold: f64,
        plan: &Plan,
    ) -> Self {
        let sketches = runs(rows, &order, |run| {
            let squares: Vec<f64> = run.iter().map(|&row| rows.square(row)).collect();
            plan.basis
                .sketches(select(rows, run).view(), &squares, &plan.centres)
        });
        let sketches: Vec<(usize, Row)> = sketches.into_iter().flatten().collect();
        let mut places: Vec<usize> = (0..order.len()).collect();
        places.sort_by_key(|&place| (place >= first, sketches[place].0));
        let panels = runs(rows, &places, |run| {
            Panel::new(run.iter().map(|&place| &sketches[place].1))
        });
        drop(sketches);
        order = places.into_iter().map(|place| order[place]).collect();
        Self {
            kernel: rows.kernel,
            panels,
            floor: floor(threshold, plan.margin),
            fine: Some((coded(rows, &order), floor(threshold, 0.0))),
            order,
        }
    }
}

impl Pass for Screen {
    fn band(&self) -> usize {
        let steps = |panels: &[Panel]| panels.first().map_or(0, |panel| panel.steps.len());
        let fine = self.fine.as_ref().map_or(0, |(fine, _)| steps(fine));
        BAND_BYTES / (STEP * (steps(&self.panels) + fine).max(1))
    }

    fn scan(&self, band: Range<usize>, found: &mut dyn FnMut(usize, usize)) {
        let starts = band.clone().step_by(ROWS);
        let blocks: Vec<(usize, Block, Option<Block>)> = starts
            .map(|at| {
                let fine = self.fine.as_ref().map(|(fine, _)| Block::of(fine, at));
                (at, Block::of(&self.panels, at), fine)
            })
            .collect();
        for (number, panel) in self.panels.iter().enumerate().skip(band.start / COLUMNS) {
            for (at, block, fine) in &blocks {
                let passing = self.kernel.screen(block, panel, self.floor);
                if passing == [0; ROWS] {
                    continue;
                }
                for (row, bits) in passing.into_iter().enumerate().take(band.end - at) {
                    let mut bits = later(bits, number, at + row);
                    if bits != 0
                        && let (Some(block), Some((panels, floor))) = (fine, &self.fine)
                    {
                        bits = self
                            .kernel
                            .refine(block, row, &panels[number], bits, *floor);
                    }
                    while bits != 0 {
                        let other = number * COLUMNS + bits.trailing_zeros() as usize;
                        found(self.order[at + row], self.order[other]);
                        bits &= bits - 1;
                    }
                }
            }
        }
    }
}

/// How to sketch, where that is worth it.
struct Plan {
    basis: Basis,
    margin: f64,
    centres: Centres,
}

impl Plan {
    /// Sketches a sample of `used` in each way, and lets them pass each other. Directions fit the rows
    /// that they are taken from better than others, so that others judge them.
    fn new(rows: &Rows<'_>, used: &[usize], threshold: f64) -> Option<Self> {
        if used.len() < LEAST_ROWS {
            return None;
        }
        let [taken, judging] = if used.len() < LEAST_TURNED {
            [Array2::zeros((0, rows.dims)), sample(rows, used, SAMPLE)]
        } else {
            let both = sample(rows, used, 2 * SAMPLE_FOR_TURNING);
            [0, 1].map(|first| both.slice(s![first..;2, ..]).to_owned())
        };
        let mut best = (rows.dims as f64, None);
        for basis in firsts(rows.dims).into_iter().chain(turned(&taken)) {
            let Some(plan) = Self::on(basis, &taken) else {
                continue;
            };
            let cost = plan.cost(rows.kernel, &judging, threshold);
            if cost < best.0 {
                best = (cost, Some(plan));
            }
        }
        best.1
    }

    /// What a pair of rows costs, in dimensions of codes, if they are like those of a sample.
    fn cost(&self, kernel: Kernel, sample: &Array2<f32>, threshold: f64) -> f64 {
        let ones = vec![1.0; sample.nrows()];
        let sketches = self.basis.sketches(sample.view(), &ones, &self.centres);
        let share = share(kernel, &sketches, floor(threshold, self.margin));
        self.basis.length() as f64 + share * self.cost_of_refining() * sample.ncols() as f64
    }

    /// What a product of codes costs where a single pair is tested by the codes of its rows, in
    /// those where all pairs are. Measured: 60 to 120 where pairs that pass are scattered, as on first
    /// dimensions; with centres, pairs of which many are in one line cost 6 on memories with topics,
    /// and 28 on sentences, where the same length would be taken at 6.
    fn cost_of_refining(&self) -> f64 {
        if self.centres.is_empty() { 60.0 } else { 6.0 }
    }

    /// `None` if the basis is bad.
    fn on(basis: Basis, sample: &Array2<f32>) -> Option<Self> {
        Some(Self {
            margin: basis.margin()?,
            centres: basis.centres(sample),
            basis,
        })
    }
}

/// The first dimensions, in each length that is tried.
fn firsts(dims: usize) -> Vec<Basis> {
    let lengths = PARTS.map(|part| (dims / part).next_multiple_of(STEP));
    let shorter = lengths.into_iter().filter(|&length| length < dims);
    shorter
        .filter_map(|length| Basis::first(length, dims))
        .collect()
}

/// The directions in which a sample is longest, in each length that is tried.
fn turned(sample: &Array2<f32>) -> Vec<Basis> {
    let fits = |&length: &usize| SHORTER * length <= sample.ncols() && length <= sample.nrows();
    let lengths: Vec<usize> = LENGTHS.into_iter().filter(fits).collect();
    let Some(&longest) = lengths.last() else {
        return Vec::new();
    };
    let whole = Turned::of(sample, longest);
    let shortened = |&length: &usize| Basis::Turned(whole.shortened(length));
    lengths.iter().map(shortened).collect()
}

/// Some of the rows, in length 1.
fn sample(rows: &Rows<'_>, used: &[usize], most: usize) -> Array2<f32> {
    let step = (used.len() / most).max(FEWER);
    let chosen: Vec<usize> = used.iter().copied().step_by(step).collect();
    let mut sample = select(rows, &chosen);
    for (mut row, &at) in sample.outer_iter_mut().zip(&chosen) {
        row /= rows.square(at).sqrt() as f32;
    }
    sample
}

/// Which share of the pairs of rows passes.
fn share(kernel: Kernel, rows: &[(usize, Row)], floor: f32) -> f64 {
    let panels: Vec<Panel> = rows
        .chunks(COLUMNS)
        .map(|rows| Panel::new(rows.iter().map(|(_, row)| row)))
        .collect();
    let mut passing = 0;
    for at in (0..rows.len()).step_by(ROWS) {
        let block = Block::of(&panels, at);
        for panel in &panels {
            let bits = kernel.screen(&block, panel, floor);
            passing += bits
                .iter()
                .map(|bits| bits.count_ones() as usize)
                .sum::<usize>();
        }
    }
    // Each row passes with itself.
    let pairs = rows.len() * rows.len().saturating_sub(1);
    passing.saturating_sub(rows.len()) as f64 / pairs.max(1) as f64
}

/// The floor of the kernels for pairs within `threshold`, if products of the rows may be `margin`
/// below those of the vectors.
fn floor(threshold: f64, margin: f64) -> f32 {
    (2.0 - threshold - margin - ROUNDING) as f32
}

/// Does something with each 64 of the slots.
fn runs<T: Send>(rows: &Rows<'_>, slots: &[usize], work: impl Fn(&[usize]) -> T + Sync) -> Vec<T> {
    threads::map(rows.threads, slots.len().div_ceil(COLUMNS), |run| {
        work(&slots[run * COLUMNS..slots.len().min((run + 1) * COLUMNS)])
    })
}

fn coded(rows: &Rows<'_>, order: &[usize]) -> Vec<Panel> {
    runs(rows, order, |run| {
        let codes = |&row: &usize| Row::new(rows.row(row), rows.square(row).sqrt());
        Panel::new(run.iter().map(codes))
    })
}

fn select(rows: &Rows<'_>, run: &[usize]) -> Array2<f32> {
    let mut selected = Array2::zeros((run.len(), rows.dims));
    for (mut to, &row) in selected.outer_iter_mut().zip(run) {
        to.assign(&ndarray::aview1(rows.row(row)));
    }
    selected
}

/// Those of the bits, which stand for the slots of a panel, that are after `slot`.
fn later(bits: u64, panel: usize, slot: usize) -> u64 {
    match (slot + 1).checked_sub(panel * COLUMNS) {
        None => bits,
        Some(shift) if shift < COLUMNS => bits & (u64::MAX << shift),
        Some(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::super::testing::near_rows;
    use super::*;

    #[test]
    fn sketches_are_taken_where_they_pay() {
        let plan = |vectors: Array2<f32>, threshold: f64| {
            let rows = Rows::new(vectors.view(), NonZero::<usize>::MIN);
            let all: Vec<usize> = (0..vectors.nrows()).collect();
            Plan::new(&rows, &all, threshold).map(|plan| plan.basis)
        };
        let even = |n: usize| near_rows(n, 128, 4);
        // All that there is is in the last dimensions.
        let late = |n: usize| {
            let mut vectors = Array2::zeros((n, 128));
            vectors
                .slice_mut(s![.., 112..])
                .assign(&near_rows(n, 16, 4));
            vectors
        };
        assert!(matches!(plan(even(LEAST_ROWS), 0.1), Some(Basis::First(_))));
        assert!(plan(late(LEAST_ROWS), 0.1).is_none());
        let turned = plan(late(LEAST_TURNED), 0.1);
        assert!(matches!(turned, Some(Basis::Turned(_))));
        assert!(
            plan(even(LEAST_ROWS), 0.9).is_none(),
            "nearly everything would pass"
        );
        assert!(plan(even(LEAST_ROWS - 1), 0.1).is_none(), "too few");
    }

    #[test]
    fn only_later_slots_are_left() {
        assert_eq!(later(u64::MAX, 2, 5), u64::MAX);
        assert_eq!(later(u64::MAX, 2, 127), u64::MAX);
        assert_eq!(later(u64::MAX, 2, 128), u64::MAX << 1);
        assert_eq!(later(u64::MAX, 2, 190), 1 << 63);
        assert_eq!(later(u64::MAX, 2, 191), 0);
        assert_eq!(later(u64::MAX, 2, 500), 0);
    }
}
