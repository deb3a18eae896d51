//! An operation of one's own on CUDA, with gradients: `y = x * sigmoid(beta * x)` (swish), whose
//! forward and backward functions are kernels in PTX. It runs on NVIDIA's driver if there is a GPU,
//! else on the software driver.
//!
//! See `docs/operations-of-your-own.md`.

use gpu_runtime::{Availability, DriverChoice, LaunchConfig, Module, availability, choose_driver};
use tensor::{
    AutogradFunction, BackwardContext, CudaView, Device, ForwardContext, Result, Tensor, cuda,
};

/// The kernels. `swish` computes `y = x s` with `s = 1 / (1 + exp(-beta x))`; `swish_backward`
/// computes `g (s + beta x s (1 - s))`. Both take (output, x, g, beta, n); `swish` leaves `g` alone.
const PTX: &str = include_str!("custom_operation.ptx");

struct Swish {
    module: Module,
    beta: f32,
}

impl Swish {
    /// The operation on a device, with its kernels loaded.
    fn on(device: Device, beta: f32) -> Result<Swish> {
        let stream = cuda::current_stream(device)?;
        let module = gpu_runtime::Stream::device(&stream).load(PTX)?;
        Ok(Swish { module, beta })
    }

    /// Runs one of the kernels, and gives its output.
    fn run(&self, kernel: &str, x: &Tensor, grad: &Tensor) -> Result<Tensor> {
        let (x, grad) = (x.contiguous()?, grad.contiguous()?);
        let output = Tensor::empty(x.shape(), x.device())?;
        let stream = cuda::current_stream(x.device())?;
        let kernel = self.module.function(kernel)?;
        let (read, also_read, written) = (x.cuda_read()?, grad.cuda_read()?, output.cuda_write()?);
        let count = x.numel();
        CudaView::enqueue(&stream, &[read, also_read, written], || {
            let pointers = (written.ptr(), read.ptr(), also_read.ptr());
            let arguments = (pointers.0, pointers.1, pointers.2, self.beta, count as u32);
            // SAFETY: the kernels take (output, x, g, beta, n) and use n floats of each, which are
            // dense here.
            unsafe { kernel.launch(&stream, LaunchConfig::for_elements(count), arguments) }
        })?;
        Ok(output)
    }
}

impl AutogradFunction for Swish {
    fn name(&self) -> &'static str {
        "swish"
    }

    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let x = inputs[0];
        context.save_for_backward(&[x]);
        Ok(vec![self.run("swish", x, x)?])
    }

    fn backward(
        &self,
        context: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let x = context.saved(0)?;
        let of_x = |grad: &Tensor| self.run("swish_backward", &x, grad);
        Ok(vec![gradients[0].as_ref().map(of_x).transpose()?])
    }
}

#[allow(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    if let Availability::Unavailable { reason } = availability() {
        println!("{reason}\n-> taking the software driver, with one device");
        choose_driver(DriverChoice::Software { devices: Some(1) })?;
    }
    let x = Tensor::linspace(-3.0, 3.0, 7, Device::cuda())?.requires_grad_(true)?;
    let y = Swish::on(Device::cuda(), 1.5)?.apply(&[&x])?.remove(0);
    println!("y  = {y}");
    y.sum(())?.backward()?;
    let gradient = x.grad().expect("the pass has computed it");
    println!("dx = {gradient}");

    // The same of operations that are there already.
    let again = x.detach().requires_grad_(true)?;
    let expected = again.mul(&again.mul(1.5)?.sigmoid()?)?;
    expected.sum(())?.backward()?;
    assert!(y.allclose(&expected, 1e-5, 1e-6)?);
    assert!(gradient.allclose(&again.grad().expect("so has this one"), 1e-5, 1e-6)?);
    Ok(())
}
