//! The samples that each replica gets, and the weights of their losses.

use super::{ReplicasError, Result};
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
        return Err(refused("no samples".to_owned(), "there is no loss of nothing"));
    }
    let sizes = even_sizes(samples, replicas);
    let weights = sizes.iter().map(|&size| size as f64 / samples as f64).collect();
    Ok(Shares { sizes, weights })
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
