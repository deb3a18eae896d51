//! Which clock a program sees, and what things cost by a virtual one.

/// The clock that events and waits go by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Time {
    /// The clock of this machine.
    #[default]
    Real,
    /// A simulated one, which goes by a model of other hardware.
    Virtual(TimeModel),
}

/// A model of hardware: times in nanoseconds, bandwidths in bytes per second.
///
/// What it knows: each device runs one kernel at a time, and has a copy engine for each direction
/// of its host link, one for copies within its memory, and one port each way to a switch that
/// connects all devices. An operation begins when its stream, what it waits for, and all engines
/// that it needs are free, in the order of the times when the first two were.
///
/// What it does not know: that kernels share a device, that copies and kernels share its memory's
/// bandwidth, caches, the traffic of kernels on other devices' memory, and how often loops run
/// ([`declare_kernel`](crate::control::declare_kernel) tells it).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeModel {
    /// The time that each call of the driver costs the host's thread.
    pub call: u64,
    /// The time from the call that enqueues an operation to its beginning on an idle device.
    pub launch_latency: u64,
    /// The time from the end of a stream's operation, or of what it waits for, to its next one.
    pub gap: u64,
    /// The time of the shortest kernel.
    pub min_kernel: u64,
    /// The time of the shortest copy.
    pub min_copy: u64,
    /// The time of a host function, whatever it does.
    pub host_function: u64,
    /// The bandwidth between page-locked memory and a device, in each direction.
    pub pinned: u64,
    /// The bandwidth between pageable memory and a device, in each direction: staged by the driver.
    pub pageable: u64,
    /// The host's own copies: pageable memory to staging buffers, host memory to host memory.
    pub host_copy: u64,
    /// The bandwidth from a device to all others, and from all others to it: its port to the
    /// switch.
    pub port: u64,
    /// A device's memory, as its kernels see it.
    pub memory: u64,
    /// Instructions of threads per second and device.
    pub instructions: u64,
}

impl TimeModel {
    /// An H200 (SXM), eight of which are connected by NVSwitch.
    pub const H200: TimeModel = TimeModel {
        // Assumed: about what a launch costs the host on current drivers; other calls cost less.
        call: 2_000,
        // Assumed: launches on an idle device are seen to take 5 microseconds or so from call to
        // kernel, of which the call is a part.
        launch_latency: 3_000,
        // Assumed: about what lies between kernels of a stream that is full.
        gap: 1_000,
        // Assumed: about what an empty kernel is seen to take.
        min_kernel: 2_000,
        // Assumed: a copy engine's start.
        min_copy: 1_500,
        // Assumed: a thread of the host is woken.
        host_function: 10_000,
        // PCIe 5.0, 16 lanes: 63 GB/s after encoding (PCI-SIG); about 55 GB/s is what copies reach.
        pinned: 55_000_000_000,
        // Assumed: a core's copy to the staging buffer, overlapped with the link, is the limit.
        pageable: 12_000_000_000,
        // Assumed: one core.
        host_copy: 12_000_000_000,
        // NVLink 4: 900 GB/s in both directions together (NVIDIA H200 data sheet).
        port: 450_000_000_000,
        // HBM3e: 4.8 TB/s (NVIDIA H200 data sheet), of which dense additions reached 4.35 TB/s
        // (docs/results, kernels on an H200).
        memory: 4_350_000_000_000,
        // 67 TFLOP/s in f32 (NVIDIA H200 data sheet), two to an instruction.
        instructions: 33_500_000_000_000,
    };
}

impl Time {
    /// The clock of that name.
    pub(crate) fn named(name: &str) -> Option<Time> {
        match name {
            "real" => Some(Time::Real),
            "h200" => Some(Time::Virtual(TimeModel::H200)),
            _ => None,
        }
    }
}
