//! The arguments of `arange`.

use std::ops::Range;

use crate::{Error, Result, Scalar};

/// The start, the end (which is not included) and the step of
/// [`Tensor::arange`](crate::Tensor::arange). It is made from an end alone, a Rust range, or
/// `(start, end, step)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    pub(super) start: Scalar,
    pub(super) end: Scalar,
    pub(super) step: Scalar,
}

impl Steps {
    /// The number of numbers.
    ///
    /// # Errors
    /// A bound is not finite, or the step is zero or leads away from the end.
    pub(super) fn count(&self, op: &'static str) -> Result<usize> {
        let refuse = |argument, value: Scalar, why| {
            Err(Error::InvalidArgument { op, argument, value: format!("{value:?}"), why })
        };
        let (start, end, step) = (self.start.to_f64(), self.end.to_f64(), self.step.to_f64());
        if !(start.is_finite() && end.is_finite()) {
            return refuse("end", self.end, "the bounds must be finite");
        }
        if step == 0.0 || step.is_nan() {
            return refuse("step", self.step, "the step must be a number other than zero");
        }
        if (end - start) * step < 0.0 {
            return refuse("step", self.step, "it leads away from the end");
        }
        let count = match (self.start, self.end, self.step) {
            (Scalar::Int(start), Scalar::Int(end), Scalar::Int(step)) => {
                // Integers are counted exactly; the quotient of floats could be rounded up by one.
                (i128::from(end) - i128::from(start))
                    .unsigned_abs()
                    .div_ceil(step.unsigned_abs().into()) as usize
            }
            _ => ((end - start) / step).ceil() as usize,
        };
        Ok(count)
    }

    /// Whether start, end and step are integers, so that the numbers are integers too.
    pub(super) fn is_whole(&self) -> bool {
        [self.start, self.end, self.step].iter().all(|bound| matches!(bound, Scalar::Int(_)))
    }
}

macro_rules! steps_from {
    ($($rust:ty),*) => {$(
        /// From zero, by ones.
        impl From<$rust> for Steps {
            fn from(end: $rust) -> Steps {
                (0 as $rust..end).into()
            }
        }

        /// By ones.
        impl From<Range<$rust>> for Steps {
            fn from(range: Range<$rust>) -> Steps {
                (range.start, range.end, 1 as $rust).into()
            }
        }

        /// `(start, end, step)`
        impl From<($rust, $rust, $rust)> for Steps {
            fn from((start, end, step): ($rust, $rust, $rust)) -> Steps {
                Steps { start: start.into(), end: end.into(), step: step.into() }
            }
        }
    )*};
}

steps_from!(i32, i64, usize, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn count(steps: impl Into<Steps>) -> Result<usize> {
        steps.into().count("arange")
    }

    #[test]
    fn the_end_is_not_reached() {
        assert_eq!(count(5).unwrap(), 5);
        assert_eq!(count((1, 10, 3)).unwrap(), 3);
        assert_eq!(count((0.0, 1.0, 0.25)).unwrap(), 4);
        assert_eq!(count((5, 0, -2)).unwrap(), 3);
        assert_eq!(count(3..3).unwrap(), 0);
        assert_eq!(count((i64::MIN, i64::MAX, i64::MAX)).unwrap(), 3);
    }

    #[test]
    fn steps_that_lead_nowhere_are_refused() {
        for steps in [(0, 5, 0), (0, 5, -1)] {
            assert!(count(steps).is_err(), "{steps:?}");
        }
        assert!(count(f64::INFINITY).is_err());
        assert!(count((0.0, 1.0, f64::NAN)).is_err());
    }
}
