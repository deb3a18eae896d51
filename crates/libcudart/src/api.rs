//! The form that all functions of the runtime API have.

use cuda_sys::{CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, CUstream};

use crate::driver::cu;
use crate::error::Result;

/// Defines functions of the API that need no context: those about devices, versions and handles.
///
/// An entry is `fn NAME(ARGUMENTS) { BODY }`, where the body gives a `Result`; a forward to the
/// driver is one line. `fn NAME | VARIANT [STREAM] (ARGUMENTS) { BODY }` defines a second function,
/// for programs whose default stream is the thread's own: in it, STREAM is that one where it is 0.
macro_rules! calls {
    () => {};
    (fn $name:ident | $variant:ident [$stream:ident] $arguments:tt $body:block $($rest:tt)*) => {
        $crate::api::define! { $name $arguments {} $body }
        $crate::api::define! {
            $variant $arguments { let $stream = $crate::api::per_thread($stream); } $body
        }
        $crate::api::calls! { $($rest)* }
    };
    (fn $name:ident $arguments:tt $body:block $($rest:tt)*) => {
        $crate::api::define! { $name $arguments {} $body }
        $crate::api::calls! { $($rest)* }
    };
}

/// Defines functions as [`calls`] does, which work in the current device's context, which they make current
/// first if the thread has none. Where STREAM is no argument, `[let STREAM]` makes it the program's default
/// stream in both functions.
macro_rules! calls_on_device {
    () => {};
    (fn $name:ident | $variant:ident [let $stream:ident] $arguments:tt $body:block $($rest:tt)*) => {
        $crate::api::define! {
            $name $arguments {
                $crate::context::enter()?;
                let $stream = cuda_sys::CU_STREAM_LEGACY;
            } $body
        }
        $crate::api::define! {
            $variant $arguments {
                $crate::context::enter()?;
                let $stream = cuda_sys::CU_STREAM_PER_THREAD;
            } $body
        }
        $crate::api::calls_on_device! { $($rest)* }
    };
    (fn $name:ident | $variant:ident [$stream:ident] $arguments:tt $body:block $($rest:tt)*) => {
        $crate::api::define! { $name $arguments { $crate::context::enter()?; } $body }
        $crate::api::define! {
            $variant $arguments {
                $crate::context::enter()?;
                let $stream = $crate::api::per_thread($stream);
            } $body
        }
        $crate::api::calls_on_device! { $($rest)* }
    };
    (fn $name:ident $arguments:tt $body:block $($rest:tt)*) => {
        $crate::api::define! { $name $arguments { $crate::context::enter()?; } $body }
        $crate::api::calls_on_device! { $($rest)* }
    };
}

/// Defines one exported function, whose error becomes the thread's last one.
macro_rules! define {
    (
        $name:ident ($($argument:ident: $type:ty),* $(,)?) { $($before:tt)* } $body:block
    ) => {
        #[doc = concat!("`", stringify!($name), "` of the runtime API.")]
        ///
        /// # Safety
        /// The arguments must be what the C API asks for.
        #[allow(unused_unsafe, reason = "some only compute")]
        #[allow(clippy::too_many_arguments, reason = "as many as the C API has")]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::error::cudaError_t {
            let call = || -> $crate::error::Result {
                $($before)*
                // SAFETY: the caller keeps to the C API; pointers are as valid as it asks for.
                unsafe { $body }
            };
            $crate::last_error::answer(call())
        }
    };
}

pub(crate) use {calls, calls_on_device, define};

/// The stream of a program whose default stream is the thread's own.
pub(crate) fn per_thread(stream: CUstream) -> CUstream {
    if stream.is_null() { CU_STREAM_PER_THREAD } else { stream }
}

/// Does in a program's default stream what the program waits for. Where that is the legacy one, `now`
/// does it by the driver's own call, which waits no longer than it must; otherwise `enqueue` does,
/// and the stream is waited for.
pub(crate) fn waited_for(
    default_stream: CUstream,
    now: impl FnOnce() -> Result,
    enqueue: impl FnOnce(CUstream) -> Result,
) -> Result {
    if default_stream == CU_STREAM_LEGACY { now() } else { finished(default_stream, enqueue) }
}

/// Enqueues work in a stream, and waits for all of the stream.
pub(crate) fn finished(stream: CUstream, enqueue: impl FnOnce(CUstream) -> Result) -> Result {
    enqueue(stream)?;
    // SAFETY: it is one of the two default streams, which are always there.
    unsafe { cu::cuStreamSynchronize(stream) }
}
