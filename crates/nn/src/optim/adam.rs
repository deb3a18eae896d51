//! The optimizer Adam.

use std::marker::PhantomData;

use tensor::Tensor;

use super::define::optimizer;
use super::gradient::{GradientRule, running_mean, running_square, shrink};
use super::one_pass::OnePass;
use super::options::StepOptions;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Adam: Kingma & Ba, "Adam: A Method for Stochastic Optimization" (2015), Algorithm 1, with the
    /// bias corrections where PyTorch has them (`torch.optim.Adam`):
    ///
    /// ```text
    /// g = grad + weight_decay * p
    /// m = beta1 * m + (1 - beta1) * g
    /// v = beta2 * v + (1 - beta2) * g²
    /// p = p - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
    /// ```
    ///
    /// ```
    /// use nn::optim::{Adam, Optimizer};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = Adam::new([&weight], 0.1).betas(0.9, 0.99).build()?;
    /// (&weight * 1000.0)?.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert!((weight.to_vec::<f32>()?[0] - 0.9).abs() < 1e-3, "the size of the gradient is nothing");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Adam, built by AdamBuilder, with AdamOptions, by the rule AdamRule<AdamOptions>;
    lr = 1e-3;
    /// Sets the share of the running means of the gradient and of its square that is kept in each
    /// step; 0.9 and 0.999 by default.
    numbers betas(mean, square) = [0.9, 0.999], in SHARE;
    /// Sets the number that is added to the denominator; 1e-8 by default.
    number eps = 1e-8, in NOT_NEGATIVE;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Divides by the largest running mean of squares so far: Reddi et al., "On the Convergence of
    /// Adam and Beyond" (2018).
    flag amsgrad = false;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step of Adam, whose weight decay may be decoupled, as AdamW's is.
pub(super) struct AdamRule<O, const DECOUPLED: bool = false> {
    pass: OnePass,
    options: PhantomData<O>,
}

impl<O, const DECOUPLED: bool> UpdateRule for AdamRule<O, DECOUPLED>
where
    O: StepOptions + Into<AdamOptions>,
{
    const NAME: &'static str = if DECOUPLED { "AdamW" } else { "Adam" };
    type Options = O;

    fn new(&options: &O) -> Result<AdamRule<O, DECOUPLED>> {
        let options = options.into();
        let pass = if options.amsgrad {
            amsgrad::<DECOUPLED>(options)
        } else {
            pass::<DECOUPLED>(options)
        };
        Ok(AdamRule { pass, options: PhantomData })
    }

    fn initial(&options: &O, parameter: &Tensor) -> Result<Memory> {
        match options.into().amsgrad {
            false => Memory::zeros(parameter, &["exp_avg", "exp_avg_sq"]),
            true => Memory::zeros(parameter, &["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
        }
    }

    fn step(&self, &options: &O, step: ParameterStep<'_>) -> Result<()> {
        let AdamOptions { lr, betas: [beta1, beta2], weight_decay, amsgrad, .. } = options.into();
        let rate = lr / step.bias_correction(beta1);
        let correction = step.bias_correction(beta2).sqrt();
        let decay = lr * weight_decay;
        if DECOUPLED && amsgrad {
            shrink(step.parameter, decay)?;
        }
        let numbers = [rate, correction, 1.0 - beta1, 1.0 - decay];
        self.pass.step(&step, if amsgrad { &numbers[..3] } else { &numbers })
    }
}

fn gradient_rule<const DECOUPLED: bool>(options: AdamOptions) -> GradientRule {
    let weight_decay = if DECOUPLED { 0.0 } else { options.weight_decay };
    GradientRule { weight_decay, maximize: options.maximize }
}

/// The step with the learning rate and the square root's divisor, both with their bias corrections,
/// the weight of the gradient in its mean, and the share of the parameter that decoupled decay leaves.
fn pass<const DECOUPLED: bool>(options: AdamOptions) -> OnePass {
    let AdamOptions { betas: [_, beta2], eps, weight_decay, .. } = options;
    let gradient_rule = gradient_rule::<DECOUPLED>(options);
    OnePass::new(
        "adam",
        move |parameter, gradient, [mean, square], [rate, correction, weight, left]| {
            let gradient = gradient_rule.apply(parameter, gradient);
            let mean = running_mean(mean, gradient, weight);
            let square = running_square(square, gradient, beta2);
            let is_decayed = DECOUPLED && weight_decay != 0.0;
            let parameter = if is_decayed { parameter * left } else { parameter };
            (parameter - mean / (square.sqrt() / correction + eps) * rate, [mean, square])
        },
    )
}

/// The step with the largest mean of squares, with the same numbers but for the last one.
fn amsgrad<const DECOUPLED: bool>(options: AdamOptions) -> OnePass {
    let AdamOptions { betas: [_, beta2], eps, .. } = options;
    let gradient_rule = gradient_rule::<DECOUPLED>(options);
    OnePass::new("adam", move |parameter, gradient, memory, [rate, correction, weight]| {
        let [mean, square, largest] = memory;
        let gradient = gradient_rule.apply(parameter, gradient);
        let mean = running_mean(mean, gradient, weight);
        let square = running_square(square, gradient, beta2);
        let largest = largest.maximum(square);
        let denominator = largest.sqrt() / correction + eps;
        (parameter - mean / denominator * rate, [mean, square, largest])
    })
}
