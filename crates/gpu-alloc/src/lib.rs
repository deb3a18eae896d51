//! Caching allocators for device memory and page-locked host memory.
