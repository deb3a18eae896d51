//! The table of functions, filled from whatever can look symbols up.

#![allow(non_snake_case, reason = "fields and arguments have the names of the C API")]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};
use std::fmt;
use std::mem::{size_of, transmute_copy};
use std::ptr::NonNull;

use crate::bindings::*;

macro_rules! declare_table {
    (
        required { $(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
        optional { $(fn $newer:ident($($its:ident: $kind:ty),*) -> $answer:ty;)* }
    ) => {
        /// The functions of a CUDA driver.
        ///
        /// Each field is the function that the driver exports under the field's name; those that a
        /// driver of CUDA 12.0 may lack are an `Option`. A table stays valid for the rest of the
        /// process, may be copied at will and used from every thread.
        #[derive(Clone, Copy)]
        pub struct Driver {
            $(
                #[doc = concat!("`", stringify!($name), "`, which every driver has.")]
                pub $name: unsafe extern "C" fn($($argument: $type),*) -> $result,
            )*
            $(
                #[doc = concat!("`", stringify!($newer), "`, where the driver has it.")]
                pub $newer: Option<unsafe extern "C" fn($($its: $kind),*) -> $answer>,
            )*
        }
    };
}

crate::for_each_driver_function!(declare_table);

macro_rules! look_up_table {
    (
        $resolve:ident
        required { $(fn $name:ident $arguments:tt -> $result:ty;)* }
        optional { $(fn $newer:ident $its_arguments:tt -> $answer:ty;)* }
    ) => {
        Driver {
            $($name: {
                let symbol = const { c_string(concat!(stringify!($name), "\0")) };
                let address = $resolve(symbol).ok_or(MissingFunction { symbol })?;
                // SAFETY: the caller promises that this is a function of the field's type.
                unsafe { function(address) }
            },)*
            $($newer: {
                let symbol = const { c_string(concat!(stringify!($newer), "\0")) };
                // SAFETY: the caller promises for this name, too, that what is found is a function of
                // the field's type.
                $resolve(symbol).map(|address| unsafe { function(address) })
            },)*
        }
    };
}

impl Driver {
    /// Fills the table with the addresses that `resolve` finds for the exported names.
    ///
    /// # Errors
    /// [`MissingFunction`] for the first required function that `resolve` does not find.
    ///
    /// # Safety
    /// Each address must be that of a function with the signature which cuda.h gives the name, and
    /// must stay callable, from any thread, for the rest of the process.
    pub unsafe fn from_symbols(
        mut resolve: impl FnMut(&'static CStr) -> Option<NonNull<c_void>>,
    ) -> Result<Driver, MissingFunction> {
        Ok(crate::for_each_driver_function!(look_up_table, resolve))
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").finish_non_exhaustive()
    }
}

/// A driver without a function that every driver since CUDA 12.0 has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the CUDA driver has no function `{}`", .symbol.to_string_lossy())]
pub struct MissingFunction {
    /// The exported name.
    pub symbol: &'static CStr,
}

/// A [`Driver`] made of the functions in one module of the caller, each found there by the name
/// that the driver exports, optional ones included.
///
/// It is a constant expression. The compiler checks that no function is missing and that each has
/// the type that the table wants.
#[macro_export]
macro_rules! driver_table {
    ($module:ident) => {
        $crate::for_each_driver_function!($crate::driver_table, $module;)
    };
    (
        $module:ident;
        required { $(fn $name:ident $arguments:tt -> $result:ty;)* }
        optional { $(fn $newer:ident $its_arguments:tt -> $answer:ty;)* }
    ) => {
        $crate::Driver {
            $($name: $module::$name,)*
            $($newer: Some($module::$newer),)*
        }
    };
}

const fn c_string(with_nul: &str) -> &CStr {
    match CStr::from_bytes_with_nul(with_nul.as_bytes()) {
        Ok(string) => string,
        Err(_) => panic!("an identifier has no NUL within"),
    }
}

/// # Safety
/// `F` must be the function pointer type of what lies at `address`.
unsafe fn function<F: Copy>(address: NonNull<c_void>) -> F {
    const { assert!(size_of::<F>() == size_of::<NonNull<c_void>>()) };
    // SAFETY: a function pointer is an address, the sizes agree, and the caller knows the type.
    unsafe { transmute_copy(&address) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    extern "C" fn initialised(_flags: c_uint) -> CUresult {
        CUresult::CUDA_ERROR_NO_DEVICE
    }

    fn address() -> NonNull<c_void> {
        NonNull::new(initialised as *mut c_void).expect("a function lies somewhere")
    }

    macro_rules! names {
        (
            required { $(fn $name:ident $arguments:tt -> $result:ty;)* }
            optional { $(fn $newer:ident $its_arguments:tt -> $answer:ty;)* }
        ) => {
            [$(stringify!($name),)* $(stringify!($newer),)*]
        };
    }

    #[test]
    fn every_function_of_the_list_is_looked_up_once_by_its_exported_name() {
        let mut asked = Vec::new();
        // SAFETY: no function of this table is called.
        let table = unsafe {
            Driver::from_symbols(|symbol| {
                asked.push(symbol.to_str().expect("names are ASCII"));
                Some(address())
            })
        };
        assert!(table.is_ok());
        let listed = crate::for_each_driver_function!(names);
        assert_eq!(asked, listed);
        assert_eq!(BTreeSet::from(listed).len(), listed.len());
    }

    #[test]
    fn a_resolved_function_is_the_one_that_is_called() {
        // SAFETY: only `cuInit` is called, and the function at the address has its type.
        let table = unsafe { Driver::from_symbols(|_| Some(address())) }.expect("all are found");
        // SAFETY: it is the safe function above.
        assert_eq!(unsafe { (table.cuInit)(0) }, CUresult::CUDA_ERROR_NO_DEVICE);
    }

    #[test]
    fn a_missing_required_function_is_an_error_that_names_it() {
        let resolve = |symbol: &CStr| (symbol != c"cuMemAlloc_v2").then(address);
        // SAFETY: no function of this table is called.
        let error = unsafe { Driver::from_symbols(resolve) }.expect_err("one is missing");
        assert_eq!(error.to_string(), "the CUDA driver has no function `cuMemAlloc_v2`");
    }

    #[test]
    fn a_missing_optional_function_is_none() {
        let resolve = |symbol: &CStr| (symbol != c"cuStreamGetId").then(address);
        // SAFETY: no function of this table is called.
        let table = unsafe { Driver::from_symbols(resolve) }.expect("the required ones are there");
        assert!(table.cuStreamGetId.is_none());
        assert!(table.cuGetProcAddress_v2.is_some());
    }

    #[test]
    fn a_table_goes_to_any_thread() {
        fn goes<T: Send + Sync + Clone + 'static>() {}
        goes::<Driver>();
    }
}
