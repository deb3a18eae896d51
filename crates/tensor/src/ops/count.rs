//! Counts of numbers and of elements in bins, and classes as rows of zeros with a one.

use std::panic::Location;

use gpu_runtime::at_place;

use crate::{DType, Error, Result, Scalar, Tensor, dispatch, no_grad};

/// Counts, which have no gradient.
impl Tensor {
    /// The number of times that each of 0, 1, .. is there in a vector, as `I64`; or the sums of
    /// the weights that stand beside each, as `F32` if they are that, else as `F64`. There are at
    /// least `minlength` entries, and one for the largest number, which the host waits for.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1, 3, 1]?.bincount(None, 0)?.to_vec::<i64>()?, [0, 2, 0, 1]);
    /// let weights = tensor![0.5, 2.0, 1.0]?;
    /// let sums = tensor![0, 1, 0]?.bincount(Some(&weights), 3)?;
    /// assert_eq!(sums.to_vec::<f32>()?, [1.5, 2.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is no vector of integers, or one is negative; the weights have another shape or
    /// lie on another device.
    #[track_caller]
    pub fn bincount(&self, weights: Option<&Tensor>, minlength: usize) -> Result<Tensor> {
        const OP: &str = "bincount";
        if !self.dtype().is_integer() {
            let (dtype, device) = (self.dtype(), self.device());
            return Err(Error::UnsupportedDType { op: OP, dtype, device });
        }
        let shape = || self.layout().shape().clone();
        if self.dims() != 1 {
            return Err(Error::WrongDims { op: OP, shape: shape(), expected: 1 });
        }
        if self.numel() == 0 {
            return Tensor::zeros([minlength], (DType::I64, self.device()));
        }
        if let Some(weights) = weights {
            dispatch::same_device(OP, &[("self", self), ("weights", weights)])?;
            if weights.shape() != self.shape() {
                let shapes = vec![("self", shape()), ("weights", weights.layout().shape().clone())];
                let rule = "there must be one weight for each number";
                return Err(Error::ShapeMismatch { op: OP, shapes, rule });
            }
        }
        let count = || {
            let numbers = self.detach().to(DType::I64)?;
            let (least, most) = numbers.aminmax(())?;
            let (least, most) = (least.item::<i64>()?, most.item::<i64>()?);
            if least < 0 {
                let why = "numbers that are counted are not negative";
                let value = format!("a vector with {least}");
                return Err(Error::InvalidArgument { op: OP, argument: "self", value, why });
            }
            let ones;
            let added = match weights {
                Some(weights) if weights.dtype() == DType::F32 => weights.detach(),
                Some(weights) => weights.detach().to(DType::F64)?,
                None => {
                    ones = numbers.ones_like()?;
                    ones
                }
            };
            let bins = (most as usize).saturating_add(1).max(minlength);
            Tensor::zeros([bins], (added.dtype(), self.device()))?.scatter_add_(0, &numbers, &added)
        };
        at_place(Location::caller(), || no_grad(count))
    }

    /// The numbers of elements in `bins` bins of equal width from `min` to `max`, in the tensor's
    /// dtype. The last bin has its upper bound; elements outside and NaN are not counted. If the two
    /// bounds are equal, they are the least and the greatest element, which the host waits for.
    ///
    /// ```
    /// use tensor::tensor;
    /// let counts = tensor![0.0, 1.0, 2.0, 4.0]?.histc(4, 0, 4)?;
    /// assert_eq!(counts.to_vec::<f32>()?, [1.0, 1.0, 1.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; there are no bins; `min` is greater than `max`; a bound is
    /// not finite.
    #[track_caller]
    pub fn histc(
        &self,
        bins: usize,
        min: impl Into<Scalar>,
        max: impl Into<Scalar>,
    ) -> Result<Tensor> {
        const OP: &str = "histc";
        self.expect_floats(OP)?;
        let invalid = |argument, value: String, why| {
            Err(Error::InvalidArgument { op: OP, argument, value, why })
        };
        if bins == 0 {
            return invalid("bins", bins.to_string(), "there must be at least one");
        }
        let (mut min, mut max) = (min.into().to_f64(), max.into().to_f64());
        let count = || {
            let x = self.detach().flatten()?;
            if min == max && x.numel() > 0 {
                let (least, greatest) = x.aminmax(())?;
                (min, max) = (least.to(DType::F64)?.item()?, greatest.to(DType::F64)?.item()?);
            }
            if min == max {
                (min, max) = (min - 1.0, max + 1.0);
            }
            if !(min.is_finite() && max.is_finite()) {
                return invalid("min and max", format!("{min}, {max}"), "they must be finite");
            }
            if min > max {
                return invalid("min", format!("{min}"), "it must not be greater than `max`");
            }
            let is_inside = x.ge(min)?.logical_and(&x.le(max)?)?;
            let scale = bins as f64 / (max - min);
            // The last bin as an integer: halves have no 999, and would round it up to no bin.
            let place = Tensor::where_cond(&is_inside, &x.sub(min)?.mul(scale)?, 0)?;
            let place = place.to(DType::I64)?.clamp_max(bins - 1)?;
            Tensor::zeros([bins], (x.dtype(), x.device()))?.scatter_add_(
                0,
                &place,
                &is_inside.to(x.dtype())?,
            )
        };
        at_place(Location::caller(), || no_grad(count))
    }

    /// For each class number a row with a one at its place and zeros elsewhere, as `I64`, along a new
    /// last dimension (`torch.nn.functional.one_hot`). Without `num_classes` there are as many as
    /// the largest number needs, which the host waits for.
    ///
    /// ```
    /// use tensor::tensor;
    /// let rows = tensor![0, 2]?.one_hot(None)?;
    /// assert_eq!(rows.to_vec::<i64>()?, [1, 0, 0, 0, 0, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not `I64`; a number is negative, or not less than `num_classes` (on CUDA that is
    /// an assertion on the device); there are no numbers, and `num_classes` is not given.
    #[track_caller]
    pub fn one_hot(&self, num_classes: Option<usize>) -> Result<Tensor> {
        const OP: &str = "one_hot";
        self.expect_dtype(OP, DType::I64)?;
        let classes = match num_classes {
            Some(classes) => classes,
            None if self.numel() > 0 => {
                usize::try_from(self.detach().max()?.item::<i64>()?.saturating_add(1)).unwrap_or(0)
            }
            None => 0,
        };
        if classes == 0 {
            let (argument, value) = ("num_classes", format!("{num_classes:?}"));
            let why = "there is no class: it must be given, and not be 0, if there are no numbers";
            return Err(Error::InvalidArgument { op: OP, argument, value, why });
        }
        let mut shape = self.shape().to_vec();
        shape.push(classes);
        let rows = || {
            let zeros = Tensor::zeros(shape, (DType::I64, self.device()))?;
            zeros.scatter_(-1, &self.detach().unsqueeze(-1)?, 1)
        };
        at_place(Location::caller(), || no_grad(rows))
    }
}
