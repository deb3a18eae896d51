//! The measured work, done by the runtime.

use gpu_runtime::{Device, DeviceBuffer, Event, Function, Stream};

use super::held::Enqueues;
use crate::error::Result;
use crate::launcher::{EMPTY, ONE};

/// Two streams, and what is enqueued on them.
pub(super) struct Ours {
    streams: [Stream; 2],
    empty: Function,
    arguments: Function,
    read: DeviceBuffer<f32>,
    written: [DeviceBuffer<f32>; 2],
    event: Event,
    turn: usize,
}

impl Ours {
    pub(super) fn new(device: Device) -> Result<Ours> {
        let module = device.load(EMPTY)?;
        let streams = [Stream::new(device)?, Stream::new(device)?];
        let buffer = || DeviceBuffer::zeroed(&streams[0], 1);
        Ok(Ours {
            empty: module.function("empty")?,
            arguments: module.function("arguments")?,
            read: buffer()?,
            written: [buffer()?, buffer()?],
            event: Event::new(),
            turn: 0,
            streams,
        })
    }

    /// A launch without arguments.
    pub(super) fn launch(&mut self) -> Result<()> {
        // SAFETY: the kernel takes no arguments and touches no memory.
        unsafe { self.empty.launch(&self.streams[0], ONE, ())? };
        Ok(())
    }

    /// A launch with a buffer that is read, one that is written, and a number.
    pub(super) fn launch_with_buffers(&mut self) -> Result<()> {
        self.launch_on(0, 0)
    }

    /// The same, on the two streams by turns, with the same buffers.
    pub(super) fn shared_by_turns(&mut self) -> Result<()> {
        self.turn ^= 1;
        self.launch_on(self.turn, 0)
    }

    /// The same, where each stream has a buffer of its own to write.
    pub(super) fn apart_by_turns(&mut self) -> Result<()> {
        self.turn ^= 1;
        self.launch_on(self.turn, self.turn)
    }

    /// A launch on the first stream, which the second then waits for.
    pub(super) fn launch_and_wait(&mut self) -> Result<()> {
        self.launch()?;
        Ok(self.streams[1].wait_stream(&self.streams[0])?)
    }

    /// Records an event, and asks whether it is past.
    pub(super) fn record_and_query(&mut self) -> Result<()> {
        self.event.record(&self.streams[0])?;
        self.event.query()?;
        Ok(())
    }

    fn launch_on(&mut self, stream: usize, written: usize) -> Result<()> {
        let arguments = (&self.read, &mut self.written[written], 1u32);
        // SAFETY: these are the kernel's parameters, and it touches no memory.
        unsafe { self.arguments.launch(&self.streams[stream], ONE, arguments)? };
        Ok(())
    }
}

impl Enqueues for Ours {
    fn streams(&self) -> &[Stream] {
        &self.streams
    }
}
