//! The CUDA kernels of Sluice as PTX, made by nvcc and embedded.
