//! The optimizer RMSprop.

use tensor::{FusedValue, Tensor};

use super::define::optimizer;
use super::gradient::{GradientRule, running_square};
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// RMSprop: Hinton, "Neural Networks for Machine Learning", lecture 6 (2012), with the centred
    /// form of Graves, "Generating Sequences With Recurrent Neural Networks" (2013), as PyTorch has
    /// them (`torch.optim.RMSprop`):
    ///
    /// ```text
    /// g = grad + weight_decay * p
    /// v = alpha * v + (1 - alpha) * g²
    /// a = alpha * a + (1 - alpha) * g       if centered; else a = 0
    /// b = momentum * b + g / (sqrt(v - a²) + eps)
    /// p = p - lr * b
    /// ```
    ///
    /// ```
    /// use nn::optim::{Optimizer, RMSprop};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = RMSprop::new([&weight], 0.01).alpha(0.75).build()?;
    /// (&weight * 1000.0)?.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert!((weight.to_vec::<f32>()?[0] - 0.98).abs() < 1e-5, "a step of lr / sqrt(1 - alpha)");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    RMSprop, built by RMSpropBuilder, with Options, by the rule RMSpropRule;
    lr = 1e-2;
    /// Sets the share of the running mean of squares that is kept in each step; 0.99 by default.
    number alpha = 0.99, in NOT_NEGATIVE;
    /// Sets the number that is added to the denominator; 1e-8 by default.
    number eps = 1e-8, in NOT_NEGATIVE;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Sets the share of the velocity that is kept in each step; 0 by default.
    number momentum = 0.0, in NOT_NEGATIVE;
    /// Divides by an estimate of the standard deviation instead of the root of the mean square.
    flag centered = false;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step with these options.
pub(super) struct RMSpropRule(OnePass);

impl UpdateRule for RMSpropRule {
    const NAME: &'static str = "RMSprop";
    type Options = Options;

    fn new(&options: &Options) -> Result<RMSpropRule> {
        let Options { alpha, eps, weight_decay, momentum, centered, maximize, .. } = options;
        let gradient_rule = GradientRule { weight_decay, maximize };
        let squares = Squares { gradient_rule, alpha, eps };
        Ok(RMSpropRule(match (momentum > 0.0, centered) {
            (false, false) => OnePass::new("rmsprop", move |p, g, [square], [lr]| {
                let (direction, square, _) = squares.direction(p, g, square, None);
                (p - direction * lr, [square])
            }),
            (false, true) => OnePass::new("rmsprop", move |p, g, [square, mean], [lr]| {
                let (direction, square, mean) = squares.direction(p, g, square, Some(mean));
                (p - direction * lr, [square, mean])
            }),
            (true, false) => {
                OnePass::new("rmsprop", move |p, g, [square, velocity], [lr, momentum]| {
                    let (direction, square, _) = squares.direction(p, g, square, None);
                    let velocity = velocity * momentum + direction;
                    (p - velocity * lr, [square, velocity])
                })
            }
            (true, true) => {
                OnePass::new("rmsprop", move |p, g, [square, velocity, mean], [lr, momentum]| {
                    let (direction, square, mean) = squares.direction(p, g, square, Some(mean));
                    let velocity = velocity * momentum + direction;
                    (p - velocity * lr, [square, velocity, mean])
                })
            }
        }))
    }

    fn initial(options: &Options, parameter: &Tensor) -> Result<Memory> {
        let momentum = (options.momentum > 0.0).then_some("momentum_buffer");
        let centered = options.centered.then_some("grad_avg");
        let names: Vec<_> = ["square_avg"].into_iter().chain(momentum).chain(centered).collect();
        Memory::zeros(parameter, &names)
    }

    fn step(&self, &Options { lr, momentum, .. }: &Options, step: ParameterStep<'_>) -> Result<()> {
        self.0.step(&step, &[lr, momentum])
    }
}

/// The part of a step that is the same with momentum and without.
#[derive(Clone, Copy)]
struct Squares {
    gradient_rule: GradientRule,
    alpha: f64,
    eps: f64,
}

impl Squares {
    /// The gradient over the root of its mean square, that mean, and the mean of the gradient,
    /// which is given if the mean square is to be centred.
    fn direction<'t>(
        self,
        parameter: FusedValue<'t>,
        gradient: FusedValue<'t>,
        square: FusedValue<'t>,
        mean: Option<FusedValue<'t>>,
    ) -> (FusedValue<'t>, FusedValue<'t>, FusedValue<'t>) {
        let gradient = self.gradient_rule.apply(parameter, gradient);
        let square = running_square(square, gradient, self.alpha);
        let Some(mean) = mean else {
            return (gradient / (square.sqrt() + self.eps), square, gradient);
        };
        let mean = mean + (gradient - mean) * (1.0 - self.alpha);
        let deviation = (square - mean * mean).sqrt();
        (gradient / (deviation + self.eps), square, mean)
    }
}
