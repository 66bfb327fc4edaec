//! The threshold join and the whole grouping on synthetic memories. Throughput is in pairs compared.
//!
//! Run with `cargo bench --bench join`; add `-- 10000` for one size. How many times faster than products of
//! matrices the join is, `scripts/bench --join` tells: see `peers/`.

#![allow(missing_docs, reason = "criterion_group! makes a public function")]

mod data;

use std::hint::black_box;
use std::num::NonZero;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use data::{THRESHOLD, memories};
use memfold::group::{complete_linkage, group, threshold_join};
use ndarray::ArrayView2;

const CAP: usize = 100;
const THREADS: NonZero<usize> = NonZero::new(2).unwrap();

fn benches(criterion: &mut Criterion) {
    let mut benches = criterion.benchmark_group("join");
    benches.sample_size(10);
    for n in [1_000, 10_000] {
        let vectors = memories(n);
        let pairs = threshold_join(vectors.view(), THRESHOLD, THREADS);
        let twins: Vec<usize> = (0..n).collect();
        let readable = vec![true; n];
        benches.throughput(Throughput::Elements((n * (n - 1) / 2) as u64));
        benches.bench_with_input(
            BenchmarkId::new("threshold_join", n),
            &vectors,
            |bench, rows| {
                bench.iter(|| threshold_join(black_box(rows.view()), THRESHOLD, THREADS));
            },
        );
        benches.bench_with_input(BenchmarkId::new("group", n), &vectors, |bench, rows| {
            bench.iter(|| {
                group(
                    black_box(rows.view()),
                    &twins,
                    &readable,
                    THRESHOLD,
                    CAP,
                    THREADS,
                )
            });
        });
        benches.bench_with_input(
            BenchmarkId::new("complete_linkage", n),
            &pairs,
            |bench, pairs| {
                bench.iter(|| complete_linkage(n, black_box(pairs), CAP));
            },
        );
        if n == 1_000 {
            assert_eq!(pairs.len(), brute_force(vectors.view()));
            benches.bench_with_input(
                BenchmarkId::new("brute force", n),
                &vectors,
                |bench, rows| {
                    bench.iter(|| brute_force(black_box(rows.view())));
                },
            );
        }
    }
    benches.finish();
}

criterion_group!(all, benches);
criterion_main!(all);

/// The plain way, on one thread: every pair in f64.
fn brute_force(vectors: ArrayView2<'_, f32>) -> usize {
    let wide = vectors.mapv(f64::from);
    let norms = wide.map_axis(ndarray::Axis(1), |row| row.dot(&row).sqrt());
    let mut pairs = 0;
    for a in 0..wide.nrows() {
        for b in a + 1..wide.nrows() {
            let cosine = wide.row(a).dot(&wide.row(b)) / (norms[a] * norms[b]);
            pairs += usize::from(1.0 - cosine <= THRESHOLD);
        }
    }
    pairs
}
