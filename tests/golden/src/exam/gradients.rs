//! The backward pass of a case.

use tensor::{Backward, Tensor};

use crate::adapter::Output;
use crate::argument::ArgumentReader;
use crate::failure::Failure;
use crate::folder::{StoredTensor, Written};

/// The gradients of the sum of `output * cotangent` by the leaves.
///
/// # Errors
/// The library gave an error.
pub(super) fn gradients(
    reader: &ArgumentReader<'_>,
    outputs: &[Output],
    cotangents: &[Written],
    leaves: &[&Tensor],
) -> Result<Vec<Option<Tensor>>, Failure> {
    let mut pairs = Vec::new();
    for (output, cotangent) in outputs.iter().zip(cotangents) {
        if let (Output::Tensor(output), Some(stored)) = (output, StoredTensor::of(cotangent)) {
            pairs.push((output, reader.tensor(&stored)?));
        }
    }
    let pass = pairs
        .iter()
        .fold(Backward::new(), |pass, (output, cotangent)| pass.output_with(output, cotangent));
    Ok(pass.collect(leaves)?)
}
