//! What the tests share: devices, kernels, and streams that are held back for certain.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use cuda_sim::control::{CheckKinds, Config, Schedule, configure, set_schedule};
use gpu_runtime::{
    Device, DeviceBuffer, DriverChoice, DriverKind, Function, HostWait, LaunchConfig, Observation,
    Observer, PinnedBuffer, Result, Stream, choose_driver, driver_kind, observe,
};

/// Chooses the driver of the tests: four software devices that check each access, unless
/// `GPU_DRIVER` says otherwise.
pub(crate) fn start() {
    if std::env::var_os("GPU_DRIVER").is_none() {
        configure(Config { devices: 4, check: CheckKinds::ALL, ..Config::default() })
            .expect("as before");
        choose_driver(DriverChoice::Software { devices: None }).expect("nothing else is in use");
    }
}

/// The device with an index, or `None` after reporting that the test is skipped for want of it.
pub(crate) fn device_or_skip(index: usize, test: &str) -> Option<Device> {
    start();
    let device = Device::get(index).ok();
    if device.is_none() {
        test_support::skipped(test, &format!("there is no device {index}"));
    }
    device
}

/// Device 0.
pub(crate) fn device() -> Device {
    start();
    Device::get(0).expect("there is a device")
}

fn is_software() -> bool {
    driver_kind().expect("a driver") == DriverKind::Software
}

/// Has the software driver run what follows by a schedule. Others run it as they do.
pub(crate) fn schedule(schedule: &Schedule) {
    start();
    if is_software() {
        set_schedule(schedule).expect("the driver is in use");
    }
}

/// How much of device 0's memory is free, compared with what was before. The test has a process of
/// its own, and on a real GPU that GPU to itself.
pub(crate) struct MemoryBaseline(usize);

impl MemoryBaseline {
    /// What NVIDIA's driver may take or give back on its own account meanwhile. Tests take a multiple
    /// of it. The software driver has no such account.
    const OF_THE_DRIVER: usize = 8 << 20;

    pub(crate) fn now() -> MemoryBaseline {
        MemoryBaseline(device().memory_info().expect("memory").free)
    }

    /// So many bytes less are free than then.
    #[track_caller]
    pub(crate) fn is_less_by(&self, bytes: usize, why: &str) {
        let (expected, free) = (self.0 - bytes, MemoryBaseline::now().0);
        let tolerance = if is_software() { 0 } else { MemoryBaseline::OF_THE_DRIVER };
        assert!(free.abs_diff(expected) <= tolerance, "{why}: {free} and not {expected} are free");
    }
}

/// A kernel of `tests/ptx/elementwise.ptx`.
pub(crate) fn elementwise(device: Device, name: &str) -> Function {
    let module = device.load(include_str!("../ptx/elementwise.ptx")).expect("the module loads");
    module.function(name).expect("the kernel exists")
}

/// Zeros on a device, written before anything that follows.
pub(crate) fn zeros(device: Device, len: usize) -> DeviceBuffer<u32> {
    let stream = Stream::new(device).expect("a stream");
    let buffer = DeviceBuffer::zeroed(&stream, len).expect("memory");
    stream.synchronize().expect("the device works");
    buffer
}

/// Page-locked memory. To allocate or to free it waits for all streams, also those that are held:
/// tests allocate it before they hold one, and keep it until they let go.
pub(crate) fn pinned(len: usize) -> PinnedBuffer<u32> {
    PinnedBuffer::zeroed(len).expect("page-locked memory")
}

/// Sets all elements to `value` on `stream`.
pub(crate) fn fill(
    function: &Function,
    stream: &Stream,
    value: u32,
    buffer: &mut DeviceBuffer<u32>,
) -> Result<()> {
    let n = buffer.len();
    // SAFETY: the kernel is `fill`, and writes `n` elements.
    unsafe { function.launch(stream, LaunchConfig::for_elements(n), (n as u64, value, buffer)) }
}

/// The elements, read on a stream of its own, in order with whatever is on its way.
pub(crate) fn read(buffer: &DeviceBuffer<u32>) -> Vec<u32> {
    let stream = Stream::new(buffer.device()).expect("a stream");
    let pending = stream.copy_dtoh(buffer).expect("the copy is taken");
    pending.wait().expect("the device works")
}

/// Holds a stream back: what is enqueued after this runs only once the gate is opened or dropped.
///
/// Meanwhile memory must not be freed nor a module loaded, and callbacks of other streams may be
/// held too: NVIDIA's driver waits for the device in the former, and has one thread for the latter.
/// Tests make what they need before they hold a stream.
pub(crate) struct Gate {
    open: Option<Sender<()>>,
    reached: Receiver<()>,
}

impl Gate {
    pub(crate) fn hold(stream: &Stream) -> Gate {
        let (open, opened) = channel::<()>();
        let (reach, reached) = channel();
        stream
            .add_callback(move || {
                let _ = reach.send(());
                // An error means that the gate was dropped, which opens it too.
                let _ = opened.recv();
            })
            .expect("the callback is taken");
        Gate { open: Some(open), reached }
    }

    /// Blocks until the stream stands before the gate.
    pub(crate) fn wait_until_reached(&self) {
        self.reached.recv().expect("the stream gets there");
    }

    pub(crate) fn open(mut self) {
        self.open = None;
    }
}

/// Opens a gate when the host begins to wait, and for nothing else: who does not wait finds it closed.
pub(crate) struct OpensWhenWaiting(Mutex<Option<Gate>>);

impl OpensWhenWaiting {
    /// Holds a stream until the host waits, as long as the observation lasts.
    pub(crate) fn hold(stream: &Stream) -> Observation {
        observe(Arc::new(OpensWhenWaiting(Mutex::new(Some(Gate::hold(stream))))))
    }
}

impl Observer for OpensWhenWaiting {
    fn waiting(&self, _: &HostWait<'_>) {
        drop(self.0.lock().expect("no panic").take());
    }
}
