//! Calls of layer normalisation.
//!
//! It has kernels on the CPU only; on CUDA it is composed of other operations.

use std::ptr;

use cpu_kernels::layer_norm::{
    LayerNorm, LayerNormBackward, LayerNormGradients, LayerNormOperands,
};
use gpu_runtime::Access;
use smallvec::SmallVec;

use super::Operands;
use crate::{DType, Result, Shape, Tensor};

/// The operands of a layer normalisation on the CPU: dense tensors.
pub(crate) struct LayerNormCall<'a> {
    pub(crate) x: &'a Tensor,
    /// The parameters, of the shape of the dimensions that are normalised together.
    pub(crate) weight: Option<&'a Tensor>,
    pub(crate) bias: Option<&'a Tensor>,
    /// The dtype of the parameters, which is computed in the same type as the rows.
    pub(crate) parameters: DType,
    /// The number of dimensions, the last ones, that are normalised together.
    pub(crate) dims: usize,
    pub(crate) epsilon: f64,
}

impl LayerNormCall<'_> {
    /// The normalised rows, times weight, plus bias.
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub(crate) fn forward(&self) -> Result<Tensor> {
        let output = Tensor::uninit_like(self.x, self.x.dtype())?;
        if output.numel() == 0 {
            return Ok(output);
        }
        let (kernel, mut tensors) = (self.kernel(), SmallVec::new());
        tensors.push((&output, Access::Write));
        self.add_operands(&mut tensors);
        let device = self.x.resolved_device();
        let operands = Operands::hold_for_new(OP, device, &tensors)?;
        // SAFETY: all are dense tensors of the sizes and dtypes that the call says (its condition);
        // the output was made here, and the others are held.
        unsafe { kernel.run(target(&operands, 0), self.operands(&operands, 1)) };
        drop(operands);
        drop(tensors);
        Ok(output)
    }

    /// The gradients of rows, weight and bias that are asked for, from that of the results, which is
    /// dense and of the rows' dtype.
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub(crate) fn backward(
        &self,
        gradient: &Tensor,
        needs: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let device = self.x.resolved_device();
        let mut gradients = [const { None }; 3];
        for (position, slot) in gradients.iter_mut().enumerate().filter(|(at, _)| needs[*at]) {
            let (shape, dtype) = match position {
                0 => (self.x.layout().shape().clone(), self.x.dtype()),
                _ => (Shape::from(self.normalized_shape()), self.parameters),
            };
            *slot = Some(Tensor::uninit(shape, dtype, device)?);
        }
        let mut tensors: SmallVec<[(&Tensor, Access); 8]> =
            gradients.iter().flatten().map(|gradient| (gradient, Access::Write)).collect();
        let first = tensors.len();
        tensors.push((gradient, Access::Read));
        self.add_operands(&mut tensors);
        let operands = Operands::hold_for_outputs(OP, device, &tensors, first)?;
        let mut outputs = 0..first;
        let mut place = |gradient: &Option<Tensor>| {
            gradient.as_ref().and_then(|_| Some(target(&operands, outputs.next()?)))
        };
        let [x, weight, bias] = &gradients;
        let places = LayerNormGradients { x: place(x), weight: place(weight), bias: place(bias) };
        // SAFETY: all are dense tensors of the sizes and dtypes that the call says (its condition),
        // the gradients those of what they are the gradients of; they were made here, and the others
        // are held.
        unsafe {
            let call = self.operands(&operands, first + 1);
            let gradient = ptr::with_exposed_provenance(operands.address(first) as usize);
            LayerNormBackward::of(self.kernel()).run(places, gradient, call);
        }
        drop(operands);
        drop(tensors);
        Ok(gradients)
    }

    fn kernel(&self) -> LayerNorm {
        LayerNorm::new(self.x.dtype(), self.parameters).expect("the dtypes were checked")
    }

    fn normalized_shape(&self) -> &[usize] {
        &self.x.shape()[self.x.dims() - self.dims..]
    }

    fn add_operands<'a>(&'a self, tensors: &mut SmallVec<[(&'a Tensor, Access); 8]>) {
        let all = [Some(self.x), self.weight, self.bias];
        tensors.extend(all.into_iter().flatten().map(|operand| (operand, Access::Read)));
    }

    /// The operands as the kernel takes them, of which `x` has the position `first`.
    fn operands(&self, operands: &Operands<'_>, first: usize) -> LayerNormOperands {
        let mut positions = first..;
        let mut source = |is_there: bool| {
            let position = is_there.then(|| positions.next()).flatten()?;
            Some(ptr::with_exposed_provenance(operands.address(position) as usize))
        };
        let cols = self.normalized_shape().iter().product();
        LayerNormOperands {
            x: source(true).expect("there are rows"),
            weight: source(self.weight.is_some()),
            bias: source(self.bias.is_some()),
            rows: self.x.numel().checked_div(cols).unwrap_or(0),
            cols,
            epsilon: self.epsilon,
        }
    }
}

const OP: &str = "layer_norm";

fn target(operands: &Operands<'_>, position: usize) -> *mut u8 {
    ptr::with_exposed_provenance_mut(operands.address(position) as usize)
}
