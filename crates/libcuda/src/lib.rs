//! The software CUDA driver as a shared library that exports the names of libcuda.
//!
//! A program that was made for NVIDIA's driver finds this one in its place and runs without a GPU.
//! There is no Rust interface: what is exported is the C API, and the environment configures it.
//!
//! ```sh
//! LD_LIBRARY_PATH=$(cargo xtask libcuda) CUDA_SIM_DEVICES=2 ./program
//! ```
//!
//! What it is not: more than the crate `cuda-sim` with exported names. NVIDIA's own libraries
//! (`cudart`, cuBLAS) do not run on it: the crate `libcudart` is a runtime API that does, and what else is not supported, and what can be configured,
//! stands in the documentation of `cuda-sim`. Programs in Rust need no library: they use `cuda-sim`
//! itself, or `gpu-runtime` above it.

/// The exported functions. Each calls the function of the same name in the software driver.
mod exported {
    #![allow(non_snake_case, reason = "the names of the C API")]

    use core::ffi::*;

    use cuda_sim::exports;
    use cuda_sys::*;

    macro_rules! export {
        ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
            // SAFETY: nothing else in this library has the name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                // SAFETY: the caller keeps to the C API, which is the same on both sides.
                unsafe { exports::$name($($argument),*) }
            }
        )*};
    }

    macro_rules! export_table {
        (required { $($required:tt)* } optional { $($optional:tt)* }) => {
            export! { $($required)* }
            export! { $($optional)* }
        };
    }

    macro_rules! export_variants {
        ($(fn $name:ident $arguments:tt -> $result:ty = $original:ident;)*) => {
            export! { $(fn $name $arguments -> $result;)* }
        };
    }

    macro_rules! export_refusals {
        ($($name:ident)*) => {$(
            // SAFETY: the names that are refused are not among those that the table has, so nothing
            // else in this library has the name.
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> CUresult {
                exports::$name()
            }
        )*};
    }

    cuda_sys::for_each_driver_function!(export_table);
    cuda_sys::for_each_per_thread_function!(export_variants);
    cuda_sim::for_each_refused_function!(export_refusals);
}
