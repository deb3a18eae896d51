//! Tensors on the CPU and on CUDA devices, with automatic differentiation.
