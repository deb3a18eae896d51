//! The software CUDA driver as a shared library that exports the names of libcuda.
//!
//! A program that was made for NVIDIA's driver finds this one in its place and runs without a GPU.
//! There is no Rust interface: what is exported is the C API, and the environment configures it.

/// The exported functions. Each calls the function of the same name in the software driver's table.
mod exported {
    #![allow(non_snake_case, reason = "the names of the C API")]

    use core::ffi::*;

    use cuda_sys::*;

    macro_rules! export {
        (
            required { $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
            optional { $(fn $newer:ident($($its:ident: $kind:ty),*) -> $answer:ty;)* }
        ) => {
            $(
                // SAFETY: nothing else in this library has the name.
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                    // SAFETY: the caller keeps to the C API, which is the same on both sides.
                    unsafe { (cuda_sim::driver().$name)($($argument),*) }
                }
            )*
            $(
                // SAFETY: as above.
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $newer($($its: $kind),*) -> $answer {
                    match cuda_sim::driver().$newer {
                        // SAFETY: as above.
                        Some(function) => unsafe { function($($its),*) },
                        None => CUresult::CUDA_ERROR_NOT_SUPPORTED,
                    }
                }
            )*
        };
    }

    cuda_sys::for_each_driver_function!(export);
}
