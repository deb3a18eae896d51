//! What random programs work with.

use gpu_runtime::{Device, DeviceBuffer, Function, LaunchConfig, Result, Stream};

use crate::fixture::{elementwise, zeros};

/// How many streams a machine has, and how many buffers.
pub(crate) const STREAMS: usize = 3;
pub(crate) const BUFFERS: usize = 3;

/// Streams and buffers of one device, and kernels for them.
pub(crate) struct Machine {
    pub(crate) device: Device,
    pub(crate) fill: Function,
    add_to: Function,
    pub(crate) streams: Vec<Stream>,
    pub(crate) buffers: Vec<DeviceBuffer<u32>>,
}

impl Machine {
    /// Its buffers have so many elements, all zero.
    pub(crate) fn new(device: Device, length: usize) -> Machine {
        Machine {
            device,
            fill: elementwise(device, "fill"),
            add_to: elementwise(device, "add_to"),
            streams: (0..STREAMS).map(|_| Stream::new(device).expect("a stream")).collect(),
            buffers: (0..BUFFERS).map(|_| zeros(device, length)).collect(),
        }
    }

    /// Adds one buffer to another one, or to itself.
    pub(crate) fn add(&mut self, stream: usize, from: usize, to: usize) -> Result<()> {
        let (stream, length) = (&self.streams[stream], self.buffers[to].len());
        let (config, n) = (LaunchConfig::for_elements(length), length as u64);
        match self.buffers.get_disjoint_mut([from, to]) {
            Ok([from, to]) => {
                let from = &*from;
                // SAFETY: the kernel reads and writes as many elements as both have.
                unsafe { self.add_to.launch(stream, config, (n, from, to)) }
            }
            Err(_) => {
                let both = &mut self.buffers[to];
                let from = both.ptr();
                // SAFETY: as above; the kernel may be given the same memory twice.
                unsafe { self.add_to.launch(stream, config, (n, from, both)) }
            }
        }
    }
}
