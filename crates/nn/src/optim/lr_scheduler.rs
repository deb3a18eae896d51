//! Schedules of the learning rate (`torch.optim.lr_scheduler`).

use std::f64::consts::PI;

use tensor::{Device, Error, Tensor};

use super::Optimizer;
use crate::Result;
use crate::state::StateDict;
use crate::stateful::{Stateful, entry, integers};

/// A rule for the learning rate of each epoch, or of each step, whichever a program counts.
///
/// A closure is one: it gives the factor of the first rate, as PyTorch's `LambdaLR`.
pub trait LrSchedule {
    /// The rate of an epoch, from 0 on, where `first` is that of the optimizer as it was built.
    fn rate(&self, first: f64, epoch: u64) -> f64;
}

impl<F: Fn(u64) -> f64> LrSchedule for F {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        first * self(epoch)
    }
}

/// The rate times `gamma` after each `step_size` epochs (`StepLR`).
#[derive(Clone, Copy, Debug)]
pub struct StepLr {
    /// The epochs for which the rate stays; 0 is taken as 1.
    pub step_size: u64,
    /// The factor.
    pub gamma: f64,
}

impl LrSchedule for StepLr {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        first * self.gamma.powf((epoch / self.step_size.max(1)) as f64)
    }
}

/// The rate times `gamma` after each epoch (`ExponentialLR`).
#[derive(Clone, Copy, Debug)]
pub struct ExponentialLr {
    /// The factor.
    pub gamma: f64,
}

impl LrSchedule for ExponentialLr {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        first * self.gamma.powf(epoch as f64)
    }
}

/// From the first rate to another along half a cosine, within `t_max` epochs, and back again
/// (`CosineAnnealingLR`). I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm
/// Restarts" (ICLR 2017), without the restarts.
#[derive(Clone, Copy, Debug)]
pub struct CosineAnnealingLr {
    /// The epochs until the lowest rate; 0 is taken as 1.
    pub t_max: u64,
    /// The lowest rate.
    pub eta_min: f64,
}

impl LrSchedule for CosineAnnealingLr {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        let share = epoch as f64 / self.t_max.max(1) as f64;
        self.eta_min + (first - self.eta_min) * (1.0 + (PI * share).cos()) / 2.0
    }
}

/// The rate times a factor that grows or falls evenly within `total_iters` epochs, and stays then
/// (`LinearLR`): a warm-up.
#[derive(Clone, Copy, Debug)]
pub struct LinearLr {
    /// The factor of epoch 0.
    pub start_factor: f64,
    /// The factor from epoch `total_iters` on.
    pub end_factor: f64,
    /// The epochs in between.
    pub total_iters: u64,
}

impl LrSchedule for LinearLr {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        let share = match self.total_iters {
            0 => 1.0,
            total => epoch.min(total) as f64 / total as f64,
        };
        first * (self.start_factor + (self.end_factor - self.start_factor) * share)
    }
}

/// Sets the learning rate of an optimizer by a schedule.
///
/// The rate of an epoch is computed by the schedule's formula, and not from that of the epoch before
/// as PyTorch does, from which it differs in the last bits.
///
/// ```
/// use nn::optim::{LrScheduler, Optimizer, Sgd, StepLr};
/// use nn::{Linear, Module};
///
/// let layer = Linear::new(3, 2)?;
/// let mut optimizer = Sgd::new(layer.parameters(), 0.1).build()?;
/// let mut scheduler = LrScheduler::new(&mut optimizer, StepLr { step_size: 2, gamma: 0.5 })?;
/// let mut rates = Vec::new();
/// for epoch in 0..5 {
///     rates.push(optimizer.learning_rate());
///     // .. the steps of the epoch ..
///     scheduler.step(&mut optimizer)?;
/// }
/// assert_eq!(rates, [0.1, 0.1, 0.05, 0.05, 0.025]);
///
/// // Any function of the epoch: a warm-up of three epochs.
/// LrScheduler::new(&mut optimizer, |epoch: u64| (epoch + 1).min(3) as f64 / 3.0)?;
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LrScheduler<S> {
    schedule: S,
    /// The first rate of each group of parameters.
    first: Vec<f64>,
    epoch: u64,
}

impl<S: LrSchedule> LrScheduler<S> {
    /// A scheduler at epoch 0, whose first rates are those of the optimizer's groups of parameters.
    /// The optimizer gets those of the schedule.
    ///
    /// # Errors
    /// The optimizer does not take a rate for each group.
    pub fn new(optimizer: &mut dyn Optimizer, schedule: S) -> Result<LrScheduler<S>> {
        let scheduler = LrScheduler { schedule, first: optimizer.learning_rates(), epoch: 0 };
        optimizer.set_learning_rates(&scheduler.learning_rates())?;
        Ok(scheduler)
    }

    /// Ends an epoch: the optimizer gets the rates of the next one.
    ///
    /// # Errors
    /// The optimizer has another number of groups than that of [`LrScheduler::new`]; the epoch is
    /// then the same as before.
    pub fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        optimizer.set_learning_rates(&self.rates(self.epoch + 1))?;
        self.epoch += 1;
        Ok(())
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
        self.first.iter().map(|&first| self.schedule.rate(first, epoch)).collect()
    }
}

/// PyTorch's names of the two numbers in a state.
const LAST_EPOCH: &str = "last_epoch";
const BASE_LRS: &str = "base_lrs";

impl<S: LrSchedule> Stateful for LrScheduler<S> {
    fn state(&self) -> Result<StateDict> {
        let epoch = Tensor::from_vec(vec![self.epoch as i64], [1], Device::Cpu)?;
        let first = Tensor::from_vec(self.first.clone(), [self.first.len()], Device::Cpu)?;
        Ok([(LAST_EPOCH.to_owned(), epoch), (BASE_LRS.to_owned(), first)].into())
    }

    /// Takes over epoch and first rates. The schedule is the program's own; the optimizer has its rate
    /// in its own state.
    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        const OP: &str = "LrScheduler::set_state";
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
