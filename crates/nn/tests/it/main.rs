//! Modules and optimizers, on the CPU and on software GPUs.

mod devices;
mod modules;
mod optimizers;
