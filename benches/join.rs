//! The threshold join and the whole grouping on synthetic memories: 384 dimensions, 30 % of them in
//! groups of 2 to 5 within distance 0.08 of a centre, all from 50 topics (within one, cosines of
//! 0.3 to 0.7). Throughput is in pairs compared.
//!
//! Run with `cargo bench --bench join`; add `-- 10000` for one size. `-- ratios` prints how many
//! times faster than blocks of a dense product the join is, here, on vectors without structure and on
//! those of real sentences, by each instruction set and in each way. For the sentences, name a file
//! with one a line in MEMFOLD_BENCH_SENTENCES, and what `memfold` itself needs for embedding in
//! MEMFOLD_ONNXRUNTIME and MEMFOLD_MODEL_DIR; the first 30,000 different ones are taken.

#![allow(missing_docs, reason = "criterion_group! makes a public function")]
#![allow(clippy::print_stdout, reason = "the ratios are for people")]

use std::collections::HashSet;
use std::hint::black_box;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use memfold::embed::{Embedder, Manifest, Onnx};
use memfold::group::{complete_linkage, group, joins, threshold_join};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const DIMS: usize = 384;
const THRESHOLD: f64 = 0.1;
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

/// All ways one after the other, the best of three runs each.
fn ratios(_: &mut Criterion) {
    if !std::env::args().any(|argument| argument == "ratios") {
        return;
    }
    for n in [1_000, 10_000, 100_000] {
        let mut random = StdRng::seed_from_u64(7);
        let noise = Array2::from_shape_fn((n, DIMS), |_| random.random_range(-1.0_f32..1.0));
        compare("topics", memories(n).view());
        compare("uniform", noise.view());
    }
    if let Ok(path) = std::env::var("MEMFOLD_BENCH_SENTENCES") {
        compare("sentences", sentences(&path).view());
    }
}

fn compare(data: &str, vectors: ArrayView2<'_, f32>) {
    let n = vectors.nrows();
    let dense = best(|| dense_blocks(vectors));
    println!("{data} {n}: dense {dense:.4} s");
    let join = || threshold_join(vectors, THRESHOLD, THREADS);
    let pairs = join();
    let told = |name: &str, seconds: f64| {
        println!(
            "{data} {n}: {name} {seconds:.4} s, {:.1} times faster",
            dense / seconds
        );
    };
    told("as chosen", best(|| join().len()));
    // Those of little use take minutes.
    let sketches: &[usize] = if n < 100_000 { &[32, 64] } else { &[] };
    joins(vectors, THRESHOLD, THREADS, sketches, |name, join| {
        let mut found = join();
        found.sort_unstable_by_key(|pair| (pair.a, pair.b));
        assert!(found == pairs, "{name} finds other pairs");
        told(name, best(|| join().len()));
    });
}

/// The vectors of the first different sentences of a file.
fn sentences(path: &str) -> Array2<f32> {
    const MOST: usize = 30_000;
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let manifest = Manifest::named("all-MiniLM-L6-v2-int8").expect("a known model");
    let (runtime, models) = (
        variable("MEMFOLD_ONNXRUNTIME"),
        variable("MEMFOLD_MODEL_DIR"),
    );
    let model = Onnx::load(runtime.as_ref(), manifest, models.as_ref(), THREADS.get())
        .expect("the model loads");
    let text = std::fs::read_to_string(path).expect("the file is there");
    let mut seen = HashSet::new();
    let lines = text.lines().filter(|line| seen.insert(*line));
    let lines: Vec<&str> = lines.take(MOST).collect();
    let embeddings = model.embed(&lines).expect("the model embeds");
    let numbers = embeddings
        .into_iter()
        .flat_map(|embedding| embedding.vector);
    Array2::from_shape_vec((lines.len(), model.dims()), numbers.collect())
        .expect("one vector a line")
}

fn best(mut work: impl FnMut() -> usize) -> f64 {
    let seconds = (0..3).map(|_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min)
}

/// Products of blocks of 512 rows on two threads, each product tested in f32.
fn dense_blocks(vectors: ArrayView2<'_, f32>) -> usize {
    const BLOCK: usize = 512;
    let n = vectors.nrows();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut near = 0;
        let mut scores = Array2::<f32>::zeros((BLOCK, BLOCK));
        loop {
            let top = BLOCK * next.fetch_add(1, Ordering::Relaxed);
            if top >= n {
                return near;
            }
            let rows = top..n.min(top + BLOCK);
            for left in (top..n).step_by(BLOCK) {
                let columns = left..n.min(left + BLOCK);
                let mut scores = scores.slice_mut(s![..rows.len(), ..columns.len()]);
                let (x, y) = (
                    vectors.slice(s![rows.clone(), ..]),
                    vectors.slice(s![columns, ..]),
                );
                general_mat_mul(1.0, &x, &y.t(), 0.0, &mut scores);
                near += scores
                    .iter()
                    .filter(|&&score| score >= 1.0 - THRESHOLD as f32)
                    .count();
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_default())
            .sum()
    })
}

criterion_group!(all, benches, ratios);
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

/// `n` unit rows, the groups spread over all of them.
fn memories(n: usize) -> Array2<f32> {
    let random = &mut StdRng::seed_from_u64(20_260_101);
    let topics: Vec<Array1<f32>> = (0..50).map(|_| direction(random)).collect();
    let single = |random: &mut StdRng| {
        let topic = &topics[random.random_range(0..topics.len())];
        at_cosine(
            topic.view(),
            random.random_range(0.3_f32..0.7).sqrt(),
            random,
        )
    };
    let mut rows: Vec<Array1<f32>> = Vec::with_capacity(n);
    while rows.len() < n * 3 / 10 {
        let centre = single(random);
        for _ in 0..random.random_range(2..=5).min(n * 3 / 10 - rows.len()) {
            rows.push(at_cosine(
                centre.view(),
                1.0 - random.random_range(0.0..0.08),
                random,
            ));
        }
    }
    rows.resize_with(n, || single(random));
    // A step without a common divisor with n visits every place once.
    let step = 7_919;
    Array2::from_shape_fn((n, DIMS), |(row, column)| rows[row * step % n][column])
}

/// A random unit vector.
fn direction(random: &mut StdRng) -> Array1<f32> {
    // The sum of twelve uniform numbers is normally distributed, nearly.
    let normal = |_| (0..12).map(|_| random.random::<f32>()).sum::<f32>() - 6.0;
    let vector = Array1::from_shape_fn(DIMS, normal);
    let length = vector.dot(&vector).sqrt();
    vector / length
}

/// A random unit vector at this cosine to the unit vector `axis`.
fn at_cosine(axis: ArrayView1<'_, f32>, cosine: f32, random: &mut StdRng) -> Array1<f32> {
    let aside = direction(random);
    let aside = &aside - &(&axis * aside.dot(&axis));
    let length = aside.dot(&aside).sqrt();
    &axis * cosine + aside * ((1.0 - cosine * cosine).sqrt() / length)
}
