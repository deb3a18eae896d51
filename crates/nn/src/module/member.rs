//! The parts of a module, as visitors see them.

use tensor::Tensor;

use super::Module;

/// A part of a module, as [`Module::visit`] shows it.
///
/// ```
/// use nn::{Dropout, Linear, Member, Module, sequential};
/// let model = sequential![Linear::new(4, 2)?, Dropout::new(0.1)?];
/// let mut modules = 0;
/// model.visit(&mut |_, member| modules += usize::from(matches!(member, Member::Module(_))));
/// assert_eq!(modules, 2);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Member<'a> {
    /// A tensor that is trained, or frozen for now.
    Parameter(&'a Tensor),
    /// A tensor that belongs to the state but is no parameter, like a running mean.
    Buffer(&'a Tensor),
    /// A buffer that is no part of the state that is saved, since it is made anew with the module.
    NonPersistentBuffer(&'a Tensor),
    /// A module inside.
    Module(&'a (dyn Module + 'static)),
    /// Whether the module behaves as in training.
    Training(bool),
}

/// A part of a module that can be changed, as [`Module::visit_mut`] shows it.
#[non_exhaustive]
pub enum MemberMut<'a> {
    /// See [`Member::Parameter`].
    Parameter(&'a mut Tensor),
    /// See [`Member::Buffer`].
    Buffer(&'a mut Tensor),
    /// See [`Member::NonPersistentBuffer`].
    NonPersistentBuffer(&'a mut Tensor),
    /// See [`Member::Module`].
    Module(&'a mut (dyn Module + 'static)),
    /// See [`Member::Training`].
    Training(&'a mut bool),
}
