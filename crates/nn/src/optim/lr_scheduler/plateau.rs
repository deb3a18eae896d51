//! The schedule that follows a loss.

use tensor::{Device, Error, Tensor};

use super::expect;
use crate::Result;
use crate::optim::Optimizer;
use crate::state::StateDict;
use crate::stateful::{Stateful, entry, integers};

/// The better one of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlateauMode {
    /// The smaller one: a loss.
    Min,
    /// The larger one: an accuracy.
    Max,
}

/// The meaning of a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThresholdMode {
    /// A share of the best value.
    Rel,
    /// A difference from the best value.
    Abs,
}

/// The options of a [`ReduceLROnPlateau`]; `default()` has PyTorch's.
#[derive(Clone, Copy, Debug)]
pub struct PlateauOptions {
    /// The better one of two values; [`PlateauMode::Min`] by default.
    pub mode: PlateauMode,
    /// The factor of the learning rate, below 1; 0.1 by default.
    pub factor: f64,
    /// The epochs without a better value that are let pass; 10 by default.
    pub patience: u64,
    /// The least difference that makes a value better; 1e-4 by default.
    pub threshold: f64,
    /// The meaning of the threshold; [`ThresholdMode::Rel`] by default.
    pub threshold_mode: ThresholdMode,
    /// The epochs behind a change that are not counted; 0 by default.
    pub cooldown: u64,
    /// The lowest rate; 0 by default.
    pub min_lr: f64,
    /// The least change of a rate; a smaller one is not made. 1e-8 by default.
    pub eps: f64,
}

impl Default for PlateauOptions {
    fn default() -> PlateauOptions {
        PlateauOptions {
            mode: PlateauMode::Min,
            factor: 0.1,
            patience: 10,
            threshold: 1e-4,
            threshold_mode: ThresholdMode::Rel,
            cooldown: 0,
            min_lr: 0.0,
            eps: 1e-8,
        }
    }
}

/// Reduces the learning rate of all groups when a value gets no better for some epochs
/// (`ReduceLROnPlateau`).
///
/// ```
/// use nn::optim::lr_scheduler::{PlateauOptions, ReduceLROnPlateau};
/// use nn::optim::{Optimizer, SGD};
/// use nn::{Linear, Module};
///
/// let layer = Linear::new(3, 2)?;
/// let mut optimizer = SGD::new(layer.parameters(), 0.5).build()?;
/// let options = PlateauOptions { factor: 0.5, patience: 1, ..PlateauOptions::default() };
/// let mut scheduler = ReduceLROnPlateau::new(options)?;
/// let mut rates = Vec::new();
/// for loss in [1.0, 0.8, 0.8, 0.8, 0.7] {
///     scheduler.step(&mut optimizer, loss)?;
///     rates.push(optimizer.learning_rate());
/// }
/// assert_eq!(rates, [0.5, 0.5, 0.5, 0.25, 0.25]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReduceLROnPlateau {
    options: PlateauOptions,
    best: f64,
    bad_epochs: u64,
    cooldown_left: u64,
}

impl ReduceLROnPlateau {
    /// A scheduler that has seen no value.
    ///
    /// # Errors
    /// The factor is not below 1.
    pub fn new(options: PlateauOptions) -> Result<ReduceLROnPlateau> {
        let PlateauOptions { factor, mode, .. } = options;
        expect(factor < 1.0, "ReduceLROnPlateau", "factor", factor, "it must be below 1")?;
        let best = match mode {
            PlateauMode::Min => f64::INFINITY,
            PlateauMode::Max => f64::NEG_INFINITY,
        };
        Ok(ReduceLROnPlateau { options, best, bad_epochs: 0, cooldown_left: 0 })
    }

    /// Ends an epoch with this value. NaN is no better than any.
    ///
    /// # Errors
    /// The optimizer does not take a rate for each of its groups.
    pub fn step(&mut self, optimizer: &mut dyn Optimizer, value: f64) -> Result<()> {
        if self.is_better(value) {
            (self.best, self.bad_epochs) = (value, 0);
        } else {
            self.bad_epochs += 1;
        }
        if self.cooldown_left > 0 {
            self.cooldown_left -= 1;
            self.bad_epochs = 0;
        }
        if self.bad_epochs <= self.options.patience {
            return Ok(());
        }
        let PlateauOptions { factor, min_lr, eps, cooldown, .. } = self.options;
        (self.cooldown_left, self.bad_epochs) = (cooldown, 0);
        let reduced = |rate: f64| {
            let new = (rate * factor).max(min_lr);
            if rate - new > eps { new } else { rate }
        };
        let rates: Vec<f64> = optimizer.learning_rates().into_iter().map(reduced).collect();
        optimizer.set_learning_rates(&rates)
    }

    fn is_better(&self, value: f64) -> bool {
        let PlateauOptions { mode, threshold, threshold_mode, .. } = self.options;
        match (mode, threshold_mode) {
            (PlateauMode::Min, ThresholdMode::Rel) => value < self.best * (1.0 - threshold),
            (PlateauMode::Min, ThresholdMode::Abs) => value < self.best - threshold,
            (PlateauMode::Max, ThresholdMode::Rel) => value > self.best * (1.0 + threshold),
            (PlateauMode::Max, ThresholdMode::Abs) => value > self.best + threshold,
        }
    }
}

/// PyTorch's names of the numbers in a state.
const BEST: &str = "best";
const BAD_EPOCHS: &str = "num_bad_epochs";
const COOLDOWN: &str = "cooldown_counter";

impl Stateful for ReduceLROnPlateau {
    fn state(&self) -> Result<StateDict> {
        let number = |value: u64| Tensor::from_vec(vec![value as i64], [1], Device::Cpu);
        Ok([
            (BEST.to_owned(), Tensor::from_vec(vec![self.best], [1], Device::Cpu)?),
            (BAD_EPOCHS.to_owned(), number(self.bad_epochs)?),
            (COOLDOWN.to_owned(), number(self.cooldown_left)?),
        ]
        .into())
    }

    /// Takes over what was seen. The options are the program's own.
    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        const OP: &str = "ReduceLROnPlateau::set_state";
        let best = entry(OP, state, BEST)?.item::<f64>()?;
        let ([bad_epochs], [cooldown]) =
            (integers(OP, state, BAD_EPOCHS)?, integers(OP, state, COOLDOWN)?);
        match (u64::try_from(bad_epochs), u64::try_from(cooldown)) {
            (Ok(bad_epochs), Ok(cooldown_left)) => {
                *self =
                    ReduceLROnPlateau { options: self.options, best, bad_epochs, cooldown_left };
                Ok(())
            }
            _ => Err(Error::InvalidArgument {
                op: OP,
                argument: "state",
                value: format!("{bad_epochs} and {cooldown} epochs"),
                why: "they must be zero or more",
            }),
        }
    }
}
