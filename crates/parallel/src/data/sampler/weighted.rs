//! SampleList that come as often as their weights say.

use tensor::{Error, Result};

use super::{SampleOrder, Sampler};
use crate::data::random::SampleRandom;

/// SampleList drawn with probabilities that are proportional to their weights
/// (`torch.utils.data.WeightedRandomSampler`), anew in each epoch.
///
/// ```
/// use parallel::{Sampler, WeightedRandomSampler};
/// let sampler = WeightedRandomSampler::new(vec![0.0, 3.0, 1.0], 1000, true, 0)?;
/// let drawn: Vec<usize> = sampler.iter(0)?.collect();
/// let ones = drawn.iter().filter(|&&index| index == 1).count();
/// assert!(!drawn.contains(&0) && (650..850).contains(&ones));
///
/// let each_once = WeightedRandomSampler::new(vec![1.0, 3.0, 1.0], 3, false, 0)?;
/// let mut drawn: Vec<usize> = each_once.iter(0)?.collect();
/// drawn.sort_unstable();
/// assert_eq!(drawn, [0, 1, 2]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct WeightedRandomSampler {
    weights: WeightTree,
    num_samples: usize,
    replacement: bool,
    seed: u64,
}

/// Sums of weights as a binary tree in an array: the sum of node `n` is that of nodes `2n` and
/// `2n + 1`, and the weights are the last level. Sums are always computed from those below, so that
/// one of weights that are all zero is zero.
#[derive(Clone, Debug)]
struct WeightTree {
    sums: Vec<f64>,
}

impl WeightedRandomSampler {
    /// Draws `num_samples` indices per epoch. Without `replacement` each index comes once at most.
    ///
    /// # Errors
    /// A weight is negative, infinite or not a number; all of them are zero, or without replacement
    /// fewer than `num_samples` are more than zero.
    pub fn new(
        weights: Vec<f64>,
        num_samples: usize,
        replacement: bool,
        seed: u64,
    ) -> Result<WeightedRandomSampler> {
        let refuse = |argument, value, why| {
            Err(Error::InvalidArgument { op: "WeightedRandomSampler", argument, value, why })
        };
        if let Some(wrong) = weights.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
            return refuse("weights", wrong.to_string(), "they are numbers of at least zero");
        }
        let positive = weights.iter().filter(|weight| **weight > 0.0).count();
        let weights = WeightTree::new(&weights);
        if num_samples > 0 && (positive == 0 || !weights.total().is_finite()) {
            let value = weights.total().to_string();
            return refuse("weights", value, "their sum is a finite number of more than zero");
        }
        if !replacement && num_samples > positive {
            let value = format!("{num_samples}, with {positive} weights of more than zero");
            return refuse("num_samples", value, "without replacement each index comes once");
        }
        Ok(WeightedRandomSampler { weights, num_samples, replacement, seed })
    }
}

impl Sampler for WeightedRandomSampler {
    fn len(&self) -> usize {
        self.num_samples
    }

    fn iter(&self, epoch: u64) -> Result<SampleOrder> {
        let mut weights = self.weights.clone();
        let mut random = SampleRandom::of_epoch(self.seed, epoch);
        let replacement = self.replacement;
        Ok(Box::new((0..self.num_samples).map(move |_| {
            let drawn = weights.find(random.unit() * weights.total());
            if !replacement {
                weights.take_out(drawn);
            }
            drawn
        })))
    }
}

impl WeightTree {
    fn new(weights: &[f64]) -> WeightTree {
        let leaves = weights.len().max(1).next_power_of_two();
        let mut sums = vec![0.0; 2 * leaves];
        sums[leaves..][..weights.len()].copy_from_slice(weights);
        for node in (1..leaves).rev() {
            sums[node] = sums[2 * node] + sums[2 * node + 1];
        }
        WeightTree { sums }
    }

    fn total(&self) -> f64 {
        self.sums[1]
    }

    fn leaves(&self) -> usize {
        self.sums.len() / 2
    }

    /// The index at which the sum of the weights so far exceeds `sum`: never one of weight zero, even
    /// where sums were rounded.
    fn find(&self, mut sum: f64) -> usize {
        let mut node = 1;
        while node < self.leaves() {
            let (left, right) = (self.sums[2 * node], self.sums[2 * node + 1]);
            let goes_left = right == 0.0 || (left > 0.0 && sum < left);
            node = 2 * node + usize::from(!goes_left);
            if !goes_left {
                sum -= left;
            }
        }
        node - self.leaves()
    }

    fn take_out(&mut self, index: usize) {
        let mut node = self.leaves() + index;
        self.sums[node] = 0.0;
        while node > 1 {
            node /= 2;
            self.sums[node] = self.sums[2 * node] + self.sums[2 * node + 1];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_come_as_often_as_their_weights_say() -> Result<()> {
        let weights = [1.0, 0.0, 4.0, 2.0, 3.0];
        let sampler = WeightedRandomSampler::new(weights.to_vec(), 10_000, true, 7)?;
        let mut counts = [0; 5];
        sampler.iter(3)?.for_each(|index| counts[index] += 1);
        for (count, weight) in counts.into_iter().zip(weights) {
            // Six standard deviations of a count are at most 300.
            assert!((f64::from(count) - 1000.0 * weight).abs() <= 300.0, "{counts:?}");
        }
        assert_eq!(counts[1], 0);
        Ok(())
    }

    #[test]
    fn without_replacement_the_first_index_follows_the_weights_and_each_comes_once() -> Result<()> {
        let sampler = WeightedRandomSampler::new(vec![3.0, 1.0, 0.0, 4.0], 3, false, 1)?;
        let mut first = [0u32; 4];
        for epoch in 0..2000 {
            let mut drawn: Vec<usize> = sampler.iter(epoch)?.collect();
            first[drawn[0]] += 1;
            drawn.sort_unstable();
            assert_eq!(drawn, [0, 1, 3]);
        }
        // 750, 250 and 1000 are expected; six standard deviations are 134 at most.
        assert!(first[0].abs_diff(750) < 134 && first[1].abs_diff(250) < 134, "{first:?}");
        Ok(())
    }

    #[test]
    fn weights_that_are_none_are_refused() {
        for weights in [vec![-1.0], vec![f64::NAN], vec![f64::INFINITY], vec![0.0], vec![]] {
            assert!(WeightedRandomSampler::new(weights, 1, true, 0).is_err());
        }
        assert!(WeightedRandomSampler::new(vec![1.0, 0.0], 2, false, 0).is_err());
        assert!(WeightedRandomSampler::new(vec![f64::MAX, f64::MAX], 2, true, 0).is_err());
    }
}
