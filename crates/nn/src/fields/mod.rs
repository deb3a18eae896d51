//! The types that the fields of a derived module may have: tensors, modules, collections of them,
//! and plain values, which the printed form shows.
//!
//! | type | in the module |
//! |---|---|
//! | [`Tensor`] | a parameter; with `#[module(buffer)]` a buffer, with `#[module(buffer, persistent = false)]` one that is not saved |
//! | any [`Module`], also a type parameter, also in a [`Box`] | a module inside |
//! | [`Option`] of these | the same, if it is there |
//! | [`Vec`], array, tuple of these | a module inside, whose names are `0`, `1`, .. (`ModuleList`) |
//! | [`BTreeMap`](std::collections::BTreeMap) by [`String`] | a module inside, whose names are the keys (`ModuleDict`) |
//! | numbers, `bool`, `char`, texts, [`DType`](tensor::DType), [`Device`](tensor::Device), and these in `Option`, `Vec`, arrays and tuples | a word of the printed form |
//! | [`PhantomData`](std::marker::PhantomData) | nothing |
//! | any other with `#[module(skip)]` | nothing |
//!
//! ```
//! use std::collections::BTreeMap;
//! use nn::{Linear, Module};
//! use tensor::Tensor;
//!
//! #[derive(Module)]
//! struct Heads {
//!     #[module(buffer)]
//!     running_mean: Tensor,
//!     layers: Vec<Linear>,
//!     by_task: BTreeMap<String, Linear>,
//!     scale: Option<Tensor>,
//!     kernel_size: [usize; 2],
//!     #[module(training)]
//!     training: bool,
//!     #[module(skip)]
//!     activation: fn(&Tensor) -> nn::Result<Tensor>,
//! }
//!
//! let heads = Heads {
//!     running_mean: Tensor::zeros([4], ())?,
//!     layers: vec![Linear::new(4, 4)?, Linear::new(4, 4)?],
//!     by_task: BTreeMap::from([("digits".to_owned(), Linear::new(4, 10)?)]),
//!     scale: None,
//!     kernel_size: [3, 3],
//!     training: true,
//!     activation: Tensor::relu,
//! };
//! let names: Vec<_> = heads.state_dict().into_keys().collect();
//! assert_eq!(names.join(" "), "by_task.digits.bias by_task.digits.weight layers.0.bias \
//!     layers.0.weight layers.1.bias layers.1.weight running_mean");
//! assert!(heads.to_string().starts_with("Heads(\n  kernel_size=(3, 3)\n  (layers): ModuleList(\n    (0-1): 2 x"));
//! # Ok::<(), tensor::Error>(())
//! ```

mod containers;
mod plain;

use tensor::Tensor;

use crate::{Member, MemberMut, Module, Result};

pub use plain::ExtraRepr;

/// A type that a field of a derived module may have; see the [list](self).
#[diagnostic::on_unimplemented(
    message = "a module cannot have a field of type `{Self}`",
    label = "neither a tensor, nor a module, nor a plain value",
    note = "if it has parameters, write `#[derive(Module)]` above its declaration",
    note = "if it has none, write `#[module(skip)]` above the field"
)]
pub trait Field {
    /// Calls `visitor` with the field, if it has state.
    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        let _ = (name, visitor);
    }

    /// [`visit_field`](Field::visit_field), to be changed.
    ///
    /// # Errors
    /// The errors of the visitor.
    fn visit_field_mut(
        &mut self,
        name: &str,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        let _ = (name, visitor);
        Ok(())
    }

    /// Adds the field to what the printed form says, if it is a plain value.
    fn describe(&self, name: &str, extra: &mut ExtraRepr) {
        let _ = (name, extra);
    }
}

/// A field with state: a tensor, a module, or some of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a tensor nor a module",
    note = "if it has parameters, write `#[derive(Module)]` above its declaration"
)]
pub trait StateField {
    /// Calls `visitor` with what is there.
    fn visit_state<'a>(&'a self, name: &str, visitor: &mut dyn FnMut(&str, Member<'a>));

    /// [`visit_state`](StateField::visit_state), to be changed.
    ///
    /// # Errors
    /// The errors of the visitor.
    fn visit_state_mut(
        &mut self,
        name: &str,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()>;
}

/// The type of a buffer: a tensor, or one that may be there.
#[diagnostic::on_unimplemented(
    message = "a buffer is a `Tensor` or an `Option<Tensor>`, and no `{Self}`",
    label = "this cannot be a buffer"
)]
pub trait BufferField {
    /// The tensor, if it is there.
    fn buffer(&self) -> Option<&Tensor>;

    /// The same, to be changed.
    fn buffer_mut(&mut self) -> Option<&mut Tensor>;
}

#[diagnostic::do_not_recommend]
impl<S: StateField> Field for S {
    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        self.visit_state(name, visitor);
    }

    fn visit_field_mut(
        &mut self,
        name: &str,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        self.visit_state_mut(name, visitor)
    }
}

impl StateField for Tensor {
    fn visit_state<'a>(&'a self, name: &str, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        visitor(name, Member::Parameter(self));
    }

    fn visit_state_mut(
        &mut self,
        name: &str,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        visitor(name, MemberMut::Parameter(self))
    }
}

#[diagnostic::do_not_recommend]
impl<M: Module> StateField for M {
    fn visit_state<'a>(&'a self, name: &str, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        visitor(name, Member::Module(self.as_module()));
    }

    fn visit_state_mut(
        &mut self,
        name: &str,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        visitor(name, MemberMut::Module(self.as_module_mut()))
    }
}

impl<S: StateField> StateField for Option<S> {
    fn visit_state<'a>(&'a self, name: &str, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        if let Some(state) = self {
            state.visit_state(name, visitor);
        }
    }

    fn visit_state_mut(
        &mut self,
        name: &str,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        self.as_mut().map_or(Ok(()), |state| state.visit_state_mut(name, visitor))
    }
}

impl BufferField for Tensor {
    fn buffer(&self) -> Option<&Tensor> {
        Some(self)
    }

    fn buffer_mut(&mut self) -> Option<&mut Tensor> {
        Some(self)
    }
}

impl BufferField for Option<Tensor> {
    fn buffer(&self) -> Option<&Tensor> {
        self.as_ref()
    }

    fn buffer_mut(&mut self) -> Option<&mut Tensor> {
        self.as_mut()
    }
}
