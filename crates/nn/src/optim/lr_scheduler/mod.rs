//! Schedules of the learning rate (`torch.optim.lr_scheduler`).
//!
//! A schedule says which rate each epoch has ([`LRSchedule`]), and an [`LRScheduler`] sets it. The
//! rate of an epoch is computed by a formula, and not from that of the epoch before as PyTorch does,
//! from which it differs in the last bits; so a training that goes on needs nothing but the number of
//! the epoch. [`ReduceLROnPlateau`] looks at a loss instead.

mod composed;
mod cosine;
mod cyclic;
mod decay;
mod one_cycle;
mod per_group;
mod plateau;
mod swa;

use tensor::{Device, Error, Tensor};

use super::Optimizer;
use crate::Result;
use crate::state::StateDict;
use crate::stateful::{Stateful, entry, integers};

pub use composed::{ChainedScheduler, SequentialLR};
pub use cosine::{CosineAnnealingLR, CosineAnnealingWarmRestarts};
pub use cyclic::{CyclicLR, CyclicMode};
pub use decay::{
    ConstantLR, ExponentialLR, LinearLR, MultiStepLR, MultiplicativeLR, PolynomialLR, StepLR,
};
pub use one_cycle::{AnnealStrategy, OneCycleLR};
pub use per_group::PerGroup;
pub use plateau::{PlateauMode, PlateauOptions, ReduceLROnPlateau, ThresholdMode};
pub use swa::SWALR;

/// A rule for the learning rate of each epoch, or of each step, whichever a program counts.
///
/// A closure is one: it gives the factor of the first rate, as PyTorch's `LambdaLR`.
pub trait LRSchedule {
    /// The rate of an epoch, from 0 on, where `first` is that of the optimizer as it was built.
    fn rate(&self, first: f64, epoch: u64) -> f64;

    /// The rate of an epoch for a group of parameters, by its number; the same rule for all, unless the
    /// schedule has one for each ([`PerGroup`]).
    fn group_rate(&self, _group: usize, first: f64, epoch: u64) -> f64 {
        self.rate(first, epoch)
    }

    /// The number of groups of parameters that the schedule has rules for, if it is not for any.
    fn groups(&self) -> Option<usize> {
        None
    }

    /// The momentum of an epoch, if the schedule changes it.
    fn momentum(&self, _epoch: u64) -> Option<f64> {
        None
    }

    /// The last epoch that has a rate, if there is one.
    fn last_epoch(&self) -> Option<u64> {
        None
    }

    /// Checks the numbers of the schedule. [`LRScheduler::new`] calls it.
    ///
    /// # Errors
    /// One is out of its range.
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

impl<F: Fn(u64) -> f64> LRSchedule for F {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        first * self(epoch)
    }
}

/// A schedule that is chosen at run time.
impl LRSchedule for Box<dyn LRSchedule + Send> {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        (**self).rate(first, epoch)
    }

    fn group_rate(&self, group: usize, first: f64, epoch: u64) -> f64 {
        (**self).group_rate(group, first, epoch)
    }

    fn groups(&self) -> Option<usize> {
        (**self).groups()
    }

    fn momentum(&self, epoch: u64) -> Option<f64> {
        (**self).momentum(epoch)
    }

    fn last_epoch(&self) -> Option<u64> {
        (**self).last_epoch()
    }

    fn check(&self) -> Result<()> {
        (**self).check()
    }
}

/// Sets the learning rate of an optimizer by a schedule.
///
/// ```
/// use nn::optim::lr_scheduler::{LRScheduler, StepLR};
/// use nn::optim::{Optimizer, SGD};
/// use nn::{Linear, Module};
///
/// let layer = Linear::new(3, 2)?;
/// let mut optimizer = SGD::new(layer.parameters(), 0.1).build()?;
/// let mut scheduler = LRScheduler::new(&mut optimizer, StepLR { step_size: 2, gamma: 0.5 })?;
/// let mut rates = Vec::new();
/// for epoch in 0..5 {
///     rates.push(optimizer.learning_rate());
///     // .. the steps of the epoch ..
///     scheduler.step(&mut optimizer)?;
/// }
/// assert_eq!(rates, [0.1, 0.1, 0.05, 0.05, 0.025]);
///
/// // Any function of the epoch: a warm-up of three epochs.
/// LRScheduler::new(&mut optimizer, |epoch: u64| (epoch + 1).min(3) as f64 / 3.0)?;
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LRScheduler<S> {
    schedule: S,
    /// The first rate of each group of parameters.
    first: Vec<f64>,
    epoch: u64,
}

impl<S: LRSchedule> LRScheduler<S> {
    /// A scheduler at epoch 0, whose first rates are those of the optimizer's groups of parameters.
    /// The optimizer gets those of the schedule.
    ///
    /// # Errors
    /// A number of the schedule is out of its range; it is for another number of groups; it changes the
    /// momentum of an optimizer that has none; or the optimizer does not take a rate for each group.
    pub fn new(optimizer: &mut dyn Optimizer, schedule: S) -> Result<LRScheduler<S>> {
        schedule.check()?;
        let first = optimizer.learning_rates();
        if let Some(groups) = schedule.groups() {
            let value = format!("rules for {groups} groups of parameters, of {}", first.len());
            let why = "there must be one for each group of the optimizer";
            expect(groups == first.len(), "LRScheduler", "schedule", value, why)?;
        }
        let scheduler = LRScheduler { schedule, first, epoch: 0 };
        scheduler.apply(optimizer, 0)?;
        Ok(scheduler)
    }

    /// Ends an epoch: the optimizer gets the rates of the next one.
    ///
    /// # Errors
    /// The schedule has no more epochs; or the optimizer is another one than that of
    /// [`LRScheduler::new`], with another number of groups, or without momentum. The epoch is then
    /// the same as before.
    pub fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        if let Some(last) = self.schedule.last_epoch()
            && self.epoch >= last
        {
            return Err(Error::InvalidArgument {
                op: "LRScheduler::step",
                argument: "epoch",
                value: (self.epoch + 1).to_string(),
                why: "the schedule has no more epochs; give it as many as the training has",
            });
        }
        self.apply(optimizer, self.epoch + 1)?;
        self.epoch += 1;
        Ok(())
    }

    fn apply(&self, optimizer: &mut dyn Optimizer, epoch: u64) -> Result<()> {
        optimizer.set_learning_rates(&self.rates(epoch))?;
        match self.schedule.momentum(epoch) {
            Some(momentum) => optimizer.set_momentum(momentum),
            None => Ok(()),
        }
    }

    /// The number of the epoch, from 0 on.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The learning rate of the epoch for each group of parameters (`get_last_lr`).
    pub fn learning_rates(&self) -> Vec<f64> {
        self.rates(self.epoch)
    }

    fn rates(&self, epoch: u64) -> Vec<f64> {
        let first = self.first.iter().enumerate();
        first.map(|(group, &first)| self.schedule.group_rate(group, first, epoch)).collect()
    }
}

/// PyTorch's names of the two numbers in a state.
const LAST_EPOCH: &str = "last_epoch";
const BASE_LRS: &str = "base_lrs";

impl<S: LRSchedule> Stateful for LRScheduler<S> {
    fn state(&self) -> Result<StateDict> {
        let epoch = Tensor::from_vec(vec![self.epoch as i64], [1], Device::Cpu)?;
        let first = Tensor::from_vec(self.first.clone(), [self.first.len()], Device::Cpu)?;
        Ok([(LAST_EPOCH.to_owned(), epoch), (BASE_LRS.to_owned(), first)].into())
    }

    /// Takes over epoch and first rates. The schedule is the program's own; the optimizer has its rate
    /// in its own state.
    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        const OP: &str = "LRScheduler::set_state";
        let [epoch] = integers(OP, state, LAST_EPOCH)?;
        let first = entry(OP, state, BASE_LRS)?.to_vec::<f64>()?;
        if first.len() != self.first.len() {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "state",
                value: format!("{} rates in `{BASE_LRS}`, not {}", first.len(), self.first.len()),
                why: "there is one for each group of parameters",
            });
        }
        (self.epoch, self.first) = (epoch as u64, first);
        Ok(())
    }
}

/// Checks a number of a schedule.
///
/// # Errors
/// It does not hold.
fn expect(
    holds: bool,
    op: &'static str,
    argument: &'static str,
    value: impl ToString,
    why: &'static str,
) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(Error::InvalidArgument { op, argument, value: value.to_string(), why })
}

/// A share of a whole number of epochs, which is the whole where that is 0.
fn share(epoch: u64, total: u64) -> f64 {
    if total == 0 { 1.0 } else { epoch.min(total) as f64 / total as f64 }
}
