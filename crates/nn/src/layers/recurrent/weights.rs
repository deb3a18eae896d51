//! The weights of a cell: of one layer in one direction.

use tensor::{Tensor, TensorOptions};

use super::kinds::RecurrentKind;
use super::state::RecurrentState;
use crate::{Member, MemberMut, Result, init};

/// The weights and biases of the input and of the hidden state, with the gates' rows below each
/// other, and those that project the hidden state of an LSTM.
#[derive(Clone, Debug)]
pub(super) struct CellWeights {
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

    /// The product of a sequence with the weights, and both biases if the hidden state's is not apart.
    #[track_caller]
    pub(super) fn of_sequence<K: RecurrentKind>(&self, input: &Tensor) -> Result<Tensor> {
        match (&self.bias_ih, &self.bias_hh) {
            (Some(own), Some(other)) if !K::HAS_BIAS_APART => {
                input.linear(&self.weight_ih, Some(&own.add(other)?))
            }
            _ => self.of_input(input),
        }
    }

    /// The state after a step, from the product of its input.
    pub(super) fn step<K: RecurrentKind>(
        &self,
        kind: K,
        input: &Tensor,
        state: &K::State,
    ) -> Result<K::State> {
        let product = state.hidden().linear(&self.weight_hh, self.bias_hh.as_ref())?;
        let state = kind.step(input, &product, state)?;
        let Some(weight) = &self.weight_hr else { return Ok(state) };
        let parts = state.parts();
        K::State::make(|part| match part {
            0 => parts[0].1.linear(weight, None),
            _ => Ok(parts[part].1.clone()),
        })
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
