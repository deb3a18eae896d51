//! Stochastic gradient descent.

use tensor::{Error, Tensor};

use super::define::optimizer;
use super::gradient::GradientRule;
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
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
    ///
    /// ```
    /// use nn::optim::{Optimizer, SGD};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = SGD::new([&weight], 0.1).momentum(0.9).weight_decay(1e-4).build()?;
    /// weight.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert!((weight.to_vec::<f32>()?[0] - 0.9).abs() < 1e-3);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    SGD, built by SGDBuilder, with Options, by the rule SGDRule;
    lr = 1e-3;
    /// Sets the share of the velocity that is kept in each step; 0 by default.
    number momentum = 0.0, in NOT_NEGATIVE;
    /// Sets the share of the gradient that is not added to the velocity; 0 by default.
    number dampening = 0.0;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Uses Nesterov's momentum, which looks ahead by one step of the velocity. It needs momentum,
    /// and no dampening.
    flag nesterov = false;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step without momentum, or with.
pub(super) enum SGDRule {
    Plain(OnePass),
    WithMomentum(OnePass),
}

impl UpdateRule for SGDRule {
    const NAME: &'static str = "SGD";
    const SAVES_STEPS: bool = false;
    type Options = Options;

    fn new(options: &Options) -> Result<SGDRule> {
        let &Options { momentum, dampening, nesterov, .. } = options;
        if nesterov && (momentum == 0.0 || dampening != 0.0) {
            return Err(Error::InvalidArgument {
                op: Self::NAME,
                argument: "nesterov",
                value: "true".to_owned(),
                why: "it needs momentum, and no dampening",
            });
        }
        Ok(match momentum {
            0.0 => SGDRule::Plain(plain_step(options)),
            _ => SGDRule::WithMomentum(momentum_step(options)),
        })
    }

    fn initial(_: &Options, parameter: &Tensor) -> Result<Memory> {
        Memory::zeros(parameter, &["momentum_buffer"])
    }

    fn remembers(options: &Options) -> bool {
        options.momentum != 0.0
    }

    fn step(&self, options: &Options, step: ParameterStep<'_>) -> Result<()> {
        let &Options { lr, momentum, dampening, .. } = options;
        let share = if step.number() == 1 { 1.0 } else { 1.0 - dampening };
        match self {
            SGDRule::Plain(pass) => pass.step(&step, &[lr]),
            SGDRule::WithMomentum(pass) => pass.step(&step, &[lr, momentum, share]),
        }
    }
}

fn gradient_rule(options: &Options) -> GradientRule {
    GradientRule { weight_decay: options.weight_decay, maximize: options.maximize }
}

/// The step without momentum, with the learning rate.
fn plain_step(options: &Options) -> OnePass {
    let gradient_rule = gradient_rule(options);
    OnePass::new("sgd", move |parameter, gradient, [], [lr]| {
        (parameter - gradient_rule.apply(parameter, gradient) * lr, [])
    })
}

/// The step with the learning rate, the momentum, and the gradient's share in the velocity, which
/// is zero before the first step.
fn momentum_step(options: &Options) -> OnePass {
    let (gradient_rule, nesterov) = (gradient_rule(options), options.nesterov);
    OnePass::new("sgd", move |parameter, gradient, [velocity], [lr, momentum, share]| {
        let gradient = gradient_rule.apply(parameter, gradient);
        let velocity = velocity * momentum + gradient * share;
        let direction = if nesterov { gradient + velocity * momentum } else { velocity };
        (parameter - direction * lr, [velocity])
    })
}
