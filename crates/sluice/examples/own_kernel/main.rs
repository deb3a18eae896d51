//! A kernel of one's own on tensors, with its gradient: `y = x * sigmoid(beta * x)` (swish), written
//! in CUDA C++ (`swish.cu`) and compiled by nvcc (`swish.ptx`). It runs on NVIDIA's driver if there
//! is a GPU, else on the software driver.
//!
//! ```sh
//! cargo run --release --example own_kernel
//! CUDA_SIM_CHECK=1 GPU_DRIVER=software:1 cargo run --release --example own_kernel # checks each access
//! ```
//!
//! See `docs/operations-of-your-own.md`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use sluice::autograd::{AutogradFunction, BackwardContext, ForwardContext};
use sluice::cuda::{CudaView, LaunchConfig, Module};
use sluice::prelude::*;

struct Swish {
    module: Module,
    beta: f32,
}

impl Swish {
    /// The operation on a device, with its kernels loaded.
    fn on(device: Device, beta: f32) -> Result<Swish> {
        Ok(Swish { module: cuda::load_module(device, include_str!("swish.ptx"))?, beta })
    }
}

impl AutogradFunction for Swish {
    fn name(&self) -> &'static str {
        "swish"
    }

    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let x = inputs[0].contiguous()?;
        let y = x.empty_like()?;
        let (kernel, stream) = (self.module.function("swish")?, cuda::current_stream(x.device())?);
        let (read, written, count) = (x.cuda_read()?, y.cuda_write()?, x.numel());
        CudaView::enqueue(&stream, &[read, written], || {
            let arguments = (written.ptr(), read.ptr(), self.beta, count as u32);
            // SAFETY: the kernel takes (y, x, beta, n), and uses n floats of each, which are dense.
            unsafe { kernel.launch(&stream, LaunchConfig::for_elements(count), arguments) }
        })?;
        context.save_for_backward(&[&x]);
        Ok(vec![y])
    }

    fn backward(
        &self,
        context: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let Some(dy) = &gradients[0] else { return Ok(vec![None]) };
        let (x, dy) = (context.saved(0)?, dy.contiguous()?);
        let dx = x.empty_like()?;
        let kernel = self.module.function("swish_backward")?;
        let stream = cuda::current_stream(x.device())?;
        let (written, x, dy, count) =
            (dx.cuda_write()?, x.cuda_read()?, dy.cuda_read()?, dx.numel());
        CudaView::enqueue(&stream, &[x, dy, written], || {
            let arguments = (written.ptr(), x.ptr(), dy.ptr(), self.beta, count as u32);
            // SAFETY: the kernel takes (dx, x, dy, beta, n), and uses n floats of each.
            unsafe { kernel.launch(&stream, LaunchConfig::for_elements(count), arguments) }
        })?;
        Ok(vec![Some(dx)])
    }
}

fn main() -> Result<()> {
    if !cuda::is_available() {
        cuda::software(1)?;
    }
    let device = Device::cuda();
    let swish = Swish::on(device, 1.5)?;
    let x = Tensor::linspace(-3.0, 3.0, 7, device)?.requires_grad_(true)?;
    let y = swish.apply(&[&x])?.remove(0);
    println!("y  = {y}");
    y.sum(())?.backward()?;
    let gradient = x.grad().expect("the pass has computed it");
    println!("dx = {gradient}");

    // The same of operations that are there already.
    let again = x.detach().requires_grad_(true)?;
    let expected = (&again * (1.5 * &again)?.sigmoid()?)?;
    expected.sum(())?.backward()?;
    assert!(y.allclose(&expected, 1e-5, 1e-6)?);
    assert!(gradient.allclose(&again.grad().expect("so has this one"), 1e-5, 1e-6)?);
    Ok(())
}
