//! The regularized incomplete gamma functions.

use crate::autograd::is_grad_enabled;
use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Error, Result, Tensor};

static IGAMMA: Pointwise<2> = Pointwise::common("igamma", |[a, x]| a.igamma(x)).of(Kinds::FLOATS);
static IGAMMAC: Pointwise<2> =
    Pointwise::common("igammac", |[a, x]| a.igammac(x)).of(Kinds::FLOATS);

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
        expect_constant("igamma", self)?;
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
        expect_constant("igamma_", self)?;
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
        expect_constant("igammac", self)?;
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
        expect_constant("igammac_", self)?;
        IGAMMAC.apply_in_place("igammac_", self, [self.into(), x.into()])
    }
}

/// Checks that nobody asks for the gradient of a parameter.
#[track_caller]
fn expect_constant(op: &'static str, a: &Tensor) -> Result<()> {
    if !is_grad_enabled() || !a.requires_grad() {
        return Ok(());
    }
    let value = "a tensor that requires a gradient".to_owned();
    let why = "only `x` has one; detach() makes `self` a constant";
    Err(Error::InvalidArgument { op, argument: "self", value, why })
}
