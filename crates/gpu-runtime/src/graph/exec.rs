//! Executable graphs: launched as one operation of a stream, again and again.

use std::fmt;
use std::mem;
use std::panic::Location;
use std::sync::Arc;

use cuda_sys::CUresult;
use parking_lot::{Mutex, MutexGuard};

use super::Graph;
use crate::capture::{CaptureState, RawExec};
use crate::error::{CaptureProblem, Error, Result, UpdateProblem};
use crate::observe;
use crate::order::{MemoryUse, ordered_at};
use crate::queue::{StreamPoint, enqueue, retired};
use crate::stream::{Request, Stream, captures};
use crate::types::Access;
use crate::uses::Uses;

/// A graph that can be launched.
///
/// A launch is one operation of the stream: it reads and writes all memory that the graph's work
/// reads and writes, in order with all other uses on whichever stream, as any operation does. To
/// drop it waits for nothing; what is under way is done to the end.
pub struct GraphExec {
    raw: Arc<RawExec>,
    /// The work of a launch. It is held while the graph is launched or updated, since the driver
    /// allows one call at a time.
    graph: Mutex<Graph>,
    /// The launches, which come one after the other.
    launches: Arc<Uses>,
}

impl GraphExec {
    pub(super) fn new(raw: RawExec, graph: Graph) -> GraphExec {
        let (raw, graph) = (Arc::new(raw), Mutex::new(graph));
        GraphExec { raw, graph, launches: Uses::shared() }
    }

    /// Enqueues a launch, and returns at once.
    ///
    /// The stream may be one of any device. Where it is being captured itself, the graph becomes
    /// part of that capture's graph.
    ///
    /// # Errors
    /// The driver's, and those of what must be done [before](crate::Capture::before_each_launch) it.
    /// [`Error::GuardHeld`] if it writes page-locked memory that is read through a guard. What goes
    /// wrong while the graph runs appears at a later call, as [`Error::DeviceLost`].
    #[track_caller]
    pub fn launch(&self, stream: impl AsRef<Stream>) -> Result<()> {
        let (stream, place) = (stream.as_ref(), Location::caller());
        let graph = self.lock();
        let content = &graph.content;
        if !content.hooks.before.is_empty() && captures::joined(stream)?.is_some() {
            let problem = CaptureProblem::NeedsPreparation;
            return Err(Error::Capture { operation: "cuGraphLaunch", problem });
        }
        let _turn = content.hooks.prepare(stream)?;
        let born: Vec<_> = content.memory.born.iter().filter_map(|born| born.upgrade()).collect();
        let outside = content.memory.outside.iter();
        let outside = outside.map(|(record, access)| MemoryUse::new(record, *access));
        let own = born.iter().chain([&self.launches]);
        let own = own.map(|record| MemoryUse::new(record, Access::Write));
        let operands: Vec<_> = outside.chain(own).map(MemoryUse::filled).collect();
        let request = Request {
            place,
            accesses: &content.accesses,
            keeps: Some(content),
            ..Request::new(&content.work, "cuGraphLaunch")
        };
        let exec = self.raw.raw;
        if observe::is_observed() && captures::of(stream).is_none() {
            // The driver sees to that by itself, also where the program keeps order.
            let earlier = self.launches.snapshot();
            earlier.points().for_each(|point| stream.comes_after(point.stream(), point.sequence()));
        }
        ordered_at(place, stream, &operands, || {
            let is_captured = captures::of(stream).is_some();
            enqueue(stream, &request, |driver, stream| {
                if is_captured {
                    // The driver takes no launch of a graph into a capture.
                    return graph.raw.add_to_capture(driver, stream);
                }
                // SAFETY: both are alive, and the lock keeps other threads from this one.
                let launch =
                    |launch: unsafe extern "C" fn(_, _) -> _| unsafe { launch(exec.0, stream) };
                driver.cuGraphLaunch.map_or(CUresult::CUDA_ERROR_NOT_SUPPORTED, launch)
            })
            .into_result()
        })?;
        match CaptureState::of(stream) {
            Some(capture) => capture.adopt(&content.births, &content.hooks.after),
            None => {
                content.births.iter().for_each(|birth| birth.launch());
                content.hooks.launched();
            }
        }
        Ok(())
    }

    /// Takes over the work of another graph that differs in parameters only, as another capture of
    /// the same program with other memory does: launches from here on do that. It costs much less
    /// than to instantiate that graph.
    ///
    /// # Errors
    /// [`Error::GraphUpdate`] if the graphs differ in more than that; it names the first node that
    /// does, where the driver tells. Nothing has changed then.
    pub fn update(&self, graph: &Graph) -> Result<()> {
        let mut current = self.lock();
        if let Some(refusal) = self.raw.update(&graph.raw)? {
            let node = graph.content.node(refusal.node).cloned();
            let problem = UpdateProblem::of(refusal.verdict);
            return Err(Error::GraphUpdate { problem, node: node.map(Box::new) });
        }
        let before = mem::replace(&mut *current, graph.share());
        self.keep_for_launches(before);
        Ok(())
    }

    /// Keeps what launches that are under way use.
    fn keep_for_launches(&self, used: impl Send + 'static) {
        let launches = self.launches.snapshot();
        let points: Vec<StreamPoint> = launches.points().cloned().collect();
        if !points.iter().all(|point| matches!(point.is_past(), Ok(true))) {
            retired::VALUES.keep(points, used);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock()
    }
}

impl Drop for GraphExec {
    fn drop(&mut self) {
        let used = (Arc::clone(&self.raw), self.lock().share());
        self.keep_for_launches(used);
    }
}

impl fmt::Debug for GraphExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GraphExec({} nodes)", self.lock().nodes().len())
    }
}
