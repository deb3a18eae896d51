//! Kernels against plain loops, in every instruction set that the processor has.

mod guarded;
mod index;
mod matmul;
mod random;
mod reductions;
mod scans;
mod softmax;
mod values;
