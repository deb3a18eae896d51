//! Stochastic gradient descent.

use tensor::{Error, Tensor, no_grad};

use super::{Optimizer, check_not_left, check_not_negative, check_parameters};
use crate::Result;

/// Stochastic gradient descent with momentum, by PyTorch's formula (`torch.optim.SGD`):
///
/// ```text
/// g = grad + weight_decay * p
/// v = g                                 in the first step
/// v = momentum * v + (1 - dampening) * g   in later ones
/// p = p - lr * (g + momentum * v)       with Nesterov's momentum
/// p = p - lr * v                        without
/// ```
///
/// The velocity starts at the gradient and includes no learning rate, unlike in Sutskever et al.,
/// "On the importance of initialization and momentum in deep learning" (2013).
pub struct Sgd {
    parameters: Vec<Tensor>,
    velocities: Vec<Option<Tensor>>,
    options: Options,
}

#[derive(Clone, Copy)]
struct Options {
    lr: f64,
    momentum: f64,
    dampening: f64,
    weight_decay: f64,
    nesterov: bool,
}

/// A builder of [`Sgd`].
#[must_use = "call `build`"]
pub struct SgdBuilder {
    parameters: Vec<Tensor>,
    options: Options,
}

impl Sgd {
    /// A builder with the learning rate `lr`, without momentum or weight decay.
    #[allow(clippy::new_ret_no_self, reason = "the optimizer is built from its options")]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> SgdBuilder {
        let options =
            Options { lr, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };
        SgdBuilder { parameters, options }
    }

    /// The direction of a step, by which the parameter is changed times the learning rate, and the
    /// new velocity.
    fn direction(&self, index: usize, gradient: Tensor) -> Result<(Tensor, Option<Tensor>)> {
        let Options { momentum, dampening, weight_decay, nesterov, .. } = self.options;
        let gradient = match weight_decay {
            0.0 => gradient,
            decay => gradient.add_scaled(&self.parameters[index], decay)?,
        };
        if momentum == 0.0 {
            return Ok((gradient, None));
        }
        let velocity = match &self.velocities[index] {
            None => gradient.clone_data()?,
            Some(velocity) => velocity.mul_(momentum)?.add_scaled_(&gradient, 1.0 - dampening)?,
        };
        let direction = match nesterov {
            true => gradient.add_scaled(&velocity, momentum)?,
            false => velocity.clone(),
        };
        Ok((direction, Some(velocity)))
    }
}

impl Optimizer for Sgd {
    fn step(&mut self) -> Result<()> {
        check_not_left("Sgd::step", &self.parameters)?;
        no_grad(|| {
            for index in 0..self.parameters.len() {
                let Some(gradient) = self.parameters[index].grad() else { continue };
                let (direction, velocity) = self.direction(index, gradient)?;
                self.velocities[index] = velocity;
                self.parameters[index].add_scaled_(&direction, -self.options.lr)?;
            }
            Ok(())
        })
    }

    fn parameters(&self) -> &[Tensor] {
        &self.parameters
    }

    fn set_learning_rate(&mut self, rate: f64) {
        self.options.lr = rate;
    }
}

impl SgdBuilder {
    /// Sets the share of the velocity that is kept in each step; 0 by default.
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.options.momentum = momentum;
        self
    }

    /// Sets the share of the gradient that is not added to the velocity; 0 by default.
    pub fn dampening(mut self, dampening: f64) -> Self {
        self.options.dampening = dampening;
        self
    }

    /// Sets the factor of the L2 penalty; 0 by default.
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.options.weight_decay = weight_decay;
        self
    }

    /// Uses Nesterov's momentum, which looks ahead by one step of the velocity. It needs momentum,
    /// and no dampening.
    pub fn nesterov(mut self) -> Self {
        self.options.nesterov = true;
        self
    }

    /// Builds the optimizer.
    ///
    /// # Errors
    /// A parameter is no leaf that requires a gradient, or the options contradict each other.
    pub fn build(self) -> Result<Sgd> {
        const OP: &str = "Sgd";
        let SgdBuilder { parameters, options } = self;
        check_parameters(OP, &parameters)?;
        check_not_negative(OP, "lr", options.lr)?;
        check_not_negative(OP, "momentum", options.momentum)?;
        check_not_negative(OP, "weight_decay", options.weight_decay)?;
        if options.nesterov && (options.momentum == 0.0 || options.dampening != 0.0) {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "nesterov",
                value: "true".to_owned(),
                why: "it needs momentum, and no dampening",
            });
        }
        let velocities = vec![None; parameters.len()];
        Ok(Sgd { parameters, velocities, options })
    }
}
