//! `DataParallel`: a module that runs on several devices.

mod error;
mod replicas;

use std::fmt;

use nn::{Forward, Member, MemberMut, Module, Result};
use tensor::{Device, Tensor};

pub use error::DataParallelError;

/// A module whose forward pass runs on several devices (`torch.nn.DataParallel`).
///
/// The input is split along its first dimension into a part for each device (as [`Tensor::chunk`]
/// does it: the last part may be smaller, and a batch smaller than the number of devices uses
/// fewer). Each device gets its part and a replica of the module; the replicas run at the same
/// time, each in a thread; the outputs are joined on the first device.
///
/// Each replica draws random numbers of its own, which follow from the seed and the number of the
/// replica. The first one draws those that the module alone would draw.
///
/// All of this is recorded by autograd. In the backward pass the gradients of the replicas are
/// summed into the parameters, which stay on the first device, in an order that does not depend on
/// the timing of the replicas. With one device, or none, it is the module itself.
///
/// ```
/// use nn::{Forward, Linear, Module};
/// use parallel::DataParallel;
/// use tensor::{Device, Tensor};
/// # gpu_runtime::choose_driver("software:4".parse()?)?;
///
/// let devices = [Device::cuda_at(0), Device::cuda_at(1)];
/// let mut model = Linear::new(3, 2)?;
/// model.to(devices[0])?;
/// let model = DataParallel::new(model, devices)?;
///
/// let output = model.forward(&Tensor::ones([5, 3], devices[0])?)?;
/// assert_eq!((output.shape(), output.device()), (&[5, 2][..], devices[0]));
/// output.sum(())?.backward()?;
/// assert!(model.parameters()[0].grad().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DataParallel<M> {
    module: M,
    devices: Vec<Device>,
}

impl<M: Module + Clone> DataParallel<M> {
    /// A module that runs on `devices`, the first of which has the parameters of `module`.
    ///
    /// # Errors
    /// A device does not exist or is given twice, or a parameter is elsewhere.
    pub fn new(
        module: M,
        devices: impl IntoIterator<Item = Device>,
    ) -> std::result::Result<Self, DataParallelError> {
        let mut resolved: Vec<Device> = Vec::new();
        for device in devices {
            let device = device.resolve()?;
            if resolved.contains(&device) {
                return Err(DataParallelError::DuplicateDevice { device });
            }
            resolved.push(device);
        }
        if let Some(&expected) = resolved.first() {
            let elsewhere = |(_, parameter): &(String, Tensor)| parameter.device() != expected;
            if let Some((name, parameter)) = module.named_parameters().into_iter().find(elsewhere) {
                let found = parameter.device();
                return Err(DataParallelError::ParameterElsewhere { name, found, expected });
            }
        }
        Ok(DataParallel { module, devices: resolved })
    }

    /// The module, whose parameters are those of all replicas.
    pub fn module(&self) -> &M {
        &self.module
    }

    /// Gives the module back.
    pub fn into_module(self) -> M {
        self.module
    }

    /// The devices, with their indices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }
}

/// Its parts are those of the module, under the module's names.
impl<M: Module> Module for DataParallel<M> {
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        self.module.visit(visitor);
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        self.module.visit_mut(visitor)
    }
}

impl<M: Forward<Tensor, Output = Tensor> + Clone> Forward for DataParallel<M> {
    type Output = Tensor;

    /// # Errors
    /// The first error of a replica, or that one panicked.
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let [first, _, ..] = self.devices[..] else {
            return self.module.forward(input);
        };
        let parts = input.chunk(self.devices.len(), 0)?;
        let outputs = replicas::forward(&self.module, &self.devices, &parts)?;
        gather(&outputs, first)
    }
}

impl<M: Module> fmt::Display for DataParallel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let module = self.module.as_module().to_string();
        write!(f, "DataParallel(\n  (module): {}\n)", module.replace('\n', "\n  "))
    }
}

/// Joins the outputs on `device` along the first dimension; scalars become a vector.
fn gather(outputs: &[Tensor], device: Device) -> Result<Tensor> {
    let here = outputs.iter().map(|output| {
        let output = output.to(device)?;
        if output.dims() == 0 { output.unsqueeze(0) } else { Ok(output) }
    });
    let here = here.collect::<Result<Vec<_>>>()?;
    Tensor::cat(&here, 0)
}
