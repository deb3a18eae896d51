//! The optimizer Adamax.

use tensor::Tensor;

use super::define::optimizer;
use super::gradient::{GradientRule, running_mean};
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Adamax: Kingma & Ba, "Adam: A Method for Stochastic Optimization" (2015), Algorithm 2, with eps
    /// where PyTorch has it (`torch.optim.Adamax`):
    ///
    /// ```text
    /// g = grad + weight_decay * p
    /// m = beta1 * m + (1 - beta1) * g
    /// u = max(beta2 * u, |g| + eps)
    /// p = p - lr / (1 - beta1^t) * m / u
    /// ```
    ///
    /// ```
    /// use nn::optim::{Adamax, Optimizer};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = Adamax::new([&weight], 0.1).build()?;
    /// (&weight * 1000.0)?.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert!((weight.to_vec::<f32>()?[0] - 0.9).abs() < 1e-5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Adamax, built by AdamaxBuilder, with Options, by the rule AdamaxRule;
    lr = 2e-3;
    /// Sets the share of the running mean of the gradient, and of its largest size, that is kept in
    /// each step; 0.9 and 0.999 by default.
    numbers betas(mean, norm) = [0.9, 0.999], in SHARE;
    /// Sets the number that is added to the size of the gradient; 1e-8 by default.
    number eps = 1e-8, in NOT_NEGATIVE;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step with these options.
pub(super) struct AdamaxRule(OnePass);

impl UpdateRule for AdamaxRule {
    const NAME: &'static str = "Adamax";
    type Options = Options;

    fn new(&options: &Options) -> Result<AdamaxRule> {
        let Options { betas: [_, beta2], eps, weight_decay, maximize, .. } = options;
        let gradient_rule = GradientRule { weight_decay, maximize };
        Ok(AdamaxRule(OnePass::new("adamax", move |parameter, gradient, memory, numbers| {
            let ([mean, norm], [rate, weight]) = (memory, numbers);
            let gradient = gradient_rule.apply(parameter, gradient);
            let mean = running_mean(mean, gradient, weight);
            let norm = (norm * beta2).maximum(gradient.abs() + eps);
            (parameter - mean / norm * rate, [mean, norm])
        })))
    }

    fn initial(_: &Options, parameter: &Tensor) -> Result<Memory> {
        Memory::zeros(parameter, &["exp_avg", "exp_inf"])
    }

    fn step(
        &self,
        &Options { lr, betas: [beta1, _], .. }: &Options,
        step: ParameterStep<'_>,
    ) -> Result<()> {
        self.0.step(&step, &[lr / step.bias_correction(beta1), 1.0 - beta1])
    }
}
