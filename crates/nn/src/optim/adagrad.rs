//! The optimizer Adagrad.

use tensor::Tensor;

use super::define::optimizer;
use super::gradient::GradientRule;
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Adagrad: Duchi, Hazan & Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic
    /// Optimization" (2011), by PyTorch's formula (`torch.optim.Adagrad`):
    ///
    /// ```text
    /// g = grad + weight_decay * p
    /// s = s + g²
    /// p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)
    /// ```
    ///
    /// ```
    /// use nn::optim::{Adagrad, Optimizer};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = Adagrad::new([&weight], 0.5).build()?;
    /// (&weight * 1000.0)?.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert_eq!(weight.to_vec::<f32>()?, [0.5, 1.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Adagrad, built by AdagradBuilder, with Options, by the rule AdagradRule;
    lr = 1e-2;
    /// Sets the number by which the divisor of the learning rate grows in each step; 0 by default.
    number lr_decay = 0.0, in NOT_NEGATIVE;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Sets the sum of squares before the first step; 0 by default.
    number initial_accumulator_value = 0.0, in NOT_NEGATIVE;
    /// Sets the number that is added to the denominator; 1e-10 by default.
    number eps = 1e-10, in NOT_NEGATIVE;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step with these options.
pub(super) struct AdagradRule(OnePass);

impl UpdateRule for AdagradRule {
    const NAME: &'static str = "Adagrad";
    type Options = Options;

    fn new(&options: &Options) -> Result<AdagradRule> {
        let Options { weight_decay, eps, maximize, .. } = options;
        let gradient_rule = GradientRule { weight_decay, maximize };
        Ok(AdagradRule(OnePass::new("adagrad", move |parameter, gradient, [sum], [rate]| {
            let gradient = gradient_rule.apply(parameter, gradient);
            let sum = sum + gradient * gradient;
            (parameter - gradient / (sum.sqrt() + eps) * rate, [sum])
        })))
    }

    fn initial(options: &Options, parameter: &Tensor) -> Result<Memory> {
        Memory::default().filled(parameter, "sum", options.initial_accumulator_value)
    }

    fn step(&self, &Options { lr, lr_decay, .. }: &Options, step: ParameterStep<'_>) -> Result<()> {
        let rate = lr / (1.0 + f64::from(step.number() - 1) * lr_decay);
        self.0.step(&step, &[rate])
    }
}
