//! The schedule of a training whose weights are averaged.

use std::f64::consts::PI;

use super::{AnnealStrategy, LRSchedule, share};

/// The rate from the first one to that of a training whose weights are averaged, where it stays
/// (`torch.optim.swa_utils.SWALR`): Izmailov et al., "Averaging Weights Leads to Wider Optima and Better
/// Generalization" (2018). The averages are those of [`AveragedModel`](crate::AveragedModel). It begins
/// with the rate that the optimizer has when the scheduler is made. Groups of parameters get rates of
/// their own by [`PerGroup`](super::PerGroup).
///
/// ```
/// use nn::optim::lr_scheduler::{AnnealStrategy, LRSchedule, SWALR};
/// let schedule = SWALR { anneal_epochs: 2, anneal_strategy: AnnealStrategy::Linear, ..SWALR::new(0.1) };
/// let rates = [0, 1, 2, 3].map(|epoch| schedule.rate(0.5, epoch));
/// assert!(rates.iter().zip([0.5, 0.3, 0.1, 0.1]).all(|(rate, expected)| (rate - expected).abs() < 1e-12));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SWALR {
    /// The rate at the end.
    pub swa_lr: f64,
    /// The epochs until then; 10 by default.
    pub anneal_epochs: u64,
    /// The way there; [`AnnealStrategy::Cos`] by default.
    pub anneal_strategy: AnnealStrategy,
}

impl SWALR {
    /// The schedule with PyTorch's defaults.
    pub fn new(swa_lr: f64) -> SWALR {
        SWALR { swa_lr, anneal_epochs: 10, anneal_strategy: AnnealStrategy::Cos }
    }
}

impl LRSchedule for SWALR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        let way = share(epoch, self.anneal_epochs);
        let way = match self.anneal_strategy {
            AnnealStrategy::Cos => (1.0 - (PI * way).cos()) / 2.0,
            AnnealStrategy::Linear => way,
        };
        self.swa_lr * way + first * (1.0 - way)
    }
}
