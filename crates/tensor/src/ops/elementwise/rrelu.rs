//! The rectified linear unit whose slopes are random in training.

use crate::ops::operand::TensorOrScalar;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::{Error, Result, Tensor};

static RRELU: Pointwise<2> =
    Pointwise::common("rrelu", |[x, slope]| x.le(0.0).select(x * slope, x))
        .of(Kinds::FLOATS)
        .named(["self", "slope"])
        .with_gradient(|g, [x, slope], _| [x.le(0.0).select(g * slope, g), g.constant(0.0)]);

impl Tensor {
    /// x where it is positive, else x times a slope: in training one of its own for each element, drawn
    /// evenly between `lower` and `upper` from the [generator](crate::generator) of its device, else the
    /// mean of the two, as [`Tensor::leaky_relu`] (1/8, 1/3 and `false` in PyTorch).
    ///
    /// B. Xu et al., "Empirical Evaluation of Rectified Activations in Convolutional Network" (2015).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![-8.0, 2.0]?;
    /// assert_eq!(x.rrelu(0.25, 0.75, false)?.to_vec::<f32>()?, [-4.0, 2.0]);
    /// let y = x.rrelu(0.25, 0.75, true)?.to_vec::<f32>()?;
    /// assert!((-6.0..=-2.0).contains(&y[0]) && y[1] == 2.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A bound is not finite, or `lower` is above `upper`; the dtype is not a floating one.
    #[track_caller]
    pub fn rrelu(&self, lower: f64, upper: f64, training: bool) -> Result<Tensor> {
        const OP: &str = "rrelu";
        expect_bounds(OP, lower, upper)?;
        self.expect_floats(OP)?;
        if !training {
            return self.leaky_relu((lower + upper) / 2.0);
        }
        RRELU.apply([self.into(), (&self.slopes(lower, upper)?).into()])
    }

    /// [`Tensor::rrelu`] in place.
    ///
    /// # Errors
    /// As [`Tensor::rrelu`]; the tensor cannot be written in place, since it requires gradients or its
    /// elements share memory.
    #[track_caller]
    pub fn rrelu_(&self, lower: f64, upper: f64, training: bool) -> Result<Tensor> {
        const OP: &str = "rrelu_";
        expect_bounds(OP, lower, upper)?;
        self.expect_floats(OP)?;
        if !training {
            return self.leaky_relu_((lower + upper) / 2.0);
        }
        let slopes = self.slopes(lower, upper)?;
        let operands: [TensorOrScalar<'_>; 2] = [self.into(), (&slopes).into()];
        RRELU.apply_in_place(OP, self, operands)
    }

    /// Random slopes, one for each element.
    #[track_caller]
    fn slopes(&self, lower: f64, upper: f64) -> Result<Tensor> {
        Tensor::empty(self.shape(), (self.dtype(), self.device()))?.uniform_(lower, upper)
    }
}

fn expect_bounds(op: &'static str, lower: f64, upper: f64) -> Result<()> {
    if lower.is_finite() && upper.is_finite() && lower <= upper {
        return Ok(());
    }
    let (value, why) = (format!("{lower} and {upper}"), "both must be finite, and lower <= upper");
    Err(Error::InvalidArgument { op, argument: "lower and upper", value, why })
}
