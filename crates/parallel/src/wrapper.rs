//! What is put around a module is a module itself.

use std::fmt;

use nn::Module;

/// Prints `name` with the module inside, in PyTorch's form.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, name: &str, module: &impl Module) -> fmt::Result {
    let module = module.as_module().to_string().replace('\n', "\n  ");
    write!(f, "{name}(\n  (module): {module}\n)")
}

/// Makes a type with a field `module` the module that is inside, but for its printed form.
macro_rules! wraps_module {
    ($wrapper:ident) => {
        /// Its parts are those of the module, under the module's names.
        impl<M: nn::Module> nn::Module for $wrapper<M> {
            fn visit<'a>(&'a self, visitor: &mut dyn FnMut(&str, nn::Member<'a>)) {
                self.module.visit(visitor);
            }

            fn visit_mut(
                &mut self,
                visitor: &mut dyn FnMut(&str, nn::MemberMut<'_>) -> nn::Result<()>,
            ) -> nn::Result<()> {
                self.module.visit_mut(visitor)
            }
        }

        impl<M: nn::Module> std::fmt::Display for $wrapper<M> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::wrapper::print(f, stringify!($wrapper), &self.module)
            }
        }
    };
}

pub(crate) use wraps_module;
