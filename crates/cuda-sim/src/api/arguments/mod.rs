//! Arguments, decoded once: what the functions of the C API are passed becomes types that safe code
//! can use.
//!
//! Each chapter's function states in its signature what NVIDIA's reference says of its arguments.
//! [`exports`](super::exports) decodes them before the chapter sees them:
//!
//! | C passes | a chapter takes |
//! |---|---|
//! | a number, a handle, a function | the same |
//! | a place for a result | [`Out`], or `Option<Out>` if null is allowed |
//! | a structure | [`In`], or `Option<In>` |
//! | a structure that is also written | [`InOut`], or `Option<InOut>` |
//! | a string | `&str`, or `Option<&str>` |
//! | a list and its length | [`List`] and [`Count`] |
//! | room for a list and its length | [`Room`] and [`Count`], or [`Room`] and [`CountInOut`] |
//! | a pointer whose type another argument tells | [`Untyped`] |
//! | memory to copy to or from | [`CopyAddress`] |
//! | an image of code | [`CodeImage`] |
//! | parameters of a kernel | [`ParameterPointers`] and [`ParameterBuffer`] |
//!
//! A type without `Option` refuses null with `CUDA_ERROR_INVALID_VALUE` before the chapter runs.
//! Where the order of errors matters, a chapter takes the `Option` and refuses null itself.

mod copy_address;
mod handles;
mod inputs;
mod kernel_parameters;
mod lists;
mod outputs;

use cuda_sys::CUresult;

use super::Result;
pub(super) use copy_address::CopyAddress;
pub(super) use handles::{
    capturable, context, event, executable, function, graph, handle, kernel, launchable, library,
    module, node, number, stream,
};
pub(super) use inputs::{CodeImage, In};
pub(super) use kernel_parameters::{
    ParameterBuffer, ParameterPointers, copied as copied_parameters,
};
pub(super) use lists::{Count, CountInOut, Items, List, OutItems, Room};
pub(super) use outputs::{InOut, Out, Untyped};

/// The error for null where something must be.
const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// An argument of a chapter's function, made of an argument of type `C` of the C function.
pub(super) trait FromC<C>: Sized {
    /// Makes the argument of what C passed.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for null where `Self` needs something.
    ///
    /// # Safety
    /// A program passed `given` to a function of the driver API whose reference promises of this
    /// argument what the documentation of `Self` says, and that call lasts as long as `Self`.
    unsafe fn decode(given: C) -> Result<Self>;
}

/// Numbers, handles, functions and addresses that are only looked up: nothing is promised of them.
impl<T> FromC<T> for T {
    unsafe fn decode(given: T) -> Result<T> {
        Ok(given)
    }
}
