//! The module: a function with parameters that can be named, moved and saved.

use tensor::{Device, Tensor};

use crate::Result;
use crate::state::{self, StateDict, StateError};

/// A function from tensor to tensor, with parameters.
///
/// An implementation names its parameters in [`visit`](Module::visit) and
/// [`visit_mut`](Module::visit_mut), in the same order; everything else is provided.
///
/// Parameters are tensors, and tensors are handles: a clone of a module *shares* its parameters.
/// Moving a module to another device with [`to`](Module::to) puts new tensors in their place, so build
/// the optimizer after the module is where it shall be. One that was built before says so when it is to
/// make a step.
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
    /// Computes the output on the device where the parameters lie.
    ///
    /// # Errors
    /// The input does not fit: its shape, its dtype, or its device.
    fn forward(&self, input: &Tensor) -> Result<Tensor>;

    /// Shows each parameter with its dotted name.
    fn visit(&self, visitor: &mut dyn FnMut(&str, &Tensor));

    /// Offers each parameter for replacement, in the order of [`visit`](Module::visit). Stops at
    /// the first error.
    ///
    /// # Errors
    /// Those of the visitor.
    fn visit_mut(&mut self, visitor: &mut dyn FnMut(&str, &mut Tensor) -> Result<()>)
    -> Result<()>;

    /// Switches between training and evaluation, for modules that behave differently.
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

    /// Moves the parameters to `device`. `Device::cuda()` means the device that is current now, for
    /// all of them. A parameter that is there already stays the same tensor, with its gradient; the
    /// others' gradients are not moved: they are dropped with the tensors they belonged to.
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

    /// Forgets the gradients of all parameters.
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
    /// A parameter is missing, one is unknown, or shapes differ; all of them are named and nothing
    /// is changed.
    fn load_state_dict(&mut self, state: &StateDict) -> std::result::Result<(), StateError> {
        state::load(&self.named_parameters(), state)
    }
}
