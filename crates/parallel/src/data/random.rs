//! Random numbers and permutations that follow from a seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tensor::Error;

/// Random numbers of an epoch. Different epochs of one seed are independent.
///
/// They come from ChaCha8, and what is made of them is written out here, because a seed has to give
/// the same order with every version of the random number crates.
pub(crate) struct SampleRandom(ChaCha8Rng);

impl SampleRandom {
    pub(crate) fn of_epoch(seed: u64, epoch: u64) -> SampleRandom {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(epoch);
        SampleRandom(random)
    }

    /// A uniform number in `0..bound`. Numbers in the incomplete last interval of the 64-bit numbers
    /// are drawn again, since they would make the small remainders more frequent.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let incomplete = (u64::MAX % bound + 1) % bound;
        loop {
            let drawn = self.0.next_u64();
            if drawn <= u64::MAX - incomplete {
                return drawn % bound;
            }
        }
    }

    /// A uniform number from 0 on and below 1: a multiple of 2^-53.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A permutation of `0..len`, by Durstenfeld's algorithm (CACM 7, 1964).
///
/// # Errors
/// The host has no memory for so many numbers.
pub(crate) fn permutation(len: usize, random: &mut SampleRandom) -> tensor::Result<Vec<usize>> {
    let mut indices = Vec::new();
    if indices.try_reserve_exact(len).is_err() {
        return Err(Error::HostOutOfMemory { bytes: len.saturating_mul(size_of::<usize>()) });
    }
    indices.extend(0..len);
    for last in (1..len).rev() {
        indices.swap(last, random.below(last as u64 + 1) as usize);
    }
    Ok(indices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permutation_is_about_equally_frequent() {
        let mut counts = std::collections::HashMap::new();
        for epoch in 0..6000 {
            let order = permutation(3, &mut SampleRandom::of_epoch(5, epoch));
            *counts.entry(order.expect("three numbers")).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // 1000 are expected of each; six standard deviations are 173.
        assert!(counts.values().all(|count| (827..=1173).contains(count)), "{counts:?}");
    }

    #[test]
    fn numbers_for_which_there_is_no_memory_are_an_error() {
        for len in [usize::MAX, 1 << 60, 1 << 48] {
            let refused = permutation(len, &mut SampleRandom::of_epoch(5, 0));
            assert!(matches!(refused, Err(Error::HostOutOfMemory { .. })), "{len}: {refused:?}");
        }
    }
}
