//! Devices, held-back streams, and work on memory, for the tests of the whole.

use std::sync::mpsc::{Sender, channel};

use cuda_sim::control::{CheckKinds, Config, configure};
use gpu_alloc::{DeviceMemory, PinnedMemory, set_per_process_memory_fraction};
use gpu_runtime::{Access, Device, DriverChoice, Stream, Trusted, Uses, ordered};

/// The four devices of the software driver, with every access of a kernel checked.
pub(crate) fn devices() -> [Device; 4] {
    configure(Config { devices: 4, check: CheckKinds::ALL, ..Config::default() })
        .expect("as before");
    gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
        .expect("no test chooses another driver");
    [0, 1, 2, 3].map(|index| Device::get(index).expect("there are four"))
}

/// A source of the tests' own, which asks a device's source for all that it provides.
pub(crate) fn vouched<S>(source: S) -> Trusted<S> {
    // SAFETY: the sources of the tests hand on what a `DeviceSource` provides, and nothing else.
    unsafe { Trusted::new(source) }
}

/// Lets the process take this many bytes of a device's memory.
pub(crate) fn limit(device: Device, bytes: usize) {
    let total = device.memory_info().expect("the device tells").total;
    set_per_process_memory_fraction(bytes as f64 / total as f64, device)
        .expect("it is a part of the device's memory");
}

/// Keeps a stream from going on until it is opened, or dropped.
pub(crate) struct Gate(#[expect(dead_code, reason = "it is held to be dropped")] Sender<()>);

impl Gate {
    /// Closes the gate before all later work on `stream`.
    pub(crate) fn close(stream: &Stream) -> Gate {
        let (gate, opened) = channel::<()>();
        // The callback ends when the sender goes.
        let callback = move || {
            let _ = opened.recv();
        };
        stream.add_callback(callback).expect("the stream takes a callback");
        Gate(gate)
    }

    pub(crate) fn open(self) {}
}

/// Fills memory on a stream, in order with its other uses.
pub(crate) fn fill(stream: &Stream, memory: &DeviceMemory, byte: u8) {
    ordered(stream, &[(memory.uses(), Access::Write)], || {
        // SAFETY: the memory is not handed out again before its noted uses are over.
        unsafe { stream.enqueue_fill(memory.ptr(), byte, memory.bytes()) }
    })
    .expect("the stream takes a fill");
}

/// Copies page-locked memory to a device, in order with the other uses of both.
pub(crate) fn upload(stream: &Stream, to: &DeviceMemory, from: &PinnedMemory) {
    assert!(from.bytes() <= to.bytes());
    let operands = [(to.uses(), Access::Write), (from.uses(), Access::Read)];
    ordered(stream, &operands, || {
        // SAFETY: neither memory is handed out again before its noted uses are over.
        unsafe { stream.enqueue_htod(to.ptr(), from.as_ptr(), from.bytes()) }
    })
    .expect("the stream takes a copy");
}

/// Copies memory to other memory of the device on a stream, in order with the other uses of both.
pub(crate) fn copy(stream: &Stream, to: &DeviceMemory, from: &DeviceMemory) {
    ordered(stream, &[(to.uses(), Access::Write), (from.uses(), Access::Read)], || {
        // SAFETY: neither memory is handed out again before its noted uses are over.
        unsafe { stream.enqueue_dtod(to.ptr(), from.ptr(), to.bytes()) }
    })
    .expect("the stream takes a copy");
}

/// What is in a device's memory once all its uses so far are over.
pub(crate) fn read(stream: &Stream, memory: &DeviceMemory) -> Vec<u8> {
    let mut bytes = vec![0; memory.bytes()];
    ordered(stream, &[(memory.uses(), Access::Read)], || {
        // SAFETY: `bytes` lives until the stream is synchronized below.
        unsafe { stream.enqueue_dtoh(bytes.as_mut_ptr(), memory.ptr(), bytes.len()) }
    })
    .expect("the stream takes a copy");
    stream.synchronize().expect("the device is well");
    bytes
}

/// The highest sequence numbers of the uses of some memory, as text for comparisons.
pub(crate) fn points(uses: &Uses) -> Vec<String> {
    uses.snapshot().points().map(|p| format!("{p:?}")).collect()
}
