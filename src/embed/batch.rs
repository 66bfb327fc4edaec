//! Which inputs go through the model together.

/// The most inputs in a batch; larger ones gain nothing on a CPU.
const MAX_INPUTS: usize = 32;

/// The most tokens in a batch, padding included. It bounds the memory of a run, and more would be
/// slower: an input of 256 tokens costs 39 ms of CPU time with this bound, 50 with 8,192.
const MAX_TOKENS: usize = 1024;

/// Groups inputs, given by their lengths in tokens, into batches of their positions.
///
/// Inputs of like length meet, since all are padded to the longest of their batch. An input longer
/// than the bound is a batch of its own. Every position is in exactly one batch.
pub(crate) fn batches(lengths: &[usize]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| lengths[*at]);
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for at in order {
        match batches.last_mut() {
            // Sorted: this input is the longest so far, so it sets the padded length.
            Some(batch)
                if batch.len() < MAX_INPUTS && (batch.len() + 1) * lengths[at] <= MAX_TOKENS =>
            {
                batch.push(at);
            }
            _ => batches.push(vec![at]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn like_lengths_meet() {
        let lengths: Vec<usize> = (0..64).map(|at| if at % 2 == 0 { 5 } else { 32 }).collect();
        let batches = batches(&lengths);
        assert_eq!(batches.len(), 2);
        assert!(batches[0].iter().all(|at| lengths[*at] == 5));
    }

    #[test]
    fn an_input_over_the_bound_stands_alone() {
        assert_eq!(batches(&[9000, 3, 9000]), [vec![1], vec![0], vec![2]]);
    }

    proptest! {
        #[test]
        fn every_position_is_in_one_batch_within_the_bounds(
            lengths in prop::collection::vec(1usize..3000, 0..200),
        ) {
            let batches = batches(&lengths);
            for batch in &batches {
                let longest = batch.iter().map(|at| lengths[*at]).max().unwrap();
                prop_assert!(batch.len() == 1 || longest * batch.len() <= MAX_TOKENS);
                prop_assert!(batch.len() <= MAX_INPUTS);
            }
            let mut positions = batches.concat();
            positions.sort_unstable();
            prop_assert_eq!(positions, (0..lengths.len()).collect::<Vec<_>>());
        }
    }
}
