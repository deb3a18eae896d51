//! The optimizer NAdam.

use tensor::Tensor;

use super::define::optimizer;
use super::gradient::{GradientRule, running_mean, running_square, shrink};
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Adam with Nesterov's momentum: Dozat, "Incorporating Nesterov Momentum into Adam" (2016), by
    /// PyTorch's formula (`torch.optim.NAdam`):
    ///
    /// ```text
    /// g = grad + weight_decay * p
    /// mu(t) = beta1 * (1 - 0.96^(t * momentum_decay) / 2)
    /// m = beta1 * m + (1 - beta1) * g
    /// v = beta2 * v + (1 - beta2) * g²
    /// n = (1 - mu(t)) / (1 - mu(1) .. mu(t)) * g + mu(t + 1) / (1 - mu(1) .. mu(t + 1)) * m
    /// p = p - lr * n / (sqrt(v / (1 - beta2^t)) + eps)
    /// ```
    ///
    /// ```
    /// use nn::optim::{NAdam, Optimizer};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = NAdam::new([&weight], NAdam::DEFAULT_LR).build()?;
    /// weight.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert!(weight.to_vec::<f32>()?[0] < 1.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    NAdam, built by NAdamBuilder, with Options, by the rule NAdamRule;
    lr = 2e-3;
    /// Sets the share of the running means of the gradient and of its square that is kept in each
    /// step; 0.9 and 0.999 by default.
    numbers betas(mean, square) = [0.9, 0.999], in SHARE;
    /// Sets the number that is added to the denominator; 1e-8 by default.
    number eps = 1e-8, in NOT_NEGATIVE;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Sets the speed with which the momentum grows to the share of the running mean; 4e-3 by
    /// default.
    number momentum_decay = 4e-3, in NOT_NEGATIVE;
    /// Takes the weight decay off the parameter, as AdamW does, instead of adding it to the gradient.
    flag decoupled_weight_decay = false;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step with these options.
pub(super) struct NAdamRule(OnePass);

impl UpdateRule for NAdamRule {
    const NAME: &'static str = "NAdam";
    type Options = Options;

    fn new(&options: &Options) -> Result<NAdamRule> {
        let Options { betas: [_, beta2], eps, maximize, .. } = options;
        let is_decoupled = options.decoupled_weight_decay;
        let weight_decay = if is_decoupled { 0.0 } else { options.weight_decay };
        let gradient_rule = GradientRule { weight_decay, maximize };
        Ok(NAdamRule(OnePass::new("nadam", move |parameter, gradient, memory, numbers| {
            let ([mean, square], [rate, rate_of_mean, correction, weight]) = (memory, numbers);
            let gradient = gradient_rule.apply(parameter, gradient);
            let mean = running_mean(mean, gradient, weight);
            let square = running_square(square, gradient, beta2);
            let direction = gradient * rate + mean * rate_of_mean;
            (parameter - direction / (square.sqrt() / correction + eps), [mean, square])
        })))
    }

    fn initial(_: &Options, parameter: &Tensor) -> Result<Memory> {
        Ok(Memory::zeros(parameter, &["exp_avg", "exp_avg_sq"])?.number("mu_product", 1.0))
    }

    fn step(&self, options: &Options, step: ParameterStep<'_>) -> Result<()> {
        let &Options { lr, betas: [beta1, beta2], momentum_decay, .. } = options;
        if options.decoupled_weight_decay {
            shrink(step.parameter, lr * options.weight_decay)?;
        }
        let momentum =
            |number: i32| beta1 * (1.0 - 0.5 * 0.96f64.powf(f64::from(number) * momentum_decay));
        let (now, next) = (momentum(step.number()), momentum(step.number().saturating_add(1)));
        let product = step.memory.numbers[0].1 * now;
        let rate = lr * (1.0 - now) / (1.0 - product);
        let rate_of_mean = lr * next / (1.0 - product * next);
        let correction = step.bias_correction(beta2).sqrt();
        self.0.step(&step, &[rate, rate_of_mean, correction, 1.0 - beta1])?;
        step.memory.numbers[0].1 = product;
        Ok(())
    }
}
