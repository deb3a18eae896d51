//! The cyclical schedule.

use super::{LRSchedule, expect};
use crate::Result;

/// The height of the cycles of a [`CyclicLR`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CyclicMode {
    /// All are as high.
    Triangular,
    /// Each is half as high as the one before.
    Triangular2,
    /// The height is times `gamma` after each step.
    ExpRange,
}

/// The rate up and down between two bounds, and the momentum down and up (`CyclicLR`): L. N. Smith,
/// "Cyclical Learning Rates for Training Neural Networks" (2017). It counts steps; the optimizer's own
/// rate has no part in it.
///
/// ```
/// use nn::optim::lr_scheduler::{CyclicLR, LRSchedule};
/// let schedule = CyclicLR { step_size_up: 2, ..CyclicLR::new(1.0, 3.0) };
/// let rates: Vec<f64> = (0..6).map(|step| schedule.rate(0.1, step)).collect();
/// assert_eq!(rates, [1.0, 2.0, 3.0, 2.0, 1.0, 2.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct CyclicLR {
    /// The lowest rate.
    pub base_lr: f64,
    /// The highest rate of the first cycle.
    pub max_lr: f64,
    /// The steps upwards, at least 1; 2000 by default.
    pub step_size_up: u64,
    /// The steps downwards; as many as upwards by default.
    pub step_size_down: Option<u64>,
    /// The height of the cycles; [`CyclicMode::Triangular`] by default.
    pub mode: CyclicMode,
    /// The factor of [`CyclicMode::ExpRange`]; 1 by default.
    pub gamma: f64,
    /// Whether the momentum is changed, too; it is by default.
    pub cycle_momentum: bool,
    /// The lowest momentum; 0.8 by default.
    pub base_momentum: f64,
    /// The highest momentum; 0.9 by default.
    pub max_momentum: f64,
}

impl CyclicLR {
    /// The schedule between two rates, with PyTorch's defaults.
    pub fn new(base_lr: f64, max_lr: f64) -> CyclicLR {
        CyclicLR {
            base_lr,
            max_lr,
            step_size_up: 2000,
            step_size_down: None,
            mode: CyclicMode::Triangular,
            gamma: 1.0,
            cycle_momentum: true,
            base_momentum: 0.8,
            max_momentum: 0.9,
        }
    }

    /// The height at a step, where the first cycle goes from 0 to 1 and back.
    fn height(&self, step: u64) -> f64 {
        let up = self.step_size_up.max(1);
        let down = self.step_size_down.unwrap_or(up);
        let total = up.saturating_add(down);
        let (cycle, within) = (step / total, step % total);
        let height = match within <= up {
            true => within as f64 / up as f64,
            false => (total - within) as f64 / down as f64,
        };
        height
            * match self.mode {
                CyclicMode::Triangular => 1.0,
                CyclicMode::Triangular2 => 0.5f64.powf(cycle as f64),
                CyclicMode::ExpRange => self.gamma.powf(step as f64),
            }
    }
}

impl LRSchedule for CyclicLR {
    fn rate(&self, _: f64, epoch: u64) -> f64 {
        self.base_lr + (self.max_lr - self.base_lr) * self.height(epoch)
    }

    fn momentum(&self, epoch: u64) -> Option<f64> {
        let range = self.max_momentum - self.base_momentum;
        self.cycle_momentum.then(|| self.max_momentum - range * self.height(epoch))
    }

    fn check(&self) -> Result<()> {
        let up = self.step_size_up;
        expect(up > 0, "CyclicLR", "step_size_up", up, "it must be at least 1")
    }
}
