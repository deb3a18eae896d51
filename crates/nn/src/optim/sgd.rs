//! Stochastic gradient descent.

use tensor::{Error, Fused, FusedMany, Tensor, fuse, fuse_many, no_grad};

use super::{Optimizer, check_not_left, check_not_negative, check_parameters, with_decay};
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
    plain: Fused<4>,
    with_momentum: FusedMany<7, 2>,
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

    /// Changes a parameter, and its velocity if there is momentum.
    fn update(&mut self, index: usize, gradient: &Tensor) -> Result<()> {
        let Options { lr, momentum, dampening, weight_decay, .. } = self.options;
        let parameter = &self.parameters[index];
        if momentum == 0.0 {
            return self.plain.call_into(parameter, (parameter, gradient, lr, weight_decay));
        }
        let velocity = &mut self.velocities[index];
        let (momentum_now, share) = match velocity {
            Some(_) => (momentum, 1.0 - dampening),
            None => (0.0, 1.0),
        };
        let velocity = match velocity {
            Some(velocity) => velocity,
            None => velocity.insert(parameter.zeros_like()?),
        };
        let targets = [parameter, &*velocity];
        let operands = (parameter, gradient, &*velocity, lr, weight_decay, momentum_now, share);
        self.with_momentum.call_into(targets, operands)
    }
}

/// The step without momentum, of parameter, gradient, learning rate and weight decay.
fn plain_step(options: Options) -> Fused<4> {
    let weight_decay = options.weight_decay;
    fuse(move |[parameter, gradient, lr, decay]| {
        parameter - with_decay(gradient, parameter, decay, weight_decay) * lr
    })
    .named("sgd")
}

/// The step with momentum in one pass: of parameter, gradient, velocity, learning rate, weight
/// decay, momentum, and the gradient's share; parameter and velocity. The momentum of the first step
/// is 0.
fn momentum_step(options: Options) -> FusedMany<7, 2> {
    let Options { momentum, weight_decay, nesterov, .. } = options;
    fuse_many(move |[parameter, gradient, velocity, lr, decay, momentum_now, share]| {
        let gradient = with_decay(gradient, parameter, decay, weight_decay);
        let velocity = velocity * momentum_now + gradient * share;
        let direction = if nesterov { gradient + velocity * momentum } else { velocity };
        [parameter - direction * lr, velocity]
    })
    .named("sgd")
}

impl Optimizer for Sgd {
    fn step(&mut self) -> Result<()> {
        check_not_left("Sgd::step", &self.parameters)?;
        no_grad(|| {
            for index in 0..self.parameters.len() {
                let Some(gradient) = self.parameters[index].grad() else { continue };
                self.update(index, &gradient)?;
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
        let (plain, with_momentum) = (plain_step(options), momentum_step(options));
        Ok(Sgd { parameters, velocities, options, plain, with_momentum })
    }
}
