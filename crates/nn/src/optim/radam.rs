//! The optimizer RAdam.

use tensor::Tensor;

use super::define::optimizer;
use super::gradient::{GradientRule, running_mean, running_square};
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Rectified Adam: Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond" (2020),
    /// Algorithm 2, by PyTorch's formula (`torch.optim.RAdam`): as long as few gradients have been
    /// seen, a step goes along their mean; later it is Adam's, times a factor that grows to 1.
    ///
    /// ```
    /// use nn::optim::{Optimizer, RAdam};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = RAdam::new([&weight], 0.25).build()?;
    /// weight.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert!((weight.to_vec::<f32>()?[0] - 0.75).abs() < 1e-5, "the first step is a plain one");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    RAdam, built by RAdamBuilder, with Options, by the rule RAdamRule;
    lr = 1e-3;
    /// Sets the share of the running means of the gradient and of its square that is kept in each
    /// step; 0.9 and 0.999 by default.
    numbers betas(mean, square) = [0.9, 0.999], in SHARE;
    /// Sets the number that is added to the denominator; 1e-8 by default.
    number eps = 1e-8, in NOT_NEGATIVE;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Takes the weight decay off the parameter, as AdamW does, instead of adding it to the gradient.
    flag decoupled_weight_decay = false;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step along the mean of gradients, and one that is divided by the root of their mean square.
pub(super) struct RAdamRule {
    plain: OnePass,
    rectified: OnePass,
}

impl UpdateRule for RAdamRule {
    const NAME: &'static str = "RAdam";
    type Options = Options;

    fn new(options: &Options) -> Result<RAdamRule> {
        Ok(RAdamRule { plain: pass(*options, false), rectified: pass(*options, true) })
    }

    fn initial(_: &Options, parameter: &Tensor) -> Result<Memory> {
        Memory::zeros(parameter, &["exp_avg", "exp_avg_sq"])
    }

    fn step(&self, options: &Options, step: ParameterStep<'_>) -> Result<()> {
        let &Options { lr, betas: [beta1, beta2], weight_decay, .. } = options;
        let (plain_rate, correction) =
            (lr / step.bias_correction(beta1), step.bias_correction(beta2));
        let left = 1.0 - lr * weight_decay;
        // The length of the simple moving average that the mean of squares stands for.
        let longest = 2.0 / (1.0 - beta2) - 1.0;
        let number = step.number();
        let length = longest - 2.0 * f64::from(number) * beta2.powi(number) / correction;
        if length <= 5.0 {
            return self.plain.step(&step, &[plain_rate, 1.0 - beta1, left]);
        }
        let rectification = (length - 4.0) * (length - 2.0) * longest
            / ((longest - 4.0) * (longest - 2.0) * length);
        let rate = plain_rate * (rectification * correction).sqrt();
        self.rectified.step(&step, &[rate, 1.0 - beta1, left])
    }
}

/// The step with the learning rate, the weight of the gradient in its mean, and the share of the
/// parameter that decoupled decay leaves.
fn pass(options: Options, is_rectified: bool) -> OnePass {
    let Options { betas: [_, beta2], eps, weight_decay, maximize, .. } = options;
    let is_decoupled = options.decoupled_weight_decay && weight_decay != 0.0;
    let weight_decay = if is_decoupled { 0.0 } else { weight_decay };
    let gradient_rule = GradientRule { weight_decay, maximize };
    OnePass::new("radam", move |parameter, gradient, [mean, square], [rate, weight, left]| {
        let gradient = gradient_rule.apply(parameter, gradient);
        let mean = running_mean(mean, gradient, weight);
        let square = running_square(square, gradient, beta2);
        let direction = if is_rectified { mean / (square.sqrt() + eps) } else { mean };
        let parameter = if is_decoupled { parameter * left } else { parameter };
        (parameter - direction * rate, [mean, square])
    })
}
