//! The CUDA driver API: types, the table of functions, and the loader.
