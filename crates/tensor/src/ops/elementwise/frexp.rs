//! Numbers taken apart into mantissa and exponent.

use expression::{ComputeType, Value};

use crate::ops::pointwise::Pointwise;
use crate::{DType, Result, Tensor};

static MANTISSA: Pointwise<1> =
    Pointwise::float("frexp", |[x]| parts(x).0).with_gradient(|g, [x], _| {
        let half = (parts(x).1 * -0.5).floor();
        [g * half.exp2() * (-parts(x).1 - half).exp2()]
    });
static EXPONENT: Pointwise<1> = Pointwise::float("frexp", |[x]| parts(x).1).without_gradient();

impl Tensor {
    /// The mantissas, whose sizes are from 1/2 to below 1, and the exponents of 2, as `I32`, of which
    /// the numbers are products. Of 0, infinities and NaN they are the numbers themselves, and 0.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (mantissa, exponent) = tensor![8.0, -0.375]?.frexp()?;
    /// assert_eq!(mantissa.to_vec::<f32>()?, [0.5, -0.75]);
    /// assert_eq!(exponent.to_vec::<i32>()?, [4, -1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one.
    #[track_caller]
    pub fn frexp(&self) -> Result<(Tensor, Tensor)> {
        self.expect_floats("frexp")?;
        let exponent = EXPONENT.apply_in(self.dtype(), DType::I32, [self.into()])?;
        Ok((MANTISSA.apply([self.into()])?, exponent))
    }
}

/// Mantissa and exponent. The logarithm may be rounded up or down to the next integer, which shows
/// in the mantissa.
#[track_caller]
fn parts(x: Value<'_>) -> (Value<'_>, Value<'_>) {
    let (least_normal, shift) = match x.compute_type() {
        ComputeType::F32 => (f64::from(f32::MIN_POSITIVE), 32),
        _ => (f64::MIN_POSITIVE, 64),
    };
    // Subnormal numbers first become normal.
    let size = x.abs();
    let is_small = size.lt(least_normal);
    let size = is_small.select(size * 2f64.powi(shift), size);
    let exponent = size.log2().floor();
    // In two steps, of which neither overflows nor is subnormal.
    let half = (exponent * -0.5).floor();
    let mantissa = size * half.exp2() * (-exponent - half).exp2();
    let (high, low) = (mantissa.ge(2.0), mantissa.lt(1.0));
    let exponent = high.select(exponent + 1.0, low.select(exponent - 1.0, exponent));
    let mantissa = high.select(mantissa * 0.5, low.select(mantissa * 2.0, mantissa));
    let exponent = exponent + is_small.select(exponent.constant(1.0 - f64::from(shift)), 1.0);
    let is_itself = x.eq(0.0) | !x.isfinite();
    let mantissa = is_itself.select(x, (mantissa * 0.5).copysign(x));
    (mantissa, is_itself.select(0.0, exponent))
}
