//! Layer normalisation.

use std::panic::Location;

use gpu_runtime::at_place;
use smallvec::SmallVec;

use super::parameters::expect_normalized_shape;
use crate::autograd::{SavedTensor, record_many};
use crate::dims::keepdim;
use crate::dispatch::LayerNormCall;
use crate::ops::autocast;
use crate::ops::convert::dense;
use crate::ops::scan::widened;
use crate::{DType, Result, Tensor, is_grad_enabled};

const OP: &str = "layer_norm";

/// Normalisation, of floats only.
impl Tensor {
    /// Layer normalisation: brings the elements of the last dimensions, which are those of
    /// `normalized_shape`, to mean 0 and variance 1 together, and applies `weight * x + bias`. The
    /// variance is that of a whole population; `epsilon` is added to it (PyTorch's default is 1e-5).
    ///
    /// Halves are computed in `F32`, and may have parameters of `F32`. For the gradients nothing is
    /// kept but the operands. On CUDA the work is enqueued.
    ///
    /// J. Ba, J. Kiros, G. Hinton: "Layer Normalization" (2016).
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 3.0], [8.0, 4.0]]?;
    /// let y = x.layer_norm(&[2], Some(&tensor![1.0, 10.0]?), None, 0.0)?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 10.0, 1.0, -10.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `normalized_shape` is empty, or not that of the last dimensions; a parameter has another
    /// shape, lies on another device, or is of another dtype than the tensor and not `F32` beside
    /// halves; the parameters are of different dtypes; the tensor is of no floats.
    #[track_caller]
    pub fn layer_norm(
        &self,
        normalized_shape: &[usize],
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f64,
    ) -> Result<Tensor> {
        let cast = autocast(OP, [self])?;
        let [own] = cast.operands();
        let (weight, bias) = (cast.optional(weight)?, cast.optional(bias)?);
        let (weight, bias) = (weight.as_deref(), bias.as_deref());
        expect_normalized_shape(OP, own, normalized_shape, [("weight", weight), ("bias", bias)])?;
        let norm = Norm { dims: normalized_shape.len(), epsilon };
        let output = norm.forward(own, weight, bias)?;
        let inputs: SmallVec<[&Tensor; 3]> =
            [Some(own), weight, bias].into_iter().flatten().collect();
        Ok(record_many(OP, &inputs, output, |saving| {
            let (has_weight, has_bias) = (weight.is_some(), bias.is_some());
            let of_x = saving.needs(0);
            let x = (of_x || (has_weight && saving.needs(1))).then(|| saving.save(own));
            let factor = weight.filter(|_| of_x).map(|weight| saving.save(weight));
            let parameters = weight.or(bias).map_or(own.dtype(), Tensor::dtype);
            move |grad: &Tensor, needs: &[bool]| {
                let of_bias = has_bias && needs[1 + usize::from(has_weight)];
                let needs = [needs[0], has_weight && needs[1], of_bias];
                let gradients = match &x {
                    Some(x) => {
                        let weight = factor.as_ref().map(SavedTensor::get).transpose()?;
                        let gradients =
                            NormGradients { norm, grad, x: x.get()?, weight, parameters };
                        gradients.of(needs)?
                    }
                    // Only that of the bias is needed.
                    None => [None, None, of_bias.then(|| grad.clone())],
                };
                let is_there = [true, has_weight, has_bias];
                let there = gradients.into_iter().zip(is_there).filter(|(_, is_there)| *is_there);
                Ok(there.map(|(gradient, _)| gradient).collect())
            }
        }))
    }
}

/// A layer normalisation.
#[derive(Clone, Copy)]
struct Norm {
    /// The number of dimensions, the last ones, that are normalised together.
    dims: usize,
    epsilon: f64,
}

impl Norm {
    /// The dimensions, as operations take them.
    fn over(self) -> Vec<isize> {
        (0..self.dims).map(|dim| -1 - dim as isize).collect()
    }

    /// The result, without history.
    #[track_caller]
    fn forward(self, x: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Result<Tensor> {
        let compute = || {
            let [x, weight, bias] = [Some(x), weight, bias].map(|x| x.map(Tensor::detach));
            let x = x.expect("it is there");
            let dense_parameter = |x: &Tensor| dense(x, x.dtype());
            let weight = weight.as_ref().map(dense_parameter).transpose()?;
            let bias = bias.as_ref().map(dense_parameter).transpose()?;
            let parameters = weight.as_ref().or(bias.as_ref()).map_or(x.dtype(), Tensor::dtype);
            let Norm { dims, epsilon } = self;
            let (weight, bias) = (weight.as_ref(), bias.as_ref());
            let x = &dense(&x, x.dtype())?;
            let is_centered = true;
            LayerNormCall { x, weight, bias, parameters, dims, epsilon, is_centered }.forward()
        };
        at_place(Location::caller(), compute)
    }
}

/// The operands that the gradients of a layer normalisation are computed from.
struct NormGradients<'a> {
    norm: Norm,
    /// The gradient of the result.
    grad: &'a Tensor,
    x: Tensor,
    weight: Option<Tensor>,
    /// The dtype of the parameters.
    parameters: DType,
}

impl NormGradients<'_> {
    /// The gradients that are needed of `x`, the weight and the bias.
    #[track_caller]
    fn of(&self, needs: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        if is_grad_enabled() {
            return self.composed(needs);
        }
        let compute = || {
            let of_weight = |weight: &Tensor| dense(weight, weight.dtype());
            let weight = self.weight.as_ref().map(of_weight).transpose()?;
            let Norm { dims, epsilon } = self.norm;
            let (x, weight) = (&dense(&self.x, self.x.dtype())?, weight.as_ref());
            let parameters = self.parameters;
            let (bias, is_centered) = (None, true);
            let call = LayerNormCall { x, weight, bias, parameters, dims, epsilon, is_centered };
            call.backward(&dense(self.grad, x.dtype())?, needs)
        };
        at_place(Location::caller(), compute)
    }

    /// The gradients by recorded operations. Those of the parameters are broadcast.
    #[track_caller]
    fn composed(&self, [of_x, of_weight, of_bias]: [bool; 3]) -> Result<[Option<Tensor>; 3]> {
        let dims = self.norm.over();
        let (x, grad) = (widened(&self.x)?, widened(self.grad)?);
        let distance = x.sub(&x.mean(keepdim(&dims))?)?;
        let variance = distance.square()?.mean(keepdim(&dims))?;
        let rstd = variance.add(self.norm.epsilon)?.rsqrt()?;
        let normalized = distance.mul(&rstd)?;
        let gradient_of_x = || {
            let weighted = match &self.weight {
                Some(weight) => grad.mul(&widened(weight)?)?,
                None => grad.clone(),
            };
            let mean = weighted.mean(keepdim(&dims))?;
            let product = weighted.mul(&normalized)?.mean(keepdim(&dims))?;
            weighted.sub(&mean)?.sub(&normalized.mul(&product)?)?.mul(&rstd)
        };
        let gradients = [
            of_x.then(gradient_of_x).transpose()?,
            of_weight.then(|| grad.mul(&normalized)).transpose()?,
            of_bias.then(|| grad.clone()),
        ];
        Ok(gradients)
    }
}
