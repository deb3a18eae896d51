//! Stochastic gradient descent.

use std::borrow::Borrow;
use std::fmt;

use tensor::{Error, Fused, FusedMany, Tensor, fuse, fuse_many};

use super::groups::{GroupsBuilder, ParameterGroups, UpdateRule, optimizer_of_groups};
use super::parameters::{ParameterState, beside, collected};
use super::saved::{StateReader, StateWriter};
use super::{Optimizer, check_not_negative, with_decay};
use crate::Result;
use crate::state::{StateDict, StateError};

const OP: &str = "Sgd";

/// Stochastic gradient descent with momentum, by PyTorch's formula (`torch.optim.SGD`):
///
/// ```text
/// g = grad + weight_decay * p
/// v = g                                 in the first step
/// v = momentum * v + (1 - dampening) * g   in later ones
/// p = p - lr * (g + momentum * v)       with Nesterov's momentum
/// p = p - lr * v                        without
/// ```
///
/// The velocity starts at the gradient and includes no learning rate, unlike in Sutskever et al.,
/// "On the importance of initialization and momentum in deep learning" (2013).
///
/// ```
/// use nn::optim::{Optimizer, Sgd};
/// use tensor::tensor;
/// let weight = tensor![1.0, 2.0]?.requires_grad_(true)?;
/// let mut optimizer = Sgd::new([&weight], 0.1).momentum(0.9).weight_decay(1e-4).build()?;
/// weight.sum(())?.backward()?;
/// optimizer.step()?;
/// assert!((weight.to_vec::<f32>()?[0] - 0.9).abs() < 1e-3);
/// # Ok::<(), tensor::Error>(())
/// ```
pub struct Sgd {
    groups: ParameterGroups<SgdRule>,
}

/// The velocity of a parameter, since its first step with momentum.
struct Velocity(Tensor);

#[derive(Clone, Copy, Debug)]
struct Options {
    lr: f64,
    momentum: f64,
    dampening: f64,
    weight_decay: f64,
    nesterov: bool,
}

/// A step with these options, in one pass over memory, without momentum and with.
struct SgdRule {
    options: Options,
    plain: Fused<4>,
    with_momentum: FusedMany<7, 2>,
}

/// A builder of [`Sgd`].
#[must_use = "call `build`"]
pub struct SgdBuilder {
    groups: GroupsBuilder<Options>,
}

impl Sgd {
    /// A builder with the learning rate `lr`, without momentum or weight decay. The parameters are
    /// tensors or references to them, like those of [`Module::parameters`](crate::Module).
    #[allow(clippy::new_ret_no_self, reason = "the optimizer is built from its options")]
    pub fn new(parameters: impl IntoIterator<Item: Borrow<Tensor>>, lr: f64) -> SgdBuilder {
        let options =
            Options { lr, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };
        SgdBuilder { groups: GroupsBuilder::new(collected(parameters), options) }
    }
}

optimizer_of_groups!(Sgd, SgdBuilder);

impl SgdBuilder {
    /// Sets the share of the velocity that is kept in each step; 0 by default.
    pub fn momentum(mut self, momentum: f64) -> Self {
        self.groups.options().momentum = momentum;
        self
    }

    /// Sets the share of the gradient that is not added to the velocity; 0 by default.
    pub fn dampening(mut self, dampening: f64) -> Self {
        self.groups.options().dampening = dampening;
        self
    }

    /// Sets the factor of the L2 penalty; 0 by default.
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.groups.options().weight_decay = weight_decay;
        self
    }

    /// Uses Nesterov's momentum, which looks ahead by one step of the velocity. It needs momentum,
    /// and no dampening.
    pub fn nesterov(mut self) -> Self {
        self.groups.options().nesterov = true;
        self
    }
}

impl UpdateRule for SgdRule {
    const NAME: &'static str = OP;
    type Options = Options;
    type Memory = Velocity;

    fn new(options: Options) -> Result<SgdRule> {
        options.check()?;
        let (plain, with_momentum) = (plain_step(options), momentum_step(options));
        Ok(SgdRule { options, plain, with_momentum })
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
        memory: &mut Option<Velocity>,
        gradient: &Tensor,
    ) -> Result<()> {
        let Options { lr, momentum, dampening, weight_decay, .. } = self.options;
        if momentum == 0.0 {
            return self.plain.call_into(parameter, (parameter, gradient, lr, weight_decay));
        }
        let (momentum_now, share) = match memory {
            Some(_) => (momentum, 1.0 - dampening),
            None => (0.0, 1.0),
        };
        let Velocity(velocity) = match memory {
            Some(velocity) => velocity,
            None => memory.insert(Velocity(parameter.zeros_like()?)),
        };
        let targets = [parameter, &*velocity];
        let operands = (parameter, gradient, &*velocity, lr, weight_decay, momentum_now, share);
        self.with_momentum.call_into(targets, operands)
    }

    fn write_options(&self, group: usize, writer: &mut StateWriter) -> Result<()> {
        let Options { lr, momentum, dampening, weight_decay, nesterov } = self.options;
        writer.number(group, "lr", lr)?;
        writer.number(group, "momentum", momentum)?;
        writer.number(group, "dampening", dampening)?;
        writer.number(group, "weight_decay", weight_decay)?;
        writer.flag(group, "nesterov", nesterov)
    }

    fn read_options(group: usize, reader: &mut StateReader<'_>) -> Result<Options> {
        Ok(Options {
            lr: reader.number(group, "lr")?,
            momentum: reader.number(group, "momentum")?,
            dampening: reader.number(group, "dampening")?,
            weight_decay: reader.number(group, "weight_decay")?,
            nesterov: reader.flag(group, "nesterov")?,
        })
    }

    fn write_memory(velocity: &Velocity, number: usize, writer: &mut StateWriter) -> Result<()> {
        writer.tensor(number, "momentum_buffer", &velocity.0);
        Ok(())
    }

    fn read_memory(
        number: usize,
        parameter: &Tensor,
        reader: &mut StateReader<'_>,
    ) -> Result<Option<Velocity>> {
        if !reader.has(number, "momentum_buffer") {
            return Ok(None);
        }
        Ok(reader.tensor(number, "momentum_buffer", parameter)?.map(Velocity))
    }
}

impl ParameterState for Velocity {
    fn moved_to(&self, parameter: &Tensor) -> Result<Velocity> {
        beside(&self.0, parameter).map(Velocity)
    }
}

/// The step without momentum, of parameter, gradient, learning rate and weight decay.
fn plain_step(options: Options) -> Fused<4> {
    let weight_decay = options.weight_decay;
    fuse(move |[parameter, gradient, lr, decay]| {
        parameter - with_decay(gradient, parameter, decay, weight_decay) * lr
    })
    .named("sgd")
}

/// The step with momentum in one pass: of parameter, gradient, velocity, learning rate, weight
/// decay, momentum, and the gradient's share; parameter and velocity. The momentum of the first step
/// is 0.
fn momentum_step(options: Options) -> FusedMany<7, 2> {
    let Options { momentum, weight_decay, nesterov, .. } = options;
    fuse_many(move |[parameter, gradient, velocity, lr, decay, momentum_now, share]| {
        let gradient = with_decay(gradient, parameter, decay, weight_decay);
        let velocity = velocity * momentum_now + gradient * share;
        let direction = if nesterov { gradient + velocity * momentum } else { velocity };
        [parameter - direction * lr, velocity]
    })
    .named("sgd")
}

impl Options {
    /// # Errors
    /// An option is out of its range, or they contradict each other.
    fn check(self) -> Result<()> {
        check_not_negative(OP, "lr", self.lr)?;
        check_not_negative(OP, "momentum", self.momentum)?;
        check_not_negative(OP, "weight_decay", self.weight_decay)?;
        if self.nesterov && (self.momentum == 0.0 || self.dampening != 0.0) {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "nesterov",
                value: "true".to_owned(),
                why: "it needs momentum, and no dampening",
            });
        }
        Ok(())
    }
}
