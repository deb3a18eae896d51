//! The printed form of what is put around a module.

use std::fmt;

use nn::Module;

/// Prints `name` with the module inside, in PyTorch's form.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, name: &str, module: &impl Module) -> fmt::Result {
    let module = module.as_module().to_string().replace('\n', "\n  ");
    write!(f, "{name}(\n  (module): {module}\n)")
}
