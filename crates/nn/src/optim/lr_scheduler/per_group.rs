//! A schedule for each group of parameters.

use super::{LRSchedule, expect};
use crate::Result;

/// A schedule for each group of parameters, in the order of the optimizer's: PyTorch's lists of rates, of
/// functions and of bounds (`SWALR(optimizer, [0.05, 0.01])`, `LambdaLR(optimizer, [f, g])`). Schedules of
/// different types are boxed: `Box<dyn LRSchedule + Send>` is one, too. An optimizer has one momentum, which
/// is that of the first schedule.
///
/// ```
/// use nn::optim::lr_scheduler::{LRScheduler, PerGroup, SWALR};
/// use nn::optim::{Optimizer, SGD};
/// use nn::{Linear, Module};
/// let (body, head) = (Linear::new(3, 4)?, Linear::new(4, 2)?);
/// let groups = SGD::new(body.parameters(), 0.1).param_group(head.parameters()).lr(0.5);
/// let mut optimizer = groups.build()?;
/// let swa = |lr| SWALR { anneal_epochs: 1, ..SWALR::new(lr) };
/// let mut scheduler = LRScheduler::new(&mut optimizer, PerGroup(vec![swa(0.05), swa(0.01)]))?;
/// assert_eq!(optimizer.learning_rates(), [0.1, 0.5]);
/// scheduler.step(&mut optimizer)?;
/// assert_eq!(optimizer.learning_rates(), [0.05, 0.01]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PerGroup<S>(pub Vec<S>);

impl<S: LRSchedule> LRSchedule for PerGroup<S> {
    /// The rate of the first group.
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        self.group_rate(0, first, epoch)
    }

    fn group_rate(&self, group: usize, first: f64, epoch: u64) -> f64 {
        self.0.get(group).map_or(first, |schedule| schedule.rate(first, epoch))
    }

    fn groups(&self) -> Option<usize> {
        Some(self.0.len())
    }

    fn momentum(&self, epoch: u64) -> Option<f64> {
        self.0.first()?.momentum(epoch)
    }

    fn last_epoch(&self) -> Option<u64> {
        self.0.iter().filter_map(LRSchedule::last_epoch).min()
    }

    fn check(&self) -> Result<()> {
        let why = "there is one for each group of parameters, which has no groups of its own";
        let is_plain = self.0.iter().all(|schedule| schedule.groups().is_none());
        let value = format!("{} schedules", self.0.len());
        expect(is_plain && !self.0.is_empty(), "PerGroup", "schedules", value, why)?;
        self.0.iter().try_for_each(LRSchedule::check)
    }
}
