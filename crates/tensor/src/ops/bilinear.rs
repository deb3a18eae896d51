//! The bilinear transformation.

use crate::{Error, Result, Tensor};

impl Tensor {
    /// `x W other + bias` for each pair of vectors along the last dimensions, with a matrix of the
    /// weight `[out, in, other]` for each number of the result, whose last size is `out`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (x, other) = (tensor![[1.0, 2.0]]?, tensor![[3.0, 4.0]]?);
    /// let weight = tensor![[[1.0, 0.0], [0.0, 1.0]]]?;
    /// let y = x.bilinear(&other, &weight, Some(&tensor![0.5]?))?;
    /// assert_eq!(y.to_vec::<f32>()?, [11.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The sizes do not fit, or the dimensions before the last differ; the dtypes or devices differ;
    /// the dtype is none that matrices are multiplied in.
    #[track_caller]
    pub fn bilinear(
        &self,
        other: &Tensor,
        weight: &Tensor,
        bias: Option<&Tensor>,
    ) -> Result<Tensor> {
        let (own, theirs) = (self.shape().split_last(), other.shape().split_last());
        let (Some((&inputs, batch)), Some((&others, other_batch)), &[outputs, rows, columns]) =
            (own, theirs, weight.shape())
        else {
            return Err(self.not_bilinear(other, weight, bias));
        };
        let is_bias = |bias: &Tensor| bias.shape() == [outputs];
        if (batch, inputs, others) != (other_batch, rows, columns) || !bias.is_none_or(is_bias) {
            return Err(self.not_bilinear(other, weight, bias));
        }
        let count: usize = batch.iter().product();
        // Both products are of matrices: first with all matrices of the weight side by side.
        let matrices = weight.permute((1, 0, 2))?.reshape([inputs, outputs * others])?;
        let products = self.reshape([count, inputs])?.matmul(&matrices)?;
        let products = products.reshape([count, outputs, others])?;
        let result = products.matmul(&other.reshape([count, others, 1])?)?;
        let mut shape = batch.to_vec();
        shape.push(outputs);
        let result = result.reshape(shape)?;
        match bias {
            Some(bias) => result.add(bias),
            None => Ok(result),
        }
    }

    fn not_bilinear(&self, other: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Error {
        let named = [
            ("self", Some(self)),
            ("other", Some(other)),
            ("weight", Some(weight)),
            ("bias", bias),
        ];
        let there = named.into_iter().filter_map(|(name, x)| Some((name, x?)));
        let shapes = there.map(|(name, x)| (name, x.layout().shape().clone())).collect();
        let rule = "`self` must be [.., in], `other` [.., other], `weight` [out, in, other] and \
                    `bias` [out]";
        Error::ShapeMismatch { op: "bilinear", shapes, rule }
    }
}
