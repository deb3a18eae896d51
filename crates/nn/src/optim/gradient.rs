//! Parts of fused steps that several optimizers have.

use tensor::{FusedValue, Tensor};

use crate::Result;

/// The way in which a step changes the gradient before all else.
#[derive(Clone, Copy)]
pub(super) struct GradientRule {
    /// The factor of the L2 penalty.
    pub(super) weight_decay: f64,
    /// Whether the step climbs.
    pub(super) maximize: bool,
}

impl GradientRule {
    /// The gradient with its sign, and with the gradient of the penalty. Without decay the parameter
    /// has no part in it, not even times 0.
    pub(super) fn apply<'t>(
        self,
        parameter: FusedValue<'t>,
        gradient: FusedValue<'t>,
    ) -> FusedValue<'t> {
        let gradient = if self.maximize { -gradient } else { gradient };
        match self.weight_decay {
            0.0 => gradient,
            weight_decay => gradient + parameter * weight_decay,
        }
    }
}

/// A running mean that takes over the share `weight` of `new`.
pub(super) fn running_mean<'t>(
    mean: FusedValue<'t>,
    new: FusedValue<'t>,
    weight: FusedValue<'t>,
) -> FusedValue<'t> {
    mean + (new - mean) * weight
}

/// A running mean of squares that keeps the share `beta`.
pub(super) fn running_square<'t>(
    square: FusedValue<'t>,
    new: FusedValue<'t>,
    beta: f64,
) -> FusedValue<'t> {
    square * beta + new * new * (1.0 - beta)
}

/// Takes the share `decay` off a parameter: weight decay that is no part of the gradient, for steps
/// in whose one pass it has no room.
pub(super) fn shrink(parameter: &Tensor, decay: f64) -> Result<()> {
    if decay != 0.0 {
        parameter.mul_(1.0 - decay)?;
    }
    Ok(())
}
