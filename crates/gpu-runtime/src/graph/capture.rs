//! Captures, as programs begin and end them.

use std::any::{Any, TypeId};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cuda_sys::CUstreamCaptureStatus as Status;

use super::Graph;
use crate::capture::{CaptureState, driver};
use crate::device::CaptureMode;
use crate::error::{CaptureProblem, Error, Result};
use crate::stream::{OpenCapture, Stream, captures};
use crate::uses::Uses;

/// Whether a stream is being captured, by whomever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CaptureStatus {
    /// Enqueued work runs.
    None,
    /// Enqueued work becomes part of a graph.
    Active,
    /// Something was done that the capture forbids, and it cannot succeed any more.
    Invalidated,
}

/// A capture in progress: what layers above the runtime need of it. Handles are cheap to clone.
#[derive(Clone)]
pub struct Capture(Arc<CaptureState>);

/// Has a capture go on until it is dropped, which abandons it, or ended.
///
/// Forgotten (`mem::forget`), it leaves its streams captured for good.
#[must_use = "the capture is abandoned when the guard is dropped"]
pub struct CaptureGuard {
    capture: Capture,
    _of_this_thread: PhantomData<*const ()>,
}

impl Stream {
    /// Captures what `f` enqueues, as a graph; it does not run. The stream is the thread's current
    /// one meanwhile.
    ///
    /// With automatic order, all that this thread enqueues in `f` is captured, on whichever streams
    /// and devices that is, also when `f` makes other streams current: they take part by
    /// themselves, and are joined at the end. What must come after what is decided by the memory
    /// that the work uses, as ever; edges between streams become edges of the graph. With
    /// [`Order::Manual`](crate::Order), a stream takes part once it waits for one that does
    /// ([`wait_stream`](Stream::wait_stream), [`wait_event`](Stream::wait_event)), and must be
    /// waited for before the end. Other threads are not concerned, unless they enqueue on these
    /// streams or entered this thread's [`ExecutionContext`](crate::ExecutionContext).
    ///
    /// Memory that exists already keeps its place: each launch of the graph reads and writes it, in
    /// order with all else that uses it by then. The graph owns it with its owner, so nobody frees
    /// it under a launch. Memory that is given to kernels by address is in the caller's care.
    ///
    /// What a graph cannot do is an error, and then nothing was done: to wait for a captured stream
    /// or to ask how far it is, to allocate memory from the driver, to copy from or to pageable
    /// memory, callbacks, copies that give something back.
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: None })?;
    /// use gpu_runtime::{Device, DeviceBuffer, LaunchConfig, Stream};
    ///
    /// let device = Device::get(0)?;
    /// # const SAXPY: &str =
    /// #     include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/ptx/saxpy.ptx"));
    /// let module = device.load(SAXPY)?; // what nvcc makes of `y[i] += a * x[i]`
    /// let saxpy = module.function("saxpy")?;
    /// let stream = Stream::new(device)?;
    /// let mut x = stream.copy_htod(&[1.0f32, 2.0])?;
    /// let mut y = stream.copy_htod(&[0.0f32, 0.0])?;
    /// let (graph, ()) = stream.capture(|_| {
    ///     // SAFETY: the kernel takes (n, a, x, y), reads x[..n], and reads and writes y[..n].
    ///     unsafe { saxpy.launch(&stream, LaunchConfig::for_elements(2), (2u64, 1.0f32, &x, &mut y)) }
    /// })?;
    /// let step = graph.instantiate()?;
    /// step.launch(&stream)?;
    /// stream.copy_htod_into(&[10.0, 20.0], &mut x)?;
    /// step.launch(&stream)?;
    /// assert_eq!(stream.copy_dtoh(&y)?.wait()?, [11.0, 22.0]);
    /// # Ok::<(), gpu_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of `f`, and of [`begin_capture`](Stream::begin_capture) and [`CaptureGuard::end`]. The
    /// capture is abandoned then, as it is if `f` panics: nothing has happened.
    pub fn capture<R, E: From<Error>>(
        &self,
        f: impl FnOnce(&Capture) -> Result<R, E>,
    ) -> Result<(Graph, R), E> {
        let capture = self.begin_capture(CaptureMode::default())?;
        let result = {
            let _current = self.enter()?;
            f(capture.capture())?
        };
        Ok((capture.end()?, result))
    }

    /// Begins a capture as [`capture`](Stream::capture) does, until the guard is ended or dropped,
    /// and with another mode if need be. The stream is not made current.
    ///
    /// # Errors
    /// [`CaptureProblem::StreamTaken`] if the stream is being captured already,
    /// [`CaptureProblem::ThreadTaken`] if this thread captures something already, and the driver's.
    pub fn begin_capture(&self, mode: CaptureMode) -> Result<CaptureGuard> {
        if let Some(own) = CaptureState::current().filter(|own| own.is_open()) {
            let problem = CaptureProblem::ThreadTaken { stream: own.origin.id() };
            return Err(Error::Capture { operation: "begin_capture", problem });
        }
        let capture = CaptureState::begin(self, mode)?;
        captures::replace(Some(Arc::<CaptureState>::downgrade(&capture)));
        Ok(CaptureGuard { capture: Capture(capture), _of_this_thread: PhantomData })
    }

    /// Whether the stream is being captured, also by code outside of the runtime.
    ///
    /// # Errors
    /// The driver's.
    pub fn capture_status(&self) -> Result<CaptureStatus> {
        Ok(match driver::status(self)? {
            Status::CU_STREAM_CAPTURE_STATUS_NONE => CaptureStatus::None,
            Status::CU_STREAM_CAPTURE_STATUS_ACTIVE => CaptureStatus::Active,
            _ => CaptureStatus::Invalidated,
        })
    }
}

impl Capture {
    /// The capture that work goes to which the calling thread enqueues on `stream`; `None` if it
    /// runs. The stream takes part from here on, if it would with that work.
    ///
    /// # Errors
    /// The driver's, if it does not let the stream take part.
    pub fn of(stream: &Stream) -> Result<Option<Capture>> {
        Ok(CaptureState::joined(stream)?.map(Capture))
    }

    /// A number that no other capture of the process has.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Keeps a value as long as the graph lives, and launches of it are under way: a pool of
    /// memory, say. There is one of each type.
    ///
    /// # Errors
    /// The value, if there is one of its type already.
    pub fn attach<T: Any + Send + Sync>(&self, value: Arc<T>) -> Result<(), Arc<T>> {
        let kept: Arc<dyn Any + Send + Sync> = Arc::clone(&value) as _;
        if self.0.attach(TypeId::of::<T>(), kept) { Ok(()) } else { Err(value) }
    }

    /// The value of that type which was attached.
    pub fn attached<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.attached(TypeId::of::<T>())?.downcast().ok()
    }

    /// Has each launch of the graph write the memory of a record, which no captured work names: the
    /// launches of graphs that share memory come one after the other.
    pub fn write(&self, record: &Arc<Uses>) {
        self.0.note_write(record);
    }

    /// Has `before` run before each launch of the graph, which comes after what `before` enqueues
    /// on the launch's stream. It runs in the thread that launches; two launches of the graph do
    /// not do so at the same time. Such a graph cannot be launched into another capture
    /// ([`CaptureProblem::NeedsPreparation`]).
    ///
    /// A launch whose `before` fails is not made; the error is `before`'s, or
    /// [`Error::BeforeLaunch`] of it. It runs under the lock of the executable graph and of the
    /// graph's launches: `before` must not launch the same graph, in whichever of its executable
    /// forms, nor update it. That would deadlock.
    pub fn before_each_launch(
        &self,
        before: impl Fn(&Stream) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) {
        self.0.before_each_launch(Arc::new(before));
    }

    /// Has `after` run after each launch of the graph, or of a graph of which it has become part,
    /// as soon as that is enqueued. It runs under the lock of the executable graph, and must not
    /// wait, nor call into the runtime.
    pub fn after_each_launch(&self, after: impl Fn() + Send + Sync + 'static) {
        self.0.after_each_launch(Arc::new(after));
    }

    /// Whether memory was allocated for the captured work, so that it holds nothing before the
    /// first launch.
    pub fn fills(&self, uses: &Uses) -> bool {
        uses.is_born_in(&self.0.birth)
    }

    /// A use record for memory that was just allocated for the captured work, from memory that the
    /// graph keeps. It holds nothing before the graph is launched, so it can be used only in the
    /// capture until then. `recycled` says that captured work on `stream` may have used it before.
    ///
    /// Its owner ends with [`Uses::release`].
    pub fn record(&self, stream: &Stream, recycled: bool) -> Arc<Uses> {
        Uses::born(Arc::clone(&self.0.birth), self.0.uses_of_new(stream, recycled))
    }
}

impl CaptureGuard {
    /// The capture.
    pub fn capture(&self) -> &Capture {
        &self.capture
    }

    /// Ends the capture. With automatic order, what other streams were given is joined.
    ///
    /// # Errors
    /// [`CaptureProblem::Unjoined`] for streams that nobody joined, with
    /// [`Order::Manual`](crate::Order); [`CaptureProblem::Broken`] if the driver gave the capture
    /// up; else the driver's. It is over in any case, and the streams are as they were.
    pub fn end(self) -> Result<Graph> {
        let (raw, content) = self.capture.0.end()?;
        Ok(Graph::new(raw, content))
    }
}

impl Drop for CaptureGuard {
    fn drop(&mut self) {
        captures::replace(None);
        // Nothing is left to abandon if it was ended.
        self.capture.0.abandon();
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capture({} on {})", self.0.id, self.0.origin)
    }
}

impl fmt::Debug for CaptureGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CaptureGuard({} on {})", self.capture.0.id, self.capture.0.origin)
    }
}
