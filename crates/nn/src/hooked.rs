//! Functions of the program that a module calls before and after its own, and in backward passes.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tensor::{
    AutogradFunction, BackwardContext, ForwardContext, HookList, RemovableHandle, Tensor,
};

use crate::{Forward, Member, MemberMut, Module, Result};

/// A function that sees the module and its input, and may give another input.
type PreHook<M> = dyn Fn(&M, &Tensor) -> Result<Option<Tensor>> + Send + Sync;
/// A function that sees the module, its input and its output, and may give another output.
type PostHook<M> = dyn Fn(&M, &Tensor, &Tensor) -> Result<Option<Tensor>> + Send + Sync;
/// A function that sees the gradients of input and output, and may give another one of the input.
type BackwardHook = dyn Fn(Option<&Tensor>, &Tensor) -> Result<Option<Tensor>> + Send + Sync;

/// A module that calls functions of the program beside its own (`register_forward_hook` and its like of
/// `torch.nn.Module`), to look at what passes, or to change it. In names, states and printed forms it is
/// the module inside; a clone shares the hooks. Hooks run in the order in which they were registered.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use nn::{Forward, Hooked, Linear, Module, ReLU, sequential};
/// use tensor::Tensor;
/// let layer = Hooked::new(Linear::new(3, 2)?);
/// let seen = Arc::new(Mutex::new(Vec::new()));
/// let shapes = Arc::clone(&seen);
/// let handle = layer.register_forward_hook(move |_, _, output| {
///     shapes.lock().expect("no panic").push(output.shape().to_vec());
///     Ok(None)
/// });
/// let model = sequential![layer, ReLU];
/// model.forward(&Tensor::ones([4, 3], ())?)?;
/// handle.remove();
/// model.forward(&Tensor::ones([5, 3], ())?)?;
/// assert_eq!(*seen.lock().expect("no panic"), [[4, 2]]);
/// assert_eq!(model.named_parameters()[0].0, "0.weight");
/// # Ok::<(), tensor::Error>(())
/// ```
pub struct Hooked<M> {
    module: M,
    before: HookList<PreHook<M>>,
    after: HookList<PostHook<M>>,
    backward: HookList<BackwardHook>,
}

impl<M: Forward<Tensor, Output = Tensor>> Hooked<M> {
    /// The module without hooks yet.
    pub fn new(module: M) -> Hooked<M> {
        let (before, after, backward) = Default::default();
        Hooked { module, before, after, backward }
    }

    /// The module inside.
    pub fn module(&self) -> &M {
        &self.module
    }

    /// Registers a function that is called with the module and its input before it computes, and may give
    /// another input in its place.
    pub fn register_forward_pre_hook(
        &self,
        hook: impl Fn(&M, &Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> RemovableHandle {
        self.before.add(Arc::new(hook))
    }

    /// Registers a function that is called with the module, its input and its output, and may give another
    /// output in its place.
    pub fn register_forward_hook(
        &self,
        hook: impl Fn(&M, &Tensor, &Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> RemovableHandle {
        self.after.add(Arc::new(hook))
    }

    /// Registers a function that each backward pass calls with the gradients of the module's input, which
    /// is `None` where the input needs none, and of its output, and that may give another gradient of the
    /// input in its place (`register_full_backward_hook`). It holds for what the module computes from now
    /// on.
    ///
    /// ```
    /// use nn::{Forward, Hooked, Linear};
    /// use tensor::Tensor;
    /// let layer = Hooked::new(Linear::new(3, 2)?);
    /// layer.register_full_backward_hook(|of_input, _| of_input.map(|grad| grad.mul(0.5)).transpose());
    /// let x = Tensor::ones([1, 3], ())?.requires_grad_(true)?;
    /// layer.forward(&x)?.sum(())?.backward()?;
    /// let expected = layer.module().weight().detach().sum(0)?.mul(0.5)?;
    /// assert!(x.grad().expect("it was computed").squeeze(0)?.allclose(&expected, 1e-6, 1e-6)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn register_full_backward_hook(
        &self,
        hook: impl Fn(Option<&Tensor>, &Tensor) -> Result<Option<Tensor>> + Send + Sync + 'static,
    ) -> RemovableHandle {
        self.backward.add(Arc::new(hook))
    }

    /// The output of the module itself, whose gradient and that of the input its backward hooks see.
    #[track_caller]
    fn compute(&self, input: &Tensor) -> Result<Tensor> {
        let hooks = self.backward.hooks();
        if hooks.is_empty() {
            return self.module.forward(input);
        }
        if !input.requires_grad() {
            let output = self.module.forward(input)?;
            if output.requires_grad() {
                output.register_hook(move |of_output| {
                    for hook in &hooks {
                        hook(None, of_output)?;
                    }
                    Ok(None)
                })?;
            }
            return Ok(output);
        }
        let of_output = Arc::new(Mutex::new(None));
        let end = BackwardEnd { hooks, of_output: Arc::clone(&of_output) };
        let output = self.module.forward(&end.apply(&[input])?[0])?;
        if output.requires_grad() {
            output.register_hook(move |gradient| {
                *of_output.lock().unwrap_or_else(PoisonError::into_inner) = Some(gradient.clone());
                Ok(None)
            })?;
        }
        Ok(output)
    }
}

impl<M: Forward<Tensor, Output = Tensor>> Forward for Hooked<M> {
    type Output = Tensor;

    #[track_caller]
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let mut input = input.clone();
        for hook in self.before.hooks() {
            input = hook(&self.module, &input)?.unwrap_or(input);
        }
        let mut output = self.compute(&input)?;
        for hook in self.after.hooks() {
            output = hook(&self.module, &input, &output)?.unwrap_or(output);
        }
        Ok(output)
    }
}

impl<M: Module> Module for Hooked<M> {
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        self.module.visit(visitor);
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        self.module.visit_mut(visitor)
    }

    fn type_name(&self) -> &'static str {
        self.module.type_name()
    }

    fn extra_repr(&self) -> String {
        self.module.extra_repr()
    }

    fn pointee(&self) -> Option<&(dyn Module + 'static)> {
        Some(crate::AsModule::as_module(&self.module))
    }

    fn pointee_mut(&mut self) -> Option<&mut (dyn Module + 'static)> {
        Some(crate::AsModule::as_module_mut(&mut self.module))
    }
}

impl<M: Clone> Clone for Hooked<M> {
    fn clone(&self) -> Hooked<M> {
        let Hooked { module, before, after, backward } = self;
        Hooked {
            module: module.clone(),
            before: before.clone(),
            after: after.clone(),
            backward: backward.clone(),
        }
    }
}

impl<M: fmt::Debug> fmt::Debug for Hooked<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooked").field("module", &self.module).finish_non_exhaustive()
    }
}

/// The place in front of a module at which its backward pass ends: the input, as a result of this
/// operation, whose gradient the hooks see.
struct BackwardEnd {
    hooks: Vec<Arc<BackwardHook>>,
    /// The gradient of the module's output, which has been before.
    of_output: Arc<Mutex<Option<Tensor>>>,
}

impl AutogradFunction for BackwardEnd {
    fn name(&self) -> &'static str {
        "BackwardHook"
    }

    fn forward(&self, _: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![inputs[0].clone()])
    }

    fn backward(
        &self,
        _: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let of_output = self.of_output.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(of_output), Some(mut of_input)) = (of_output, gradients[0].clone()) else {
            return Ok(gradients.to_vec());
        };
        for hook in &self.hooks {
            of_input = hook(Some(&of_input), &of_output)?.unwrap_or(of_input);
        }
        Ok(vec![Some(of_input)])
    }
}
