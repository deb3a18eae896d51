//! Expressions as their users see them, and printed kernels on the software driver.

mod assembler;
mod device;
mod elements;
mod layouts;
mod memory;
mod primitives;
mod text;
