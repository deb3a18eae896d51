//! Tests of the crate as its users see it, on the CPU and on software GPUs.

mod apply;
mod autograd;
mod context;
mod devices;
mod expected;
mod factories;
mod printing;
mod promotion;
mod random;
mod values;
