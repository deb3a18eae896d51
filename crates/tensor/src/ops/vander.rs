//! Powers of the elements of vectors, and flat indices as coordinates.

use crate::{DType, Error, Result, Shape, Tensor};

impl Tensor {
    /// The powers 0 to `n - 1` of each element along a new last dimension (`torch.linalg.vander`): the
    /// matrices of Vandermonde of the vectors in the last dimension. Without `n` they are square.
    /// Those of integers are `I64`, and a number is a vector of one element.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![2, 3]?.vander(Some(3))?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 2, 4, 1, 3, 9]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor is of truth values; `n` is below 2.
    #[track_caller]
    pub fn vander(&self, n: Option<usize>) -> Result<Tensor> {
        const OP: &str = "vander";
        if self.dims() == 0 {
            return self.reshape([1])?.vander(n);
        }
        if self.dtype() == DType::Bool {
            let (dtype, device) = (self.dtype(), self.device());
            return Err(Error::UnsupportedDType { op: OP, dtype, device });
        }
        let n = n.unwrap_or(self.shape()[self.dims() - 1]);
        if n < 2 {
            let why = "there must be two powers or more";
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "n",
                value: n.to_string(),
                why,
            });
        }
        let repeated = self.unsqueeze(-1)?;
        let shape: Shape = repeated.layout().shape().with(self.dims(), n - 1);
        let powers = repeated.expand(&shape)?.cumprod(-1)?;
        let shape: Shape = shape.with(self.dims(), 1);
        let ones = Tensor::ones(shape, (powers.dtype(), self.device()))?;
        Tensor::cat([&ones, &powers], -1)
    }

    /// The coordinates, in a tensor of a shape, of elements with these numbers in row-major order: a
    /// tensor of `I64` for each dimension. Numbers are taken modulo the number of elements.
    ///
    /// ```
    /// use tensor::tensor;
    /// let places = tensor![5, 0]?.unravel_index([2, 3])?;
    /// assert_eq!(places[0].to_vec::<i64>()?, [1, 0]);
    /// assert_eq!(places[1].to_vec::<i64>()?, [2, 0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not an integer one; the shape has more elements than numbers.
    #[track_caller]
    pub fn unravel_index(&self, shape: impl Into<Shape>) -> Result<Vec<Tensor>> {
        const OP: &str = "unravel_index";
        if !self.dtype().is_integer() {
            let (dtype, device) = (self.dtype(), self.device());
            return Err(Error::UnsupportedDType { op: OP, dtype, device });
        }
        let shape: Shape = shape.into();
        let fits = shape.checked_numel().filter(|&numel| i64::try_from(numel).is_ok());
        if fits.is_none() {
            return Err(Error::TooLarge { shape, dtype: self.dtype() });
        }
        let numbers = self.to(DType::I64)?;
        let mut below = 1;
        let mut places = Vec::with_capacity(shape.len());
        for &size in shape.iter().rev() {
            places.push(numbers.floor_divide(below)?.remainder(size)?);
            below *= size;
        }
        places.reverse();
        Ok(places)
    }
}
