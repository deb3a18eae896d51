//! The timeline: when each piece of work was enqueued, began and ended, and when the host waited.

mod clock;
mod json;
mod overlap;
mod recorder;
mod stamps;

use std::fmt;
use std::io;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Result;
use crate::observe::{Observation, observe};
use crate::types::Device;
use crate::types::StreamId;
use crate::types::Work;
use crate::types::{WaitReason, WorkId};
pub use overlap::Overlap;
use recorder::Recorder;

/// Records what devices do from [`start`](Timeline::start) to [`finish`](Timeline::finish).
///
/// ```
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
/// use gpu_runtime::{Device, Timeline};
///
/// let device = Device::get(0)?;
/// let timeline = Timeline::start([device])?;
/// let stream = device.default_stream()?;
/// let buffer = stream.copy_htod(&[1.0f32, 2.0, 3.0])?;
/// stream.copy_dtoh(&buffer)?.wait()?;
/// let trace = timeline.finish()?;
///
/// assert_eq!(trace.operations.iter().filter(|o| o.time.is_some()).count(), 2);
/// println!("{}", trace.overlap(device));
/// let mut file = Vec::new(); // in a program: a file, to be opened at https://ui.perfetto.dev
/// trace.write_json(&mut file).expect("memory takes it");
/// # Ok::<(), gpu_runtime::Error>(())
/// ```
///
/// # How exact it is
///
/// Under the software driver's virtual time the driver itself says when each operation began and
/// ended, to the nanosecond, and to record costs nothing.
///
/// Otherwise each piece of work is put between two events with timing, and their distance to one
/// event per device, for which the host waited in the beginning, gives the times. A driver tells
/// such distances to half a microsecond at best, and as a 32-bit number of milliseconds: after 8
/// seconds that is a microsecond, and so on. Work begins for an event when its stream gets to it,
/// even if the device then is busy with another stream's. By how much the devices' times may be
/// off against the host's is [`Trace::accuracy`]. To record costs two calls of the driver for each
/// piece of work, so short kernels look further apart than they are.
#[must_use = "the timeline is had from `finish`"]
pub struct Timeline {
    recorder: Arc<Recorder>,
    observation: Observation,
}

/// The work, the waits and the ranges that a [`Timeline`] recorded. Times are from its start.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Trace {
    /// The work of the devices, in the order in which each stream was given it; without records of
    /// events.
    pub operations: Vec<TracedOperation>,
    /// The waits of the host for these devices.
    pub waits: Vec<TracedWait>,
    /// The named ranges that threads entered ([`range`](crate::range())), by their beginnings.
    pub ranges: Vec<TracedRange>,
    /// The names of the threads of the host that enqueued, waited, or entered ranges.
    pub threads: Vec<String>,
    /// For each device by how much its times may be off against the host's. Among each other they
    /// are exact as far as the driver's events are.
    pub accuracy: Vec<(Device, Duration)>,
}

/// A piece of work in a [`Trace`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TracedOperation {
    /// The stream and the number of the work there.
    pub id: WorkId,
    /// The work.
    pub work: Work,
    /// The place in the source that asked for it.
    pub place: &'static Location<'static>,
    /// Which of [`Trace::threads`] enqueued it.
    pub thread: usize,
    /// The call that enqueued it.
    pub call: Range<Duration>,
    /// When the device did it. `None` if that is not known: the device was lost.
    pub time: Option<Range<Duration>>,
    /// The work that it waits for, if it is a wait for another stream.
    pub awaits: Option<WorkId>,
}

/// A wait of the host in a [`Trace`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TracedWait {
    /// The device.
    pub device: Device,
    /// The reason.
    pub reason: WaitReason,
    /// The place in the source that asked for it.
    pub place: &'static Location<'static>,
    /// Which of [`Trace::threads`] waited.
    pub thread: usize,
    /// From when to when.
    pub time: Range<Duration>,
}

/// A named range in a [`Trace`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TracedRange {
    /// Its name.
    pub name: String,
    /// The place in the source where it begins.
    pub place: &'static Location<'static>,
    /// Which of [`Trace::threads`] entered it.
    pub thread: usize,
    /// From when to when: at most to the end of the timeline.
    pub time: Range<Duration>,
}

impl Timeline {
    /// Begins to record the work of these devices, of all threads and streams. Blocks, where
    /// devices have to be anchored in the host's time, until an empty stream of each has answered.
    ///
    /// # Errors
    /// The driver's.
    pub fn start(devices: impl IntoIterator<Item = Device>) -> Result<Timeline> {
        let recorder = Arc::new(Recorder::new(devices)?);
        let observation = observe(recorder.clone());
        Ok(Timeline { recorder, observation })
    }

    /// Blocks until all work that was recorded is done, and returns what is known of it.
    ///
    /// # Errors
    /// None for a lost device: what it has not done has no time. Else the driver's.
    pub fn finish(self) -> Result<Trace> {
        drop(self.observation);
        self.recorder.finish()
    }
}

impl Trace {
    /// The overlap of the device's copies and kernels, from the first piece of work to the last.
    pub fn overlap(&self, device: Device) -> Overlap {
        Overlap::of(device, &self.operations)
    }

    /// Writes a trace file of Chrome's format, which [Perfetto](https://ui.perfetto.dev) shows too:
    /// a process for each device with its streams as tracks, one for the host with its threads;
    /// arrows from calls to work, and from work to the waits of other streams for it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_json(&self, out: impl io::Write) -> io::Result<()> {
        json::write(self, out)
    }
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Timeline")
    }
}

/// The track of a stream: streams by their order in the trace.
fn streams(operations: &[TracedOperation]) -> Vec<StreamId> {
    let mut streams: Vec<_> = operations.iter().map(|operation| operation.id.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}
