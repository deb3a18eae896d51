//! Averaged stochastic gradient descent.

use tensor::Tensor;

use super::define::optimizer;
use super::gradient::GradientRule;
use super::one_pass::OnePass;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Averaged stochastic gradient descent: Polyak & Juditsky, "Acceleration of stochastic
    /// approximation by averaging" (1992), by PyTorch's formula (`torch.optim.ASGD`):
    ///
    /// ```text
    /// g = grad + weight_decay * p
    /// p = (1 - lambd * eta) * p - eta * g
    /// ax = ax + mu * (p - ax)
    /// eta = lr / (1 + lambd * lr * t)^alpha
    /// mu = 1 / max(1, t - t0)
    /// ```
    ///
    /// The average `ax` is in the state, as `state.0.ax`.
    ///
    /// ```
    /// use nn::optim::{ASGD, Optimizer};
    /// use tensor::tensor;
    /// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
    /// let mut optimizer = ASGD::new([&weight], 0.5).lambd(0.0).build()?;
    /// weight.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert_eq!(weight.to_vec::<f32>()?, [0.5, 1.5]);
    /// assert_eq!(optimizer.state_dict()?["state.0.ax"].to_vec::<f32>()?, [0.5, 1.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ASGD, built by ASGDBuilder, with Options, by the rule ASGDRule;
    lr = 1e-2;
    /// Sets the decay of the parameter and of the learning rate; 1e-4 by default.
    number lambd = 1e-4, in NOT_NEGATIVE;
    /// Sets the power with which the learning rate falls; 0.75 by default.
    number alpha = 0.75, in NOT_NEGATIVE;
    /// Sets the step from which on the average is more than the parameter itself; 1e6 by default.
    number t0 = 1e6;
    /// Sets the factor of the L2 penalty; 0 by default.
    number weight_decay = 0.0, in NOT_NEGATIVE;
    /// Climbs instead of descending.
    flag maximize = false;
}

/// A step with these options.
pub(super) struct ASGDRule(OnePass);

impl UpdateRule for ASGDRule {
    const NAME: &'static str = "ASGD";
    type Options = Options;

    fn new(&options: &Options) -> Result<ASGDRule> {
        let Options { weight_decay, maximize, .. } = options;
        let gradient_rule = GradientRule { weight_decay, maximize };
        Ok(ASGDRule(OnePass::new("asgd", move |parameter, gradient, [average], numbers| {
            let [eta, left, mu] = numbers;
            let gradient = gradient_rule.apply(parameter, gradient);
            let parameter = parameter * left - gradient * eta;
            (parameter, [average.lerp(parameter, mu)])
        })))
    }

    fn initial(options: &Options, parameter: &Tensor) -> Result<Memory> {
        let memory = Memory::zeros(parameter, &["ax"])?;
        Ok(memory.number("eta", options.lr).number("mu", 1.0))
    }

    fn step(&self, options: &Options, step: ParameterStep<'_>) -> Result<()> {
        let &Options { lr, lambd, alpha, t0, .. } = options;
        let [(_, eta), (_, mu)] = step.memory.numbers[..] else { return Ok(()) };
        self.0.step(&step, &[eta, 1.0 - lambd * eta, mu])?;
        let number = f64::from(step.number());
        step.memory.numbers[0].1 = lr / (1.0 + lambd * lr * number).powf(alpha);
        step.memory.numbers[1].1 = 1.0 / (number - t0).max(1.0);
        Ok(())
    }
}
