//! Whole numbers beside a number, and what is left of it. Integers stay as they are.

use super::unary;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Result, Tensor};

unary! {
    /// The nearest whole number that is not above.
    [[-1.5, 2.5] => "tensor([-2.,  2.])"]
    FLOOR: floor, floor_ = common(|[x]| x.floor()).with_gradient(|g, _, _| [g.constant(0.0)]);
    /// The nearest whole number that is not below.
    [[-1.5, 2.5] => "tensor([-1.,  3.])"]
    CEIL: ceil, ceil_ = common(|[x]| x.ceil()).with_gradient(|g, _, _| [g.constant(0.0)]);
    /// The nearest whole number; halves go to the even neighbour.
    [[-1.5, 2.5] => "tensor([-2.,  2.])"]
    ROUND: round, round_ = common(|[x]| x.round()).with_gradient(|g, _, _| [g.constant(0.0)]);
    /// The nearest whole number towards zero.
    [[-1.5, 2.5] => "tensor([-1.,  2.])"]
    TRUNC: trunc, trunc_ = common(|[x]| x.trunc()).with_gradient(|g, _, _| [g.constant(0.0)]);
    /// [`Tensor::trunc`] under its older name.
    [[-1.5, 2.5] => "tensor([-1.,  2.])"]
    FIX: fix, fix_ = common(|[x]| x.trunc()).with_gradient(|g, _, _| [g.constant(0.0)]);
    /// The fraction that [`Tensor::trunc`] cuts off, with the sign of x.
    [[-1.5, 2.75] => "tensor([-0.5000,  0.7500])"]
    FRAC: frac, frac_ = common(|[x]| x.frac()).of(Kinds::FLOATS).with_gradient(|g, _, _| [g]);
}

/// To a multiple of `1 / scale`, and of `scale`.
static ROUND_FRACTION: Pointwise<2> =
    Pointwise::common("round", |[x, scale]| (x * scale).round() / scale)
        .of(Kinds::FLOATS)
        .with_gradient(|g, _, _| [g.constant(0.0), g.constant(0.0)]);
static ROUND_MULTIPLE: Pointwise<2> =
    Pointwise::common("round", |[x, scale]| (x / scale).round() * scale)
        .of(Kinds::FLOATS)
        .with_gradient(|g, _, _| [g.constant(0.0), g.constant(0.0)]);

impl Tensor {
    /// The nearest number with so many decimals; with negative `decimals`, the nearest multiple of
    /// 10, 100, ..
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.25, 2.71875]?;
    /// assert!(x.round_decimals(1)?.allclose(&tensor![1.2, 2.7]?, 1e-6, 0.0)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one and `decimals` is not 0.
    #[track_caller]
    pub fn round_decimals(&self, decimals: i32) -> Result<Tensor> {
        match decimals {
            0 => self.round(),
            _ => {
                let (operation, scale) = scaled_rounding(decimals);
                operation.apply([self.into(), scale.into()])
            }
        }
    }

    /// [`Tensor::round_decimals`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![123.0, 678.0]?;
    /// x.round_decimals_(-2)?;
    /// assert_eq!(x.to_vec::<f32>()?, [100.0, 700.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn round_decimals_(&self, decimals: i32) -> Result<Tensor> {
        match decimals {
            0 => self.round_(),
            _ => {
                let (operation, scale) = scaled_rounding(decimals);
                operation.apply_in_place("round_", self, [self.into(), scale.into()])
            }
        }
    }
}

fn scaled_rounding(decimals: i32) -> (&'static Pointwise<2>, f64) {
    let operation = if decimals > 0 { &ROUND_FRACTION } else { &ROUND_MULTIPLE };
    (operation, 10f64.powi(decimals.saturating_abs()))
}
