//! Products of blocks of rows, every number of them tested: how near pairs are found without more ado.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, s};

use crate::data::THRESHOLD;

/// Rows in a block. Of 256, 512 and 1,024 this is the fastest.
const BLOCK: usize = 512;

/// Least product in f32 of two unit rows that may be near.
const LEAST: f32 = 1.0 - THRESHOLD as f32 - 1e-4;

/// By `ndarray`, which is `matrixmultiply`.
pub(crate) fn ndarray(unit: ArrayView2<'_, f32>, threads: NonZero<usize>) -> Vec<(u32, u32)> {
    blocks(unit, threads, |x, y, scores| {
        let mut scores = scores.slice_mut(s![..y.nrows(), ..x.nrows()]);
        general_mat_mul(1.0, &y, &x.t(), 0.0, &mut scores);
    })
}

/// By `faer`.
#[cfg(feature = "faer")]
pub(crate) fn faer(unit: ArrayView2<'_, f32>, threads: NonZero<usize>) -> Vec<(u32, u32)> {
    use faer::linalg::matmul::matmul;
    use faer::{Accum, MatMut, MatRef, Par};

    blocks(unit, threads, |x, y, scores| {
        let dims = x.ncols();
        let (Some(x_numbers), Some(y_numbers)) = (x.to_slice(), y.to_slice()) else {
            unreachable!("blocks of whole rows are contiguous");
        };
        // As a product of columns, which is faer's own order; written in rows it comes out wrong (0.24.4).
        let left = MatRef::from_row_major_slice(x_numbers, x.nrows(), dims);
        let right = MatRef::from_column_major_slice(y_numbers, dims, y.nrows());
        let Some(numbers) = scores.as_slice_mut() else {
            unreachable!("the scores are in standard order");
        };
        let scores =
            MatMut::from_column_major_slice_with_stride_mut(numbers, x.nrows(), y.nrows(), BLOCK);
        matmul(scores, Accum::Replace, left, right, 1.0_f32, Par::Seq);
    })
}

/// All pairs that may be near, by a product that writes the scores of the rows of its second block with those of its first.
fn blocks(
    unit: ArrayView2<'_, f32>,
    threads: NonZero<usize>,
    product: impl Fn(ArrayView2<'_, f32>, ArrayView2<'_, f32>, &mut Array2<f32>) + Sync,
) -> Vec<(u32, u32)> {
    let n = unit.nrows();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut near = Vec::new();
        let mut scores = Array2::<f32>::zeros((BLOCK, BLOCK));
        loop {
            let top = BLOCK * next.fetch_add(1, Ordering::Relaxed);
            if top >= n {
                return near;
            }
            let rows = top..n.min(top + BLOCK);
            for left in (top..n).step_by(BLOCK) {
                let columns = left..n.min(left + BLOCK);
                let (x, y) = (
                    unit.slice(s![columns.clone(), ..]),
                    unit.slice(s![rows.clone(), ..]),
                );
                product(x, y, &mut scores);
                for (a, scores) in rows.clone().zip(scores.rows()) {
                    let Some(scores) = scores.to_slice() else {
                        unreachable!("the scores are in standard order");
                    };
                    let scores = &scores[..columns.len()];
                    // Most rows have none and are done with in one go.
                    if scores.iter().filter(|&&score| score >= LEAST).count() == 0 {
                        continue;
                    }
                    let pairs = columns.clone().zip(scores);
                    let pairs = pairs.filter(|&(b, &score)| a < b && score >= LEAST);
                    near.extend(pairs.map(|(b, _)| (a as u32, b as u32)));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.get()).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    })
}
