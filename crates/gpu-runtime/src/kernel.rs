//! Kernels: modules that they are loaded from, what they take, and launching them.

mod arguments;
mod function;
mod image;
mod module;
mod parameters;

pub use arguments::{ByValue, KernelArgument, KernelArguments};
pub use function::{Function, LaunchConfig};
pub use module::Module;
