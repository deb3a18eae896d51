//! The driver API as two headers declare it: CUDA 10.2 by `cuda-driver-sys`, CUDA 13.0 by `cuda-sys`.
//!
//! The tests are the client: they call our `libcuda.so` through `cuda-driver-sys`, and compare what
//! the two crates declare, but for the differences that `differences.txt` intends. They run by
//! `cargo xtask conformance abi`, which builds the library that they link.
#![forbid(unsafe_code)]

pub mod declarations;
pub mod differences;
pub mod sources;
