//! Rows as int8 codes, with a proven bound on what rounding does to their products.
//!
//! A row u of length 1 is written as c/S + e: codes c from -127 to 127, a scale S, an error e with
//! ‖e‖ ≤ ε, which is computed from the row itself. For two such rows, by the inequality of Cauchy
//! and Schwarz,
//!
//!   u·v = c·c′/(S·S′) + e·v + u·e′ − e·e′ ≤ c·c′/(S·S′) + (1 + ε)·(1 + ε′) − 1.
//!
//! So u·v ≥ 1 − t only if c·c′ ≥ (2 − t)·S·S′ − S·(1 + ε)·S′·(1 + ε′): that is what the kernels
//! test, with S as a row's scale, S·(1 + ε) as its reach and 2 − t, less what rounding in f32 can
//! do, as the floor. A row that rounds badly, such as one with a single great number, passes more
//! often, and no pair is lost.

use std::borrow::Borrow;

use super::kernel::{Block, COLUMNS, Line, Panel, ROWS, STEP};

/// Codes of a row. More dimensions than these are left to the error of a row, so that no sum of
/// products overflows.
const MOST: usize = 1 << 16;

/// Bounds, relative to S·S′ and with room to spare, the rounding of scales, reaches, products and
/// cuts to f32 (fifteen roundings of 2⁻²⁴, some of a number up to 4), and that of distances in f64.
pub(super) const ROUNDING: f64 = 4e-6;

/// One row of codes.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// As many as were asked for, and zeros up to a multiple of [`STEP`].
    codes: Vec<i8>,
    scale: f32,
    reach: f32,
}

impl Row {
    /// The codes of `numbers`, which are u times `length`. Their own length may be up to 4 % more.
    pub(super) fn new(numbers: &[f32], length: f64) -> Self {
        let coded = &numbers[..numbers.len().min(MOST)];
        let mut codes = vec![0; coded.len().next_multiple_of(STEP)];
        let greatest = coded.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        if greatest == 0.0 {
            // Everything is in dimensions that have no codes.
            return Self {
                codes,
                scale: 1.0,
                reach: 2.0,
            };
        }
        let step = 127.0 / greatest;
        let mut left = squares_left(coded, step, &mut codes);
        left += numbers[coded.len()..]
            .iter()
            .map(|&x| f64::from(x * step).powi(2))
            .sum::<f64>();
        // `left` is a sum of f32 squares in 16 parts, off by less than a thousandth; each number
        // times the step is off by at most 2⁻²⁴ of itself. Where u is longer than 1, so is what
        // its partner's error counts: that is charged to both.
        let scale = f64::from(step) * length;
        let error = 1.05 * left.sqrt() / scale + 1e-6;
        Self {
            codes,
            scale: scale as f32,
            reach: ((scale * (1.0 + error)) as f32).next_up(),
        }
    }

    /// What it adds to products of this row that the other row's codes are taken 128 greater.
    fn excess(&self) -> i32 {
        128 * self.codes.iter().copied().map(i32::from).sum::<i32>()
    }
}

/// Writes the codes of `numbers` times `step`, and returns the sum of the squares of what rounding
/// leaves of them.
fn squares_left(numbers: &[f32], step: f32, codes: &mut [i8]) -> f64 {
    /// Added to a small f32, it leaves the nearest integer in the last bits of the sum.
    const ROUNDER: f32 = 12_582_912.0;
    let code = |x: f32, left: &mut f32| {
        let scaled = x * step;
        let rounded = scaled + ROUNDER;
        let rest = scaled - (rounded - ROUNDER);
        *left += rest * rest;
        rounded.to_bits() as i8
    };
    let mut left = [0.0_f32; 16];
    let (chunks, rest) = numbers.as_chunks::<16>();
    let (code_chunks, code_rest) = codes[..numbers.len()].as_chunks_mut::<16>();
    for (numbers, codes) in chunks.iter().zip(code_chunks) {
        for ((&x, to), left) in numbers.iter().zip(codes).zip(&mut left) {
            *to = code(x, left);
        }
    }
    for ((&x, to), left) in rest.iter().zip(code_rest).zip(&mut left) {
        *to = code(x, left);
    }
    left.iter().copied().map(f64::from).sum()
}

impl Panel {
    /// A panel of up to 64 rows of equally many codes; the columns that are left pass with nothing.
    pub(super) fn new(rows: impl Iterator<Item = impl Borrow<Row>>) -> Self {
        let mut panel = Self {
            steps: Vec::new(),
            excess: [0; COLUMNS],
            scales: [f32::NAN; COLUMNS],
            reaches: [f32::NAN; COLUMNS],
        };
        for (column, row) in rows.enumerate() {
            let row = row.borrow();
            let steps = row.codes.as_chunks::<STEP>().0;
            panel
                .steps
                .resize(steps.len(), [Line([[0; STEP]; 16]); COLUMNS / 16]);
            for (lines, &codes) in panel.steps.iter_mut().zip(steps) {
                lines[column / 16].0[column % 16] = codes;
            }
            panel.excess[column] = row.excess();
            panel.scales[column] = row.scale;
            panel.reaches[column] = row.reach;
        }
        panel
    }
}

impl Block {
    /// The rows `at .. at + 6` of all rows in `panels`; those that are not there pass with nothing.
    pub(super) fn of(panels: &[Panel], at: usize) -> Self {
        let steps = panels.first().map_or(0, |panel| panel.steps.len());
        let mut block = Self {
            steps: vec![[[128; STEP]; ROWS]; steps],
            scales: [f32::NAN; ROWS],
            reaches: [f32::NAN; ROWS],
        };
        for row in 0..ROWS {
            let (panel, column) = ((at + row) / COLUMNS, (at + row) % COLUMNS);
            let Some(panel) = panels.get(panel) else {
                break;
            };
            for (to, lines) in block.steps.iter_mut().zip(&panel.steps) {
                to[row] = lines[column / 16].0[column % 16].map(|code| code as u8 ^ 0x80);
            }
            block.scales[row] = panel.scales[column];
            block.reaches[row] = panel.reaches[column];
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::kernel::Kernel;
    use super::super::testing::near_rows;
    use super::*;

    fn square(row: &[f32]) -> f64 {
        Kernel::Portable.dot(row, row)
    }

    impl Row {
        /// The bound on the product of the directions of two rows, by the formula.
        pub(in super::super) fn bound(&self, other: &Self) -> f64 {
            let codes = self.codes.iter().zip(&other.codes);
            let product: i32 = codes.map(|(&x, &y)| i32::from(x) * i32::from(y)).sum();
            let [scale, reach] = [(self.scale, other.scale), (self.reach, other.reach)]
                .map(|(x, y)| f64::from(x) * f64::from(y));
            (f64::from(product) + reach) / scale - 1.0
        }
    }

    #[test]
    fn a_row_without_codes_may_be_near_everything() {
        let mut far = vec![0.0; MOST + 1];
        far[MOST] = 1.0;
        let row = Row::new(&far, 1.0);
        assert!(row.bound(&row) >= 1.0);
        far[0] = 1.0;
        let half = Row::new(&far, 2.0_f64.sqrt());
        assert!(row.bound(&half) >= 0.5_f64.sqrt());
        assert!(half.bound(&half) >= 1.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn no_product_is_above_its_bound(
            n in 2..20_usize,
            d in 1..200_usize,
            spikes: bool,
            seed: u64,
        ) {
            let mut rows = near_rows(n, d, seed);
            for (i, mut row) in rows.outer_iter_mut().enumerate() {
                row *= 10.0_f32.powi(i as i32 % 21 - 10);
                if spikes && i % 3 == 0 {
                    row[i % d] *= 1000.0;
                }
            }
            let rows: Vec<&[f32]> = rows.outer_iter().map(|row| row.to_slice().unwrap()).collect();
            let coded: Vec<Row> =
                rows.iter().map(|row| Row::new(row, square(row).sqrt())).collect();
            let panels: Vec<Panel> = vec![Panel::new(coded.iter().cloned())];
            for (a, x) in rows.iter().enumerate() {
                let block = Block::of(&panels, a);
                for (b, y) in rows.iter().enumerate() {
                    let product = Kernel::Portable.dot(x, y) / (square(x) * square(y)).sqrt();
                    let bound = coded[a].bound(&coded[b]);
                    prop_assert!(bound >= product);
                    if !spikes {
                        prop_assert!(bound <= product + 0.05, "codes say something");
                    }
                    let floor = (1.0 + product - ROUNDING) as f32;
                    let passing = Kernel::Portable.screen(&block, &panels[0], floor)[0];
                    prop_assert!(passing >> b & 1 == 1);
                    prop_assert!(passing >> (n - 1) <= 1, "what is not there does not pass");
                }
            }
        }
    }
}
