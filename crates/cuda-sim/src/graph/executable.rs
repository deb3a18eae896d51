//! Executable graphs.

use std::sync::Arc;

use cuda_sys::{CUgraphInstantiate_flags as Flags, CUresult};
use parking_lot::{Mutex, MutexGuard};

use super::body::GraphTemplate;
use super::conditional::ConditionalRun;
use super::memory::Memories;
use super::operation::NodeOperation;
use super::plan::{LaunchPlan, PlanStep};
use super::user_object::UserObjectReferences;
use crate::device::{Context, EventRecord, SimulatedMachine, StreamRef};
use crate::queue::{self, BatchStep, QueuePoint, StreamKind, StreamWork};

/// A graph that can be launched. Launches of one come one after the other, whatever their streams.
pub(crate) struct Executable {
    pub(crate) flags: u64,
    memories: &'static Memories,
    state: Mutex<LaunchState>,
}

#[derive(Default)]
pub(super) struct LaunchState {
    pub(super) plan: LaunchPlan,
    /// The graph's, which knows by it that there is an executable one.
    _token: Arc<()>,
    lanes: Vec<queue::Stream>,
    /// The end of the last launch.
    last: Option<QueuePoint>,
    /// Objects of the program's that launches may use.
    held: Vec<UserObjectReferences>,
}

/// The reason why a graph cannot be instantiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instantiation {
    /// For a reason that the error says.
    Failed(CUresult),
    /// The node of that handle is on a cycle.
    Cycle(u64),
}

const FLAGS: u64 = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0 as u64
    | Flags::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD.0 as u64
    | Flags::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH.0 as u64
    | Flags::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY.0 as u64;

impl Executable {
    /// Makes a graph executable, as it is now. Operations of no context of their own run in
    /// `context`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for unknown flags and for a graph that is being captured,
    /// `CUDA_ERROR_NOT_SUPPORTED` for launches from the device, and a cycle.
    pub(crate) fn new(
        machine: &'static SimulatedMachine,
        graph: &Arc<GraphTemplate>,
        context: &Arc<Context>,
        flags: u64,
        memories: &'static Memories,
    ) -> Result<Executable, Instantiation> {
        let failed = |error| Err(Instantiation::Failed(error));
        let has = |flag: Flags| flags & u64::from(flag.0) != 0;
        let from_device = has(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
        let frees = has(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
        if flags & !FLAGS != 0 || (from_device && frees) || graph.is_being_captured() {
            return failed(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if from_device {
            return failed(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        // Only one may be in existence, since its memory is.
        if graph.has_memory_nodes() && Arc::strong_count(&graph.token) > 1 {
            return failed(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let mut plan =
            LaunchPlan::new(graph, context).map_err(|cycle| Instantiation::Cycle(cycle.0))?;
        for step in &mut plan.steps {
            if let NodeOperation::Conditional(conditional) = &step.operation {
                step.conditional = Some(ConditionalRun::new(machine, conditional, memories)?);
            }
        }
        let lane = |context: &Arc<Context>| {
            let health = &context.device.health;
            let kind = StreamKind::NonBlocking;
            queue::Stream::new(machine.scheduler, health, context.id, kind, 0)
        };
        let lanes = plan.lanes.iter().map(lane).collect();
        let _token = Arc::clone(&graph.token);
        let state = LaunchState { plan, _token, lanes, last: None, held: graph.held() };
        Ok(Executable { flags, memories, state: Mutex::new(state) })
    }

    /// Enqueues a launch, as one operation of the stream.
    ///
    /// # Errors
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED` if a context of the graph's is gone, a sticky error of its
    /// devices, and those of preparing its kernels.
    pub(crate) fn launch(
        &self,
        machine: &'static SimulatedMachine,
        stream: &StreamRef,
    ) -> Result<(), CUresult> {
        self.launch_in(machine, stream.queue()).map(drop)
    }

    /// Enqueues a launch, as one operation of a queue. Returns its end.
    ///
    /// # Errors
    /// Those of [`launch`](Executable::launch).
    pub(super) fn launch_in(
        &self,
        machine: &'static SimulatedMachine,
        stream: &queue::Stream,
    ) -> Result<QueuePoint, CUresult> {
        let mut state = self.state();
        for context in &state.plan.lanes {
            if !context.is_alive() {
                return Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
            }
            context.check()?;
        }
        let mut recordings = Vec::new();
        let steps = state.steps(machine, &mut recordings)?;
        self.use_memory(&state)?;
        let lanes: Vec<&queue::Stream> = state.lanes.iter().collect();
        let enqueued = stream.enqueue_batch(&lanes, state.last.clone(), steps);
        for (step, event, time) in recordings {
            event.set(EventRecord::new(enqueued.steps[step].clone(), time));
        }
        state.last = Some(enqueued.end.clone());
        Ok(enqueued.end)
    }

    /// Notes which memory of graphs a launch allocates and frees, or nothing if it cannot.
    fn use_memory(&self, state: &LaunchState) -> Result<(), CUresult> {
        let again = Flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH.0;
        let again = self.flags & u64::from(again) != 0;
        let steps = state.plan.steps.iter();
        let uses: Vec<_> = steps.filter_map(|step| step.operation.memory_use()).collect();
        self.memories.launch(&uses, again)
    }

    /// Takes from its steps what belongs to a context. It cannot be launched any more.
    pub(super) fn orphan(&self, context: u64) {
        let mut state = self.state();
        let take = |step: &mut PlanStep| {
            let operation = step.operation.orphan(context)?;
            Some((operation, step.conditional.take()))
        };
        let lost: Vec<_> = state.plan.steps.iter_mut().filter_map(take).collect();
        drop(state);
        drop(lost);
    }

    /// Lets go of all that it holds; launches that are on their way have their own of it.
    ///
    /// A destroyed executable graph cannot leave that to its last owner: another thread that ends a
    /// context owns every one for a moment.
    pub(crate) fn clear(&self) {
        let LaunchState { plan, lanes, last, held, .. } = std::mem::take(&mut *self.state());
        drop(plan);
        // What launches may use goes when the last one has ended, however it has: destructors are
        // functions of the program.
        if let (false, Some(last), Some(lane)) = (held.is_empty(), last, lanes.first()) {
            lane.wait_for(&last);
            lane.enqueue(StreamWork::Callback(Box::new(move || drop(held))));
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LaunchState> {
        self.state.lock()
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        self.clear();
    }
}

/// An event that a launch records: in which step, and where the time goes.
type RecordedEventStep = (usize, Arc<crate::device::Event>, Option<Arc<crate::time::Timestamp>>);

impl LaunchState {
    fn steps(
        &self,
        machine: &'static SimulatedMachine,
        recordings: &mut Vec<RecordedEventStep>,
    ) -> Result<Vec<BatchStep>, CUresult> {
        let mut steps = Vec::with_capacity(self.plan.steps.len());
        for (index, planned) in self.plan.steps.iter().enumerate() {
            let mut after = planned.after.clone();
            let (mut outside, mut work) = (None, StreamWork::Nothing);
            match &planned.operation {
                _ if !planned.is_enabled => {}
                NodeOperation::Record(event) => {
                    let time = event.has_timing().then(Arc::<crate::time::Timestamp>::default);
                    work = time.clone().map_or(StreamWork::Nothing, StreamWork::Timestamp);
                    recordings.push((index, Arc::clone(event), time));
                }
                NodeOperation::Wait(event) => {
                    let here = |(_, recorded, _): &&RecordedEventStep| Arc::ptr_eq(recorded, event);
                    match recordings.iter().rev().find(here) {
                        Some((step, ..)) => after.push(*step),
                        None => outside = event.point()?,
                    }
                }
                operation => {
                    work = match &planned.conditional {
                        Some(conditional) => conditional.work(machine),
                        None => operation.work(machine)?,
                    };
                }
            }
            steps.push(BatchStep { lane: planned.lane, after, outside, work });
        }
        Ok(steps)
    }
}
