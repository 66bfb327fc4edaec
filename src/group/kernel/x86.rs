//! The kernels for x86-64. All of the crate's `unsafe` is here: calls of functions that need an
//! instruction set, behind values that exist only where the processor has it, and vector loads from
//! arrays of exactly that size.
#![expect(unsafe_code, reason = "instruction sets are chosen at run time")]

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

use super::{Block, COLUMNS, Line, Panel, ROWS, STEP, portable};

/// Proof that the processor has AVX2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Avx2(());

/// Proof that the processor has AVX-512 with VNNI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Vnni(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    pub(super) fn screen(self, block: &Block, panel: &Panel, floor: f32) -> [u64; ROWS] {
        // SAFETY: `self` exists only where `detect` found AVX2.
        unsafe { screen_avx2(block, panel, floor) }
    }

    pub(super) fn refine(
        self,
        block: &Block,
        row: usize,
        panel: &Panel,
        bits: u64,
        floor: f32,
    ) -> u64 {
        // SAFETY: `self` exists only where `detect` found AVX2.
        unsafe { refine_avx2(block, row, panel, bits, floor) }
    }

    pub(super) fn dot(self, x: &[f32], y: &[f32]) -> f64 {
        // SAFETY: `self` exists only where `detect` found AVX2.
        unsafe { dot_avx2(x, y) }
    }
}

impl Vnni {
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vnni"))
        .then_some(Self(()))
    }

    pub(super) fn screen(self, block: &Block, panel: &Panel, floor: f32) -> [u64; ROWS] {
        // SAFETY: `self` exists only where `detect` found these instruction sets.
        unsafe { screen_vnni(block, panel, floor) }
    }

    pub(super) fn refine(
        self,
        block: &Block,
        row: usize,
        panel: &Panel,
        bits: u64,
        floor: f32,
    ) -> u64 {
        // SAFETY: `self` exists only where `detect` found these instruction sets.
        unsafe { refine_vnni(block, row, panel, bits, floor) }
    }

    pub(super) fn dot(self, x: &[f32], y: &[f32]) -> f64 {
        // SAFETY: `self` exists only where `detect` found these instruction sets.
        unsafe { dot_avx512(x, y) }
    }
}

const LINES: usize = COLUMNS / 16;

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn screen_vnni(block: &Block, panel: &Panel, floor: f32) -> [u64; ROWS] {
    let mut sums = [[_mm512_setzero_si512(); LINES]; ROWS];
    for (left, right) in block.steps.iter().zip(&panel.steps) {
        let mut lines = [_mm512_setzero_si512(); LINES];
        for (line, right) in lines.iter_mut().zip(right) {
            *line = load_512(right);
        }
        for (sums, left) in sums.iter_mut().zip(left) {
            let left = _mm512_set1_epi32(i32::from_ne_bytes(*left));
            for (sum, line) in sums.iter_mut().zip(lines) {
                *sum = _mm512_dpbusd_epi32(*sum, left, line);
            }
        }
    }
    let mut passing = [0; ROWS];
    for (row, sums) in sums.into_iter().enumerate() {
        let floor_scale = _mm512_set1_ps(block.scales[row] * floor);
        let reach = _mm512_set1_ps(block.reaches[row]);
        for (line, sum) in sums.into_iter().enumerate() {
            let excess = load_i32_512(&panel.excess.as_chunks().0[line]);
            let scales = load_f32_512(&panel.scales.as_chunks().0[line]);
            let reaches = load_f32_512(&panel.reaches.as_chunks().0[line]);
            let product = _mm512_cvtepi32_ps(_mm512_sub_epi32(sum, excess));
            let cut = _mm512_sub_ps(
                _mm512_mul_ps(floor_scale, scales),
                _mm512_mul_ps(reach, reaches),
            );
            let bits = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(product, cut);
            passing[row] |= u64::from(bits) << (16 * line);
        }
    }
    passing
}

#[target_feature(enable = "avx2")]
fn screen_avx2(block: &Block, panel: &Panel, floor: f32) -> [u64; ROWS] {
    /// Rows at once, so that all sums stay in registers.
    const HALF: usize = ROWS / 2;
    let mut passing = [0; ROWS];
    for line in 0..LINES {
        for top in [0, HALF] {
            let mut sums = [[_mm256_setzero_si256(); 2]; HALF];
            for (left, right) in block.steps.iter().zip(&panel.steps) {
                let right = load_256(&right[line]);
                for (row, sums) in sums.iter_mut().enumerate() {
                    let left = signed_256(left[top + row]);
                    for (sum, right) in sums.iter_mut().zip(right) {
                        *sum = _mm256_add_epi32(*sum, products(left, right));
                    }
                }
            }
            for (row, sums) in (top..).zip(sums) {
                for (half, sum) in sums.into_iter().enumerate() {
                    let at = 2 * line + half;
                    let scales = load_f32_256(&panel.scales.as_chunks().0[at]);
                    let reaches = load_f32_256(&panel.reaches.as_chunks().0[at]);
                    let cut = _mm256_sub_ps(
                        _mm256_mul_ps(_mm256_set1_ps(block.scales[row] * floor), scales),
                        _mm256_mul_ps(_mm256_set1_ps(block.reaches[row]), reaches),
                    );
                    let passes = _mm256_cmp_ps::<_CMP_GE_OQ>(_mm256_cvtepi32_ps(sum), cut);
                    let bits = _mm256_movemask_ps(passes) as u8;
                    passing[row] |= u64::from(bits) << (8 * at);
                }
            }
        }
    }
    passing
}

/// Sums of four products of codes each. One side must be unsigned, so the signs are moved to the
/// other; two products of codes fit in an i16.
#[target_feature(enable = "avx2")]
#[inline]
fn products(left: __m256i, right: __m256i) -> __m256i {
    let twos = _mm256_maddubs_epi16(_mm256_abs_epi8(left), _mm256_sign_epi8(right, left));
    _mm256_madd_epi16(twos, _mm256_set1_epi16(1))
}

#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
fn refine_vnni(block: &Block, row: usize, panel: &Panel, bits: u64, floor: f32) -> u64 {
    portable::refine(block, row, panel, bits, floor, |block, row, panel, line| {
        // Four sums that do not wait for each other.
        let mut sums = [_mm512_setzero_si512(); 4];
        sums[0] = _mm512_sub_epi32(sums[0], load_i32_512(&panel.excess.as_chunks().0[line]));
        let (left_fours, left_rest) = block.steps.as_chunks::<4>();
        let (right_fours, right_rest) = panel.steps.as_chunks::<4>();
        for (left, right) in left_fours.iter().zip(right_fours) {
            for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
                let left = _mm512_set1_epi32(i32::from_ne_bytes(left[row]));
                *sum = _mm512_dpbusd_epi32(*sum, left, load_512(&right[line]));
            }
        }
        for (left, right) in left_rest.iter().zip(right_rest) {
            let left = _mm512_set1_epi32(i32::from_ne_bytes(left[row]));
            sums[1] = _mm512_dpbusd_epi32(sums[1], left, load_512(&right[line]));
        }
        let halves = [
            _mm512_add_epi32(sums[0], sums[1]),
            _mm512_add_epi32(sums[2], sums[3]),
        ];
        store_512(_mm512_add_epi32(halves[0], halves[1]))
    })
}

#[target_feature(enable = "avx2")]
fn refine_avx2(block: &Block, row: usize, panel: &Panel, bits: u64, floor: f32) -> u64 {
    portable::refine(block, row, panel, bits, floor, |block, row, panel, line| {
        let mut sums = [_mm256_setzero_si256(); 2];
        for (left, right) in block.steps.iter().zip(&panel.steps) {
            let left = signed_256(left[row]);
            for (sum, right) in sums.iter_mut().zip(load_256(&right[line])) {
                *sum = _mm256_add_epi32(*sum, products(left, right));
            }
        }
        store_256(sums)
    })
}

/// Four codes in all places, no longer 128 greater.
#[target_feature(enable = "avx2")]
#[inline]
fn signed_256(codes: [u8; STEP]) -> __m256i {
    _mm256_set1_epi32(i32::from_ne_bytes(codes.map(|code| code ^ 0x80)))
}

#[target_feature(enable = "avx2")]
fn dot_avx2(x: &[f32], y: &[f32]) -> f64 {
    portable::dot(x, y)
}

#[target_feature(enable = "avx512f")]
fn dot_avx512(x: &[f32], y: &[f32]) -> f64 {
    portable::dot(x, y)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_512(line: &Line) -> __m512i {
    // SAFETY: a line is 64 bytes.
    unsafe { _mm512_loadu_si512(std::ptr::from_ref(line).cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store_512(sums: __m512i) -> [i32; 16] {
    let mut numbers = [0; 16];
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), sums) };
    numbers
}

#[target_feature(enable = "avx2")]
#[inline]
fn store_256(sums: [__m256i; 2]) -> [i32; 16] {
    let mut numbers = [0; 16];
    let (halves, _) = numbers.as_chunks_mut::<8>();
    for (half, sums) in halves.iter_mut().zip(sums) {
        // SAFETY: half of the array is 32 bytes.
        unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), sums) };
    }
    numbers
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_i32_512(numbers: &[i32; 16]) -> __m512i {
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load_f32_512(numbers: &[f32; 16]) -> __m512 {
    // SAFETY: the array is 64 bytes.
    unsafe { _mm512_loadu_ps(numbers.as_ptr()) }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_256(line: &Line) -> [__m256i; 2] {
    let (halves, _): (&[[[i8; STEP]; 8]], _) = line.0.as_chunks();
    // SAFETY: each half of a line is 32 bytes.
    unsafe {
        [
            _mm256_loadu_si256(halves[0].as_ptr().cast()),
            _mm256_loadu_si256(halves[1].as_ptr().cast()),
        ]
    }
}

#[target_feature(enable = "avx2")]
#[inline]
fn load_f32_256(numbers: &[f32; 8]) -> __m256 {
    // SAFETY: the array is 32 bytes.
    unsafe { _mm256_loadu_ps(numbers.as_ptr()) }
}
