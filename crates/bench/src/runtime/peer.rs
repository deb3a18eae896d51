//! The same by cudarc's safe layer, on the same driver.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use gpu_runtime::{Device, Stream};

use super::held::Enqueues;
use crate::error::Result;
use crate::launcher::EMPTY;

const ONE: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };

/// Two streams, and what is enqueued on them.
pub(super) struct Cudarc {
    /// The streams as the runtime knows them, to hold them back.
    known: [Stream; 2],
    streams: [Arc<CudaStream>; 2],
    empty: CudaFunction,
    arguments: CudaFunction,
    read: CudaSlice<f32>,
    written: CudaSlice<f32>,
    event: CudaEvent,
    turn: usize,
}

/// Whether cudarc orders the uses of memory by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Tracking {
    On,
    Off,
}

impl Cudarc {
    pub(super) fn new(device: Device, tracking: Tracking) -> Result<Cudarc> {
        let context = context(device)?;
        if tracking == Tracking::Off {
            // SAFETY: there is no memory yet, and the kernels touch none.
            unsafe { context.disable_event_tracking() };
        }
        let module = context.load_module(Ptx::from_src(EMPTY.trim_end_matches('\0')))?;
        let streams = [context.new_stream()?, context.new_stream()?];
        // SAFETY: the streams live as long as `streams`, beside which the handles are kept.
        let known =
            |stream: &CudaStream| unsafe { Stream::from_raw(device, stream.cu_stream().cast()) };
        Ok(Cudarc {
            known: [known(&streams[0])?, known(&streams[1])?],
            empty: module.load_function("empty")?,
            arguments: module.load_function("arguments")?,
            read: streams[0].alloc_zeros(1)?,
            written: streams[0].alloc_zeros(1)?,
            event: context.new_event(None)?,
            turn: 0,
            streams,
        })
    }

    /// A launch without arguments.
    pub(super) fn launch(&mut self) -> Result<()> {
        // SAFETY: the kernel takes no arguments and touches no memory.
        unsafe { self.streams[0].launch_builder(&self.empty).launch(ONE)? };
        Ok(())
    }

    /// A launch with a slice that is read, one that is written, and a number.
    pub(super) fn launch_with_slices(&mut self) -> Result<()> {
        self.launch_on(0)
    }

    /// The same, on the two streams by turns, with the same slices.
    pub(super) fn shared_by_turns(&mut self) -> Result<()> {
        self.turn ^= 1;
        self.launch_on(self.turn)
    }

    /// A launch on the first stream, which the second then waits for.
    pub(super) fn launch_and_wait(&mut self) -> Result<()> {
        self.launch()?;
        Ok(self.streams[1].join(&self.streams[0])?)
    }

    /// Records an event, and asks whether it is past.
    pub(super) fn record_and_query(&mut self) -> Result<()> {
        self.event.record(&self.streams[0])?;
        self.event.try_is_complete()?;
        Ok(())
    }

    fn launch_on(&mut self, stream: usize) -> Result<()> {
        let mut launch = self.streams[stream].launch_builder(&self.arguments);
        launch.arg(&self.read).arg(&mut self.written).arg(&1u32);
        // SAFETY: these are the kernel's parameters, and it touches no memory.
        unsafe { launch.launch(ONE)? };
        Ok(())
    }
}

/// The object that owns a device's context.
pub(super) fn context(device: Device) -> Result<Arc<CudaContext>> {
    Ok(CudaContext::new(device.index())?)
}

impl Enqueues for Cudarc {
    fn streams(&self) -> &[Stream] {
        &self.known
    }
}
