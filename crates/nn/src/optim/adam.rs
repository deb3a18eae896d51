//! The optimizer Adam.

use std::borrow::Borrow;
use std::fmt;

use tensor::{FusedMany, Tensor, fuse_many};

use super::groups::{GroupsBuilder, ParameterGroups, UpdateRule, optimizer_of_groups};
use super::parameters::{ParameterState, beside, collected};
use super::saved::{StateReader, StateWriter};
use super::{Optimizer, check_not_negative, with_decay};
use crate::Result;
use crate::state::{StateDict, StateError};

const OP: &str = "Adam";

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
pub struct Adam {
    groups: ParameterGroups<AdamRule>,
}

/// The running means of a parameter's gradient and of its square, and the steps that they are of.
struct Moments {
    steps: i32,
    mean: Tensor,
    square: Tensor,
}

#[derive(Clone, Copy, Debug)]
struct Options {
    lr: f64,
    betas: (f64, f64),
    eps: f64,
    weight_decay: f64,
}

/// A step with these options.
struct AdamRule {
    options: Options,
    pass: FusedMany<7, 3>,
}

/// A builder of [`Adam`].
#[must_use = "call `build`"]
pub struct AdamBuilder {
    groups: GroupsBuilder<Options>,
}

impl Adam {
    /// A builder with the learning rate `lr` and PyTorch's defaults: betas 0.9 and 0.999, eps 1e-8,
    /// no weight decay. The parameters are tensors or references to them, like those of
    /// [`Module::parameters`](crate::Module).
    #[allow(clippy::new_ret_no_self, reason = "the optimizer is built from its options")]
    pub fn new(parameters: impl IntoIterator<Item: Borrow<Tensor>>, lr: f64) -> AdamBuilder {
        let options = Options { lr, betas: (0.9, 0.999), eps: 1e-8, weight_decay: 0.0 };
        AdamBuilder { groups: GroupsBuilder::new(collected(parameters), options) }
    }
}

optimizer_of_groups!(Adam, AdamBuilder);

impl AdamBuilder {
    /// Sets the share of the running means of the gradient and of its square that is kept in each
    /// step.
    pub fn betas(mut self, mean: f64, square: f64) -> Self {
        self.groups.options().betas = (mean, square);
        self
    }

    /// Sets the number that is added to the denominator.
    pub fn eps(mut self, eps: f64) -> Self {
        self.groups.options().eps = eps;
        self
    }

    /// Sets the factor of the L2 penalty.
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.groups.options().weight_decay = weight_decay;
        self
    }
}

impl UpdateRule for AdamRule {
    const NAME: &'static str = OP;
    type Options = Options;
    type Memory = Moments;

    fn new(options: Options) -> Result<AdamRule> {
        options.check()?;
        Ok(AdamRule { options, pass: step_in_one_pass(options) })
    }

    fn options(&self) -> &Options {
        &self.options
    }

    fn learning_rate(&self) -> f64 {
        self.options.lr
    }

    fn set_learning_rate(&mut self, rate: f64) {
        self.options.lr = rate;
    }

    fn step(
        &self,
        parameter: &Tensor,
        memory: &mut Option<Moments>,
        gradient: &Tensor,
    ) -> Result<()> {
        let Options { lr, betas: (beta1, beta2), weight_decay, .. } = self.options;
        let moments = match memory {
            Some(moments) => moments,
            None => memory.insert(Moments {
                steps: 0,
                mean: parameter.zeros_like()?,
                square: parameter.zeros_like()?,
            }),
        };
        let steps = moments.steps + 1;
        let rate = lr / (1.0 - beta1.powi(steps));
        let correction = (1.0 - beta2.powi(steps)).sqrt();
        let (mean, square) = (&moments.mean, &moments.square);
        let operands = (parameter, gradient, mean, square, rate, correction, weight_decay);
        self.pass.call_into([parameter, mean, square], operands)?;
        moments.steps = steps;
        Ok(())
    }

    fn write_options(&self, group: usize, writer: &mut StateWriter) -> Result<()> {
        let Options { lr, betas, eps, weight_decay } = self.options;
        writer.number(group, "lr", lr)?;
        writer.number(group, "betas.0", betas.0)?;
        writer.number(group, "betas.1", betas.1)?;
        writer.number(group, "eps", eps)?;
        writer.number(group, "weight_decay", weight_decay)
    }

    fn read_options(group: usize, reader: &mut StateReader<'_>) -> Result<Options> {
        Ok(Options {
            lr: reader.number(group, "lr")?,
            betas: (reader.number(group, "betas.0")?, reader.number(group, "betas.1")?),
            eps: reader.number(group, "eps")?,
            weight_decay: reader.number(group, "weight_decay")?,
        })
    }

    fn write_memory(moments: &Moments, number: usize, writer: &mut StateWriter) -> Result<()> {
        writer.steps(number, moments.steps)?;
        writer.tensor(number, "exp_avg", &moments.mean);
        writer.tensor(number, "exp_avg_sq", &moments.square);
        Ok(())
    }

    fn read_memory(
        number: usize,
        parameter: &Tensor,
        reader: &mut StateReader<'_>,
    ) -> Result<Option<Moments>> {
        if !["step", "exp_avg", "exp_avg_sq"].iter().any(|name| reader.has(number, name)) {
            return Ok(None);
        }
        let steps = reader.steps(number)?;
        let mean = reader.tensor(number, "exp_avg", parameter)?;
        let square = reader.tensor(number, "exp_avg_sq", parameter)?;
        Ok(mean.zip(square).map(|(mean, square)| Moments { steps, mean, square }))
    }
}

impl ParameterState for Moments {
    fn moved_to(&self, parameter: &Tensor) -> Result<Moments> {
        let (mean, square) = (beside(&self.mean, parameter)?, beside(&self.square, parameter)?);
        Ok(Moments { steps: self.steps, mean, square })
    }
}

/// The step of parameter, gradient, the two moments, the learning rate and the square root, both
/// with their bias corrections, and the weight decay; parameter and moments.
fn step_in_one_pass(options: Options) -> FusedMany<7, 3> {
    let Options { betas: (beta1, beta2), eps, weight_decay, .. } = options;
    fuse_many(move |[parameter, gradient, mean, square, rate, correction, decay]| {
        let gradient = with_decay(gradient, parameter, decay, weight_decay);
        let mean = mean * beta1 + gradient * (1.0 - beta1);
        let square = square * beta2 + gradient * gradient * (1.0 - beta2);
        let denominator = square.sqrt() / correction + eps;
        [parameter - mean / denominator * rate, mean, square]
    })
    .named("adam")
}

impl Options {
    /// # Errors
    /// An option is out of its range.
    fn check(self) -> Result<()> {
        check_not_negative(OP, "lr", self.lr)?;
        check_not_negative(OP, "eps", self.eps)?;
        check_not_negative(OP, "weight_decay", self.weight_decay)?;
        for (argument, beta) in [("betas.0", self.betas.0), ("betas.1", self.betas.1)] {
            if !(0.0..1.0).contains(&beta) {
                return Err(tensor::Error::InvalidArgument {
                    op: OP,
                    argument,
                    value: beta.to_string(),
                    why: "it must be at least 0 and below 1",
                });
            }
        }
        Ok(())
    }
}
