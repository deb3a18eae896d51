//! Collections of modules and parameters, which are modules themselves, and modules in boxes.

use std::collections::BTreeMap;

use super::StateField;
use crate::module::LIST;
use crate::{Forward, Member, MemberMut, Module, Result};

const PARAMETER_LIST: &str = "ParameterList";

/// A collection as a module: which entries it has, under which names, and what it is called if they
/// are modules or parameters.
macro_rules! collection {
    ([$($generics:tt)*] $type:ty, $modules:expr, $parameters:expr, $each:ident, $each_mut:ident) => {
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
                if has_parameters(self) { $parameters } else { $modules }
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

collection!([] Vec<S>, LIST, PARAMETER_LIST, by_number, by_number_mut);
collection!([const N: usize] [S; N], LIST, PARAMETER_LIST, by_number, by_number_mut);
collection!([] BTreeMap<String, S>, "ModuleDict", "ParameterDict", by_key, by_key);

/// Tuples of modules and parameters of different types, which have numbers as those of a list.
macro_rules! tuples {
    ($(($($part:ident $number:tt),+))+) => {$(
        impl<$($part: StateField + Send + Sync + 'static),+> Module for ($($part,)+) {
            fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, Member<'a>)) {
                $(self.$number.visit_state(stringify!($number), visitor);)+
            }

            fn visit_mut(
                &mut self,
                visitor: &mut dyn FnMut(&str, MemberMut<'_>) -> Result<()>,
            ) -> Result<()> {
                $(self.$number.visit_state_mut(stringify!($number), visitor)?;)+
                Ok(())
            }

            fn type_name(&self) -> &'static str {
                if has_parameters(self) { PARAMETER_LIST } else { LIST }
            }
        }
    )+};
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}

/// Whether there are parameters beside modules inside.
fn has_parameters(module: &dyn Module) -> bool {
    let mut found = false;
    module.visit(&mut |_, member| found |= matches!(member, Member::Parameter(_)));
    found
}

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
