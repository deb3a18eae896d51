//! The samples that each replica gets, and the weights of their losses.

use std::cmp::Reverse;

use super::{ReplicasError, Result};
use crate::Split;
use crate::batch::even_sizes;

/// The sizes of the parts of a batch, of which there are at most as many as replicas, and the weight
/// of each part's loss.
pub(super) struct Shares {
    pub(super) sizes: Vec<usize>,
    pub(super) weights: Vec<f64>,
}

/// Shares by the speeds of the replicas; without these of almost the same size, the larger ones first.
/// A batch that is the same for any number of samples goes to all replicas.
pub(super) fn of(batch: &impl Split, replicas: usize, speeds: Option<&[f64]>) -> Result<Shares> {
    let Some(samples) = batch.samples() else {
        return Ok(Shares {
            sizes: vec![0; replicas],
            weights: vec![1.0 / replicas as f64; replicas],
        });
    };
    if samples == 0 {
        return Err(refused("no samples".to_owned(), "there is no loss of nothing"));
    }
    let sizes = match speeds {
        Some(speeds) => proportional_sizes(samples, speeds),
        None => even_sizes(samples, replicas),
    };
    let weights = sizes.iter().map(|&size| size as f64 / samples as f64).collect();
    Ok(Shares { sizes, weights })
}

/// Sizes that add up to `samples` and are as the speeds, one of which is not zero, as nearly as whole
/// numbers can be: those with the largest remainders are rounded up, of equal ones the first.
fn proportional_sizes(samples: usize, speeds: &[f64]) -> Vec<usize> {
    let total: f64 = speeds.iter().sum();
    let exact = |speed: &f64| samples as f64 * (speed / total);
    let mut sizes: Vec<usize> = speeds.iter().map(|speed| exact(speed) as usize).collect();
    let mut by_remainder: Vec<usize> =
        (0..speeds.len()).filter(|&rank| speeds[rank] > 0.0).collect();
    let remainder = |rank: usize| exact(&speeds[rank]).fract();
    by_remainder.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
    // Rounding may have made them too many by one; then the largest gives it back.
    while sizes.iter().sum::<usize>() > samples {
        let largest = (0..sizes.len()).max_by_key(|&rank| (sizes[rank], Reverse(rank)));
        largest.into_iter().for_each(|rank| sizes[rank] -= 1);
    }
    let missing = samples - sizes.iter().sum::<usize>();
    by_remainder.iter().cycle().take(missing).for_each(|&rank| sizes[rank] += 1);
    sizes
}

/// The weights of the losses of parts that a batch was split into already.
pub(super) fn of_parts(parts: &[impl Split], replicas: usize) -> Result<Vec<f64>> {
    if parts.len() > replicas {
        let value = format!("{} parts for {replicas} replicas", parts.len());
        return Err(refused(value, "each part is one replica's"));
    }
    let samples = |part: &_| Split::samples(part).unwrap_or(1);
    let total: usize = parts.iter().map(samples).sum();
    if total == 0 {
        return Err(refused("no samples".to_owned(), "there is no loss of nothing"));
    }
    Ok(parts.iter().map(|part| samples(part) as f64 / total as f64).collect())
}

fn refused(value: String, why: &'static str) -> ReplicasError {
    let (op, argument) = ("Replicas::step", "batch");
    tensor::Error::InvalidArgument { op, argument, value, why }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_the_speeds_and_add_up() {
        assert_eq!(proportional_sizes(10, &[1.0, 1.0]), [5, 5]);
        assert_eq!(proportional_sizes(10, &[3.0, 1.0, 1.0]), [6, 2, 2]);
        assert_eq!(proportional_sizes(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(proportional_sizes(7, &[2.0, 0.0, 1.0]), [5, 0, 2]);
        assert_eq!(proportional_sizes(2, &[1.0, 100.0, 1.0]), [0, 2, 0]);
        assert_eq!(proportional_sizes(3, &[f64::MAX, f64::MIN_POSITIVE]), [3, 0]);
    }
}
