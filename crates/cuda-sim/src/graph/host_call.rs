//! Functions of the program that the driver calls.

use crate::queue::StreamWork;

/// A function of the program, and its argument.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostFunction {
    function: unsafe extern "C" fn(*mut std::ffi::c_void),
    argument: usize,
}

impl HostFunction {
    /// A call that is to be made on a thread of the driver's.
    pub(crate) fn new(
        function: unsafe extern "C" fn(*mut std::ffi::c_void),
        argument: *mut std::ffi::c_void,
    ) -> HostFunction {
        HostFunction { function, argument: argument.expose_provenance() }
    }

    /// Function and argument, as the program gave them.
    pub(crate) fn parts(
        self,
    ) -> (unsafe extern "C" fn(*mut std::ffi::c_void), *mut std::ffi::c_void) {
        (self.function, std::ptr::with_exposed_provenance_mut(self.argument))
    }

    /// The call as work in a stream.
    pub(crate) fn work(self) -> StreamWork {
        StreamWork::Host(Box::new(move || self.call()))
    }

    /// Makes the call.
    pub(super) fn call(self) {
        let (function, argument) = self.parts();
        // SAFETY: the caller gave the function and its argument to be put together, on any thread.
        unsafe { function(argument) }
    }
}
