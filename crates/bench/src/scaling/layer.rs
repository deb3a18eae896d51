//! Layers that only cost time: kernels that do nothing, and gradients of the right sizes.

use std::sync::Arc;
use std::time::Duration;

use gpu_runtime::{Function, LaunchConfig};
use nn::{Forward, Module};

use tensor::cuda;
use tensor::{AutogradFunction, BackwardContext, CudaView, Device, ForwardContext, Result, Tensor};

use super::profile::LayerCost;

/// Kernels that do nothing, on each device.
pub(super) struct IdleKernels(Vec<[Function; 2]>);

/// The pass that a kernel is of.
#[derive(Clone, Copy)]
pub(super) enum Pass {
    Forward,
    Backward,
}

impl IdleKernels {
    /// # Errors
    /// A device does not exist.
    pub(super) fn load(devices: usize) -> Result<IdleKernels> {
        let of = |index| {
            let module = cuda::load_module(Device::cuda_at(index), include_str!("idle.ptx"))?;
            Ok([module.function("forward")?, module.function("backward")?])
        };
        (0..devices).map(of).collect::<Result<_>>().map(IdleKernels)
    }

    /// Occupies the device of a tensor, on its current stream, and seems to use the tensors.
    pub(super) fn run(
        &self,
        pass: Pass,
        time: Duration,
        uses: &[CudaView<'_>],
        on: Device,
    ) -> Result<()> {
        let Device::Cuda(Some(index)) = on.resolve()? else { return Ok(()) };
        let kernel = &self.0[index][pass as usize];
        let stream = cuda::current_stream(on)?;
        let nanoseconds = time.as_nanos() as u64;
        CudaView::enqueue(&stream, uses, || {
            // SAFETY: the kernel takes a number and touches no memory.
            unsafe {
                kernel.launch(&stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), (nanoseconds,))
            }
        })
    }
}

/// A layer that costs time and has parameters.
#[derive(Clone, Module)]
pub(super) struct IdleLayer {
    parameters: Vec<Tensor>,
    #[module(buffer)]
    running_mean: Option<Tensor>,
    #[module(buffer)]
    running_var: Option<Tensor>,
    #[module(skip)]
    kernels: Arc<IdleKernels>,
    #[module(skip)]
    cost: LayerCost,
}

/// A network of such layers.
#[derive(Clone, Module)]
pub(super) struct IdleModel {
    layers: Vec<IdleLayer>,
}

impl IdleModel {
    /// The network in memory: of each tensor the `scale`th part.
    ///
    /// # Errors
    /// Memory is short.
    pub(super) fn new(
        layers: &[LayerCost],
        kernels: &Arc<IdleKernels>,
        scale: usize,
    ) -> Result<IdleModel> {
        let zeros =
            |&elements: &usize| Tensor::zeros([elements.div_ceil(scale)], Device::cuda_at(0));
        let layer = |cost: &LayerCost| {
            let trained = |elements| zeros(elements)?.requires_grad_(true);
            Ok(IdleLayer {
                parameters: cost.parameters.iter().map(trained).collect::<Result<_>>()?,
                running_mean: cost.channels.as_ref().map(zeros).transpose()?,
                running_var: cost.channels.as_ref().map(zeros).transpose()?,
                kernels: Arc::clone(kernels),
                cost: cost.clone(),
            })
        };
        Ok(IdleModel { layers: layers.iter().map(layer).collect::<Result<_>>()? })
    }

    /// The loss. `begun` is called with the device's index when the first layer is enqueued.
    ///
    /// # Errors
    /// A device failed.
    pub(super) fn loss(&self, begun: impl FnOnce(usize)) -> Result<Tensor> {
        let (first, rest) = self.layers.split_first().expect("a network has layers");
        let device = first.parameters[0].device();
        let output = first.forward(&Tensor::empty([1], device)?)?;
        if let Device::Cuda(Some(index)) = device {
            begun(index);
        }
        let output = rest.iter().try_fold(output, |input, layer| layer.forward(&input))?;
        output.reshape(())
    }
}

impl Forward for IdleLayer {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let mut inputs = vec![input];
        inputs.extend(&self.parameters);
        let function = TimedLayer { kernels: Arc::clone(&self.kernels), cost: self.cost.clone() };
        Ok(function.apply(&inputs)?.remove(0))
    }
}

/// The operation of a layer.
struct TimedLayer {
    kernels: Arc<IdleKernels>,
    cost: LayerCost,
}

impl AutogradFunction for TimedLayer {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let output = inputs[0].empty_like()?;
        let mut uses = inputs.iter().map(|input| input.cuda_read()).collect::<Result<Vec<_>>>()?;
        uses.push(output.cuda_write()?);
        self.kernels.run(Pass::Forward, self.cost.forward, &uses, output.device())?;
        drop(uses);
        context.save_for_backward(inputs);
        Ok(vec![output])
    }

    fn backward(
        &self,
        context: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let Some(gradient) = &gradients[0] else { return Ok(Vec::new()) };
        let of = |number: usize| match context.needs_input_grad(number) {
            true => context.saved(number)?.empty_like().map(Some),
            false => Ok(None),
        };
        let computed = (0..=self.cost.parameters.len()).map(of).collect::<Result<Vec<_>>>()?;
        let mut uses = vec![gradient.cuda_read()?];
        for gradient in computed.iter().flatten() {
            uses.push(gradient.cuda_write()?);
        }
        self.kernels.run(Pass::Backward, self.cost.backward, &uses, gradient.device())?;
        drop(uses);
        Ok(computed)
    }
}
