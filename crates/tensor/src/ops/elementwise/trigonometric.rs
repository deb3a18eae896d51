//! Trigonometric and hyperbolic functions, and their inverses.

use super::{binary, unary};

unary! {
    /// The sine of x in radians.
    SIN: sin, sin_ = float(|[x]| x.sin());
    /// The cosine of x in radians.
    COS: cos, cos_ = float(|[x]| x.cos());
    /// The tangent of x in radians.
    TAN: tan, tan_ = float(|[x]| x.tan()).with_gradient(|g, _, y| [g * (y.square() + 1.0)]);
    /// The angle between -π/2 and π/2 whose sine is x; NaN outside of [-1, 1].
    ASIN: asin, asin_ = float(|[x]| x.asin());
    /// The angle between 0 and π whose cosine is x; NaN outside of [-1, 1].
    ACOS: acos, acos_ = float(|[x]| x.acos());
    /// The angle between -π/2 and π/2 whose tangent is x.
    ATAN: atan, atan_ = float(|[x]| x.atan());
    /// The hyperbolic sine.
    SINH: sinh, sinh_ = float(|[x]| x.sinh());
    /// The hyperbolic cosine.
    COSH: cosh, cosh_ = float(|[x]| x.cosh());
    /// The hyperbolic tangent.
    TANH: tanh, tanh_ = float(|[x]| x.tanh()).with_gradient(|g, _, y| [g * (1.0 - y.square())]);
    /// The number whose hyperbolic sine is x.
    ASINH: asinh, asinh_ = float(|[x]| x.asinh());
    /// The number, not below 0, whose hyperbolic cosine is x; NaN below 1.
    ACOSH: acosh, acosh_ = float(|[x]| x.acosh());
    /// The number whose hyperbolic tangent is x; NaN outside of [-1, 1].
    ATANH: atanh, atanh_ = float(|[x]| x.atanh());
    /// Degrees in radians.
    DEG2RAD: deg2rad, deg2rad_ = float(|[x]| x.deg2rad());
    /// Radians in degrees.
    RAD2DEG: rad2deg, rad2deg_ = float(|[x]| x.rad2deg());
    /// `sin(πx) / (πx)`, and 1 at 0.
    SINC: sinc, sinc_ = float(|[x]| x.sinc()).with_gradient(|g, [x], _| {
        let angle = x * std::f64::consts::PI;
        let slope = (angle * angle.cos() - angle.sin()) / (angle * x);
        [g * x.eq(0.0).select(0.0, slope)]
    });
}

binary! {
    /// The angle of the point (`other`, `self`) in the plane, between -π and π.
    ATAN2: atan2, atan2_ = float(|[y, x]| y.atan2(x)).with_gradient(|g, [y, x], _| {
        let square = y.square() + x.square();
        // At the origin the gradient is 0, not NaN.
        let inverse = square.eq(0.0).select(0.0, square.reciprocal());
        [g * x * inverse, g * -y * inverse]
    });
    /// `sqrt(self² + other²)` without overflow of the squares.
    HYPOT: hypot, hypot_ = common(|[a, b]| a.hypot(b))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [a, b], c| [g * (a / c), g * (b / c)]);
}

use crate::ops::pointwise::Kinds;
