//! Graphs: captured, launched, updated. Each test has a process of its own, since a device cannot be
//! waited for as a whole while something is captured on it.

mod capture;
mod edges;
mod hooks;
mod launches;
mod memory;
mod programs;
mod rules;
mod updates;

use gpu_runtime::{Capture, DeviceBuffer, Function, Graph, LaunchConfig, Result, Stream};

use crate::fixture::device;

pub(crate) fn stream() -> Stream {
    Stream::new(device()).expect("a stream")
}

/// Adds the first buffer to the second on a stream.
pub(crate) fn add(
    function: &Function,
    stream: &Stream,
    from: &DeviceBuffer<u32>,
    to: &mut DeviceBuffer<u32>,
) -> Result<()> {
    let n = to.len();
    // SAFETY: the kernel is `add_to`, and both have `n` elements.
    unsafe { function.launch(stream, LaunchConfig::for_elements(n), (n as u64, from, to)) }
}

/// Adds 1 to all elements on a stream.
pub(crate) fn increment(
    function: &Function,
    stream: &Stream,
    buffer: &mut DeviceBuffer<u32>,
) -> Result<()> {
    let n = buffer.len();
    // SAFETY: the kernel is `increment`, and the buffer has `n` elements.
    unsafe { function.launch(stream, LaunchConfig::for_elements(n), (n as u64, buffer)) }
}

/// What `f` enqueues, captured on a stream.
pub(crate) fn captured(stream: &Stream, f: impl FnOnce(&Capture) -> Result<()>) -> Graph {
    stream.capture(f).expect("it can be captured").0
}
