//! Pure work over many items on some threads, in the order of the items.

use std::num::NonZero;

use crate::group::threads;

/// Items below which starting threads costs more than it saves.
const WORTH_IT: usize = 64;

/// Shares for each thread: some items take longer than others.
const SHARES: usize = 4;

/// Applies `f` to each item; the results come in the order of the items.
pub(super) fn map<T: Sync, R: Send>(
    threads: NonZero<usize>,
    items: &[T],
    f: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    shares(threads, items, |share| share.iter().map(&f).collect())
}

/// Applies `f` to shares of the items; it gives one result for each item of a share, in their order.
pub(super) fn shares<T: Sync, R: Send>(
    threads: NonZero<usize>,
    items: &[T],
    f: impl Fn(&[T]) -> Vec<R> + Sync,
) -> Vec<R> {
    if items.len() < WORTH_IT || threads.get() == 1 {
        return f(items);
    }
    let shares: Vec<&[T]> = items
        .chunks(items.len().div_ceil(threads.get() * SHARES))
        .collect();
    let results = threads::map(threads, shares.len(), |number| f(shares[number]));
    let results: Vec<R> = results.into_iter().flatten().collect();
    debug_assert_eq!(results.len(), items.len());
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_stays() {
        for threads in [1, 2, 7] {
            let threads = NonZero::new(threads).unwrap();
            for n in [0, 1, 63, 64, 1000] {
                let items: Vec<usize> = (0..n).collect();
                let doubled: Vec<usize> = items.iter().map(|i| i * 2).collect();
                assert_eq!(map(threads, &items, |i| i * 2), doubled);
            }
        }
    }
}
