//! The same by the driver's functions alone: what is added to them is the cost of a layer.

use std::ffi::c_void;
use std::ptr::{from_mut, null_mut};

use cuda_sys::{CUevent, CUevent_flags, CUfunction, CUresult, CUstream, Driver};
use gpu_runtime::{Device, Stream};

use super::held::Enqueues;
use crate::error::Result;
use crate::launcher::{self, ONE, check};

/// Two streams, and what is enqueued on them.
pub(super) struct DriverStreams {
    kernels: launcher::DriverLauncher,
    empty: CUfunction,
    arguments: CUfunction,
    streams: [Stream; 2],
    raw: [CUstream; 2],
    event: CUevent,
    turn: usize,
}

impl DriverStreams {
    pub(super) fn new(device: Device) -> Result<DriverStreams> {
        let kernels = launcher::DriverLauncher::new(device)?;
        let streams = [Stream::new(device)?, Stream::new(device)?];
        let mut event = null_mut();
        let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING.0;
        // SAFETY: `event` is writable, and the device's context is current.
        let made = unsafe { (kernels.driver().cuEventCreate)(&mut event, flags) };
        check("cuEventCreate", made)?;
        Ok(DriverStreams {
            empty: kernels.function(c"empty")?,
            arguments: kernels.function(c"arguments")?,
            raw: [0, 1].map(|index: usize| streams[index].as_raw().cast()),
            kernels,
            streams,
            event,
            turn: 0,
        })
    }

    /// A launch without arguments.
    pub(super) fn launch(&mut self) -> Result<()> {
        self.enqueue(self.empty, 0, &mut [])
    }

    /// A launch with two addresses and a number.
    pub(super) fn launch_with_arguments(&mut self) -> Result<()> {
        self.launch_on(0)
    }

    /// The same, on the two streams by turns, of which each waits for the other.
    pub(super) fn ordered_by_turns(&mut self) -> Result<()> {
        self.record(self.turn)?;
        self.turn ^= 1;
        self.wait(self.turn)?;
        self.launch_on(self.turn)
    }

    /// The same without any order.
    pub(super) fn apart_by_turns(&mut self) -> Result<()> {
        self.turn ^= 1;
        self.launch_on(self.turn)
    }

    fn launch_on(&self, stream: usize) -> Result<()> {
        let (mut read, mut written, mut number) = (0u64, 0u64, 1u32);
        let parameters = [
            from_mut(&mut read).cast(),
            from_mut(&mut written).cast(),
            from_mut(&mut number).cast(),
        ];
        self.enqueue(self.arguments, stream, &mut { parameters })
    }

    /// A launch on the first stream, which the second then waits for.
    pub(super) fn launch_and_wait(&mut self) -> Result<()> {
        self.launch()?;
        self.record(0)?;
        self.wait(1)
    }

    /// Records an event, and asks whether it is past.
    pub(super) fn record_and_query(&mut self) -> Result<()> {
        self.record(0)?;
        // SAFETY: the event lives as long as `self`.
        self.call("cuEventQuery", |driver| match unsafe { (driver.cuEventQuery)(self.event) } {
            CUresult::CUDA_ERROR_NOT_READY => CUresult::CUDA_SUCCESS,
            result => result,
        })
    }

    fn record(&self, stream: usize) -> Result<()> {
        // SAFETY: stream and event live as long as `self`.
        self.call("cuEventRecord", |driver| unsafe {
            (driver.cuEventRecord)(self.event, self.raw[stream])
        })
    }

    fn wait(&self, stream: usize) -> Result<()> {
        // SAFETY: stream and event live as long as `self`.
        self.call("cuStreamWaitEvent", |driver| unsafe {
            (driver.cuStreamWaitEvent)(self.raw[stream], self.event, 0)
        })
    }

    fn enqueue(
        &self,
        function: CUfunction,
        stream: usize,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        let ([gx, gy, gz], [bx, by, bz]) = (ONE.grid, ONE.block);
        let (stream, parameters) = (self.raw[stream], parameters.as_mut_ptr());
        // SAFETY: function and stream live as long as `self`; the parameters are the kernel's.
        self.call("cuLaunchKernel", |driver| unsafe {
            (driver.cuLaunchKernel)(
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                0,
                stream,
                parameters,
                null_mut(),
            )
        })
    }

    fn call(&self, name: &'static str, call: impl FnOnce(&Driver) -> CUresult) -> Result<()> {
        check(name, call(self.kernels.driver()))
    }
}

impl Enqueues for DriverStreams {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }
}

impl Drop for DriverStreams {
    fn drop(&mut self) {
        // Nobody can be told of a failure.
        // SAFETY: the event was made here, and is not used again.
        let _ = unsafe { (self.kernels.driver().cuEventDestroy_v2)(self.event) };
    }
}
