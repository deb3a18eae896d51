//! The backward pass of a case.

use tensor::{Backward, Tensor, saved_bytes};

use crate::adapter::CaseOutput;
use crate::argument::ArgumentReader;
use crate::failure::CaseFailure;
use crate::folder::{StoredTensor, WrittenValue};

/// The graph of a backward pass: whether the gradients can be differentiated again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DerivativeOrder {
    First,
    Again,
}

/// The gradients of the sum of `output * cotangent` by the leaves.
///
/// # Errors
/// The library gave an error.
pub(super) fn gradients(
    reader: &ArgumentReader<'_>,
    outputs: &[CaseOutput],
    cotangents: &[WrittenValue],
    leaves: &[&Tensor],
    order: DerivativeOrder,
) -> Result<Vec<Option<Tensor>>, CaseFailure> {
    let mut pairs = Vec::new();
    for (output, cotangent) in outputs.iter().zip(cotangents) {
        if let (CaseOutput::Tensor(output), Some(stored)) = (output, StoredTensor::of(cotangent)) {
            pairs.push((output, reader.tensor(&stored)?));
        }
    }
    let pass = pairs
        .iter()
        .fold(Backward::new(), |pass, (output, cotangent)| pass.output_with(output, cotangent));
    let pass = if order == DerivativeOrder::Again { pass.create_graph() } else { pass };
    Ok(pass.collect(leaves)?)
}

/// The bytes that the graph of the outputs keeps for backward, but for those of the inputs.
pub(super) fn kept_bytes(outputs: &[CaseOutput], inputs: &[Tensor]) -> u64 {
    let tensors = outputs.iter().filter_map(|output| match output {
        CaseOutput::Tensor(tensor) => Some(tensor),
        CaseOutput::Plain(_) => None,
    });
    let inputs: Vec<&Tensor> = inputs.iter().collect();
    saved_bytes(&tensors.collect::<Vec<_>>(), &inputs) as u64
}
