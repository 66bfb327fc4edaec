//! The same work for many numbers on some threads.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Calls `work` with each number below `count` on up to `threads` threads, which take the next
/// number when they are done with one. The results come in the order of the numbers.
pub(crate) fn map<T: Send>(
    threads: NonZero<usize>,
    count: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    if threads.get().min(count) <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return done;
            }
            done.push((number, work(number)));
        }
    };
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.get().min(count))
            .map(|_| scope.spawn(take))
            .collect();
        let mut done = take();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_are_in_order() {
        for threads in [1, 2, 7] {
            for count in [0, 1, 2, 100] {
                let squares = map(NonZero::new(threads).unwrap(), count, |i| i * i);
                assert_eq!(squares, (0..count).map(|i| i * i).collect::<Vec<_>>());
            }
        }
    }
}
