//! Shares with their uncertainty.

use serde::Serialize;

/// Quantile of the normal distribution for a two-sided interval of 95 %.
const Z: f64 = 1.959_963_984_540_054;

/// How many of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Those that count.
    pub hits: usize,
    /// All that were looked at.
    pub of: usize,
}

impl Rate {
    /// Counts one more.
    pub fn add(&mut self, hit: bool) {
        self.of += 1;
        self.hits += usize::from(hit);
    }

    /// The share, 0 … 1; `None` where nothing was looked at.
    pub fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }

    /// Wilson's score interval at 95 %: where the true share lies if these were drawn at random.
    /// It stays sensible at 0 of few, where the textbook interval has no width.
    pub fn interval(self) -> Option<(f64, f64)> {
        let share = self.share()?;
        let n = self.of as f64;
        let z2 = Z * Z;
        let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let half = Z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
        // At the ends rounding may leave them by a hair.
        let low = if self.hits == 0 { 0.0 } else { centre - half };
        let high = if self.hits == self.of {
            1.0
        } else {
            centre + half
        };
        Some((low.max(0.0), high.min(1.0)))
    }
}

impl Serialize for Rate {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown {
            hits: usize,
            of: usize,
            rate: Option<f64>,
            low: Option<f64>,
            high: Option<f64>,
        }
        let interval = self.interval();
        Shown {
            hits: self.hits,
            of: self.of,
            rate: self.share(),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(hits: usize, of: usize) -> (f64, f64) {
        let (low, high) = Rate { hits, of }.interval().unwrap();
        ((low * 1e4).round() / 1e4, (high * 1e4).round() / 1e4)
    }

    #[test]
    fn intervals_are_those_of_the_literature() {
        // Newcombe 1998, table I, method 3.
        assert_eq!(interval(81, 263), (0.2553, 0.3662));
        assert_eq!(interval(15, 148), (0.0624, 0.1605));
        assert_eq!(interval(0, 20), (0.0, 0.1611));
        assert_eq!(interval(1, 29), (0.0061, 0.1718));
        assert_eq!(interval(29, 29), (0.8830, 1.0));
    }

    #[test]
    fn nothing_has_no_rate() {
        assert_eq!(Rate::default().share(), None);
        assert_eq!(Rate::default().interval(), None);
    }

    proptest::proptest! {
        #[test]
        fn the_share_lies_in_its_interval(of in 1_usize..5000, part in 0.0..=1.0_f64) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small, positive")]
            let hits = (of as f64 * part) as usize;
            let rate = Rate { hits, of };
            let (low, high) = rate.interval().unwrap();
            let share = rate.share().unwrap();
            proptest::prop_assert!(0.0 <= low && low <= share && share <= high && high <= 1.0);
        }
    }
}
