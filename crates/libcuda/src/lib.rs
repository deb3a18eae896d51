//! The software CUDA driver as a shared library that exports the names of libcuda.
