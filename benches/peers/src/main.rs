//! The threshold join beside products of matrices by other crates, on the same rows and as many threads:
//!
//!     memfold-peers --sizes 1000,10000 [--sentences FILE] [--rounds 5]
//!
//! On memories with topics, on uniform random vectors (in which no structure helps), and on the rows of FILE: numbers of
//! 32 bits in the machine's order, 384 a row. All ways take turns, so that other load on the machine meets all of them;
//! the best of the rounds counts. One JSON object a line: data, n, way, wall_s, and the pairs missed and wrong against
//! those that the product of ndarray finds and f64 confirms.

#![allow(missing_docs, reason = "a program for scripts/bench")]

#[path = "../../data/mod.rs"]
mod data;
// The source and not the crate: of memfold nothing else is needed here, and compiling it takes minutes.
#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "only the join is used"
)]
#[path = "../../../src/group/mod.rs"]
mod group;
mod products;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::time::Instant;

use data::{DIMS, THRESHOLD, memories};
use group::{Pair, joins, threshold_join};
use ndarray::{Array2, ArrayView2};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::json;

const THREADS: NonZero<usize> = NonZero::new(2).unwrap();

/// Seconds after which a way is not run again.
const ENOUGH: f64 = 10.0;

type Pairs = BTreeSet<(u32, u32)>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut sizes, mut sentences, mut rounds) = (vec![1_000, 10_000], None, 5);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or("every option has a value")?;
        match name.as_str() {
            "--sizes" => sizes = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--sentences" => sentences = Some(value),
            "--rounds" => rounds = value.parse()?,
            _ => return Err(format!("no option is called {name}").into()),
        }
    }
    for n in sizes {
        compare("topics", memories(n).view(), rounds);
        let random = &mut StdRng::seed_from_u64(7);
        let noise = Array2::from_shape_fn((n, DIMS), |_| random.random_range(-1.0_f32..1.0));
        compare("uniform", noise.view(), rounds);
    }
    if let Some(path) = sentences {
        let numbers: Vec<f32> = std::fs::read(&path)?
            .as_chunks()
            .0
            .iter()
            .map(|bytes| f32::from_ne_bytes(*bytes))
            .collect();
        let rows = numbers.len() / DIMS;
        compare(
            "sentences",
            Array2::from_shape_vec((rows, DIMS), numbers)?.view(),
            rounds,
        );
    }
    Ok(())
}

/// Prints what each way takes to find the near pairs of `vectors`.
fn compare(data: &str, vectors: ArrayView2<'_, f32>, rounds: usize) {
    let unit = unit(vectors);
    let own = |pairs: Vec<Pair>| pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    let exact = |candidates: Vec<(u32, u32)>| confirmed(vectors, candidates);
    let mut ways: BTreeMap<String, Way> = BTreeMap::new();
    for _ in 0..rounds {
        let mut time = |name: &str, work: &dyn Fn() -> Pairs| {
            ways.entry(name.to_owned()).or_default().time(work);
        };
        time("ndarray", &|| {
            exact(products::ndarray(unit.view(), THREADS))
        });
        #[cfg(feature = "faer")]
        time("faer", &|| exact(products::faer(unit.view(), THREADS)));
        time("memfold", &|| {
            own(threshold_join(vectors, THRESHOLD, THREADS))
        });
        joins(vectors, THRESHOLD, THREADS, &[], |name, join| {
            if let Some(set) = name.strip_suffix(", as chosen") {
                let set = set.to_lowercase().replace(' ', "-");
                time(&format!("memfold-{set}"), &|| own(join()));
            }
        });
    }
    let pairs = &ways["ndarray"].pairs;
    for (name, way) in &ways {
        let row = json!({
            "data": data, "n": vectors.nrows(), "way": name, "wall_s": way.best,
            "pairs_true": pairs.len(),
            "pairs_missed": pairs.difference(&way.pairs).count(),
            "pairs_wrong": way.pairs.difference(pairs).count(),
        });
        println!("{row}");
    }
}

/// A way to find pairs: its best time, what all its runs took, and what it finds.
#[derive(Default)]
struct Way {
    best: f64,
    spent: f64,
    pairs: Pairs,
}

impl Way {
    /// Runs it once more, unless it has taken long enough.
    fn time(&mut self, work: &dyn Fn() -> Pairs) {
        let first = self.spent == 0.0;
        if self.spent > ENOUGH {
            return;
        }
        let start = Instant::now();
        self.pairs = work();
        let seconds = start.elapsed().as_secs_f64();
        self.best = if first {
            seconds
        } else {
            self.best.min(seconds)
        };
        self.spent += seconds;
    }
}

fn unit(vectors: ArrayView2<'_, f32>) -> Array2<f32> {
    let mut rows = vectors.to_owned();
    for mut row in rows.rows_mut() {
        let length = row.dot(&row).sqrt();
        row /= length;
    }
    rows
}

/// Those of the candidates that are within the threshold in f64.
fn confirmed(vectors: ArrayView2<'_, f32>, candidates: Vec<(u32, u32)>) -> Pairs {
    let dot = |a: u32, b: u32| -> f64 {
        let (x, y) = (vectors.row(a as usize), vectors.row(b as usize));
        x.iter()
            .zip(y)
            .map(|(&x, &y)| f64::from(x) * f64::from(y))
            .sum()
    };
    let near = |&(a, b): &(u32, u32)| 1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt() <= THRESHOLD;
    candidates.into_iter().filter(near).collect()
}
