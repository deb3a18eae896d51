//! Devices, streams, events, copies and launches on a CUDA driver.
//!
//! This is CUDA's driver API as Rust values: what is created is destroyed when dropped, errors are
//! `Result`s, and order between streams is kept without the program's help. It serves those who
//! bring their own kernels, and is the floor that Sluice's allocator and tensors stand on.
//!
//! What it is not: it does not cache memory (the crate `gpu-alloc` does), has no tensors and no kernels
//! (`tensor`, `kernels`), and does not show the driver's own types (`cuda-sys`).
//!
//! ```
//! use gpu_runtime::{
//!     Availability, Device, DriverChoice, LaunchConfig, availability, choose_driver,
//! };
//!
//! if let Availability::Unavailable { reason } = availability() {
//!     eprintln!("{reason}");
//!     choose_driver(DriverChoice::Software { devices: Some(1) })?;
//! }
//! let device = Device::get(0)?;
//! # const SAXPY: &str =
//! #     include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/ptx/saxpy.ptx"));
//! let saxpy = device.load(SAXPY)?.function("saxpy")?; // what nvcc makes of `y[i] += a * x[i]`
//!
//! let stream = device.current_stream()?;
//! let x = stream.copy_htod(&[1.0f32, 2.0, 3.0])?;
//! let mut y = stream.copy_htod(&[10.0f32, 20.0, 30.0])?;
//! let n = x.len();
//! // SAFETY: the kernel takes (n, a, x, y), reads x[..n], and reads and writes y[..n].
//! let config = LaunchConfig::for_elements(n);
//! unsafe { saxpy.launch(&stream, config, (n as u64, 2.0f32, &x, &mut y))? };
//! assert_eq!(stream.copy_dtoh(&y)?.wait()?, [12.0, 24.0, 36.0]);
//! # Ok::<(), gpu_runtime::Error>(())
//! ```
//!
//! # The driver
//!
//! A process uses one driver, settled at the first use of a device: NVIDIA's, found at run time, or
//! the software driver if the program ([`choose_driver`]) or the environment
//! (`GPU_DRIVER=software:4`) asks for it. Nothing here tells the two apart afterwards. Without any,
//! [`availability`] says what was tried. The software driver is the default feature `software`;
//! without it, asking for it is [`Error::NotCompiledIn`].
//!
//! # Where work goes
//!
//! Each thread has a current [`Device`], and on each device a current [`Stream`]; both begin as
//! device 0 and the device's default stream, and are changed by guards ([`Device::enter`],
//! [`Stream::enter`]) or for a closure ([`with_device`], [`with_stream`]). They only decide where
//! new things go. A new thread inherits nothing; [`ExecutionContext`] carries it over.
//!
//! # When things happen
//!
//! Enqueuing (a launch, a copy, a fill, a wait of one stream for another, a callback) returns
//! before the work is done. The host waits only in functions whose documentation says "blocks".
//!
//! Work on one stream runs in order. Work on different streams may run at the same time, but memory
//! remembers its uses ([`Uses`]), and work on a [`DeviceBuffer`] comes after what it must come
//! after, on whichever stream and device that is:
//!
//! ```
//! # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
//! # use gpu_runtime::{Device, Stream};
//! # let device = Device::get(0)?;
//! let (loader, reader) = (Stream::new(device)?, Stream::new(device)?);
//! let data = loader.copy_htod(&vec![7u32; 1000])?;
//! let back = reader.copy_dtoh(&data)?; // waits, on the device, for the copy on `loader`
//! assert_eq!(back.wait()?, vec![7; 1000]);
//! # Ok::<(), gpu_runtime::Error>(())
//! ```
//!
//! Those who manage memory themselves get the same from [`ordered`], and [`with_order`] switches it
//! off where a program orders its streams itself.
//!
//! # What is safe
//!
//! Launching a kernel is `unsafe`, since nobody but its author knows what it accesses, and so are
//! raw copies ([`Stream::enqueue_htod`] and its like). Everything else is safe: copies keep or own
//! both ends, buffers, modules and streams may be dropped while work on them is on its way, in any
//! order and in any thread, and to drop them waits for nothing ([`DeviceAllocation`] and
//! [`HostAllocation`] are the exceptions, and say so). Arguments are trusted to fit each other; the
//! layers above check shapes and types.
//!
//! # Addresses and memory apart
//!
//! Where the device can, [`Device::virtual_memory`] reserves addresses and creates physical memory, to
//! be mapped where and when the program wants, at two addresses at a time too.
//!
//! # Graphs
//!
//! [`Stream::capture`] makes a [`Graph`] of work instead of running it, and a launch of that is one
//! operation, in order with all others. It owns the memory that it uses together with its owners.
//!
//! # When things go wrong
//!
//! A kernel that accesses memory it must not, or fails an assertion, makes its device unusable. The
//! driver says so late, at some other call: the runtime answers that call and all later ones on the
//! device with [`Error::DeviceLost`], which names the launches that may have done it
//! ([`LostDevice`]). With `CUDA_LAUNCH_BLOCKING=1` in the environment each launch is waited for,
//! and the error appears where it arises. What goes wrong in a destructor goes to `tracing` and to
//! [`take_drop_errors`].
//!
//! # Who listens
//!
//! [`Observer`]s are told of each piece of work and of each wait of the host, with places in the
//! source and ranges of memory ([`observe()`]). The ledger of waits has where the host waited, why
//! and for how long, and can refuse it ([`WaitMode`]). A [`Timeline`] has when the devices did what,
//! for Perfetto and for figures of overlap. A [`RaceChecker`], or `GPU_SANITIZER=1` in the
//! environment, finds accesses to the same memory that nothing puts in order. [`range()`] names a
//! part of the program, in timelines and for the tools that NVTX connects. `tracing` has an event for
//! each piece of work (target `gpu_runtime::enqueue`), and a span for each wait
//! (`gpu_runtime::wait`) and each range (`gpu_runtime::range`).
//!
//! # Where to go on
//!
//! [`Stream`] has copies and order, [`Function::launch`] launches, [`Event`] and [`StreamPoint`] are
//! waited for, [`ordered`] is for memory of your own, [`Stream::capture`] for graphs. Programs to read are
//! `examples/saxpy.rs` and `examples/picture/main.rs`.
//!
//! Inside, the rooms lie one above the other. Plain values (`types`) and errors name nothing above them;
//! `device` has the driver and what lasts; `stream` has queues, and `queue` hands work to them; `uses`
//! records the uses of memory, and `order` puts work in order by them; `capture` and `graph` make graphs of
//! work; `race` and `timeline` look on as any [`Observer`] may; `startup` chooses the driver and
//! connects the
//! others to it. The methods of [`Device`] and [`Stream`] stand in the room that does their work.

// Layers, the top one first; a module imports only from lines below its own.
//
//   startup
//   context
//   cached
//   race, timeline
//   range
//   graph
//   kernel
//   copy
//   virtual_memory
//   memory
//   order
//   current
//   event
//   capture
//   uses
//   queue
//   wait
//   observe
//   stream
//   order_mode
//   device
//   error
//   types
//   shared
//   panics, trusted
mod cached;
mod capture;
mod context;
mod copy;
mod current;
mod device;
mod error;
mod event;
mod graph;
mod kernel;
mod memory;
mod observe;
mod order;
mod order_mode;
pub mod panics;
mod queue;
mod race;
mod range;
mod shared;
mod startup;
mod stream;
mod timeline;
mod trusted;
mod types;
mod uses;
mod virtual_memory;
mod wait;

pub use cached::{Cached, tell_what_is_cached};
pub use context::{ExecutionContext, ExecutionContextGuard};
pub use current::{CurrentStream, DeviceGuard, StreamGuard, with_device, with_stream};
pub use device::{CaptureMode, take_drop_errors, with_capture_mode};
pub use error::{
    CaptureProblem, Error, EventProblem, LaunchProblem, LostDevice, MappingProblem, MissingEdge,
    Party, Race, RacingAccess, Result, UpdateProblem,
};
pub use event::Event;
pub use graph::{Capture, CaptureGuard, CaptureStatus, Graph, GraphExec};
pub use kernel::{ByValue, Function, KernelArgument, KernelArguments, LaunchConfig, Module};
pub use memory::{DeviceAllocation, DeviceBuffer, HostAllocation, PinnedBuffer};
pub use observe::{
    EnqueuedWork, Freed, HostAccess, HostWait, NamedRange, Observation, Observer, at_place,
    host_access, is_observed, observe, on_own_account, outermost_place,
};
pub use order::{MemoryUse, ordered, ordered_between, ordered_on_host};
pub use order_mode::{Order, with_order};
pub use queue::{Pending, StreamPoint, destructors_later};
pub use race::RaceChecker;
pub use range::{RangeGuard, range};
pub use startup::{
    Availability, availability, choose_driver, driver_kind, driver_version, is_available,
};
pub use stream::{Stream, StreamKeepAlive, outside_of_captures};
pub use timeline::{Overlap, Timeline, Trace, TracedOperation, TracedRange, TracedWait};
pub use trusted::Trusted;
pub use types::{
    Access, Allocation, Device, DevicePtr, Direction, DriverChoice, DriverKind, GraphNode,
    KernelName, LaunchRecord, MemoryAccess, MemoryInfo, Pitched, Properties, StreamId, WaitReason,
    Work, WorkId,
};
pub use uses::{HostGuard, HostHold, UseRecord, Uses, hold_on_host};
pub use virtual_memory::{AddressRange, PhysicalMemory, VirtualMemory};
pub use wait::{
    WaitMode, WaitModeGuard, WaitRecord, set_wait_mode, take_waits, wait_mode, with_wait_mode,
};

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
