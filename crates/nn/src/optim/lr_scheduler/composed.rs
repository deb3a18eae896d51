//! Schedules that are made of others.

use std::fmt;

use tensor::Error;

use super::{LRSchedule, expect};
use crate::Result;

/// One schedule after the other, each from epoch 0 on (`SequentialLR`).
///
/// ```
/// use nn::optim::lr_scheduler::{ExponentialLR, LRSchedule, LinearLR, SequentialLR};
/// let warmup = LinearLR { start_factor: 0.5, end_factor: 1.0, total_iters: 2 };
/// let schedule = SequentialLR::new(
///     vec![Box::new(warmup), Box::new(ExponentialLR { gamma: 0.5 })],
///     vec![2],
/// )?;
/// assert_eq!([0, 2, 3].map(|epoch| schedule.rate(0.1, epoch)), [0.05, 0.1, 0.05]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub struct SequentialLR {
    schedules: Vec<Box<dyn LRSchedule + Send>>,
    milestones: Vec<u64>,
}

impl SequentialLR {
    /// Schedules, and the epochs from which on the second, the third, and so on, are followed.
    ///
    /// # Errors
    /// There is no schedule, there are not as many milestones as schedules but one, or they do not
    /// grow.
    pub fn new(
        schedules: Vec<Box<dyn LRSchedule + Send>>,
        milestones: Vec<u64>,
    ) -> Result<SequentialLR> {
        if schedules.len() == milestones.len() + 1 && milestones.is_sorted() {
            return Ok(SequentialLR { schedules, milestones });
        }
        Err(Error::InvalidArgument {
            op: "SequentialLR",
            argument: "milestones",
            value: format!("{milestones:?} for {} schedules", schedules.len()),
            why: "there must be one for each schedule but the first, in order",
        })
    }

    /// The schedule of an epoch, and the epoch that it is in that schedule.
    fn at(&self, epoch: u64) -> (&(dyn LRSchedule + Send), u64) {
        let passed = self.milestones.partition_point(|&milestone| milestone <= epoch);
        let start = if passed == 0 { 0 } else { self.milestones[passed - 1] };
        (&*self.schedules[passed], epoch - start)
    }
}

impl LRSchedule for SequentialLR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        let (schedule, epoch) = self.at(epoch);
        schedule.rate(first, epoch)
    }

    fn group_rate(&self, group: usize, first: f64, epoch: u64) -> f64 {
        let (schedule, epoch) = self.at(epoch);
        schedule.group_rate(group, first, epoch)
    }

    fn groups(&self) -> Option<usize> {
        groups_of(&self.schedules)
    }

    fn momentum(&self, epoch: u64) -> Option<f64> {
        let (schedule, epoch) = self.at(epoch);
        schedule.momentum(epoch)
    }

    fn last_epoch(&self) -> Option<u64> {
        let last = self.schedules.last()?.last_epoch()?;
        Some(last.saturating_add(self.milestones.last().copied().unwrap_or(0)))
    }

    fn check(&self) -> Result<()> {
        expect_equal_groups("SequentialLR", &self.schedules)?;
        self.schedules.iter().try_for_each(|schedule| schedule.check())
    }
}

impl fmt::Debug for SequentialLR {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequentialLR")
            .field("schedules", &self.schedules.len())
            .field("milestones", &self.milestones)
            .finish()
    }
}

/// Several schedules at once (`ChainedScheduler`): the first rate times the factors by which each of
/// them would change it. Where one of them does not go down to 0, as a
/// [`CosineAnnealingLR`](super::CosineAnnealingLR) with another lowest rate, PyTorch's rates differ.
///
/// ```
/// use nn::optim::lr_scheduler::{ChainedScheduler, ConstantLR, ExponentialLR, LRSchedule};
/// let warmup = ConstantLR { factor: 0.5, total_iters: 2 };
/// let schedule =
///     ChainedScheduler::new(vec![Box::new(warmup), Box::new(ExponentialLR { gamma: 0.5 })]);
/// assert_eq!([0, 1, 2].map(|epoch| schedule.rate(1.0, epoch)), [0.5, 0.25, 0.25]);
/// ```
pub struct ChainedScheduler {
    schedules: Vec<Box<dyn LRSchedule + Send>>,
}

impl ChainedScheduler {
    /// The schedules whose factors are multiplied.
    pub fn new(schedules: Vec<Box<dyn LRSchedule + Send>>) -> ChainedScheduler {
        ChainedScheduler { schedules }
    }

    /// The first rate times the factors that follow from the rates of the schedules.
    fn chained(&self, first: f64, rate: impl Fn(&(dyn LRSchedule + Send)) -> f64) -> f64 {
        if first == 0.0 {
            return 0.0;
        }
        first * self.schedules.iter().map(|schedule| rate(&**schedule) / first).product::<f64>()
    }
}

impl LRSchedule for ChainedScheduler {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        self.chained(first, |schedule| schedule.rate(first, epoch))
    }

    fn group_rate(&self, group: usize, first: f64, epoch: u64) -> f64 {
        self.chained(first, |schedule| schedule.group_rate(group, first, epoch))
    }

    fn groups(&self) -> Option<usize> {
        groups_of(&self.schedules)
    }

    fn momentum(&self, epoch: u64) -> Option<f64> {
        self.schedules.iter().rev().find_map(|schedule| schedule.momentum(epoch))
    }

    fn last_epoch(&self) -> Option<u64> {
        self.schedules.iter().filter_map(|schedule| schedule.last_epoch()).min()
    }

    fn check(&self) -> Result<()> {
        expect_equal_groups("ChainedScheduler", &self.schedules)?;
        self.schedules.iter().try_for_each(|schedule| schedule.check())
    }
}

impl fmt::Debug for ChainedScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainedScheduler").field("schedules", &self.schedules.len()).finish()
    }
}

/// The number of groups that a part of a schedule has rules for, if one has.
fn groups_of(schedules: &[Box<dyn LRSchedule + Send>]) -> Option<usize> {
    schedules.iter().find_map(|schedule| schedule.groups())
}

/// # Errors
/// Two parts of a schedule have rules for different numbers of groups.
fn expect_equal_groups(op: &'static str, schedules: &[Box<dyn LRSchedule + Send>]) -> Result<()> {
    let groups: Vec<usize> = schedules.iter().filter_map(|schedule| schedule.groups()).collect();
    let are_equal = groups.iter().all(|&count| count == groups[0]);
    let why = "they must have rules for the same groups of parameters";
    expect(are_equal, op, "schedules", format!("schedules for {groups:?} groups"), why)
}
