//! The bilinear transformation.

use std::panic::Location;

use gpu_runtime::at_place;

use super::autocast::autocast;
use crate::autograd::{SavedTensor, record};
use crate::{Error, Result, Tensor, no_grad};

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
        let mut shape = batch.to_vec();
        shape.push(outputs);
        let cast = autocast("bilinear", [self, other, weight])?;
        let ([x, other, weight], bias) = (cast.operands(), cast.optional(bias)?);
        let (x, other) = (x.reshape([count, inputs])?, other.reshape([count, others])?);
        let result = product(&x, &other, weight)?.reshape(shape)?;
        match bias {
            Some(bias) => result.add(&*bias),
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

/// `x W other` for each row of `x` `[count, in]` and `other` `[count, other]`, with a matrix of the
/// weight for each number of the result `[count, out]`. Nothing is kept but the operands.
#[track_caller]
fn product(x: &Tensor, other: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let output = at_place(Location::caller(), || {
        no_grad(|| {
            let (outputs, inputs) = (weight.size(0)?, weight.size(1)?);
            let (count, others) = (x.size(0)?, other.size(1)?);
            // Both products are of matrices: first with all matrices of the weight side by side.
            let matrices = weight.permute((1, 0, 2))?.reshape([inputs, outputs * others])?;
            let products = x.matmul(&matrices)?.reshape([count, outputs, others])?;
            Ok::<_, Error>(products.matmul(&other.unsqueeze(-1)?)?.squeeze(-1)?.detach())
        })
    })?;
    Ok(record("bilinear", [x, other, weight], output, |saving| {
        let operands = [x, other, weight].map(|operand| saving.save(operand));
        move |grad: &Tensor, [of_x, of_other, of_weight]: [bool; 3]| {
            let [x, other, weight] =
                [&operands[0], &operands[1], &operands[2]].map(SavedTensor::get);
            let (x, other, weight) = (x?, other?, weight?);
            let gradient_of_weight = || {
                let (outputs, inputs) = (weight.size(0)?, weight.size(1)?);
                let pairs = grad.unsqueeze(2)?.mul(&x.unsqueeze(1)?)?;
                let pairs = pairs.reshape([x.size(0)?, outputs * inputs])?;
                pairs.t()?.matmul(&other)?.reshape(weight.layout().shape())
            };
            Ok([
                of_x.then(|| product(grad, &other, &weight.permute((1, 0, 2))?)).transpose()?,
                of_other.then(|| product(grad, &x, &weight.permute((2, 0, 1))?)).transpose()?,
                of_weight.then(gradient_of_weight).transpose()?,
            ])
        }
    }))
}
