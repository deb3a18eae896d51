//! Tests of the crate as its users see it, on the CPU and on software GPUs.

mod agreement;
mod apply;
mod autograd;
mod context;
mod devices;
mod errors;
mod expected;
mod factories;
mod foreign_pools;
mod graphs;
mod guards;
mod leaks;
mod manual_order;
mod memory;
mod movement;
mod observers;
mod operators;
mod printing;
mod promotion;
mod random;
mod serial;
mod sizes;
mod sums;
mod values;
mod views;
mod watchdog;
