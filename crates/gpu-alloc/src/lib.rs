//! Caching allocators for device memory and page-locked host memory.

#![forbid(unsafe_code)]

pub mod policy;
