//! The regularized incomplete gamma functions.

use super::expect_constant;
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Result, Tensor};

static IGAMMA: Pointwise<2> = Pointwise::common("igamma", |[a, x]| a.igamma(x)).of(Kinds::FLOATS);
static IGAMMAC: Pointwise<2> =
    Pointwise::common("igammac", |[a, x]| a.igammac(x)).of(Kinds::FLOATS);

/// The way out for who asks for the gradient of a parameter.
const WHY: &str = "only `x` has one; detach() makes `self` a constant";

/// Both functions are NaN where an operand is negative, and where both are 0 or infinite. A gradient
/// flows to `x` alone. They fail if the operands do not broadcast, lie on different devices, or are no
/// floats; or if this tensor requires a gradient, which neither we nor PyTorch have:
/// [`Tensor::detach`] makes it a constant. Those in place fail as well if the result has another shape
/// than the tensor, or the tensor cannot be written in place.
impl Tensor {
    /// The regularized lower incomplete gamma function of this parameter at `x` (`torch.igamma`): the
    /// integral of `t^(a - 1) exp(-t)` from 0 to x, over that to infinity.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![0.5, 3.0]?.igamma(2.0)?;
    /// assert_eq!(y.to_string(), "tensor([0.9545, 0.3233])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn igamma<'a>(&self, x: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        expect_constant("igamma", self, WHY)?;
        IGAMMA.apply([self.into(), x.into()])
    }

    /// [`Tensor::igamma`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![0.5, 3.0]?;
    /// a.igamma_(2.0)?;
    /// assert_eq!(a.to_string(), "tensor([0.9545, 0.3233])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn igamma_<'a>(&self, x: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        expect_constant("igamma_", self, WHY)?;
        IGAMMA.apply_in_place("igamma_", self, [self.into(), x.into()])
    }

    /// The regularized upper incomplete gamma function of this parameter at `x` (`torch.igammac`): what
    /// [`Tensor::igamma`] lacks to 1, exact where that is next to 1.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![0.5, 3.0]?.igammac(2.0)?;
    /// assert_eq!(y.to_string(), "tensor([0.0455, 0.6767])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn igammac<'a>(&self, x: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        expect_constant("igammac", self, WHY)?;
        IGAMMAC.apply([self.into(), x.into()])
    }

    /// [`Tensor::igammac`] in place.
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![0.5, 3.0]?;
    /// a.igammac_(2.0)?;
    /// assert_eq!(a.to_string(), "tensor([0.0455, 0.6767])");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn igammac_<'a>(&self, x: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        expect_constant("igammac_", self, WHY)?;
        IGAMMAC.apply_in_place("igammac_", self, [self.into(), x.into()])
    }
}
