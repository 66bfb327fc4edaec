//! The inner loops of the join: products of rows of int8 codes, each tested against the least
//! product a near pair can have; and exact products of f32 rows.
//!
//! Each exists for several instruction sets, of which the best one that the processor has is taken
//! at run time. All of them give the same answer, bit by bit.

#[cfg(target_arch = "x86_64")]
mod x86;

/// Rows that are tested at once against the columns of a [`Panel`].
pub(super) const ROWS: usize = 6;

/// Rows in a [`Panel`].
pub(super) const COLUMNS: usize = 64;

/// Codes of a row that are multiplied and added in one step.
pub(super) const STEP: usize = 4;

/// Codes of 16 rows in one step.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [[i8; STEP]; 16]);

/// 64 rows of codes from -127 to 127, interleaved so that a step of all of them is one read.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    /// For each step, its codes.
    pub(super) steps: Vec<[Line; COLUMNS / 16]>,
    /// What a [`Block`]'s codes, being 128 greater, add to the products: 128 × the sum of the codes.
    pub(super) excess: [i32; COLUMNS],
    /// See [`cut`].
    pub(super) scales: [f32; COLUMNS],
    pub(super) reaches: [f32; COLUMNS],
}

/// Six rows of codes, each 128 greater than it is: some instructions want one side unsigned.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) steps: Vec<[[u8; STEP]; ROWS]>,
    /// See [`cut`].
    pub(super) scales: [f32; ROWS],
    pub(super) reaches: [f32; ROWS],
}

/// The least product of codes with which two rows pass; a NaN on either side lets nothing pass.
///
/// `floor_scale` is the scale of one row times a common floor. In f32, without fused operations:
/// every kernel gets the same number.
#[inline(always)]
fn cut(floor_scale: f32, reach: f32, other_scale: f32, other_reach: f32) -> f32 {
    floor_scale * other_scale - reach * other_reach
}

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Vnni(x86::Vnni),
}

impl Kernel {
    /// The fastest one that this processor has.
    pub(super) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(vnni) = x86::Vnni::detect() {
                return Self::Vnni(vnni);
            }
            if let Some(avx2) = x86::Avx2::detect() {
                return Self::Avx2(avx2);
            }
        }
        Self::Portable
    }

    /// All that this processor has, the plain one first.
    pub(super) fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        let fast = [
            x86::Avx2::detect().map(Self::Avx2),
            x86::Vnni::detect().map(Self::Vnni),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let fast = [];
        let fast = fast.into_iter().flatten();
        std::iter::once(Self::Portable).chain(fast).collect()
    }

    /// What it is called.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(_) => "AVX-512 VNNI",
        }
    }

    /// For each row of `block` the columns of `panel` with which it passes, as bits: those whose
    /// product of codes is at least [`cut`], with `floor` times the row's scale.
    pub(super) fn screen(self, block: &Block, panel: &Panel, floor: f32) -> [u64; ROWS] {
        match self {
            Self::Portable => portable::screen(block, panel, floor),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.screen(block, panel, floor),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(vnni) => vnni.screen(block, panel, floor),
        }
    }

    /// Those of `bits`, which stand for columns of `panel`, with which `row` of `block` passes.
    /// Faster than [`Self::screen`] where these are few, or together.
    pub(super) fn refine(
        self,
        block: &Block,
        row: usize,
        panel: &Panel,
        bits: u64,
        floor: f32,
    ) -> u64 {
        match self {
            Self::Portable => portable::refine(block, row, panel, bits, floor, portable::products),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.refine(block, row, panel, bits, floor),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(vnni) => vnni.refine(block, row, panel, bits, floor),
        }
    }

    /// The scalar product in f64; each product of two f32 is exact there, so fused additions
    /// change nothing. Sixteen sums side by side do not wait for each other, and are always added
    /// in the same order.
    pub(super) fn dot(self, x: &[f32], y: &[f32]) -> f64 {
        match self {
            Self::Portable => portable::dot(x, y),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => avx2.dot(x, y),
            #[cfg(target_arch = "x86_64")]
            Self::Vnni(vnni) => vnni.dot(x, y),
        }
    }
}

/// The kernels in plain Rust, which the others are checked against; a join that has only these is done
/// without codes.
mod portable {
    use super::{Block, COLUMNS, Panel, ROWS, STEP, cut};

    pub(super) fn screen(block: &Block, panel: &Panel, floor: f32) -> [u64; ROWS] {
        let mut passing = [0; ROWS];
        for (row, passing) in passing.iter_mut().enumerate() {
            let mut sums = [0_i32; COLUMNS];
            for (left, right) in block.steps.iter().zip(&panel.steps) {
                for (sums, line) in sums.as_chunks_mut::<16>().0.iter_mut().zip(right) {
                    add(sums, left[row], &line.0);
                }
            }
            let floor_scale = block.scales[row] * floor;
            let others = panel.scales.iter().zip(&panel.reaches);
            for (column, (&sum, (&scale, &reach))) in sums.iter().zip(others).enumerate() {
                let least = cut(floor_scale, block.reaches[row], scale, reach);
                *passing |= u64::from(sum as f32 >= least) << column;
            }
        }
        passing
    }

    /// `products` are those of a row's codes with those of 16 columns.
    #[inline(always)]
    pub(super) fn refine(
        block: &Block,
        row: usize,
        panel: &Panel,
        bits: u64,
        floor: f32,
        products: impl Fn(&Block, usize, &Panel, usize) -> [i32; 16],
    ) -> u64 {
        let (floor_scale, reach) = (block.scales[row] * floor, block.reaches[row]);
        let scales = panel.scales.as_chunks::<16>().0;
        let reaches = panel.reaches.as_chunks::<16>().0;
        let mut passing = 0;
        for (line, (scales, reaches)) in scales.iter().zip(reaches).enumerate() {
            if bits >> (16 * line) & 0xffff == 0 {
                continue;
            }
            let products = products(block, row, panel, line);
            let others = scales.iter().zip(reaches);
            for (column, (product, (&scale, &other))) in
                products.into_iter().zip(others).enumerate()
            {
                let passes = product as f32 >= cut(floor_scale, reach, scale, other);
                passing |= u64::from(passes) << (16 * line + column);
            }
        }
        passing & bits
    }

    pub(super) fn products(block: &Block, row: usize, panel: &Panel, line: usize) -> [i32; 16] {
        let mut sums = [0; 16];
        for (left, right) in block.steps.iter().zip(&panel.steps) {
            add(&mut sums, left[row], &right[line].0);
        }
        sums
    }

    /// Adds the products of four codes, which are 128 greater, with those of 16 columns.
    #[inline(always)]
    fn add(sums: &mut [i32; 16], left: [u8; STEP], right: &[[i8; STEP]; 16]) {
        let left = left.map(|code| i16::from((code ^ 0x80) as i8));
        for (sum, right) in sums.iter_mut().zip(right) {
            // Two products of codes fit in an i16, and so do more lanes in a register.
            let first = left[0] * i16::from(right[0]) + left[1] * i16::from(right[1]);
            let second = left[2] * i16::from(right[2]) + left[3] * i16::from(right[3]);
            *sum += i32::from(first) + i32::from(second);
        }
    }

    #[inline(always)]
    pub(super) fn dot(x: &[f32], y: &[f32]) -> f64 {
        let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<16>(), y.as_chunks::<16>());
        let mut sums = [0.0_f64; 16];
        for (x, y) in x.iter().zip(y) {
            for (sum, (&x, &y)) in sums.iter_mut().zip(x.iter().zip(y)) {
                *sum += f64::from(x) * f64::from(y);
            }
        }
        for (sum, (&x, &y)) in sums.iter_mut().zip(x_rest.iter().zip(y_rest)) {
            *sum += f64::from(x) * f64::from(y);
        }
        sums.iter().sum()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    /// Codes between `-most` and `most` for six rows and 64 columns.
    fn codes(steps: usize, most: i8, random: &mut StdRng) -> [Vec<Vec<i8>>; 2] {
        [ROWS, COLUMNS].map(|rows| {
            let mut code = || random.random_range(-most..=most);
            (0..rows)
                .map(|_| (0..steps * STEP).map(|_| code()).collect())
                .collect()
        })
    }

    fn packed([left, right]: &[Vec<Vec<i8>>; 2], random: &mut StdRng) -> (Block, Panel) {
        let steps = left[0].len() / STEP;
        let mut panel = Panel {
            steps: vec![[Line([[0; STEP]; 16]); COLUMNS / 16]; steps],
            excess: [0; COLUMNS],
            scales: [(); COLUMNS].map(|()| random.random_range(300.0..400.0)),
            reaches: [(); COLUMNS].map(|()| random.random_range(300.0..400.0)),
        };
        for (column, codes) in right.iter().enumerate() {
            for (at, &code) in codes.iter().enumerate() {
                panel.steps[at / STEP][column / 16].0[column % 16][at % STEP] = code;
            }
            panel.excess[column] = codes.iter().map(|&code| 128 * i32::from(code)).sum();
        }
        panel.scales[63] = f32::NAN;
        let mut block = Block {
            steps: vec![[[0; STEP]; ROWS]; steps],
            scales: [(); ROWS].map(|()| random.random_range(300.0..400.0)),
            reaches: [(); ROWS].map(|()| random.random_range(300.0..400.0)),
        };
        for (row, codes) in left.iter().enumerate() {
            for (at, &code) in codes.iter().enumerate() {
                block.steps[at / STEP][row][at % STEP] = (i16::from(code) + 128) as u8;
            }
        }
        (block, panel)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn all_kernels_pass_the_same_pairs(
            steps in 0..40_usize,
            most in prop::sample::select(vec![0_i8, 1, 20, 127]),
            seed: u64,
            floor in 0.5..1.5_f32,
        ) {
            let random = &mut StdRng::seed_from_u64(seed);
            let codes = codes(steps, most, random);
            let (block, panel) = packed(&codes, random);
            let mut expected = [0_u64; ROWS];
            for (row, left) in codes[0].iter().enumerate() {
                for (column, right) in codes[1].iter().enumerate() {
                    let products = left.iter().zip(right).map(|(&x, &y)| i32::from(x) * i32::from(y));
                    let least = cut(
                        block.scales[row] * floor,
                        block.reaches[row],
                        panel.scales[column],
                        panel.reaches[column],
                    );
                    let passes = products.sum::<i32>() as f32 >= least;
                    expected[row] |= u64::from(passes) << column;
                }
            }
            for kernel in Kernel::all() {
                prop_assert_eq!(kernel.screen(&block, &panel, floor), expected, "{:?}", kernel);
                for (row, expected) in expected.into_iter().enumerate() {
                    for bits in [0, 1, 1 << 40, 0xffff_0000, seed, u64::MAX] {
                        let refined = kernel.refine(&block, row, &panel, bits, floor);
                        prop_assert_eq!(refined, expected & bits, "{:?}", kernel);
                    }
                }
            }
        }

        #[test]
        fn all_kernels_have_the_same_scalar_product(d in 0..200_usize, seed: u64) {
            let random = &mut StdRng::seed_from_u64(seed);
            let mut row = || -> Vec<f32> { (0..d).map(|_| random.random_range(-1.0..1.0)).collect() };
            let (x, y) = (row(), row());
            let expected = Kernel::Portable.dot(&x, &y);
            let plain: f64 = x.iter().zip(&y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
            prop_assert!((expected - plain).abs() < 1e-12);
            for kernel in Kernel::all() {
                prop_assert_eq!(kernel.dot(&x, &y).to_bits(), expected.to_bits());
                prop_assert_eq!(kernel.dot(&y, &x).to_bits(), expected.to_bits());
            }
        }
    }

    #[test]
    fn the_greatest_codes_do_not_overflow() {
        let random = &mut StdRng::seed_from_u64(1);
        for sign in [-1, 1] {
            let codes = [
                vec![vec![127; 1 << 16]; ROWS],
                vec![vec![127 * sign; 1 << 16]; COLUMNS],
            ];
            let (mut block, mut panel) = packed(&codes, random);
            let product = ((127 * 127) << 16) as f32 * f32::from(sign);
            block.scales = [product; ROWS];
            block.reaches = [0.0; ROWS];
            panel.scales = [1.0; COLUMNS];
            for kernel in Kernel::all() {
                assert_eq!(kernel.screen(&block, &panel, 1.0), [u64::MAX; ROWS]);
                let above = if sign > 0 { 1.001 } else { 0.999 };
                assert_eq!(kernel.screen(&block, &panel, above), [0; ROWS]);
            }
        }
    }
}
