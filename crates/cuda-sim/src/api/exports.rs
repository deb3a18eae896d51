//! All functions that a driver exports, by their exported names: for a library that exports them.
//!
//! Those of the table; their variants for which stream 0 is the thread's own; and refusals, which
//! take whatever arguments C passes.

#![allow(non_snake_case, reason = "the names of the C API")]

use core::ffi::*;
use std::sync::atomic::AtomicBool;

use cuda_sys::*;

use super::arguments::FromC;
use super::entry::enter;
use super::refused_names::for_each_refused_function;
use super::{chapters, exports, refused};
use crate::control::DriverFunction;
use crate::device::current;

/// The table.
pub(crate) static DRIVER: Driver = driver_table!(exports);

macro_rules! define_entries {
    (
        required { $($required:tt)* }
        optional { $($optional:tt)* }
    ) => {
        define_entries! { $($required)* $($optional)* }
    };
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The arguments are as NVIDIA's reference says.
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            enter(DriverFunction::$name, &|| chapters::$name($(
                // SAFETY: the program promises of each argument what NVIDIA's reference asks, for
                // as long as the call lasts; the chapter's signature says the same in its types.
                // Their lifetimes are the call's; the one without, `OptionValues`, says how long.
                unsafe { FromC::decode($argument) }?
            ),*))
        }
    )*};
}

cuda_sys::for_each_driver_function!(define_entries);

macro_rules! define_variants {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $original:ident;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// The arguments are as NVIDIA's reference says.
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: what the function asks of its arguments is what this one asks.
            current::with_own_default_stream(|| unsafe { $original($($argument),*) })
        }
    )*};
}

cuda_sys::for_each_per_thread_function!(define_variants);

macro_rules! define_refusals {
    ($($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`, which is not here.")]
        pub extern "C" fn $name() -> CUresult {
            static SAID: AtomicBool = AtomicBool::new(false);
            refused::refuse(stringify!($name), &SAID)
        }
    )*};
}

for_each_refused_function!(define_refusals);
