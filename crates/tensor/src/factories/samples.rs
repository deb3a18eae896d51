//! Samples whose probabilities, means or deviations are tensors.

use crate::autograd::record;
use crate::promote::promote;
use crate::random::expect;
use crate::{DType, Error, Result, Tensor, TensorOrScalar, dispatch, keepdim, no_grad};

/// Samples of distributions with a parameter for each element, drawn from the
/// [generator](crate::generator) of the device. They have no gradient, or one of zeros.
impl Tensor {
    /// Ones with the probabilities that are the tensor's elements, and zeros, in its dtype.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![0.0, 1.0]?.bernoulli()?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; a probability is not in [0, 1], which is looked at on the CPU
    /// only.
    #[track_caller]
    pub fn bernoulli(&self) -> Result<Tensor> {
        const OP: &str = "bernoulli";
        self.expect_floats(OP)?;
        let chances = self.detach();
        if !self.is_cuda() && self.numel() > 0 {
            let (least, most) = chances.to(DType::F64)?.aminmax(())?;
            let (least, most) = (least.item::<f64>()?, most.item::<f64>()?);
            let holds = least >= 0.0 && most <= 1.0;
            let wrong = if (0.0..=1.0).contains(&least) { most } else { least };
            expect(OP, "self", wrong, holds, "a probability must lie in [0, 1]")?;
        }
        let width = if self.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
        let drawn = chances.rand_like_with(width)?;
        let ones = no_grad(|| drawn.lt(&chances)?.to(self.dtype()))?;
        Ok(record(OP, [self], ones, |_| |grad: &Tensor, _| Ok([Some(grad.zeros_like()?)])))
    }

    /// The numbers of `num_samples` elements of each row, drawn with probabilities in proportion to the
    /// elements, as `I64`. Without `replacement` no element is drawn twice. The tensor is one row, or
    /// several; the host waits for a look at its elements.
    ///
    /// ```
    /// use tensor::tensor;
    /// let chosen = tensor![0.0, 2.0, 0.0]?.multinomial(4, true)?;
    /// assert_eq!(chosen.to_vec::<i64>()?, [1, 1, 1, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; the tensor has not one or two dimensions; there are no samples
    /// to draw, or more than elements, without replacement; an element is negative or not finite, or
    /// all in a row are zero.
    #[track_caller]
    pub fn multinomial(&self, num_samples: usize, replacement: bool) -> Result<Tensor> {
        const OP: &str = "multinomial";
        self.expect_floats(OP)?;
        if !matches!(self.dims(), 1 | 2) {
            let shape = self.layout().shape().clone();
            return Err(Error::WrongDims { op: OP, shape, expected: 2 });
        }
        let count = self.shape()[self.dims() - 1];
        let most = if replacement && count > 0 { usize::MAX } else { count };
        let enough = (1..=most).contains(&num_samples);
        let why = "it is not 0, nor without replacement more than there are elements";
        expect(OP, "num_samples", num_samples as f64, enough, why)?;
        no_grad(|| {
            let weights = self.detach().to(DType::F64)?;
            check_weights(OP, &weights)?;
            if !replacement {
                // The first arrivals of independent processes whose rates are the weights.
                let arrivals = weights.empty_like()?.exponential_(1.0)?;
                return Ok(weights.div(&arrivals)?.topk(num_samples, -1, true)?.1);
            }
            let ends = weights.cumsum(-1)?;
            let total = ends.narrow(-1, count - 1, 1)?;
            let shape = total.layout().shape().with(self.dims() - 1, num_samples);
            let drawn = Tensor::rand(shape, (DType::F64, self.device()))?.mul(&total)?;
            // A product that is rounded up to the end would be in no element.
            let below = total.nextafter(&total.zeros_like()?)?;
            ends.searchsorted(&drawn.minimum(&below)?, true, None)
        })
    }

    /// Normally distributed numbers with means and standard deviations that are tensors, broadcast, or
    /// one of them a number; for two numbers there is [`Tensor::normal_`].
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let x = Tensor::normal(&tensor![1.0, 5.0]?, 0.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 5.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Both are numbers; a dtype is not a floating one; the two do not broadcast, or lie on different
    /// devices; a deviation that is a number is negative.
    #[track_caller]
    pub fn normal<'a, 'b>(
        mean: impl Into<TensorOrScalar<'a>>,
        std: impl Into<TensorOrScalar<'b>>,
    ) -> Result<Tensor> {
        const OP: &str = "normal";
        let (mean, std) = (mean.into(), std.into());
        if let TensorOrScalar::Scalar(deviation) = std {
            let deviation = deviation.to_f64();
            expect(OP, "std", deviation, deviation >= 0.0, "it must not be negative")?;
        }
        let named = [("mean", mean.tensor()), ("std", std.tensor())];
        let tensors: Vec<_> =
            named.iter().filter_map(|&(name, tensor)| Some((name, tensor?.detach()))).collect();
        let borrowed: Vec<_> = tensors.iter().map(|(name, tensor)| (*name, tensor)).collect();
        dispatch::same_device(OP, &borrowed)?;
        let shape_of = match &*tensors {
            [] => {
                let (argument, value) = ("mean", format!("{mean:?}"));
                let why = "one of the two must be a tensor, which has a shape";
                return Err(Error::InvalidArgument { op: OP, argument, value, why });
            }
            [(_, one)] => one.clone(),
            [(_, one), (_, other), ..] => Tensor::broadcast_tensors([one, other])?.swap_remove(0),
        };
        tensors.iter().try_for_each(|(_, tensor)| tensor.expect_floats(OP))?;
        let dtypes = tensors.iter().map(|(_, tensor)| tensor.dtype());
        let dtype = dtypes.reduce(promote).expect("there is one");
        let drawn = Tensor::randn(shape_of.layout().shape(), (dtype, shape_of.device()))?;
        no_grad(|| drawn.mul(std)?.add(mean)?.to(dtype))
    }
}

/// Checks the weights of a draw.
#[track_caller]
fn check_weights(op: &'static str, weights: &Tensor) -> Result<()> {
    if weights.numel() == 0 {
        return Ok(());
    }
    let (least, most) = weights.aminmax(())?;
    let (least, most) = (least.item::<f64>()?, most.item::<f64>()?);
    let wrong = if most.is_finite() { least } else { most };
    let holds = least >= 0.0 && most.is_finite();
    expect(op, "self", wrong, holds, "a probability is finite and not negative")?;
    let smallest = weights.sum(keepdim(-1))?.min()?.item::<f64>()?;
    expect(op, "self", smallest, smallest > 0.0, "the probabilities of a row must not all be zero")
}
