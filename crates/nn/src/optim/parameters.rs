//! The parameters of an optimizer, each with what the optimizer remembers of it.

use std::collections::HashMap;

use tensor::{Error, Tensor, no_grad};

use crate::Result;

/// The tensors that an optimizer remembers of a parameter, as its momentum.
pub(super) trait ParameterState: Sized {
    /// The same on the device and in the dtype of `parameter`.
    fn moved_to(&self, parameter: &Tensor) -> Result<Self>;
}

/// Parameters, each with what is remembered of it since its first step.
pub(super) struct TrainedParameters<M>(Vec<(Tensor, Option<M>)>);

impl<M: ParameterState> TrainedParameters<M> {
    /// # Errors
    /// A tensor is not a leaf, or is given twice.
    pub(super) fn new(op: &'static str, parameters: Vec<Tensor>) -> Result<TrainedParameters<M>> {
        let mut numbers = HashMap::new();
        for (number, parameter) in parameters.iter().enumerate() {
            let refused = |why| {
                let value = format!("number {number}, of shape {:?}", parameter.shape());
                Err(Error::InvalidArgument { op, argument: "parameters", value, why })
            };
            if parameter.grad_fn().is_some() {
                return refused(
                    "an operation computed it, and gradients are kept for leaves only; give the \
                     tensors that it was computed from, or detach() it and call requires_grad_",
                );
            }
            if numbers.insert(parameter.id(), number).is_some() {
                return refused("it is given twice, and would make each step twice");
            }
        }
        Ok(TrainedParameters(parameters.into_iter().map(|parameter| (parameter, None)).collect()))
    }

    /// The parameters, in the places that they were moved to.
    pub(super) fn now(&self) -> Vec<Tensor> {
        let now = |(parameter, _): &(Tensor, _)| parameter.successor().unwrap_or(parameter.clone());
        self.0.iter().map(now).collect()
    }

    /// The memory of each parameter.
    pub(super) fn memories(&self) -> impl Iterator<Item = Option<&M>> {
        self.0.iter().map(|(_, memory)| memory.as_ref())
    }

    /// Makes a step with each parameter that has a gradient: `step` gets the parameter's number, the
    /// parameter, what is remembered of it, and the gradient. The last ones come first, since a
    /// backward pass has their gradients first: where gradients are summed over devices, those of
    /// the first layers may be on their way still.
    pub(super) fn step(
        &mut self,
        mut step: impl FnMut(usize, &Tensor, &mut Option<M>, &Tensor) -> Result<()>,
    ) -> Result<()> {
        no_grad(|| {
            for (number, (parameter, memory)) in self.0.iter_mut().enumerate().rev() {
                let mut gradient = parameter.grad();
                if gradient.is_none()
                    && let Some(successor) = parameter.successor()
                {
                    *memory = memory.as_ref().map(|one| one.moved_to(&successor)).transpose()?;
                    *parameter = successor;
                    gradient = parameter.grad();
                }
                if let Some(gradient) = gradient {
                    step(number, parameter, memory, &gradient)?;
                }
            }
            Ok(())
        })
    }

    /// Replaces what is remembered of each parameter.
    pub(super) fn remember(&mut self, memories: Vec<Option<M>>) {
        for ((_, memory), new) in self.0.iter_mut().zip(memories) {
            *memory = new;
        }
    }
}

/// `tensor` on the device and in the dtype of `parameter`.
pub(super) fn beside(tensor: &Tensor, parameter: &Tensor) -> Result<Tensor> {
    tensor.to((parameter.dtype(), parameter.device()))
}
