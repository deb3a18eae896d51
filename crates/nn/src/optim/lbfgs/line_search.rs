//! The search of a step's length.

use tensor::Tensor;

use super::{dot, largest};
use crate::Result;

/// The share of the slope that the loss has to fall by.
const SUFFICIENT_DECREASE: f64 = 1e-4;
/// The share of the slope that may be left.
const CURVATURE: f64 = 0.9;
/// The smallest bracket, in the largest element of the step.
const MIN_BRACKET: f64 = 1e-9;

/// The loss at a place, and its gradient.
#[derive(Clone)]
pub(super) struct Evaluation {
    pub(super) loss: f64,
    pub(super) gradient: Tensor,
}

impl Evaluation {
    /// Whether no element of the gradient is larger than `tolerance`.
    pub(super) fn is_flat(&self, tolerance: f64) -> Result<bool> {
        Ok(largest(&self.gradient)? <= tolerance)
    }
}

/// The length that was found, the evaluation there, and the number of evaluations.
pub(super) struct FoundLength {
    pub(super) length: f64,
    pub(super) evaluation: Evaluation,
    pub(super) evaluations: u64,
}

/// A length that was tried.
#[derive(Clone)]
struct TriedLength {
    length: f64,
    /// The derivative of the loss by the length.
    slope: f64,
    evaluation: Evaluation,
}

/// The result of the first phase.
enum Bracket {
    /// A length that fulfils the conditions.
    Found(TriedLength),
    /// Two lengths with one that does so in between.
    Between([TriedLength; 2]),
}

/// A search along a direction for a length that fulfils the strong Wolfe conditions.
struct StrongWolfe<'a, F> {
    evaluate: F,
    direction: &'a Tensor,
    /// The beginning, at length 0.
    start: TriedLength,
    evaluations: u64,
}

/// A length that fulfils the strong conditions of Wolfe, or the best one within `budget`
/// evaluations: Nocedal & Wright, "Numerical Optimization" (2006), Algorithms 3.5 and 3.6, with
/// cubic interpolation, and with PyTorch's safeguards.
pub(super) fn strong_wolfe(
    evaluate: impl FnMut(f64) -> Result<Evaluation>,
    length: f64,
    direction: &Tensor,
    start: &Evaluation,
    slope: f64,
    budget: u64,
) -> Result<FoundLength> {
    let start = TriedLength { length: 0.0, slope, evaluation: start.clone() };
    let mut search = StrongWolfe { evaluate, direction, start, evaluations: 0 };
    let mut iterations = 0;
    let found = match search.bracket(length, budget, &mut iterations)? {
        Bracket::Found(found) => found,
        Bracket::Between(bracket) => search.zoom(bracket, budget, &mut iterations)?,
    };
    let TriedLength { length, evaluation, .. } = found;
    Ok(FoundLength { length, evaluation, evaluations: search.evaluations })
}

impl<F: FnMut(f64) -> Result<Evaluation>> StrongWolfe<'_, F> {
    fn try_length(&mut self, length: f64) -> Result<TriedLength> {
        let evaluation = (self.evaluate)(length)?;
        self.evaluations += 1;
        let slope = dot(&evaluation.gradient, self.direction)?;
        Ok(TriedLength { length, slope, evaluation })
    }

    /// Whether the loss has not fallen enough.
    fn is_too_high(&self, trial: &TriedLength) -> bool {
        let line = SUFFICIENT_DECREASE * trial.length * self.start.slope;
        trial.evaluation.loss > self.start.evaluation.loss + line
    }

    fn is_level(&self, trial: &TriedLength) -> bool {
        trial.slope.abs() <= -CURVATURE * self.start.slope
    }

    /// Goes on until a length is good, or one in between must be.
    fn bracket(&mut self, length: f64, budget: u64, iterations: &mut u64) -> Result<Bracket> {
        let mut previous = self.start.clone();
        let mut trial = self.try_length(length)?;
        while *iterations < budget {
            let rises = *iterations > 1 && trial.evaluation.loss >= previous.evaluation.loss;
            if self.is_too_high(&trial) || rises {
                return Ok(Bracket::Between([previous, trial]));
            }
            if self.is_level(&trial) {
                return Ok(Bracket::Found(trial));
            }
            if trial.slope >= 0.0 {
                return Ok(Bracket::Between([previous, trial]));
            }
            let min = trial.length + 0.01 * (trial.length - previous.length);
            let next = cubic_minimum(&previous, &trial, (min, trial.length * 10.0));
            previous = trial;
            trial = self.try_length(next)?;
            *iterations += 1;
        }
        Ok(Bracket::Between([self.start.clone(), trial]))
    }

    /// Narrows a bracket down; gives its lower end.
    fn zoom(
        &mut self,
        ends: [TriedLength; 2],
        budget: u64,
        iterations: &mut u64,
    ) -> Result<TriedLength> {
        let longest = largest(self.direction)?;
        let [mut low, mut high] = ends;
        if low.evaluation.loss > high.evaluation.loss {
            std::mem::swap(&mut low, &mut high);
        }
        let mut is_stuck = false;
        while *iterations < budget && (high.length - low.length).abs() * longest >= MIN_BRACKET {
            let length = self.next_length(&low, &high, &mut is_stuck);
            let trial = self.try_length(length)?;
            *iterations += 1;
            if self.is_too_high(&trial) || trial.evaluation.loss >= low.evaluation.loss {
                high = trial;
                if high.evaluation.loss < low.evaluation.loss {
                    std::mem::swap(&mut low, &mut high);
                }
                continue;
            }
            if self.is_level(&trial) {
                return Ok(trial);
            }
            if trial.slope * (high.length - low.length) >= 0.0 {
                high = low;
            }
            low = trial;
        }
        Ok(low)
    }

    /// The next length in a bracket. One that is close to an end, twice in a row or beyond it, is
    /// moved a tenth of the bracket away from there.
    fn next_length(&self, low: &TriedLength, high: &TriedLength, is_stuck: &mut bool) -> f64 {
        let (min, max) = ordered(low.length, high.length);
        let length = cubic_minimum(low, high, (min, max));
        let margin = 0.1 * (max - min);
        if (max - length).min(length - min) >= margin {
            *is_stuck = false;
            return length;
        }
        if !*is_stuck && length < max && length > min {
            *is_stuck = true;
            return length;
        }
        *is_stuck = false;
        if (length - max).abs() < (length - min).abs() { max - margin } else { min + margin }
    }
}

fn ordered(a: f64, b: f64) -> (f64, f64) {
    if a <= b { (a, b) } else { (b, a) }
}

/// The minimum of the cubic polynomial through two trials with their slopes, within bounds; the
/// middle of the bounds if it has none.
fn cubic_minimum(a: &TriedLength, b: &TriedLength, (min, max): (f64, f64)) -> f64 {
    let (first, second) = if a.length <= b.length { (a, b) } else { (b, a) };
    let distance = second.length - first.length;
    let fall = first.evaluation.loss - second.evaluation.loss;
    let d1 = first.slope + second.slope + 3.0 * fall / distance;
    let square = d1 * d1 - first.slope * second.slope;
    if square < 0.0 || square.is_nan() {
        return f64::midpoint(min, max);
    }
    let d2 = square.sqrt();
    let share = (second.slope + d2 - d1) / (second.slope - first.slope + 2.0 * d2);
    (second.length - distance * share).max(min).min(max)
}
