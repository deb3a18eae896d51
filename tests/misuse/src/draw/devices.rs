//! Devices, streams, events and memory below the tensors.

use std::sync::Arc;

use gpu_alloc::{DeviceMemory, MemoryPool, PinnedMemory, Snapshot};
use gpu_runtime::{
    CaptureMode, Device, DeviceBuffer, DevicePtr, Event, Graph, LaunchConfig, Order, PinnedBuffer,
    Pitched, Stream, StreamPoint, WaitMode,
};

use super::Draw;

impl Draw {
    pub(crate) fn cuda(&mut self) -> Option<Device> {
        let index = self.rng.below(2);
        Device::get(self.told("cuda", index)).ok()
    }

    pub(crate) fn cudas(&mut self) -> Option<Vec<Device>> {
        (0..self.rng.below(4)).map(|_| self.cuda()).collect()
    }

    pub(crate) fn stream(&mut self) -> Option<Stream> {
        let device = self.cuda()?;
        let stream = match self.rng.below(3) {
            0 => device.default_stream(),
            1 => device.current_stream(),
            _ => Stream::new(device),
        };
        stream.ok()
    }

    pub(crate) fn tensor_stream(&mut self) -> Option<tensor::cuda::Stream> {
        let device = tensor::Device::cuda_at(self.rng.below(2));
        let stream = match self.rng.below(3) {
            0 => tensor::cuda::default_stream(device),
            1 => tensor::cuda::current_stream(device),
            _ => tensor::cuda::Stream::new(device),
        };
        stream.ok()
    }

    pub(crate) fn event(&mut self) -> Option<Event> {
        let event = if self.rng.one_in(2) { Event::new() } else { Event::with_timing() };
        if !self.rng.one_in(3) {
            event.record(&self.stream()?).ok()?;
        }
        Some(event)
    }

    pub(crate) fn point(&mut self) -> Option<StreamPoint> {
        let stream = self.stream()?;
        Some(if self.rng.one_in(3) { stream.point_at(self.word()?) } else { stream.point() })
    }

    pub(crate) fn graph(&mut self) -> Option<Graph> {
        let stream = self.tensor_stream()?;
        let x = self.tensor()?;
        let captured = stream.capture(|_| x.add(1).map(drop).or(Ok::<_, tensor::Error>(())));
        captured.ok().map(|(graph, ())| graph)
    }

    pub(crate) fn capture_mode(&mut self) -> Option<CaptureMode> {
        Some(self.rng.pick(&[CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed]))
    }

    pub(crate) fn order(&mut self) -> Option<Order> {
        Some(self.rng.pick(&[Order::Automatic, Order::Manual]))
    }

    pub(crate) fn wait_mode(&mut self) -> Option<WaitMode> {
        let modes = [WaitMode::Off, WaitMode::Record, WaitMode::Warn, WaitMode::Fail];
        Some(self.rng.pick(&modes))
    }

    pub(crate) fn address(&mut self) -> Option<DevicePtr> {
        Some(DevicePtr::from_address(self.word()?))
    }

    pub(crate) fn launch_config(&mut self) -> Option<LaunchConfig> {
        Some(LaunchConfig::new(self.grid()?, self.grid()?))
    }

    pub(crate) fn rows(&mut self) -> Option<Pitched> {
        let rows = Pitched {
            start: self.size()?,
            count: self.size()?,
            length: self.size()?,
            stride: self.size()?,
        };
        let rows = if self.rng.one_in(3) { rows } else { Pitched::dense(2, 1 + self.rng.below(4)) };
        Some(self.told("rows", rows))
    }

    pub(crate) fn buffer(&mut self) -> Option<DeviceBuffer<u32>> {
        let len = self.rng.pick(&[0, 1, 2, 4, 8, 1000]);
        DeviceBuffer::zeroed(&self.stream()?, self.told("buffer", len)).ok()
    }

    pub(crate) fn pinned_buffer(&mut self) -> Option<PinnedBuffer<u32>> {
        let len = self.rng.pick(&[0, 1, 2, 4, 8, 1000]);
        PinnedBuffer::zeroed(self.told("pinned", len)).ok()
    }

    pub(crate) fn words(&mut self) -> Option<Vec<u32>> {
        let len = self.rng.pick(&[0, 1, 2, 4, 8, 1000]);
        Some(vec![7; self.told("slice", len)])
    }

    pub(crate) fn device_memory(&mut self) -> Option<DeviceMemory> {
        let (stream, bytes) = (self.stream()?, self.size()?);
        gpu_alloc::allocate(stream.device(), bytes, &stream).ok()
    }

    pub(crate) fn pinned_memory(&mut self) -> Option<PinnedMemory> {
        gpu_alloc::allocate_pinned(self.size()?).ok()
    }

    pub(crate) fn memory_pool(&mut self) -> Option<Arc<MemoryPool>> {
        Some(MemoryPool::new())
    }

    pub(crate) fn snapshot(&mut self) -> Option<Snapshot> {
        Some(gpu_alloc::memory_snapshot())
    }
}
