//! Hurwitz' zeta function, the derivatives of digamma, and the multivariate gamma function.

use std::f64::consts::PI;

use super::expect_constant;
use crate::autograd::recomputed;
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{DType, Error, Result, Tensor};

static ZETA: Pointwise<2> = Pointwise::float("zeta", |[s, q]| s.zeta(q))
    .of(Kinds::FULL_FLOATS)
    .named(["self", "q"])
    .with_gradient(|g, [s, q], _| [g.constant(0.0), -g * s * (s + 1.0).zeta(q)]);
static TRIGAMMA: Pointwise<1> = Pointwise::float("polygamma", |[x]| x.trigamma())
    .with_gradient(|g, [x], _| [g * x.constant(3.0).zeta(x) * -2.0]);
/// The function of x, one more than the order, and the factorial of the order with its sign.
static POLYGAMMA: Pointwise<3> = Pointwise::float("polygamma", |[x, s, factor]| s.zeta(x) * factor)
    .promoted_by_first(1)
    .with_gradient(|g, [x, s, factor], _| {
        let zero = g.constant(0.0);
        [-g * factor * s * (s + 1.0).zeta(x), zero, zero]
    });

impl Tensor {
    /// Hurwitz' zeta function: the sum of `(q + k)^-x` over k from 0, where x is this tensor
    /// (`torch.special.zeta`). Infinite at its poles; NaN for x below 1, and for negative q with an x
    /// that is no integer.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![2.0, 3.0]?.zeta(1.0)?;
    /// assert_eq!(y.to_string(), "tensor([1.6449, 1.2021])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operands do not broadcast, lie on different devices, or are promoted to halves, for which there
    /// is no such function; this tensor requires a gradient, which neither we nor PyTorch have: [`Tensor::detach`] makes it a constant.
    #[track_caller]
    pub fn zeta<'a>(&self, q: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        expect_constant("zeta", self, "only `q` has one; detach() makes `self` a constant")?;
        ZETA.apply([self.into(), q.into()])
    }

    /// The `n`-th derivative of [`Tensor::digamma`].
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![0.5, 1.0]?.polygamma(2)?;
    /// assert_eq!(y.to_string(), "tensor([-16.8288,  -2.4041])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory is short, or the device failed.
    #[track_caller]
    pub fn polygamma(&self, n: usize) -> Result<Tensor> {
        match n {
            0 => self.digamma(),
            1 => TRIGAMMA.apply([self.into()]),
            n => POLYGAMMA.apply(polygamma_operands(self, n)),
        }
    }

    /// [`Tensor::polygamma`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0]?;
    /// x.polygamma_(2)?;
    /// assert_eq!(x.to_string(), "tensor([-2.4041])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; the tensor cannot be written in place.
    #[track_caller]
    pub fn polygamma_(&self, n: usize) -> Result<Tensor> {
        const OP: &str = "polygamma_";
        match n {
            0 => self.digamma_(),
            1 => TRIGAMMA.apply_in_place(OP, self, [self.into()]),
            n => POLYGAMMA.apply_in_place(OP, self, polygamma_operands(self, n)),
        }
    }

    /// The logarithm of the multivariate gamma function of dimension `p`
    /// (`torch.special.multigammaln`): the sum of [`Tensor::lgamma`] of `x - j / 2` over j below p,
    /// and `p (p - 1) / 4 log(π)`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![2.0, 3.0]?.mvlgamma(2)?;
    /// assert_eq!(y.to_string(), "tensor([0.4516, 1.5502])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `p` is 0; or the tensor times `p` is larger than memory.
    #[track_caller]
    pub fn mvlgamma(&self, p: usize) -> Result<Tensor> {
        mvlgamma("mvlgamma", self, p)
    }

    /// [`Tensor::mvlgamma`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![2.0, 3.0]?;
    /// x.mvlgamma_(2)?;
    /// assert_eq!(x.to_string(), "tensor([0.4516, 1.5502])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mvlgamma`]; the dtype is not a floating one; the tensor cannot be written in
    /// place.
    #[track_caller]
    pub fn mvlgamma_(&self, p: usize) -> Result<Tensor> {
        const OP: &str = "mvlgamma_";
        self.expect_floats(OP)?;
        // The gradient needs the elements as they were.
        let before = if self.requires_grad() { self.clone_data()? } else { self.clone() };
        self.copy_(&mvlgamma(OP, &before, p)?)
    }
}

/// The operands of [`POLYGAMMA`]. The factorial overflows, as the function does.
fn polygamma_operands(x: &Tensor, n: usize) -> [TensorOrScalar<'_>; 3] {
    // Beyond 170 it is infinite in double precision.
    let factorial: f64 = (1..=n.min(171)).map(|k| k as f64).product();
    let factor = if n.is_multiple_of(2) { -factorial } else { factorial };
    [x.into(), (n as f64 + 1.0).into(), factor.into()]
}

#[track_caller]
fn mvlgamma(op: &'static str, x: &Tensor, p: usize) -> Result<Tensor> {
    if p == 0 {
        let why = "there must be at least one dimension";
        return Err(Error::InvalidArgument { op, argument: "p", value: p.to_string(), why });
    }
    let dtype: DType = if x.dtype().is_float() { x.dtype() } else { crate::default_dtype() };
    let shifts = Tensor::arange((0.0, p as f64, 1.0), (dtype, x.device()))?.mul(-0.5)?;
    let p = p as f64;
    // A summand for each dimension is more than what they are computed from.
    recomputed(&[x], move |operands: &[Tensor]| {
        let terms = operands[0].unsqueeze(-1)?.add(&shifts)?.lgamma()?;
        terms.sum(-1)?.add(p * (p - 1.0) / 4.0 * PI.ln())
    })
}
