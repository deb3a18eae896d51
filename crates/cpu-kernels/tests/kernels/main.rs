//! Kernels against plain loops, in every instruction set that the processor has.

mod attention;
mod conv;
#[path = "../guarded/mod.rs"]
mod guarded;
mod index;
mod layer_norm;
mod matmul;
mod random;
mod reductions;
mod scans;
mod selected;
mod softmax;
mod values;
mod windows;
