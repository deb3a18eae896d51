//! The schedule of a single cycle.

use super::cosine::half_cosine;
use super::{LRSchedule, expect};
use crate::Result;

/// The way from one rate to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnealStrategy {
    /// Along half a cosine.
    Cos,
    /// Along a line.
    Linear,
}

/// The rate from a low one up to the highest, and down to one far below the first, with the momentum
/// the other way round (`OneCycleLR`): L. N. Smith, N. Topin, "Super-Convergence: Very Fast Training of
/// Neural Networks Using Large Learning Rates" (2018). It counts steps; the optimizer's own rate has no
/// part in it.
///
/// ```
/// use nn::optim::lr_scheduler::{LRSchedule, OneCycleLR};
/// let schedule = OneCycleLR { pct_start: 0.5, ..OneCycleLR::new(0.1, 10) };
/// let rates: Vec<f64> = (0..10).map(|step| schedule.rate(1.0, step)).collect();
/// assert!((rates[0] - 0.1 / 25.0).abs() < 1e-12 && (rates[4] - 0.1).abs() < 1e-12);
/// assert!((rates[9] - 0.1 / 25.0 / 1e4).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OneCycleLR {
    /// The highest rate.
    pub max_lr: f64,
    /// The steps of the training, at least 1.
    pub total_steps: u64,
    /// The share of the steps upwards; 0.3 by default.
    pub pct_start: f64,
    /// The way from one rate to the next; [`AnnealStrategy::Cos`] by default.
    pub anneal_strategy: AnnealStrategy,
    /// Whether the momentum is changed, too; it is by default.
    pub cycle_momentum: bool,
    /// The lowest momentum; 0.85 by default.
    pub base_momentum: f64,
    /// The highest momentum; 0.95 by default.
    pub max_momentum: f64,
    /// The highest rate over the first; 25 by default.
    pub div_factor: f64,
    /// The first rate over the last; 1e4 by default.
    pub final_div_factor: f64,
    /// Whether the rate first goes back to the first one, in as many steps as upwards.
    pub three_phase: bool,
}

/// The step at which a phase ends, and the rate and the momentum there.
struct Corner {
    step: f64,
    rate: f64,
    momentum: f64,
}

impl OneCycleLR {
    /// The schedule with this highest rate, of a training of so many steps, with PyTorch's defaults.
    pub fn new(max_lr: f64, total_steps: u64) -> OneCycleLR {
        OneCycleLR {
            max_lr,
            total_steps,
            pct_start: 0.3,
            anneal_strategy: AnnealStrategy::Cos,
            cycle_momentum: true,
            base_momentum: 0.85,
            max_momentum: 0.95,
            div_factor: 25.0,
            final_div_factor: 1e4,
            three_phase: false,
        }
    }

    /// The corners between the phases, from the beginning on.
    fn corners(&self) -> Vec<Corner> {
        let first = self.max_lr / self.div_factor;
        let (low, high) = (self.base_momentum, self.max_momentum);
        let up = self.pct_start * self.total_steps as f64;
        let mut corners = vec![
            Corner { step: 0.0, rate: first, momentum: high },
            Corner { step: up - 1.0, rate: self.max_lr, momentum: low },
        ];
        if self.three_phase {
            corners.push(Corner { step: 2.0 * up - 2.0, rate: first, momentum: high });
        }
        let (step, rate) = (self.total_steps as f64 - 1.0, first / self.final_div_factor);
        corners.push(Corner { step, rate, momentum: high });
        corners
    }

    /// A number of the corners at a step.
    fn at(&self, step: u64, number: impl Fn(&Corner) -> f64) -> f64 {
        let (step, corners) = (step as f64, self.corners());
        let last = corners.len() - 2;
        let phases = corners.windows(2).enumerate();
        let mut phase = phases.filter_map(|(number, ends)| match ends {
            [begin, end] if step <= end.step || number == last => Some((begin, end)),
            _ => None,
        });
        let Some((begin, end)) = phase.next() else { return 0.0 };
        let share = (step - begin.step) / (end.step - begin.step);
        let (first, last) = (number(begin), number(end));
        match self.anneal_strategy {
            AnnealStrategy::Cos => half_cosine(first, last, share),
            AnnealStrategy::Linear => first + (last - first) * share,
        }
    }
}

impl LRSchedule for OneCycleLR {
    fn rate(&self, _: f64, epoch: u64) -> f64 {
        self.at(epoch, |corner| corner.rate)
    }

    fn momentum(&self, epoch: u64) -> Option<f64> {
        self.cycle_momentum.then(|| self.at(epoch, |corner| corner.momentum))
    }

    fn last_epoch(&self) -> Option<u64> {
        Some(self.total_steps)
    }

    fn check(&self) -> Result<()> {
        const OP: &str = "OneCycleLR";
        let OneCycleLR { total_steps, pct_start, .. } = *self;
        expect(total_steps > 0, OP, "total_steps", total_steps, "it must be at least 1")?;
        let holds = (0.0..=1.0).contains(&pct_start);
        expect(holds, OP, "pct_start", pct_start, "it must be between 0 and 1")
    }
}
