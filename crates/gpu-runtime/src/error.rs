//! The errors of the runtime, by kind.

mod capture;
mod event;
mod launch;
mod lost;
mod mapping;
mod race;

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::types::{Device, DriverChoice, DriverKind, GraphNode, LaunchRecord, Pitched};
use crate::types::{StreamId, WaitReason};
use capture::At;
pub use capture::{CaptureProblem, UpdateProblem};
pub use event::EventProblem;
pub use launch::LaunchProblem;
pub use lost::LostDevice;
pub use mapping::MappingProblem;
pub use race::{MissingEdge, Party, Race, RacingAccess};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the runtime, by its kind: what was asked, of which device and stream, and what is in the
/// way.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    // Choosing a driver.
    /// NVIDIA's driver is not there, or cannot be used.
    #[error("{reason}. {ASK_FOR_SOFTWARE}")]
    DriverNotFound {
        /// The libraries that were tried, and the error of each.
        reason: cuda_sys::LoadError,
    },
    /// The driver works and has no device.
    #[error(
        "the {driver} driver has no device (is CUDA_VISIBLE_DEVICES hiding them?). {}",
        way_out(*.driver)
    )]
    NoDevice {
        /// The driver that was asked.
        driver: DriverKind,
    },
    /// The software driver was asked for in a build without it.
    #[error(
        "the software driver is not compiled in: build with the feature `software` of gpu-runtime"
    )]
    NotCompiledIn,
    /// The name of a driver that does not exist.
    #[error(
        "there is no driver `{asked}`: GPU_DRIVER is `nvidia`, `software` or `software:N`, N being \
         the number of devices, at least 1"
    )]
    UnknownDriver {
        /// The name as it was given.
        asked: String,
    },
    /// The software driver cannot be set up as asked.
    #[error("the software driver cannot be set up: {reason}")]
    SoftwareDriver {
        /// The driver's objection.
        reason: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// A process has one driver, and another one is in use.
    #[error(
        "the driver `{asked}` was asked for, but this process already uses `{chosen}`: choose a \
         driver before the first use of a device"
    )]
    DriverAlreadyChosen {
        /// The driver in use.
        chosen: DriverChoice,
        /// The driver that was asked for.
        asked: DriverChoice,
    },

    // Devices and memory.
    /// There is no device of that index.
    #[error("there is no device {index}: {}", devices(*.count))]
    InvalidDevice {
        /// The index that was asked for.
        index: usize,
        /// The number of devices.
        count: usize,
    },
    /// A device has not enough memory left.
    #[error("{device} has no {bytes} bytes left: {free} of its {total} bytes are free")]
    OutOfMemory {
        /// The device.
        device: Device,
        /// The size that was asked for.
        bytes: usize,
        /// The free memory afterwards, as the driver counts it; it may be in pieces.
        free: usize,
        /// The device's memory.
        total: usize,
    },
    /// A device has no range of addresses left that is so long.
    #[error("{device} has no {bytes} addresses in a row left to be reserved")]
    OutOfAddresses {
        /// The device.
        device: Device,
        /// The size that was asked for.
        bytes: usize,
    },
    /// Addresses or physical memory that cannot be used so.
    #[error("{device} cannot {operation} {bytes} bytes at offset {offset}: {problem}")]
    Mapping {
        /// The operation that was asked for.
        operation: &'static str,
        /// The device.
        device: Device,
        /// The offset in the reserved range.
        offset: usize,
        /// The number of bytes.
        bytes: usize,
        /// Why it cannot be done.
        problem: MappingProblem,
    },
    /// The system gave no page-locked memory.
    #[error(
        "the system gave no {bytes} bytes of page-locked memory: such memory cannot be swapped \
         out, so pin less of it at a time"
    )]
    HostOutOfMemory {
        /// The size that was asked for.
        bytes: usize,
    },
    /// There is a guard of the page-locked memory that the work would write: the program reads it, and
    /// devices know where it is, so it cannot be changed or moved.
    #[error(
        "the work would write page-locked memory that is read through a guard, which was taken at \
         {place}; drop the guard first"
    )]
    GuardHeld {
        /// The place in the source where the guard was taken.
        place: &'static Location<'static>,
    },
    /// A device stopped working: a kernel before this call did something that it must not do.
    #[error("{lost}")]
    DeviceLost {
        /// The device.
        device: Device,
        /// The launch that probably did it; [`LostDevice::suspects`] has all that may have.
        launch: Option<LaunchRecord>,
        /// All that is known.
        lost: Arc<LostDevice>,
    },
    /// Two devices that cannot reach each other's memory.
    #[error(
        "{device} cannot access the memory of {peer}: the machine does not connect them for that; \
         copies between them work nevertheless"
    )]
    PeerAccessUnsupported {
        /// The device that would read and write.
        device: Device,
        /// The device whose memory it would reach.
        peer: Device,
    },

    /// Two devices that say they are connected, and between which bytes change.
    #[error(
        "{device} gets no access to the memory of {peer}: what one sends does not arrive at the \
         other as it was (often an IOMMU or PCIe access control is the cause); copies between them \
         go through the host"
    )]
    PeerLinkCorrupt {
        /// The device that would read and write.
        device: Device,
        /// The device whose memory it would reach.
        peer: Device,
    },

    // Kernels.
    /// A launch that the device cannot run.
    #[error("`{function}` cannot be launched: {problem}")]
    InvalidLaunch {
        /// The kernel.
        function: Arc<str>,
        /// The limit that the launch exceeds.
        problem: LaunchProblem,
    },
    /// The driver refused the code of a module.
    #[error("{device} cannot load the module: {name}: {}", said(.log))]
    ModuleLoad {
        /// The device.
        device: Device,
        /// The driver's name for the error.
        name: &'static str,
        /// The log of the driver's compiler.
        log: String,
    },
    /// A module has no kernel of that name.
    #[error(
        "the module has no kernel `{name}`: a kernel is found by its name in the PTX, which C++ \
         mangles unless it is declared extern \"C\""
    )]
    FunctionNotFound {
        /// The name that was asked for.
        name: String,
    },

    // Streams, events and buffers.
    /// A stream that other code made, on another device or in another context.
    #[error(
        "the stream is not one of {device}'s primary context: make it where that context is current"
    )]
    ForeignStream {
        /// The device that it should be a stream of.
        device: Device,
    },
    /// An event that is not in a state for what was asked of it.
    #[error("{operation}: {problem}")]
    InvalidEvent {
        /// The operation that was asked for.
        operation: &'static str,
        /// Why the event cannot do it.
        problem: EventProblem,
    },
    /// Two ends of a copy that differ in length.
    #[error(
        "{operation}: the source has {source_length} elements, the destination {destination_length}"
    )]
    LengthMismatch {
        /// The copy.
        operation: &'static str,
        /// Elements of the source.
        source_length: usize,
        /// Elements of the destination.
        destination_length: usize,
    },

    /// The host was about to wait where it must not.
    #[error(
        "the host would wait for {device} at {place} ({reason}), which WaitMode::Fail forbids \
         here; nothing was done"
    )]
    WaitRefused {
        /// The device.
        device: Device,
        /// Why it would wait.
        reason: WaitReason,
        /// The place in the source that asked for it.
        place: &'static Location<'static>,
    },

    /// An access to memory that nothing puts in order with an earlier one, under `GPU_SANITIZER=1`.
    #[error("{race}\nNothing was done; GPU_SANITIZER is set")]
    DataRace {
        /// Both accesses, and what is missing.
        race: Box<Race>,
    },

    /// Pitched that are not where they are said to be.
    #[error(
        "{operation}: {rows} do not lie in {elements} elements, or overlap each other: they must \
         end within them, and the stride must be at least the length"
    )]
    InvalidRows {
        /// The copy.
        operation: &'static str,
        /// The rows.
        rows: Pitched,
        /// The number of elements.
        elements: usize,
    },
    /// Two ends of a strided copy that differ in shape.
    #[error("{operation}: the source is {source_rows}, the destination {destination_rows}")]
    RowsMismatch {
        /// The copy.
        operation: &'static str,
        /// The rows of the source.
        source_rows: Pitched,
        /// The rows of the destination.
        destination_rows: Pitched,
    },

    // Graphs.
    /// Something that cannot be done during a capture, or with what was captured.
    #[error("{operation}: {problem}")]
    Capture {
        /// The operation that was asked for.
        operation: &'static str,
        /// Why it cannot be done.
        problem: CaptureProblem,
    },
    /// A closure that runs before each launch of the graph failed, so the graph was not launched.
    #[error("the graph was not launched: what comes before each launch failed: {reason}")]
    BeforeLaunch {
        /// The reason.
        reason: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// An executable graph that cannot become another one.
    #[error(
        "the graph cannot be updated: {problem}{}; instantiate the new graph instead",
        At(.node)
    )]
    GraphUpdate {
        /// The difference.
        problem: UpdateProblem,
        /// The first node of the new graph that differs, if the driver tells.
        node: Option<Box<GraphNode>>,
    },

    /// Any other error that the driver reported.
    #[error("{call} failed{}: {name}: {text}", place(.device, .stream))]
    Driver {
        /// The function of the driver.
        call: &'static str,
        /// The device that it concerned.
        device: Option<Device>,
        /// The stream that it concerned.
        stream: Option<StreamId>,
        /// The driver's number for the error.
        code: u32,
        /// The driver's name for the error.
        name: &'static str,
        /// The driver's description of the error.
        text: &'static str,
    },
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const ASK_FOR_SOFTWARE: &str = "Without a GPU, ask for the software driver: GPU_DRIVER=software:N \
     in the environment, or in the program cuda::software(N) of the crate sluice, which is \
     choose_driver(DriverChoice::Software { devices: Some(N) })";

fn way_out(driver: DriverKind) -> &'static str {
    match driver {
        DriverKind::Nvidia => ASK_FOR_SOFTWARE,
        DriverKind::Software => "CUDA_SIM_DEVICES says how many there are.",
    }
}

fn said(log: &str) -> &str {
    if log.is_empty() { "the driver says nothing more" } else { log }
}

fn devices(count: usize) -> String {
    match count {
        0 => "there are none".to_owned(),
        1 => "there is one, with index 0".to_owned(),
        _ => format!("there are {count}, with indices 0 to {}", count - 1),
    }
}

fn place(device: &Option<Device>, stream: &Option<StreamId>) -> String {
    match (device, stream) {
        (_, Some(stream)) => format!(" on {stream}"),
        (Some(device), None) => format!(" on {device}"),
        (None, None) => String::new(),
    }
}
