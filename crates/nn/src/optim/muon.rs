//! The optimizer Muon.

use tensor::{DType, Error, Tensor};

use super::define::optimizer;
use super::rule::{Memory, ParameterStep, UpdateRule};
use crate::Result;

optimizer! {
    /// Muon: Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024), as
    /// PyTorch has it (`torch.optim.Muon`): the step is the momentum, made orthogonal by the iteration
    /// of Newton and Schulz in bf16. It is for matrices; other parameters, and the first and the last
    /// layer, are trained by another optimizer.
    ///
    /// ```text
    /// v = momentum * v + (1 - momentum) * g
    /// u = orthogonal(momentum * v + (1 - momentum) * g)     or of v, without Nesterov's momentum
    /// p = p - lr * weight_decay * p - ratio * lr * u        the ratio is LrAdjustment's
    /// ```
    ///
    /// ```
    /// use nn::optim::{Muon, Optimizer};
    /// use tensor::tensor;
    /// let weight = tensor![[1.0, 2.0], [3.0, 4.0]]?.requires_grad_(true)?;
    /// let mut optimizer = Muon::new([&weight], Muon::DEFAULT_LR).build()?;
    /// weight.square()?.sum(())?.backward()?;
    /// optimizer.step()?;
    /// assert!(weight.norm(2, ())?.item::<f32>()? < 30f32.sqrt());
    /// assert!(Muon::new([&tensor![1.0, 2.0]?], 0.1).build().is_err(), "a vector is no matrix");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    Muon, built by MuonBuilder, with Options, by the rule MuonRule;
    lr = 1e-3;
    /// Sets the share of the parameter, times the learning rate, that each step takes off; 0.1 by
    /// default.
    number weight_decay = 0.1, in NOT_NEGATIVE;
    /// Sets the share of the velocity that is kept in each step; 0.95 by default.
    number momentum = 0.95, in NOT_NEGATIVE;
    hidden_flag nesterov = true;
    /// Sets the coefficients of the iteration's polynomial `a x + b x³ + c x⁵`; 3.4445, -4.775 and
    /// 2.0315 by default.
    numbers ns_coefficients(a, b, c) = [3.4445, -4.775, 2.0315];
    /// Sets the smallest number that the velocity is divided by; 1e-7 by default.
    number eps = 1e-7;
    hidden_number ns_steps = 5.0;
    hidden_number adjust_lr_fn = LrAdjustment::Original as u8 as f64;
}

/// The ratio of the learning rate of a matrix to the optimizer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LrAdjustment {
    /// `sqrt(max(1, rows / columns))`
    Original,
    /// `0.2 sqrt(max(rows, columns))`, for learning rates that were found for AdamW.
    MatchRmsAdamW,
    /// `sqrt(rows / columns)`
    SpectralUnclamped,
}

impl MuonBuilder {
    /// Uses the velocity itself, without looking ahead.
    pub fn without_nesterov(mut self) -> Self {
        self.groups.options().nesterov = false;
        self
    }

    /// Sets the steps of the iteration, below 100; 5 by default.
    pub fn ns_steps(mut self, steps: u32) -> Self {
        self.groups.options().ns_steps = f64::from(steps);
        self
    }

    /// Sets the ratio of a matrix's learning rate; [`LrAdjustment::Original`] by default.
    pub fn adjust_lr_fn(mut self, adjustment: LrAdjustment) -> Self {
        self.groups.options().adjust_lr_fn = adjustment as u8 as f64;
        self
    }
}

/// A step, which is no elementwise one.
pub(super) struct MuonRule {
    ns_steps: u32,
    adjustment: LrAdjustment,
}

impl UpdateRule for MuonRule {
    const NAME: &'static str = "Muon";
    const SAVES_STEPS: bool = false;
    type Options = Options;

    fn new(options: &Options) -> Result<MuonRule> {
        let refused = |argument, value: f64, why| {
            Err(Error::InvalidArgument { op: Self::NAME, argument, value: value.to_string(), why })
        };
        let &Options { ns_steps, adjust_lr_fn, .. } = options;
        if !(0.0..100.0).contains(&ns_steps) || ns_steps.fract() != 0.0 {
            return refused("ns_steps", ns_steps, "it must be a number of steps below 100");
        }
        use LrAdjustment::{MatchRmsAdamW, Original, SpectralUnclamped};
        let known = [Original, MatchRmsAdamW, SpectralUnclamped];
        match known.into_iter().find(|&one| f64::from(one as u8) == adjust_lr_fn) {
            Some(adjustment) => Ok(MuonRule { ns_steps: ns_steps as u32, adjustment }),
            None => refused("adjust_lr_fn", adjust_lr_fn, "it is not the number of an adjustment"),
        }
    }

    fn check_parameter(parameter: &Tensor) -> Result<()> {
        if parameter.dims() == 2 {
            return Ok(());
        }
        Err(Error::InvalidArgument {
            op: Self::NAME,
            argument: "parameters",
            value: format!("one of shape {:?}", parameter.shape()),
            why: "it is for matrices; train other parameters with another optimizer",
        })
    }

    fn initial(_: &Options, parameter: &Tensor) -> Result<Memory> {
        Memory::zeros(parameter, &["momentum_buffer"])
    }

    fn step(&self, options: &Options, step: ParameterStep<'_>) -> Result<()> {
        let &Options { lr, weight_decay, momentum, nesterov, .. } = options;
        let velocity = &step.memory.tensors[0].1;
        velocity.lerp_(step.gradient, 1.0 - momentum)?;
        let update = match nesterov {
            true => step.gradient.lerp(velocity, momentum)?,
            false => velocity.clone(),
        };
        let update = orthogonal(&update, options, self.ns_steps)?;
        let rate = lr * self.ratio(step.parameter.shape());
        step.parameter.mul_(1.0 - lr * weight_decay)?;
        step.parameter.add_scaled_(&update, -rate)?;
        Ok(())
    }
}

impl MuonRule {
    /// The ratio of the learning rate of a matrix of this shape.
    fn ratio(&self, shape: &[usize]) -> f64 {
        let [rows, columns] = [0, 1].map(|dim| shape.get(dim).map_or(1.0, |&size| size as f64));
        match self.adjustment {
            LrAdjustment::Original => (rows / columns).max(1.0).sqrt(),
            LrAdjustment::MatchRmsAdamW => 0.2 * rows.max(columns).sqrt(),
            LrAdjustment::SpectralUnclamped => (rows / columns).sqrt(),
        }
    }
}

/// A matrix with its singular values brought near 1 by the iteration of Newton and Schulz, in bf16.
fn orthogonal(matrix: &Tensor, options: &Options, steps: u32) -> Result<Tensor> {
    let &Options { eps, ns_coefficients: [a, b, c], .. } = options;
    let is_tall = matrix.shape()[0] > matrix.shape()[1];
    let matrix = matrix.to(DType::BF16)?;
    let matrix = if is_tall { matrix.t()? } else { matrix };
    let mut matrix = matrix.div(&matrix.norm(2, ())?.clamp_min(eps)?)?;
    for _ in 0..steps {
        let gram = matrix.matmul(&matrix.t()?)?;
        let gram = gram.addmm(&gram, &gram, b, c)?;
        matrix = matrix.addmm(&gram, &matrix, a, 1.0)?;
    }
    if is_tall { matrix.t() } else { Ok(matrix) }
}
