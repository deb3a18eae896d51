//! Code: modules with their functions and variables, libraries, the linker of PTX, and the images
//! that all of them are loaded from.

pub(crate) mod image;
pub(in crate::device) mod kernel_call;
pub(in crate::device) mod library;
pub(in crate::device) mod linker;
pub(in crate::device) mod module;
mod objects;
mod prepared;
mod programs;
mod runtime_functions;
