//! The module: a function with parameters that can be named, moved and saved.

use tensor::{Device, Tensor};

use crate::Result;
use crate::state::{self, StateDict, StateError};

/// A module: a function from tensor to tensor, with parameters (`torch.nn.Module`).
///
/// An implementation names its parameters in [`visit`](Module::visit) and
/// [`visit_mut`](Module::visit_mut), in the same order; all other methods but
/// [`forward`](Module::forward) are provided.
///
/// Parameters are tensors, and tensors are handles: a clone of a module *shares* its parameters.
/// Moving a module to another device with [`to`](Module::to) replaces them by new tensors, so build
/// the optimizer after the module was moved. The step of an optimizer that was built before is an
/// error.
///
/// ```
/// use nn::{Linear, Module, Result};
/// use tensor::Tensor;
///
/// #[derive(Clone)]
/// struct Residual {
///     inner: Linear,
/// }
///
/// impl Module for Residual {
///     fn forward(&self, input: &Tensor) -> Result<Tensor> {
///         input + &self.inner.forward(input)?
///     }
///     fn visit(&self, visitor: &mut dyn FnMut(&str, &Tensor)) {
///         self.inner.visit(&mut |name, tensor| visitor(&format!("inner.{name}"), tensor));
///     }
///     fn visit_mut(
///         &mut self,
///         visitor: &mut dyn FnMut(&str, &mut Tensor) -> Result<()>,
///     ) -> Result<()> {
///         self.inner.visit_mut(&mut |name, tensor| visitor(&format!("inner.{name}"), tensor))
///     }
/// }
///
/// let module = Residual { inner: Linear::new(3, 3)? };
/// let names: Vec<_> = module.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["inner.weight", "inner.bias"]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub trait Module: Send + Sync {
    /// Computes the output, on the device that the parameters are on. On CUDA the work is enqueued.
    ///
    /// # Errors
    /// The input does not fit: its shape, its dtype, or its device.
    fn forward(&self, input: &Tensor) -> Result<Tensor>;

    /// Calls `visitor` with each parameter and its dotted name.
    fn visit(&self, visitor: &mut dyn FnMut(&str, &Tensor));

    /// Calls `visitor` with each parameter, which it may replace, in the order of
    /// [`visit`](Module::visit). Stops at the first error.
    ///
    /// # Errors
    /// The errors of the visitor.
    fn visit_mut(&mut self, visitor: &mut dyn FnMut(&str, &mut Tensor) -> Result<()>)
    -> Result<()>;

    /// Switches between training and evaluation (`train`, `eval`). Modules that behave the same in
    /// both ignore it.
    fn set_training(&mut self, _training: bool) {}

    /// The parameters, in the order of [`visit`](Module::visit).
    fn parameters(&self) -> Vec<Tensor> {
        self.named_parameters().into_iter().map(|(_, parameter)| parameter).collect()
    }

    /// The parameters with their dotted names.
    fn named_parameters(&self) -> Vec<(String, Tensor)> {
        let mut found = Vec::new();
        self.visit(&mut |name, parameter| found.push((name.to_owned(), parameter.clone())));
        found
    }

    /// Moves the parameters to `device`; `Device::cuda()` is the device that is current now. A
    /// parameter that is there already stays the same tensor, with its gradient. The others become
    /// new tensors without gradients.
    ///
    /// # Errors
    /// The device does not exist, or its memory is short. The module is then unchanged.
    fn to(&mut self, device: Device) -> Result<()> {
        let parameters = self.parameters();
        let moved: Result<Vec<_>> = parameters.iter().map(|p| p.moved_leaf(device)).collect();
        let mut moved = moved?.into_iter();
        self.visit_mut(&mut |_, parameter| {
            if let Some(leaf) = moved.next() {
                *parameter = leaf;
            }
            Ok(())
        })
    }

    /// Clears the gradients of all parameters.
    fn zero_grad(&self) {
        self.visit(&mut |_, parameter| parameter.clear_grad());
    }

    /// The parameters by name, as handles that share memory with the module's own.
    fn state_dict(&self) -> StateDict {
        self.named_parameters().into_iter().map(|(name, p)| (name, p.detach())).collect()
    }

    /// Copies values into the parameters, from any device and dtype.
    ///
    /// # Errors
    /// A parameter is missing, one is unknown, or shapes differ; the error names all of them, and
    /// nothing is changed.
    fn load_state_dict(&mut self, state: &StateDict) -> std::result::Result<(), StateError> {
        state::load(&self.named_parameters(), state)
    }
}
