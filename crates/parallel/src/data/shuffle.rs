//! Permutations that follow from a seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tensor::Error;

/// A permutation of `0..len` that follows from a seed. Different streams of one seed are
/// independent.
///
/// It is Durstenfeld's algorithm (CACM 7, 1964) with numbers from ChaCha8, written out here because
/// a seed has to give the same order with every version of the random number crates.
///
/// # Errors
/// The host has no memory for so many numbers.
pub(crate) fn permutation(len: usize, seed: u64, stream: u64) -> tensor::Result<Vec<usize>> {
    let mut indices = Vec::new();
    if indices.try_reserve_exact(len).is_err() {
        return Err(Error::HostOutOfMemory { bytes: len.saturating_mul(size_of::<usize>()) });
    }
    indices.extend(0..len);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    for last in (1..len).rev() {
        indices.swap(last, below(&mut random, last as u64 + 1) as usize);
    }
    Ok(indices)
}

/// A uniform number in `0..bound`. Numbers in the incomplete last interval of the 64-bit numbers
/// are drawn again, since they would make the small remainders more frequent.
fn below(random: &mut ChaCha8Rng, bound: u64) -> u64 {
    let incomplete = (u64::MAX % bound + 1) % bound;
    loop {
        let drawn = random.next_u64();
        if drawn <= u64::MAX - incomplete {
            return drawn % bound;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permutation_is_about_equally_frequent() {
        let mut counts = std::collections::HashMap::new();
        for stream in 0..6000 {
            *counts.entry(permutation(3, 5, stream).expect("three numbers")).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        // 1000 are expected of each; six standard deviations are 173.
        assert!(counts.values().all(|count| (827..=1173).contains(count)), "{counts:?}");
    }

    #[test]
    fn numbers_for_which_there_is_no_memory_are_an_error() {
        for len in [usize::MAX, 1 << 60, 1 << 48] {
            let refused = permutation(len, 5, 0);
            assert!(matches!(refused, Err(Error::HostOutOfMemory { .. })), "{len}: {refused:?}");
        }
    }
}
