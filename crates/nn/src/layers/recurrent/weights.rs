//! The weights of a cell: of one layer in one direction.

use tensor::{Tensor, TensorOptions};

use crate::{Member, MemberMut, Result, init};

/// The weights and biases of the input and of the hidden state, with the gates' rows below each
/// other, and those that project the hidden state of an LSTM.
#[derive(Clone, Debug)]
pub struct CellWeights {
    pub(super) weight_ih: Tensor,
    pub(super) weight_hh: Tensor,
    pub(super) bias_ih: Option<Tensor>,
    pub(super) bias_hh: Option<Tensor>,
    pub(super) weight_hr: Option<Tensor>,
}

/// The sizes of a cell.
#[derive(Clone, Copy)]
pub(super) struct CellSizes {
    pub(super) gates: usize,
    pub(super) input: usize,
    pub(super) hidden: usize,
    /// The size that the hidden state is projected to; 0 if it is not.
    pub(super) projection: usize,
    pub(super) bias: bool,
}

impl CellWeights {
    /// PyTorch's initial values: uniform in `±1/sqrt(hidden)`.
    #[track_caller]
    pub(super) fn new(sizes: CellSizes, options: TensorOptions) -> Result<CellWeights> {
        let CellSizes { gates, input, hidden, projection, bias } = sizes;
        let rows = gates.saturating_mul(hidden);
        let state = if projection > 0 { projection } else { hidden };
        let make = |shape: &[usize]| init::fan_in_uniform(shape, hidden, options);
        let (weight_ih, weight_hh) = (make(&[rows, input])?, make(&[rows, state])?);
        let [mut bias_ih, mut bias_hh] = [None, None];
        if bias {
            (bias_ih, bias_hh) = (Some(make(&[rows])?), Some(make(&[rows])?));
        }
        let weight_hr = (projection > 0).then(|| make(&[projection, hidden])).transpose()?;
        Ok(CellWeights { weight_ih, weight_hh, bias_ih, bias_hh, weight_hr })
    }

    /// The product of inputs with their weights.
    #[track_caller]
    pub(super) fn of_input(&self, input: &Tensor) -> Result<Tensor> {
        input.linear(&self.weight_ih, self.bias_ih.as_ref())
    }

    /// The product of a hidden state with its weights.
    pub(super) fn of_hidden(&self, hidden: &Tensor) -> Result<Tensor> {
        hidden.linear(&self.weight_hh, self.bias_hh.as_ref())
    }

    /// The projection of a hidden state, or itself.
    pub(super) fn projected(&self, hidden: Tensor) -> Result<Tensor> {
        match &self.weight_hr {
            Some(weight) => hidden.linear(weight, None),
            None => Ok(hidden),
        }
    }

    /// Shows the parameters under PyTorch's names, which end in `suffix`.
    pub(super) fn visit<'a>(&'a self, suffix: &str, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        let CellWeights { weight_ih, weight_hh, bias_ih, bias_hh, weight_hr } = self;
        visitor(&format!("weight_ih{suffix}"), Member::Parameter(weight_ih));
        visitor(&format!("weight_hh{suffix}"), Member::Parameter(weight_hh));
        for (name, tensor) in [("bias_ih", bias_ih), ("bias_hh", bias_hh), ("weight_hr", weight_hr)]
        {
            if let Some(tensor) = tensor {
                visitor(&format!("{name}{suffix}"), Member::Parameter(tensor));
            }
        }
    }

    /// [`CellWeights::visit`], to be changed.
    pub(super) fn visit_mut(
        &mut self,
        suffix: &str,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        let CellWeights { weight_ih, weight_hh, bias_ih, bias_hh, weight_hr } = self;
        visitor(&format!("weight_ih{suffix}"), MemberMut::Parameter(weight_ih))?;
        visitor(&format!("weight_hh{suffix}"), MemberMut::Parameter(weight_hh))?;
        for (name, tensor) in [("bias_ih", bias_ih), ("bias_hh", bias_hh), ("weight_hr", weight_hr)]
        {
            if let Some(tensor) = tensor {
                visitor(&format!("{name}{suffix}"), MemberMut::Parameter(tensor))?;
            }
        }
        Ok(())
    }
}
