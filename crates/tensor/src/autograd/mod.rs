//! Automatic differentiation: what operations record, and how gradients are found from it.

use crate::{Result, Tensor};

/// What autograd knows of a tensor.
#[derive(Default)]
pub(crate) struct Meta;

impl Meta {
    pub(crate) fn none() -> Meta {
        Meta
    }
}

/// Returns `output`, recorded as computed from `inputs` where grad mode is on and one requires grad.
pub(crate) fn record<const N: usize, B>(
    _name: &'static str,
    _inputs: [&Tensor; N],
    output: Tensor,
    _save: impl FnOnce(&Tensor) -> B,
) -> Tensor
where
    B: Fn(&Tensor, [bool; N]) -> Result<[Option<Tensor>; N]> + Send + Sync + 'static,
{
    output
}

/// As [`record`], for any number of inputs.
pub(crate) fn record_many<B>(
    _name: &'static str,
    _inputs: &[&Tensor],
    output: Tensor,
    _save: impl FnOnce(&Tensor) -> B,
) -> Tensor
where
    B: Fn(&Tensor, &[bool]) -> Result<Vec<Option<Tensor>>> + Send + Sync + 'static,
{
    output
}

/// A tensor kept for the backward pass.
pub(crate) struct SavedTensor(Tensor);

impl SavedTensor {
    pub(crate) fn new(tensor: &Tensor) -> SavedTensor {
        SavedTensor(tensor.clone())
    }

    pub(crate) fn get(&self) -> Result<Tensor> {
        Ok(self.0.clone())
    }
}

/// Fails where an in-place operation would falsify recorded gradients.
pub(crate) fn check_in_place(
    _name: &'static str,
    _target: &Tensor,
    _operands: &[&Tensor],
) -> Result<()> {
    Ok(())
}
