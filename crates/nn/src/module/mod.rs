//! The module: it says what it is made of, and is therefore named, moved, saved and printed.

mod member;
mod moving;
mod print;

use std::any::Any;
use std::collections::HashSet;

use tensor::{Tensor, TensorId, To};

pub use member::{Member, MemberMut};
pub(crate) use print::LIST;

use crate::Result;
use crate::state::{LoadOptions, LoadReport, StateDict, StateError};

/// A module: layers and parameters under names (`torch.nn.Module`).
///
/// A module says what it is made of, in [`visit`](Module::visit) and
/// [`visit_mut`](Module::visit_mut), which `#[derive(Module)]` writes; everything else is provided.
/// What it computes is [`Forward`](crate::Forward)'s.
///
/// ```
/// use nn::{Forward, Linear, Module, Result};
/// use tensor::Tensor;
///
/// #[derive(Clone, Module)]
/// struct Residual {
///     inner: Linear,
/// }
///
/// impl Forward for Residual {
///     type Output = Tensor;
///     fn forward(&self, input: &Tensor) -> Result<Tensor> {
///         input + &self.inner.forward(input)?
///     }
/// }
///
/// let module = Residual { inner: Linear::new(3, 3)? };
/// let names: Vec<_> = module.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["inner.weight", "inner.bias"]);
/// assert_eq!(
///     module.to_string(),
///     "Residual(\n  (inner): Linear(in_features=3, out_features=3, bias=True)\n)"
/// );
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # By hand
/// A module whose names are computed is written by hand:
///
/// ```
/// use nn::{Linear, Member, MemberMut, Module, Result};
///
/// /// A layer for each of some languages, which have numbers.
/// struct Languages(Vec<(u32, Linear)>);
///
/// impl Module for Languages {
///     fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
///         for (number, layer) in &self.0 {
///             visitor(&format!("language_{number}"), Member::Module(layer));
///         }
///     }
///
///     fn visit_mut(
///         &mut self,
///         visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
///     ) -> Result<()> {
///         let mut layers = self.0.iter_mut();
///         layers.try_for_each(|(number, layer)| {
///             visitor(&format!("language_{number}"), MemberMut::Module(layer))
///         })
///     }
/// }
///
/// let languages = Languages(vec![(7, Linear::new(2, 2)?)]);
/// assert!(languages.state_dict().contains_key("language_7.weight"));
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Sharing
/// Tensors are handles: a clone of a module *shares* its parameters, and a parameter that stands at
/// two places of a module is one (tied): [`parameters`](Module::parameters) has it once, and it
/// stays one when the module is [moved](Module::to).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module",
    label = "this is no module",
    note = "write `#[derive(Module)]` above its declaration, and `use nn::Module` for the derive"
)]
pub trait Module: Any + AsModule + Send + Sync {
    /// Calls `visitor` with each part of the module and its name, without what is inside of modules
    /// in it.
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>));

    /// Calls `visitor` with each part of the module, as [`visit`](Module::visit), to be changed.
    /// Stops at the first error.
    ///
    /// # Errors
    /// The errors of the visitor.
    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()>;

    /// The module's name in the printed form: that of its type.
    fn type_name(&self) -> &'static str {
        let name = std::any::type_name::<Self>();
        let name = name.split('<').next().unwrap_or(name);
        name.rsplit("::").next().unwrap_or(name)
    }

    /// The text that the printed form has in the parentheses, beside the modules inside, like
    /// `in_features=3, out_features=2, bias=True`.
    fn extra_repr(&self) -> String {
        String::new()
    }

    /// The module that this one only points to.
    #[doc(hidden)]
    fn pointee(&self) -> Option<&(dyn Module + 'static)> {
        None
    }

    /// [`Module::pointee`], to be changed.
    #[doc(hidden)]
    fn pointee_mut(&mut self) -> Option<&mut (dyn Module + 'static)> {
        None
    }

    /// The parameters, each once, in PyTorch's order: a module's own before those of the modules
    /// inside.
    fn parameters(&self) -> Vec<Tensor> {
        self.named_parameters().into_iter().map(|(_, parameter)| parameter).collect()
    }

    /// The parameters with their dotted names. One that stands at several places has the name of
    /// the first.
    ///
    /// ```
    /// use nn::{Linear, Module, ReLU, sequential};
    /// let model = sequential![Linear::new(4, 2)?, ReLU];
    /// let names: Vec<_> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["0.weight", "0.bias"]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    fn named_parameters(&self) -> Vec<(String, Tensor)> {
        once(named_tensors(self.as_module(), TensorRole::Parameter))
    }

    /// The buffers, each once, also those that are not saved.
    fn buffers(&self) -> Vec<Tensor> {
        self.named_buffers().into_iter().map(|(_, buffer)| buffer).collect()
    }

    /// The buffers with their dotted names, as [`named_parameters`](Module::named_parameters).
    fn named_buffers(&self) -> Vec<(String, Tensor)> {
        once(named_tensors(self.as_module(), TensorRole::Buffer))
    }

    /// The modules directly inside, with their names.
    fn named_children(&self) -> Vec<(String, &(dyn Module + 'static))> {
        children(self.as_module())
    }

    /// This module, under the empty name, and all modules inside, with their dotted names; each
    /// before those inside of it.
    ///
    /// ```
    /// use nn::{Linear, Module, ReLU, sequential};
    /// let model = sequential![Linear::new(4, 2)?, ReLU];
    /// let linear = |(_, module): &(String, &dyn Module)| module.is::<Linear>();
    /// assert_eq!(model.named_modules().into_iter().filter(linear).count(), 1);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    fn named_modules(&self) -> Vec<(String, &(dyn Module + 'static))> {
        let mut found = Vec::new();
        collect_modules(String::new(), self.as_module(), &mut found);
        found
    }

    /// Calls `change` with all modules inside and then with this one, as PyTorch's `apply`. Stops
    /// at the first error.
    ///
    /// ```
    /// use nn::{Linear, Module, ReLU, sequential};
    /// use tensor::no_grad;
    /// let mut model = sequential![Linear::new(4, 2)?, ReLU];
    /// model.apply(&mut |module| {
    ///     if let Some(linear) = module.downcast_mut::<Linear>() {
    ///         no_grad(|| linear.weight().fill_(1.0))?;
    ///     }
    ///     Ok(())
    /// })?;
    /// assert_eq!(model.parameters()[0].to_vec::<f32>()?, [1.0; 8]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of `change`.
    fn apply(
        &mut self,
        change: &mut dyn FnMut(&mut (dyn Module + 'static)) -> Result<()>,
    ) -> Result<()> {
        apply_to(self.as_module_mut(), change)
    }

    /// Puts what `make` gives in the place of each parameter and buffer. A tensor that stands at
    /// several places is given once. After an error nothing is changed.
    ///
    /// # Errors
    /// The errors of `make`.
    fn replace_tensors(&mut self, make: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<()> {
        moving::replace_tensors(self.as_module_mut(), make)
    }

    /// Moves parameters and buffers to a device, a dtype, or both in a pair, as [`Tensor::to`]
    /// does; a dtype is for the floating-point ones only. `Device::cuda()` is the device that is
    /// current now. A tensor that is there already stays the same.
    ///
    /// The others become new tensors, which take the place of the old ones with their gradients: an
    /// optimizer that was built before goes on with them. A module of unknown type is moved in its
    /// box: `Box<dyn Forward<..>>` is a module too.
    ///
    /// ```
    /// use nn::{Linear, Module};
    /// use tensor::DType;
    /// let mut layer = Linear::new(3, 2)?;
    /// layer.to(DType::F64)?;
    /// assert_eq!(layer.weight().dtype(), DType::F64);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device does not exist, its memory is short, or the dtype is not a floating-point one.
    /// The module is then unchanged.
    #[track_caller]
    fn to(&mut self, target: impl Into<To>) -> Result<()>
    where
        Self: Sized,
    {
        moving::to(self.as_module_mut(), target.into())
    }

    /// Switches the module and all modules inside to training.
    ///
    /// ```
    /// use nn::{Dropout, Forward, Module};
    /// use tensor::Tensor;
    /// let mut dropout = Dropout::new(0.9)?;
    /// let x = Tensor::ones([100], ())?;
    /// dropout.eval();
    /// assert!(dropout.forward(&x)?.equal(&x)?);
    /// dropout.train();
    /// assert!(!dropout.forward(&x)?.equal(&x)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    fn train(&mut self) {
        set_training(self.as_module_mut(), true);
    }

    /// Switches the module and all modules inside to evaluation.
    fn eval(&mut self) {
        set_training(self.as_module_mut(), false);
    }

    /// Whether a part of the module behaves as in training. `false` where no part tells training
    /// from evaluation.
    fn is_training(&self) -> bool {
        let flags = |module: &dyn Module| {
            let mut is_training = false;
            module.visit(&mut |_, member| {
                is_training |= matches!(member, Member::Training(true));
            });
            is_training
        };
        self.named_modules().into_iter().any(|(_, module)| flags(module))
    }

    /// Clears the gradients of all parameters.
    fn zero_grad(&self) {
        self.parameters().iter().for_each(Tensor::clear_grad);
    }

    /// Sets whether gradients are computed for the parameters; `false` freezes them.
    ///
    /// ```
    /// use nn::{Linear, Module};
    /// let layer = Linear::new(3, 2)?;
    /// layer.requires_grad_(false)?;
    /// assert!(!layer.weight().requires_grad());
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// A parameter is not a leaf, or its dtype is not a floating-point one.
    fn requires_grad_(&self, requires_grad: bool) -> Result<()> {
        self.parameters().iter().try_for_each(|p| p.requires_grad_(requires_grad).map(drop))
    }

    /// The parameters and the persistent buffers by name, as handles that share memory with the module's own.
    ///
    /// ```
    /// use nn::{Linear, Module};
    /// let (source, mut target) = (Linear::new(3, 2)?, Linear::new(3, 2)?);
    /// target.load_state_dict(&source.state_dict())?;
    /// assert!(target.weight().equal(source.weight())?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    fn state_dict(&self) -> StateDict {
        let named = named_tensors(self.as_module(), TensorRole::State);
        named.into_iter().map(|(name, tensor)| (name, tensor.detach())).collect()
    }

    /// Copies values into the parameters and persistent buffers, from any device and dtype.
    ///
    /// # Errors
    /// A name is missing, one is unknown, or shapes differ; the error names all of them, and
    /// nothing is changed.
    fn load_state_dict(&mut self, state: &StateDict) -> Result<(), StateError> {
        self.load_state_dict_with(state, &LoadOptions::new()).map(drop)
    }

    /// [`load_state_dict`](Module::load_state_dict) with names that may be missing or unknown, or
    /// are those of another program; says which names were.
    ///
    /// # Errors
    /// As [`load_state_dict`](Module::load_state_dict); what the options let pass is no error.
    fn load_state_dict_with(
        &mut self,
        state: &StateDict,
        options: &LoadOptions<'_>,
    ) -> Result<LoadReport, StateError> {
        options.load(&named_tensors(self.as_module(), TensorRole::State), state)
    }
}

/// A module as `dyn Module`, whatever its type; each module is one.
#[doc(hidden)]
pub trait AsModule {
    /// The module; for a pointer to one, that one.
    fn as_module(&self) -> &(dyn Module + 'static);

    /// The same, to be changed.
    fn as_module_mut(&mut self) -> &mut (dyn Module + 'static);
}

impl<M: Module> AsModule for M {
    fn as_module(&self) -> &(dyn Module + 'static) {
        self.pointee().unwrap_or(self)
    }

    fn as_module_mut(&mut self) -> &mut (dyn Module + 'static) {
        // Asked twice, since a borrow that may be returned lasts until the end.
        if self.pointee().is_none() {
            return self;
        }
        self.pointee_mut().expect("what points somewhere does so when it is changed")
    }
}

impl dyn Module {
    /// Whether the module is of type `M`.
    pub fn is<M: Module>(&self) -> bool {
        (self as &dyn Any).is::<M>()
    }

    /// The module as one of type `M`, if it is one.
    pub fn downcast_ref<M: Module>(&self) -> Option<&M> {
        (self as &dyn Any).downcast_ref()
    }

    /// The module as one of type `M`, if it is one, to be changed.
    pub fn downcast_mut<M: Module>(&mut self) -> Option<&mut M> {
        (self as &mut dyn Any).downcast_mut()
    }
}

/// The tensors that are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TensorRole {
    Parameter,
    Buffer,
    /// A parameter or a buffer that is saved.
    State,
}

/// The tensors of that role with their dotted names: a module's own before those of modules inside,
/// its parameters before its buffers. One that stands at several places has several names.
fn named_tensors(module: &dyn Module, role: TensorRole) -> Vec<(String, Tensor)> {
    let mut found = Vec::new();
    for (prefix, module) in module.named_modules() {
        let mut buffers = Vec::new();
        module.visit(&mut |name, member| match member {
            Member::Parameter(tensor) if role != TensorRole::Buffer => {
                found.push((joined(&prefix, name), tensor.clone()));
            }
            Member::Buffer(tensor) if role != TensorRole::Parameter => {
                buffers.push((joined(&prefix, name), tensor.clone()));
            }
            Member::NonPersistentBuffer(tensor) if role == TensorRole::Buffer => {
                buffers.push((joined(&prefix, name), tensor.clone()));
            }
            _ => {}
        });
        found.extend(buffers);
    }
    found
}

/// Each tensor under its first name only.
fn once(mut named: Vec<(String, Tensor)>) -> Vec<(String, Tensor)> {
    let mut seen = HashSet::<TensorId>::new();
    named.retain(|(_, tensor)| seen.insert(tensor.id()));
    named
}

fn children<'a>(module: &'a (dyn Module + 'static)) -> Vec<(String, &'a (dyn Module + 'static))> {
    let mut children = Vec::new();
    module.visit(&mut |name, member| {
        if let Member::Module(child) = member {
            children.push((name.to_owned(), child));
        }
    });
    children
}

fn collect_modules<'a>(
    name: String,
    module: &'a (dyn Module + 'static),
    found: &mut Vec<(String, &'a (dyn Module + 'static))>,
) {
    found.push((name.clone(), module));
    for (child, module) in children(module) {
        collect_modules(joined(&name, &child), module, found);
    }
}

fn apply_to(
    module: &mut (dyn Module + 'static),
    change: &mut dyn FnMut(&mut (dyn Module + 'static)) -> Result<()>,
) -> Result<()> {
    module.visit_mut(&mut |_, member| match member {
        MemberMut::Module(child) => apply_to(child, change),
        _ => Ok(()),
    })?;
    change(module)
}

fn set_training(module: &mut dyn Module, training: bool) {
    // The visitor gives no error, so there is none.
    let _ = module.visit_mut(&mut |_, member| {
        match member {
            MemberMut::Training(flag) => *flag = training,
            MemberMut::Module(child) => set_training(child, training),
            _ => {}
        }
        Ok(())
    });
}

/// A dotted name: `name` inside of `prefix`.
fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}
