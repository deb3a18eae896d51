//! Bessel functions, and Airy's.

use super::unary;

/// The slope at 0 of the odd ones, where the formulas divide 0 by 0.
const SLOPE: f64 = 0.5;

unary! {
    /// The Bessel function of the first kind, order 0. As PyTorch's it is off by up to 5e-7, most just beyond 5.
    [[0.5, 8.0] => "tensor([0.9385, 0.1717])"]
    BESSEL_J0: bessel_j0 = float(|[x]| x.bessel_j0())
        .with_gradient(|g, [x], _| [-g * x.bessel_j1()]);
    /// The Bessel function of the first kind, order 1. As PyTorch's it is off by up to 5e-7, most just beyond 5.
    [[0.5, 8.0] => "tensor([0.2423, 0.2346])"]
    BESSEL_J1: bessel_j1 = float(|[x]| x.bessel_j1())
        .with_gradient(|g, [x], y| {
            [g * x.eq(0.0).select(SLOPE, x.bessel_j0() - y / x)]
        });
    /// The Bessel function of the second kind, order 0: minus infinity at 0, NaN below. As
    /// PyTorch's it is off by up to 9e-7, most just beyond 5.
    [[0.5, 8.0] => "tensor([-0.4445,  0.2235])"]
    BESSEL_Y0: bessel_y0 = float(|[x]| x.bessel_y0())
        .with_gradient(|g, [x], _| [-g * x.bessel_y1()]);
    /// The Bessel function of the second kind, order 1: minus infinity at 0, NaN below. As
    /// PyTorch's it is off by up to 9e-7, most just beyond 5.
    [[0.5, 8.0] => "tensor([-1.4715, -0.1581])"]
    BESSEL_Y1: bessel_y1 = float(|[x]| x.bessel_y1())
        .with_gradient(|g, [x], y| [g * (x.bessel_y0() - y / x)]);
    /// The modified Bessel function of the first kind, order 0.
    [[-0.5, 2.0] => "tensor([1.0635, 2.2796])"]
    I0: i0, i0_ = float(|[x]| x.i0()).with_gradient(|g, [x], _| [g * x.i1()]);
    /// `exp(-|x|)` times [`Tensor::i0`](crate::Tensor::i0), which does not overflow.
    [[-0.5, 2.0] => "tensor([0.6450, 0.3085])"]
    I0E: i0e = float(|[x]| x.i0e())
        .with_gradient(|g, [x], y| [g * (x.i1e() - x.sign() * y)]);
    /// The modified Bessel function of the first kind, order 1.
    [[-0.5, 2.0] => "tensor([-0.2579,  1.5906])"]
    I1: i1 = float(|[x]| x.i1())
        .with_gradient(|g, [x], y| [g * x.eq(0.0).select(SLOPE, x.i0() - y / x)]);
    /// `exp(-|x|)` times [`Tensor::i1`](crate::Tensor::i1), which does not overflow.
    [[-0.5, 2.0] => "tensor([-0.1564,  0.2153])"]
    I1E: i1e = float(|[x]| x.i1e())
        .with_gradient(|g, [x], y| {
            let slope = x.i0e() - y * (x.sign() + x.reciprocal());
            [g * x.eq(0.0).select(SLOPE, slope)]
        });
    /// The modified Bessel function of the second kind, order 0: infinite at 0, NaN below.
    [[0.5, 2.0] => "tensor([0.9244, 0.1139])"]
    MODIFIED_BESSEL_K0: modified_bessel_k0 = float(|[x]| x.modified_bessel_k0())
        .with_gradient(|g, [x], _| [-g * x.modified_bessel_k1()]);
    /// The modified Bessel function of the second kind, order 1: infinite at 0, NaN below.
    [[0.5, 2.0] => "tensor([1.6564, 0.1399])"]
    MODIFIED_BESSEL_K1: modified_bessel_k1 = float(|[x]| x.modified_bessel_k1())
        .with_gradient(|g, [x], y| [-g * (x.modified_bessel_k0() + y / x)]);
    /// `exp(x)` times [`Tensor::modified_bessel_k0`](crate::Tensor::modified_bessel_k0), which
    /// does not underflow. A constant for gradients, as in PyTorch.
    [[0.5, 2.0] => "tensor([1.5241, 0.8416])"]
    SCALED_MODIFIED_BESSEL_K0: scaled_modified_bessel_k0 =
        float(|[x]| x.scaled_modified_bessel_k0())
        .without_gradient();
    /// `exp(x)` times [`Tensor::modified_bessel_k1`](crate::Tensor::modified_bessel_k1), which
    /// does not underflow. A constant for gradients, as in PyTorch.
    [[0.5, 2.0] => "tensor([2.7310, 1.0335])"]
    SCALED_MODIFIED_BESSEL_K1: scaled_modified_bessel_k1 =
        float(|[x]| x.scaled_modified_bessel_k1())
        .without_gradient();
    /// The spherical Bessel function of the first kind, order 0: `sin(x) / x`. A constant for
    /// gradients, as in PyTorch; [`Tensor::sinc`](crate::Tensor::sinc) has one.
    [[0.0, 2.0] => "tensor([1.0000, 0.4546])"]
    SPHERICAL_BESSEL_J0: spherical_bessel_j0 = float(|[x]| x.spherical_bessel_j0())
        .without_gradient();
    /// The Airy function of the first kind. A constant for gradients, as in PyTorch, whose numbers it
    /// has: off by up to 3e-6 below -2.09.
    [[-1.0, 2.0] => "tensor([0.5356, 0.0349])"]
    AIRY_AI: airy_ai = float(|[x]| x.airy_ai()).without_gradient();
}
