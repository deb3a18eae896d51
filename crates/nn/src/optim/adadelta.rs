//! The optimizer Adadelta.

use tensor::Tensor;

use super::define::optimizer;
use super::gradient::{GradientRule, running_square};
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Adadelta: Zeiler, "ADADELTA: An Adaptive Learning Rate Method" (2012), with PyTorch's learning
    /// rate (`torch.optim.Adadelta`):
    ///
    /// ```text
    /// g = grad + weight_decay * p
    /// v = rho * v + (1 - rho) * g²
    /// d = sqrt(u + eps) / sqrt(v + eps) * g
    /// u = rho * u + (1 - rho) * d²
    /// p = p - lr * d
    /// ```
    ///
    /// ```
    /// use nn::optim::{Adadelta, Optimizer};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = Adadelta::new([&weight], Adadelta::DEFAULT_LR).build()?;
    /// weight.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert!(weight.to_vec::<f32>()?[0] < 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Adadelta, built by AdadeltaBuilder, with Options, by the rule AdadeltaRule;
    lr = 1.0;
    /// Sets the share of the running means of squares that is kept in each step; 0.9 by default.
    number rho = 0.9, in UNIT_INTERVAL;
    /// Sets the number that is added to the mean squares before their roots; 1e-6 by default.
    number eps = 1e-6, in NOT_NEGATIVE;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step with these options.
pub(super) struct AdadeltaRule(OnePass);

impl UpdateRule for AdadeltaRule {
    const NAME: &'static str = "Adadelta";
    type Options = Options;

    fn new(&options: &Options) -> Result<AdadeltaRule> {
        let Options { rho, eps, weight_decay, maximize, .. } = options;
        let gradient_rule = GradientRule { weight_decay, maximize };
        Ok(AdadeltaRule(OnePass::new("adadelta", move |parameter, gradient, memory, [lr]| {
            let [square, square_of_steps] = memory;
            let gradient = gradient_rule.apply(parameter, gradient);
            let square = running_square(square, gradient, rho);
            let delta = (square_of_steps + eps).sqrt() / (square + eps).sqrt() * gradient;
            (parameter - delta * lr, [square, running_square(square_of_steps, delta, rho)])
        })))
    }

    fn initial(_: &Options, parameter: &Tensor) -> Result<Memory> {
        Memory::zeros(parameter, &["square_avg", "acc_delta"])
    }

    fn step(&self, &Options { lr, .. }: &Options, step: ParameterStep<'_>) -> Result<()> {
        self.0.step(&step, &[lr])
    }
}
