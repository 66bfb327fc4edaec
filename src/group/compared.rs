//! What is known of a comparison, so that only what changed is compared again.

use super::join::Pair;

/// Pairs a row beyond which it is not kept what was compared: finding them again is cheaper.
const KNOWN_PAIRS: usize = 8;

/// Which rows were compared with each other, and what was found. Nothing, where too many pairs were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// The rows.
    pub rows: Vec<u32>,
    /// All pairs of them within the threshold, the smaller row first.
    pub pairs: Vec<Pair>,
}

impl Compared {
    /// The pairs of the rows that were `used` among so many, unless there are too many pairs.
    pub(super) fn of(used: impl Iterator<Item = usize>, rows: usize, pairs: &[Pair]) -> Self {
        if pairs.len() > KNOWN_PAIRS * rows {
            return Self::default();
        }
        Self {
            rows: used.map(|row| row as u32).collect(),
            pairs: pairs.to_vec(),
        }
    }

    /// What of it is among some rows, which are ascending, by their places there.
    pub fn within(&self, rows: &[usize]) -> Self {
        if self.rows.is_empty() {
            return Self::default();
        }
        let place = |row: u32| rows.binary_search(&(row as usize)).ok().map(|at| at as u32);
        let pair = |pair: &Pair| {
            let (a, b) = (place(pair.a)?, place(pair.b)?);
            Some(Pair { a, b, ..*pair })
        };
        Self {
            rows: self.rows.iter().filter_map(|&row| place(row)).collect(),
            pairs: self.pairs.iter().filter_map(pair).collect(),
        }
    }

    /// Adds what was compared among some rows, which it names by their places there.
    pub fn add(&mut self, within: Self, rows: &[usize]) {
        let row = |place: u32| rows[place as usize] as u32;
        let pair = |pair: Pair| Pair {
            a: row(pair.a),
            b: row(pair.b),
            ..pair
        };
        self.rows.extend(within.rows.into_iter().map(row));
        self.pairs.extend(within.pairs.into_iter().map(pair));
    }
}
