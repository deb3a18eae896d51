//! Activation functions without parameters.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};

use super::unary;
use crate::ops::pointwise::Kinds;

unary! {
    /// `max(x, 0)`; NaN for NaN.
    [[-1.5, 0.5] => "tensor([0.0000, 0.5000])"]
    RELU: relu, relu_ = common(|[x]| x.relu())
        .with_gradient(|g, _, y| [y.le(0.0).select(0.0, g)]);
    /// x brought between 0 and 6; NaN for NaN.
    [[-1.5, 7.0] => "tensor([0., 6.])"]
    RELU6: relu6, relu6_ = common(|[x]| x.relu6()).with_gradient(|g, [x], _| {
        [(x.le(0.0) | x.ge(6.0)).select(0.0, g)]
    });
    /// `x Φ(x)`, with the distribution function Φ of the standard normal distribution (Hendrycks
    /// and Gimpel, "Gaussian Error Linear Units").
    [[-1.5, 0.5] => "tensor([-0.1002,  0.3457])"]
    GELU: gelu, gelu_ = float(|[x]| x.gelu()).of(Kinds::FLOATS).with_gradient(|g, [x], _| {
        let distribution = ((x * FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
        let density = (x.square() * -0.5).exp() * (FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * 0.5);
        [g * (distribution + x * density)]
    });
    /// [`Tensor::gelu`](crate::Tensor::gelu) approximated by a hyperbolic tangent (PyTorch's
    /// `approximate="tanh"`).
    [[-1.5, 0.5] => "tensor([-0.1004,  0.3457])"]
    GELU_TANH: gelu_tanh, gelu_tanh_ = float(|[x]| x.gelu_tanh()).with_gradient(|g, [x], _| {
        const SCALE: f64 = SQRT_2 * FRAC_2_SQRT_PI * 0.5;
        let tanh = ((x + x.square() * x * 0.044715) * SCALE).tanh();
        let slope = (x.square() * (3.0 * 0.044715) + 1.0) * SCALE;
        [g * ((tanh + 1.0) * 0.5 + x * 0.5 * (1.0 - tanh.square()) * slope)]
    });
    /// `x sigmoid(x)`, also called swish.
    [[-1.5, 0.5] => "tensor([-0.2736,  0.3112])"]
    SILU: silu, silu_ = float(|[x]| x.silu()).with_gradient(|g, [x], _| {
        let sigmoid = x.sigmoid();
        [g * (sigmoid * ((1.0 - sigmoid) * x + 1.0))]
    });
    /// `x tanh(log(1 + exp(x)))`
    [[-1.5, 0.5] => "tensor([-0.2981,  0.3752])"]
    MISH: mish, mish_ = float(|[x]| x.mish()).with_gradient(|g, [x], _| {
        let tanh = x.exp().log1p().tanh();
        [g * (tanh + x * x.sigmoid() * (1.0 - tanh.square()))]
    });
    /// `scale * x` where x is positive, else `scale * alpha * (exp(x) - 1)`, with the two numbers
    /// that keep mean and variance (Klambauer et al., "Self-Normalizing Neural Networks").
    [[-1.5, 0.5] => "tensor([-1.3658,  0.5254])"]
    SELU: selu, selu_ = float(|[x]| x.selu());
    /// `x / 6 + 1 / 2`, brought between 0 and 1.
    [[-1.5, 4.0] => "tensor([0.2500, 1.0000])"]
    HARDSIGMOID: hardsigmoid, hardsigmoid_ = float(|[x]| x.hardsigmoid())
        .with_gradient(|g, [x], _| [(x.gt(-3.0) & x.lt(3.0)).select(g / 6.0, 0.0)]);
    /// `x hardsigmoid(x)`
    [[-1.5, 4.0] => "tensor([-0.3750,  4.0000])"]
    HARDSWISH: hardswish, hardswish_ = float(|[x]| x * (x + 3.0).clamp(0.0, 6.0) / 6.0)
        .with_gradient(|g, [x], _| {
            let between = g * (x / 3.0 + 0.5);
            [x.le(-3.0).select(0.0, x.lt(3.0).select(between, g))]
        });
    /// `x / (1 + |x|)`
    [[-1.5, 0.5] => "tensor([-0.6000,  0.3333])"]
    SOFTSIGN: softsign = float(|[x]| x.softsign())
        .with_gradient(|g, [x], _| [g / (x.abs() + 1.0).square()]);
    /// `log(sigmoid(x))`, without overflow.
    [[-1.5, 0.5] => "tensor([-1.7014, -0.4741])"]
    LOGSIGMOID: logsigmoid = float(|[x]| x.logsigmoid())
        .with_gradient(|g, [x], _| [g * (-x).sigmoid()]);
    /// `x - tanh(x)`
    [[-1.5, 0.5] => "tensor([-0.5949,  0.0379])"]
    TANHSHRINK: tanhshrink = float(|[x]| x.tanhshrink())
        .with_gradient(|g, [x], _| [g * x.tanh().square()]);
}
