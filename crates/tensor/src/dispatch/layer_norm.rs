//! Calls of layer normalisation.

use std::ptr;

use cpu_kernels::layer_norm::{
    LayerNormBackward, LayerNormForward, LayerNormGradients, LayerNormOperands,
};
use gpu_runtime::Access;
use smallvec::SmallVec;

use super::layer_norm_call::LayerNormCall;
use super::{Operands, layer_norm_cuda};
use crate::resolved_device::ResolvedDevice;
use crate::{Result, Shape, Tensor};

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
        let device = self.x.resolved_device();
        if let ResolvedDevice::Cuda(device) = device {
            // SAFETY: all are dense tensors of one device, of the sizes and dtypes that the call says
            // (its condition).
            unsafe { layer_norm_cuda::forward(self, device, &output)? };
            return Ok(output);
        }
        let (kernel, mut tensors) = (self.kernel(), SmallVec::new());
        tensors.push((&output, Access::Write));
        self.add_operands(&mut tensors);
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
        match device {
            // SAFETY: all are dense tensors of one device, of the sizes and dtypes that the call says
            // (its condition), the gradients those of what they are the gradients of.
            ResolvedDevice::Cuda(device) => unsafe {
                layer_norm_cuda::backward(self, device, &gradients, gradient)?;
            },
            ResolvedDevice::Cpu => self.backward_on_cpu(&gradients, gradient)?,
        }
        Ok(gradients)
    }

    #[track_caller]
    fn backward_on_cpu(&self, gradients: &[Option<Tensor>; 3], gradient: &Tensor) -> Result<()> {
        let device = self.x.resolved_device();
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
        let [x, weight, bias] = gradients;
        let places = LayerNormGradients { x: place(x), weight: place(weight), bias: place(bias) };
        // SAFETY: all are dense tensors of the sizes and dtypes that the call says (its condition),
        // the gradients those of what they are the gradients of; they were made here, and the others
        // are held.
        unsafe {
            let call = self.operands(&operands, first + 1);
            let gradient = ptr::with_exposed_provenance(operands.address(first) as usize);
            LayerNormBackward::of(self.kernel()).run(places, gradient, call);
        }
        Ok(())
    }

    fn kernel(&self) -> LayerNormForward {
        assert!(self.is_centered, "{OP}: the CPU has no other kernel");
        LayerNormForward::new(self.x.dtype(), self.parameters).expect("the dtypes were checked")
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
        let (rows, cols) = self.sizes();
        LayerNormOperands {
            x: source(true).expect("there are rows"),
            weight: source(self.weight.is_some()),
            bias: source(self.bias.is_some()),
            rows,
            cols,
            epsilon: self.epsilon,
        }
    }
}

const OP: &str = "layer_norm";

fn target(operands: &Operands<'_>, position: usize) -> *mut u8 {
    ptr::with_exposed_provenance_mut(operands.address(position) as usize)
}
