//! Schedules along a cosine: I. Loshchilov, F. Hutter, "SGDR: Stochastic Gradient Descent with Warm
//! Restarts" (ICLR 2017).

use std::f64::consts::PI;

use super::{LRSchedule, expect};
use crate::Result;

/// From the first rate to another along half a cosine, within `t_max` epochs, and back again
/// (`CosineAnnealingLR`).
#[derive(Clone, Copy, Debug)]
pub struct CosineAnnealingLR {
    /// The epochs until the lowest rate; 0 is taken as 1.
    pub t_max: u64,
    /// The lowest rate.
    pub eta_min: f64,
}

impl LRSchedule for CosineAnnealingLR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        half_cosine(first, self.eta_min, epoch as f64 / self.t_max.max(1) as f64)
    }
}

/// From the first rate to another along half a cosine, again and again, in rounds that grow
/// (`CosineAnnealingWarmRestarts`).
///
/// ```
/// use nn::optim::lr_scheduler::{CosineAnnealingWarmRestarts, LRSchedule};
/// let schedule = CosineAnnealingWarmRestarts { t_0: 2, t_mult: 2, eta_min: 0.0 };
/// let starts: Vec<u64> = (0..20).filter(|&epoch| schedule.rate(0.1, epoch) == 0.1).collect();
/// assert_eq!(starts, [0, 2, 6, 14]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CosineAnnealingWarmRestarts {
    /// The epochs of the first round, at least 1.
    pub t_0: u64,
    /// The factor by which a round is longer than the one before, at least 1.
    pub t_mult: u64,
    /// The lowest rate.
    pub eta_min: f64,
}

impl LRSchedule for CosineAnnealingWarmRestarts {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        let mut round = self.t_0.max(1);
        let mut within = epoch;
        if self.t_mult <= 1 {
            within %= round;
        }
        while within >= round {
            within -= round;
            round = round.saturating_mul(self.t_mult);
        }
        half_cosine(first, self.eta_min, within as f64 / round as f64)
    }

    fn check(&self) -> Result<()> {
        const OP: &str = "CosineAnnealingWarmRestarts";
        expect(self.t_0 > 0, OP, "t_0", self.t_0, "it must be at least 1")?;
        expect(self.t_mult > 0, OP, "t_mult", self.t_mult, "it must be at least 1")
    }
}

/// From `first` to `last` along half a cosine, as share goes from 0 to 1.
pub(super) fn half_cosine(first: f64, last: f64, share: f64) -> f64 {
    last + (first - last) * (1.0 + (PI * share).cos()) / 2.0
}
