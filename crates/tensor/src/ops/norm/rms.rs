//! Normalisation by the root of the mean square.

use std::panic::Location;

use gpu_runtime::at_place;
use smallvec::SmallVec;

use super::parameters::expect_normalized_shape;
use crate::autograd::{SavedTensor, record_many};
use crate::dims::{ReduceDims, keepdim};
use crate::dispatch::LayerNormCall;
use crate::ops::autocast;
use crate::ops::convert::dense;
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
        let cast = autocast(OP, [self])?;
        let ([own], weight) = (cast.operands(), cast.optional(weight)?);
        let weight = weight.as_deref();
        expect_normalized_shape(OP, own, normalized_shape, [("weight", weight), ("bias", None)])?;
        let epsilon = epsilon.into().unwrap_or_else(|| epsilon_of(own.dtype()));
        let norm = RmsNorm { dims: normalized_shape.len(), epsilon, dtype: own.dtype() };
        let compute = || norm.forward(&own.detach(), weight.map(Tensor::detach).as_ref());
        let (output, rrms) = at_place(Location::caller(), || no_grad(compute))?;
        let inputs: SmallVec<[&Tensor; 2]> = [Some(own), weight].into_iter().flatten().collect();
        Ok(record_many(OP, &inputs, output, |saving| {
            let x = saving.save(own);
            let rrms = rrms.map(|rrms| saving.save(&rrms));
            let has_weight = weight.is_some();
            let parameters = weight.map_or(own.dtype(), Tensor::dtype);
            let weight = weight.filter(|_| saving.needs(0)).map(|weight| saving.save(weight));
            move |grad: &Tensor, needs: &[bool]| {
                let x = x.get()?;
                let weight = weight.as_ref().map(SavedTensor::get).transpose()?;
                let needs = [needs[0], has_weight && needs[1]];
                let mut gradients = match (is_grad_enabled(), &rrms) {
                    (false, None) => norm.at_once(grad, &x, weight.as_ref(), parameters, needs)?,
                    (false, Some(rrms)) => {
                        norm.composed(grad, &x, weight.as_ref(), &rrms.get()?, parameters, needs)?
                    }
                    (true, _) => {
                        let rrms = norm.rrms(&x)?;
                        norm.composed(grad, &x, weight.as_ref(), &rrms, parameters, needs)?
                    }
                };
                gradients.truncate(if has_weight { 2 } else { 1 });
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

    /// The result, and, where the gradients are computed from it, one over the root of the mean
    /// square.
    #[track_caller]
    fn forward(self, x: &Tensor, weight: Option<&Tensor>) -> Result<(Tensor, Option<Tensor>)> {
        if x.is_cuda() {
            let parameters = weight.map_or(x.dtype(), Tensor::dtype);
            let call = |x: &Tensor, weight: Option<&Tensor>| {
                self.call(x, weight, parameters).forward().map(|output| (output, None))
            };
            return self.with_dense(x, weight, call);
        }
        let rrms = self.rrms(x)?;
        let operands = [x.into(), (&rrms).into(), factor(weight)];
        Ok((NORMALIZED.compute(rrms.dtype(), self.dtype, operands)?, Some(rrms)))
    }

    /// The gradients of `x` and the weight by CUDA's kernels.
    #[track_caller]
    fn at_once(
        self,
        grad: &Tensor,
        x: &Tensor,
        weight: Option<&Tensor>,
        parameters: DType,
        [of_x, of_weight]: [bool; 2],
    ) -> Result<SmallVec<[Option<Tensor>; 3]>> {
        let grad = dense(grad, x.dtype())?;
        let [of_x, of_weight, _] = self.with_dense(x, weight, |x, weight| {
            self.call(x, weight, parameters).backward(&grad, [of_x, of_weight, false])
        })?;
        Ok(smallvec::smallvec![of_x, of_weight])
    }

    /// The gradients by other operations.
    #[track_caller]
    fn composed(
        self,
        grad: &Tensor,
        x: &Tensor,
        weight: Option<&Tensor>,
        rrms: &Tensor,
        parameters: DType,
        [of_x, of_weight]: [bool; 2],
    ) -> Result<SmallVec<[Option<Tensor>; 3]>> {
        let gradient_of_weight = || {
            let operands = [grad.into(), x.into(), rrms.into()];
            let products = PRODUCT.apply_in(rrms.dtype(), rrms.dtype(), operands)?;
            products.sum_to_size(&grad.shape()[grad.dims() - self.dims..])?.to(parameters)
        };
        let gradient_of_x = || self.gradient(grad, x, weight, rrms);
        Ok(smallvec::smallvec![
            of_x.then(gradient_of_x).transpose()?,
            of_weight.then(gradient_of_weight).transpose()?
        ])
    }

    fn with_dense<R>(
        self,
        x: &Tensor,
        weight: Option<&Tensor>,
        call: impl FnOnce(&Tensor, Option<&Tensor>) -> Result<R>,
    ) -> Result<R> {
        let weight = weight.map(|weight| dense(weight, weight.dtype())).transpose()?;
        call(&dense(x, x.dtype())?, weight.as_ref())
    }

    fn call<'a>(
        self,
        x: &'a Tensor,
        weight: Option<&'a Tensor>,
        parameters: DType,
    ) -> LayerNormCall<'a> {
        let RmsNorm { dims, epsilon, .. } = self;
        LayerNormCall { x, weight, bias: None, parameters, dims, epsilon, is_centered: false }
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
