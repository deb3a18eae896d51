//! Trigonometric and hyperbolic functions, and their inverses.

use std::f64::consts::PI;

use super::{binary, unary};

unary! {
    /// The sine of x in radians.
    [[-1.5, 0.5] => "tensor([-0.9975,  0.4794])"]
    SIN: sin, sin_ = float(|[x]| x.sin());
    /// The cosine of x in radians.
    [[-1.5, 0.5] => "tensor([0.0707, 0.8776])"]
    COS: cos, cos_ = float(|[x]| x.cos());
    /// The tangent of x in radians.
    [[-1.5, 0.5] => "tensor([-14.1014,   0.5463])"]
    TAN: tan, tan_ = float(|[x]| x.tan()).with_gradient(|g, _, y| [g * (y.square() + 1.0)]);
    /// The angle between -π/2 and π/2 whose sine is x; NaN outside of [-1, 1].
    [[-0.5, 1.0] => "tensor([-0.5236,  1.5708])"]
    ASIN: asin, asin_ = float(|[x]| x.asin());
    /// The angle between 0 and π whose cosine is x; NaN outside of [-1, 1].
    [[-0.5, 1.0] => "tensor([2.0944, 0.0000])"]
    ACOS: acos, acos_ = float(|[x]| x.acos());
    /// The angle between -π/2 and π/2 whose tangent is x.
    [[-1.5, 0.5] => "tensor([-0.9828,  0.4636])"]
    ATAN: atan, atan_ = float(|[x]| x.atan());
    /// The hyperbolic sine.
    [[-1.5, 0.5] => "tensor([-2.1293,  0.5211])"]
    SINH: sinh, sinh_ = float(|[x]| x.sinh());
    /// The hyperbolic cosine.
    [[-1.5, 0.5] => "tensor([2.3524, 1.1276])"]
    COSH: cosh, cosh_ = float(|[x]| x.cosh());
    /// The hyperbolic tangent.
    [[-1.5, 0.5] => "tensor([-0.9051,  0.4621])"]
    TANH: tanh, tanh_ = float(|[x]| x.tanh()).with_gradient(|g, _, y| [g * (1.0 - y.square())]);
    /// The number whose hyperbolic sine is x.
    [[-1.5, 0.5] => "tensor([-1.1948,  0.4812])"]
    ASINH: asinh, asinh_ = float(|[x]| x.asinh());
    /// The number, not below 0, whose hyperbolic cosine is x; NaN below 1.
    [[1.0, 2.0] => "tensor([0.0000, 1.3170])"]
    ACOSH: acosh, acosh_ = float(|[x]| x.acosh());
    /// The number whose hyperbolic tangent is x; NaN outside of [-1, 1].
    [[-0.5, 0.5] => "tensor([-0.5493,  0.5493])"]
    ATANH: atanh, atanh_ = float(|[x]| x.atanh());
    /// The angle of a number in the complex plane: 0, or π for negative ones; NaN for NaN.
    [[-1.5, 0.5] => "tensor([3.1416, 0.0000])"]
    ANGLE: angle = float(|[x]| x.isnan().select(x, x.lt(0.0).select(x.constant(PI), 0.0)))
        .with_gradient(|g, _, _| [g.constant(0.0)]);
    /// Degrees in radians.
    [[90.0, 180.0] => "tensor([1.5708, 3.1416])"]
    DEG2RAD: deg2rad, deg2rad_ = float(|[x]| x.deg2rad());
    /// Radians in degrees.
    [[1.0, 2.0] => "tensor([ 57.2958, 114.5916])"]
    RAD2DEG: rad2deg, rad2deg_ = float(|[x]| x.rad2deg());
    /// `sin(πx) / (πx)`, and 1 at 0.
    [[0.0, 0.5] => "tensor([1.0000, 0.6366])"]
    SINC: sinc, sinc_ = float(|[x]| x.sinc()).with_gradient(|g, [x], _| {
        let angle = x * std::f64::consts::PI;
        let slope = (angle * angle.cos() - angle.sin()) / (angle * x);
        [g * x.eq(0.0).select(0.0, slope)]
    });
}

binary! {
    /// The angle of the point (`other`, `self`) in the plane, between -π and π.
    [[1.0, -1.0], &tensor![1.0, 0.0]? => "tensor([ 0.7854, -1.5708])"]
    ATAN2: atan2, atan2_ = float(|[y, x]| y.atan2(x)).with_gradient(|g, [y, x], _| {
        let square = y.square() + x.square();
        // At the origin the gradient is 0, not NaN.
        let inverse = square.eq(0.0).select(0.0, square.reciprocal());
        [g * x * inverse, g * -y * inverse]
    });
    /// `sqrt(self² + other²)` without overflow of the squares.
    [[3.0, 5.0], &tensor![4.0, 12.0]? => "tensor([ 5., 13.])"]
    HYPOT: hypot, hypot_ = common(|[a, b]| a.hypot(b))
        .of(Kinds::FLOATS)
        .with_gradient(|g, [a, b], c| [g * (a / c), g * (b / c)]);
}

use crate::ops::pointwise::Kinds;
