//! The optimizer Rprop.

use tensor::{Error, Tensor};

use super::define::optimizer;
use super::gradient::GradientRule;
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Resilient backpropagation: Riedmiller & Braun, "A Direct Adaptive Method for Faster
    /// Backpropagation Learning: The RPROP Algorithm" (1993), by PyTorch's formula
    /// (`torch.optim.Rprop`). Each element has a step size of its own, at first the learning rate,
    /// which grows while the sign of the gradient stays and falls where it changes; there the element
    /// stays where it is for a step. It is for gradients of all samples, not of batches.
    ///
    /// ```
    /// use nn::optim::{Optimizer, Rprop};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = Rprop::new([&weight], 0.25).build()?;
    /// (&weight * 1000.0)?.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert_eq!(weight.to_vec::<f32>()?, [0.75, 1.75]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Rprop, built by RpropBuilder, with Options, by the rule RpropRule;
    lr = 1e-2;
    /// Sets the factors of a step size where the sign of the gradient changed, and where it did not;
    /// 0.5 and 1.2 by default.
    numbers etas(minus, plus) = [0.5, 1.2];
    /// Sets the smallest and the largest step size; 1e-6 and 50 by default.
    numbers step_sizes(min, max) = [1e-6, 50.0];
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step with these options.
pub(super) struct RpropRule(OnePass);

impl UpdateRule for RpropRule {
    const NAME: &'static str = "Rprop";
    type Options = Options;

    fn new(&options: &Options) -> Result<RpropRule> {
        let Options { etas: [minus, plus], step_sizes: [min, max], maximize, .. } = options;
        if !(0.0 < minus && minus < 1.0 && 1.0 < plus) {
            return Err(Error::InvalidArgument {
                op: Self::NAME,
                argument: "etas",
                value: format!("{minus} and {plus}"),
                why: "the first must be between 0 and 1, the second above 1",
            });
        }
        let gradient_rule = GradientRule { weight_decay: 0.0, maximize };
        Ok(RpropRule(OnePass::new("rprop", move |parameter, gradient, [previous, size], []| {
            let gradient = gradient_rule.apply(parameter, gradient);
            let agreement = gradient * previous;
            let has_turned = agreement.lt(0.0);
            let grown = agreement.gt(0.0).select(size * plus, size);
            let size = has_turned.select(size * minus, grown).clamp(min, max);
            let gradient = has_turned.select(0.0, gradient);
            (parameter - gradient.sign() * size, [gradient, size])
        })))
    }

    fn initial(options: &Options, parameter: &Tensor) -> Result<Memory> {
        Memory::zeros(parameter, &["prev"])?.filled(parameter, "step_size", options.lr)
    }

    fn step(&self, _: &Options, step: ParameterStep<'_>) -> Result<()> {
        self.0.step(&step, &[])
    }
}
