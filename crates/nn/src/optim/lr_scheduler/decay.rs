//! Schedules that multiply the first rate by a factor.

use std::sync::{Mutex, PoisonError};

use super::{LRSchedule, expect, share};
use crate::Result;

/// The rate times `gamma` after each `step_size` epochs (`StepLR`).
#[derive(Clone, Copy, Debug)]
pub struct StepLR {
    /// The epochs for which the rate stays; 0 is taken as 1.
    pub step_size: u64,
    /// The factor.
    pub gamma: f64,
}

impl LRSchedule for StepLR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        first * self.gamma.powf((epoch / self.step_size.max(1)) as f64)
    }
}

/// The rate times `gamma` at each of some epochs (`MultiStepLR`).
///
/// ```
/// use nn::optim::lr_scheduler::{LRSchedule, MultiStepLR};
/// let schedule = MultiStepLR { milestones: vec![2, 3], gamma: 0.5 };
/// let rates: Vec<f64> = (0..5).map(|epoch| schedule.rate(0.1, epoch)).collect();
/// assert_eq!(rates, [0.1, 0.1, 0.05, 0.025, 0.025]);
/// ```
#[derive(Clone, Debug)]
pub struct MultiStepLR {
    /// The epochs, in any order. One that is given twice counts twice.
    pub milestones: Vec<u64>,
    /// The factor.
    pub gamma: f64,
}

impl LRSchedule for MultiStepLR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        let passed = self.milestones.iter().filter(|&&milestone| milestone <= epoch).count();
        first * self.gamma.powf(passed as f64)
    }
}

/// The rate times `factor` until epoch `total_iters`, and then itself (`ConstantLR`).
///
/// ```
/// use nn::optim::lr_scheduler::{ConstantLR, LRSchedule};
/// let schedule = ConstantLR { factor: 0.5, total_iters: 2 };
/// assert_eq!([0, 1, 2].map(|epoch| schedule.rate(0.1, epoch)), [0.05, 0.05, 0.1]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConstantLR {
    /// The factor, between 0 and 1.
    pub factor: f64,
    /// The epochs with the factor.
    pub total_iters: u64,
}

impl LRSchedule for ConstantLR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        if epoch < self.total_iters { first * self.factor } else { first }
    }

    fn check(&self) -> Result<()> {
        let holds = (0.0..=1.0).contains(&self.factor);
        expect(holds, "ConstantLR", "factor", self.factor, "it must be between 0 and 1")
    }
}

/// The rate times a factor that grows or falls evenly within `total_iters` epochs, and stays then
/// (`LinearLR`): a warm-up.
#[derive(Clone, Copy, Debug)]
pub struct LinearLR {
    /// The factor of epoch 0, above 0 and at most 1.
    pub start_factor: f64,
    /// The factor from epoch `total_iters` on, between 0 and 1.
    pub end_factor: f64,
    /// The epochs in between.
    pub total_iters: u64,
}

impl LRSchedule for LinearLR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        let share = share(epoch, self.total_iters);
        first * (self.start_factor + (self.end_factor - self.start_factor) * share)
    }

    fn check(&self) -> Result<()> {
        const OP: &str = "LinearLR";
        let LinearLR { start_factor: start, end_factor: end, .. } = *self;
        let holds = start > 0.0 && start <= 1.0;
        expect(holds, OP, "start_factor", start, "it must be above 0 and at most 1")?;
        expect((0.0..=1.0).contains(&end), OP, "end_factor", end, "it must be between 0 and 1")
    }
}

/// The rate times `gamma` after each epoch (`ExponentialLR`).
#[derive(Clone, Copy, Debug)]
pub struct ExponentialLR {
    /// The factor.
    pub gamma: f64,
}

impl LRSchedule for ExponentialLR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        first * self.gamma.powf(epoch as f64)
    }
}

/// The rate times a power of the share of `total_iters` epochs that is left (`PolynomialLR`).
///
/// ```
/// use nn::optim::lr_scheduler::{LRSchedule, PolynomialLR};
/// let schedule = PolynomialLR { total_iters: 4, power: 2.0 };
/// let rates: Vec<f64> = (0..5).map(|epoch| schedule.rate(1.0, epoch)).collect();
/// assert_eq!(rates, [1.0, 0.5625, 0.25, 0.0625, 0.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PolynomialLR {
    /// The epochs until the rate is 0.
    pub total_iters: u64,
    /// The power; 1 falls evenly.
    pub power: f64,
}

impl LRSchedule for PolynomialLR {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        first * (1.0 - share(epoch, self.total_iters)).powf(self.power)
    }
}

/// The rate times a factor that a function gives for each epoch but the first (`MultiplicativeLR`).
///
/// ```
/// use nn::optim::lr_scheduler::{LRSchedule, MultiplicativeLR};
/// let schedule = MultiplicativeLR::new(|epoch| if epoch == 2 { 0.5 } else { 1.0 });
/// assert_eq!([0, 1, 2, 3].map(|epoch| schedule.rate(0.1, epoch)), [0.1, 0.1, 0.05, 0.05]);
/// ```
#[derive(Debug)]
pub struct MultiplicativeLR<F> {
    factor: F,
    /// The product of the factors until an epoch, so that the next one is a single call away.
    product: Mutex<(u64, f64)>,
}

impl<F: Fn(u64) -> f64> MultiplicativeLR<F> {
    /// The schedule of a function of the epoch, which always gives the same.
    pub fn new(factor: F) -> MultiplicativeLR<F> {
        MultiplicativeLR { factor, product: Mutex::new((0, 1.0)) }
    }
}

impl<F: Fn(u64) -> f64> LRSchedule for MultiplicativeLR<F> {
    fn rate(&self, first: f64, epoch: u64) -> f64 {
        let mut known = self.product.lock().unwrap_or_else(PoisonError::into_inner);
        if epoch < known.0 {
            *known = (0, 1.0);
        }
        while known.0 < epoch {
            let next = known.0 + 1;
            *known = (next, known.1 * (self.factor)(next));
        }
        first * known.1
    }
}
