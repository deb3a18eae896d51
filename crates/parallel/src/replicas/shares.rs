//! The samples that each replica gets, and the weights of their losses.

use super::Result;
use crate::Split;
use crate::batch::even_sizes;

/// The sizes of the parts of a batch, of which there are at most as many as replicas, and the weight
/// of each part's loss.
pub(super) struct Shares {
    pub(super) sizes: Vec<usize>,
    pub(super) weights: Vec<f64>,
}

/// Shares of almost the same size, the larger ones first. A batch that is the same for any number of
/// samples goes to all replicas.
pub(super) fn of(batch: &impl Split, replicas: usize) -> Result<Shares> {
    let Some(samples) = batch.samples() else {
        return Ok(Shares {
            sizes: vec![0; replicas],
            weights: vec![1.0 / replicas as f64; replicas],
        });
    };
    if samples == 0 {
        return Err(tensor::Error::InvalidArgument {
            op: "Replicas::step",
            argument: "batch",
            value: "no samples".to_owned(),
            why: "there is no loss of nothing",
        }
        .into());
    }
    let sizes = even_sizes(samples, replicas);
    let weights = sizes.iter().map(|&size| size as f64 / samples as f64).collect();
    Ok(Shares { sizes, weights })
}
