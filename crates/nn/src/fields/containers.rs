//! Collections of modules and parameters, which are modules themselves, and modules in boxes.

use std::collections::BTreeMap;

use super::StateField;
use crate::module::LIST;
use crate::{Forward, Member, MemberMut, Module, Result};

/// A collection as a module: which entries it has, under which names, and what it is called if they
/// are modules or parameters.
macro_rules! collection {
    ([$($generics:tt)*] $type:ty, $modules:expr, $parameters:literal, $each:ident, $each_mut:ident) => {
        impl<S: StateField + Send + Sync + 'static, $($generics)*> Module for $type {
            fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
                $each!(self, |name, entry| entry.visit_state(name, visitor));
            }

            fn visit_mut(
                &mut self,
                visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
            ) -> Result<()> {
                $each_mut!(self, |name, entry| entry.visit_state_mut(name, visitor)?);
                Ok(())
            }

            fn type_name(&self) -> &'static str {
                let mut has_parameters = false;
                self.visit(&mut |_, member| {
                    has_parameters |= matches!(member, Member::Parameter(_));
                });
                if has_parameters { $parameters } else { $modules }
            }
        }
    };
}

macro_rules! by_number {
    ($entries:expr, |$name:ident, $entry:ident| $do:expr) => {
        for (number, $entry) in $entries.iter().enumerate() {
            let $name = &number.to_string();
            $do;
        }
    };
}

macro_rules! by_number_mut {
    ($entries:expr, |$name:ident, $entry:ident| $do:expr) => {
        for (number, $entry) in $entries.iter_mut().enumerate() {
            let $name = &number.to_string();
            $do;
        }
    };
}

macro_rules! by_key {
    ($entries:expr, |$name:ident, $entry:ident| $do:expr) => {
        for ($name, $entry) in $entries {
            $do;
        }
    };
}

collection!([] Vec<S>, LIST, "ParameterList", by_number, by_number_mut);
collection!([const N: usize] [S; N], LIST, "ParameterList", by_number, by_number_mut);
collection!([] BTreeMap<String, S>, "ModuleDict", "ParameterDict", by_key, by_key);

impl<M: Module + ?Sized> Module for Box<M> {
    fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
        (**self).visit(visitor);
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
    ) -> Result<()> {
        (**self).visit_mut(visitor)
    }

    fn type_name(&self) -> &'static str {
        (**self).type_name()
    }

    fn extra_repr(&self) -> String {
        (**self).extra_repr()
    }

    fn pointee(&self) -> Option<&(dyn Module + 'static)> {
        Some((**self).as_module())
    }

    fn pointee_mut(&mut self) -> Option<&mut (dyn Module + 'static)> {
        Some((**self).as_module_mut())
    }
}

impl<Input: ?Sized, M: Forward<Input> + ?Sized> Forward<Input> for Box<M> {
    type Output = M::Output;

    fn forward(&self, input: &Input) -> Result<M::Output> {
        (**self).forward(input)
    }
}
