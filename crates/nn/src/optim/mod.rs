//! Optimizers: they change parameters by their gradients (`torch.optim`).

mod adam;
mod sgd;

use tensor::{Error, FusedValue, Tensor};

use crate::Result;

pub use adam::{Adam, AdamBuilder};
pub use sgd::{Sgd, SgdBuilder};

/// An optimizer, which changes parameters by their gradients.
///
/// The work is enqueued on the current stream of each parameter's device, and nothing is waited
/// for.
pub trait Optimizer {
    /// Changes every parameter that has a gradient.
    ///
    /// # Errors
    /// The module was moved to another device after the optimizer was built, so that its gradients
    /// are those of other parameters; nothing is changed then. Or a gradient does not fit its
    /// parameter, or memory is short: parameters before the one that failed are then changed
    /// already.
    fn step(&mut self) -> Result<()>;

    /// The parameters, in the order they were given in.
    fn parameters(&self) -> &[Tensor];

    /// Clears the gradients.
    fn zero_grad(&self) {
        self.parameters().iter().for_each(|parameter| parameter.clear_grad());
    }

    /// Sets the learning rate for the steps to come.
    fn set_learning_rate(&mut self, rate: f64);
}

/// Checks that all parameters are leaves that require gradients.
fn check_parameters(op: &'static str, parameters: &[Tensor]) -> Result<()> {
    for parameter in parameters {
        if !parameter.is_leaf() || !parameter.requires_grad() {
            return Err(Error::InvalidArgument {
                op,
                argument: "parameters",
                value: format!("a tensor of shape {:?}", parameter.shape()),
                why: "each must be a leaf that requires a gradient",
            });
        }
    }
    Ok(())
}

/// Checks that no parameter was replaced by another one when its module was moved.
fn check_not_left(op: &'static str, parameters: &[Tensor]) -> Result<()> {
    for (number, parameter) in parameters.iter().enumerate() {
        if let Some(device) = parameter.gradients_go_to() {
            let (shape, here) = (parameter.shape(), parameter.device());
            return Err(Error::InvalidArgument {
                op,
                argument: "parameters",
                value: format!(
                    "number {number}, of shape {shape:?} on {here}, in whose place there is another \
                     one on {device}"
                ),
                why: "its module was moved after the optimizer was built; build it afterwards",
            });
        }
    }
    Ok(())
}

/// The gradient with the weight decay, as a part of a step: `decay` is the number `weight_decay`,
/// which is passed with each call. Without decay the parameter has no part in it, not even
/// times 0.
fn with_decay<'t>(
    gradient: FusedValue<'t>,
    parameter: FusedValue<'t>,
    decay: FusedValue<'t>,
    weight_decay: f64,
) -> FusedValue<'t> {
    if weight_decay == 0.0 { gradient } else { gradient + parameter * decay }
}

/// Checks that a hyperparameter is neither negative nor NaN.
fn check_not_negative(op: &'static str, argument: &'static str, value: f64) -> Result<()> {
    if value >= 0.0 {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        op,
        argument,
        value: value.to_string(),
        why: "it must be zero or more",
    })
}
