//! Normalisation by the root of the mean square.

use std::panic::Location;

use gpu_runtime::at_place;
use smallvec::SmallVec;

use super::parameters::expect_normalized_shape;
use crate::autograd::{SavedTensor, record_many};
use crate::dims::{ReduceDims, keepdim};
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::ops::scan::widened;
use crate::{DType, Result, Tensor, is_grad_enabled, no_grad};

const OP: &str = "rms_norm";

static NORMALIZED: Pointwise<3> =
    Pointwise::common(OP, |[x, rrms, weight]| x * rrms * weight).of(Kinds::FLOATS);

static PRODUCT: Pointwise<3> =
    Pointwise::common("rms_norm_backward", |[a, b, c]| a * b * c).of(Kinds::FLOATS);

/// The gradient of an element, from that of the result.
static OF_X: Pointwise<5> =
    Pointwise::common("rms_norm_backward", |[grad, weight, rrms, x, along]| {
        grad * weight * rrms - x * along
    })
    .of(Kinds::FLOATS);

impl Tensor {
    /// Divides the elements of the last dimensions, which are those of `normalized_shape`, by the
    /// root of the mean of their squares, and applies `weight * x`. `epsilon` is added to the mean;
    /// without one it is that of the dtype that is computed in. Halves are computed in `F32`.
    ///
    /// B. Zhang, R. Sennrich: "Root Mean Square Layer Normalization" (NeurIPS 2019).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, -7.0]]?;
    /// let y = x.rms_norm(&[2], Some(&tensor![5.0, 50.0]?), 0.0)?;
    /// assert!(y.allclose(&tensor![[1.0, -70.0]]?, 1e-5, 0.0)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `normalized_shape` is empty, or not that of the last dimensions; the weight has another shape,
    /// lies on another device, or is of another dtype than the tensor and not `F32` beside halves;
    /// the tensor is of no floats.
    #[track_caller]
    pub fn rms_norm(
        &self,
        normalized_shape: &[usize],
        weight: Option<&Tensor>,
        epsilon: impl Into<Option<f64>>,
    ) -> Result<Tensor> {
        expect_normalized_shape(OP, self, normalized_shape, [("weight", weight), ("bias", None)])?;
        let epsilon = epsilon.into().unwrap_or_else(|| epsilon_of(self.dtype()));
        let norm = RmsNorm { dims: normalized_shape.len(), epsilon, dtype: self.dtype() };
        let compute = || {
            let rrms = norm.rrms(&self.detach())?;
            let weight = weight.map(Tensor::detach);
            let operands = [self.into(), (&rrms).into(), factor(weight.as_ref())];
            Ok::<_, crate::Error>((NORMALIZED.compute(rrms.dtype(), self.dtype(), operands)?, rrms))
        };
        let (output, rrms) = at_place(Location::caller(), || no_grad(compute))?;
        let inputs: SmallVec<[&Tensor; 2]> = [Some(self), weight].into_iter().flatten().collect();
        Ok(record_many(OP, &inputs, output, |saving| {
            let [x, rrms] = [self, &rrms].map(|x| saving.save(x));
            let (has_weight, needs_x) = (weight.is_some(), saving.needs(0));
            let weight_dtype = weight.map_or(self.dtype(), Tensor::dtype);
            let weight = weight.filter(|_| needs_x).map(|weight| saving.save(weight));
            move |grad: &Tensor, needs: &[bool]| {
                let x = x.get()?;
                let rrms = if is_grad_enabled() { norm.rrms(&x)? } else { rrms.get()? };
                let weight = weight.as_ref().map(SavedTensor::get).transpose()?;
                let of_x = || norm.gradient(grad, &x, weight.as_ref(), &rrms);
                let of_weight = || {
                    let operands = [grad.into(), (&x).into(), (&rrms).into()];
                    let products = PRODUCT.apply_in(rrms.dtype(), rrms.dtype(), operands)?;
                    let own = &grad.shape()[grad.dims() - norm.dims..];
                    products.sum_to_size(own)?.to(weight_dtype)
                };
                let mut gradients = smallvec::smallvec![needs[0].then(of_x).transpose()?];
                if has_weight {
                    gradients.push(needs[1].then(of_weight).transpose()?);
                }
                Ok(gradients)
            }
        }))
    }
}

#[derive(Clone, Copy)]
struct RmsNorm {
    /// The number of dimensions, the last ones, that are normalised together.
    dims: usize,
    epsilon: f64,
    dtype: DType,
}

impl RmsNorm {
    /// The dimensions, which stay.
    fn over(self) -> ReduceDims {
        keepdim((0..self.dims).map(|dim| -1 - dim as isize).collect::<Vec<_>>())
    }

    /// One over the root of the mean square.
    #[track_caller]
    fn rrms(self, x: &Tensor) -> Result<Tensor> {
        widened(x)?.square()?.mean(self.over())?.add(self.epsilon)?.rsqrt()
    }

    #[track_caller]
    fn gradient(
        self,
        grad: &Tensor,
        x: &Tensor,
        weight: Option<&Tensor>,
        rrms: &Tensor,
    ) -> Result<Tensor> {
        let computed = rrms.dtype();
        let operands = [grad.into(), x.into(), factor(weight)];
        let product = PRODUCT.apply_in(computed, computed, operands)?.mean(self.over())?;
        let along = product.mul(&rrms.square()?.mul(rrms)?)?;
        let operands = [grad.into(), factor(weight), rrms.into(), x.into(), (&along).into()];
        OF_X.apply_in(computed, self.dtype, operands)
    }
}

/// The weight, or 1.
fn factor(weight: Option<&Tensor>) -> crate::TensorOrScalar<'_> {
    weight.map_or(1.0.into(), Into::into)
}

/// The distance from 1 to the next number of the dtype that is computed in.
fn epsilon_of(dtype: DType) -> f64 {
    if dtype == DType::F64 { f64::EPSILON } else { f32::EPSILON.into() }
}
