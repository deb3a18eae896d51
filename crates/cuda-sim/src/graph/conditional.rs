//! Conditional nodes: graphs that run if, while or where a value says so.
//!
//! The value is in device memory, so that kernels can set it (`cudaGraphSetConditional`), and its
//! address is the program's handle. A launch cannot know what kernels will set; so the node is a
//! function of the driver's on a thread for host functions, which looks at the value when its turn
//! has come, launches the body, waits for it, and looks again.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_sys::{CUgraphConditionalNodeType as Kind, CUresult};

use super::body::GraphTemplate;
use super::executable::{Executable, Instantiation};
use super::memory::Memories;
use super::operation::NodeOperation;
use super::table::GraphTable;
use crate::device::{Context, GlobalAllocation, Purpose, SimulatedMachine};
use crate::queue::{self, Failure, Job, StreamKind, StreamWork};

/// The value that a conditional node looks at.
pub(crate) struct ConditionalValue {
    allocation: Arc<GlobalAllocation>,
    context: Arc<Context>,
    /// The value that each launch begins with.
    default: Option<u32>,
    /// Whether a node has it: only one may.
    is_taken: AtomicBool,
}

/// A conditional node.
pub(crate) struct Conditional {
    value: Arc<ConditionalValue>,
    kind: Kind,
    bodies: Vec<Arc<GraphTemplate>>,
    /// The handles of the bodies, in a list that the program is given a pointer to.
    handles: Box<[u64]>,
}

impl ConditionalValue {
    /// A value of 0.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn new(
        context: Arc<Context>,
        default: Option<u32>,
    ) -> Result<Arc<ConditionalValue>, CUresult> {
        let bytes = size_of::<u64>() as u64;
        let allocation = context.device.memory.allocate(bytes, context.id, Purpose::Module)?;
        let is_taken = AtomicBool::new(false);
        let value = ConditionalValue { allocation, context, default, is_taken };
        value.set(0);
        Ok(Arc::new(value))
    }

    /// The program's handle.
    pub(crate) fn handle(&self) -> u64 {
        self.allocation.address
    }

    /// The number of the context that it belongs to, and goes with.
    pub(super) fn context_id(&self) -> u64 {
        self.context.id
    }

    /// Whether each launch sets it.
    pub(super) fn has_default(&self) -> bool {
        self.default.is_some()
    }

    fn place(&self) -> *mut u32 {
        ptr::with_exposed_provenance_mut(self.allocation.address as usize)
    }

    fn get(&self) -> u32 {
        // SAFETY: the memory is there as long as the allocation. Kernels may write it meanwhile.
        unsafe { self.place().read_volatile() }
    }

    fn set(&self, value: u32) {
        // SAFETY: as in `get`.
        unsafe { self.place().write_volatile(value) }
    }
}

impl Drop for ConditionalValue {
    fn drop(&mut self) {
        // It may have gone with its context.
        self.context.device.memory.free(&self.allocation);
    }
}

impl Conditional {
    /// A node with `count` empty bodies.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a number of bodies that the kind cannot have, and for a value
    /// that another node has; `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn new(
        table: &'static GraphTable,
        value: Arc<ConditionalValue>,
        kind: Kind,
        count: usize,
    ) -> Result<Arc<Conditional>, CUresult> {
        /// More than any program needs, and less than fills the memory.
        const MAX_BODIES: usize = 1 << 16;
        let most = match kind {
            Kind::CU_GRAPH_COND_TYPE_IF => 2,
            Kind::CU_GRAPH_COND_TYPE_WHILE => 1,
            Kind::CU_GRAPH_COND_TYPE_SWITCH => MAX_BODIES,
            _ => 0,
        };
        if !(1..=most).contains(&count) || value.is_taken.swap(true, Ordering::AcqRel) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let body = |_| GraphTemplate::new(table).map(GraphTemplate::into_child);
        let bodies = (0..count).map(body).collect::<Result<Vec<_>, _>>()?;
        let handles = bodies.iter().map(|body| body.handle).collect();
        Ok(Arc::new(Conditional { value, kind, bodies, handles }))
    }

    /// The value that it looks at.
    pub(super) fn value(&self) -> &ConditionalValue {
        &self.value
    }

    /// The handles of the bodies, in a list that stays as long as the node.
    pub(crate) fn handles(&self) -> &[u64] {
        &self.handles
    }

    /// Whether the program may put a node into a body.
    fn allows(operation: &NodeOperation) -> bool {
        matches!(
            operation,
            NodeOperation::Empty
                | NodeOperation::Kernel(_)
                | NodeOperation::Copy(..)
                | NodeOperation::Fill(..)
                | NodeOperation::Child(_)
                | NodeOperation::Conditional(_)
        )
    }

    /// The body that is to run, by its number.
    fn chosen(&self) -> Option<usize> {
        let value = self.value.get();
        match self.kind {
            Kind::CU_GRAPH_COND_TYPE_IF => Some(usize::from(value == 0)),
            Kind::CU_GRAPH_COND_TYPE_WHILE => (value != 0).then_some(0),
            _ => Some(value as usize),
        }
    }
}

/// A conditional node of an executable graph.
pub(super) struct ConditionalRun {
    conditional: Arc<Conditional>,
    bodies: Vec<Executable>,
    /// The queue that the bodies' launches are enqueued in.
    stream: queue::Stream,
}

impl ConditionalRun {
    /// Makes the bodies executable.
    ///
    /// # Errors
    /// Those of [`Executable::new`], and `CUDA_ERROR_INVALID_VALUE` for nodes in the bodies that may
    /// not be there.
    pub(super) fn new(
        machine: &'static SimulatedMachine,
        conditional: &Arc<Conditional>,
        memories: &'static Memories,
    ) -> Result<Arc<ConditionalRun>, Instantiation> {
        let context = &conditional.value.context;
        let executable = |body: &Arc<GraphTemplate>| {
            let nodes = body.nodes();
            if !nodes.iter().flatten().all(|node| Conditional::allows(&node.operation)) {
                return Err(Instantiation::Failed(CUresult::CUDA_ERROR_INVALID_VALUE));
            }
            Executable::new(machine, body, context, 0, memories)
        };
        let bodies = conditional.bodies.iter().map(executable).collect::<Result<_, _>>()?;
        let health = &context.device.health;
        let kind = StreamKind::NonBlocking;
        let stream = queue::Stream::new(machine.scheduler, health, context.id, kind, 0);
        Ok(Arc::new(ConditionalRun { conditional: Arc::clone(conditional), bodies, stream }))
    }

    /// The work of one launch.
    pub(super) fn work(
        self: &Arc<ConditionalRun>,
        machine: &'static SimulatedMachine,
    ) -> StreamWork {
        let run = Arc::clone(self);
        StreamWork::Host(Box::new(move || run.run(machine)))
    }

    fn run(&self, machine: &'static SimulatedMachine) {
        let health = &self.conditional.value.context.device.health;
        while !health.is_stopped() {
            let body = self.conditional.chosen().and_then(|number| self.bodies.get(number));
            let Some(body) = body else { return };
            match body.launch_in(machine, &self.stream) {
                Ok(end) => self.stream.wait(&end),
                Err(error) => {
                    let text = "the body of a conditional node could not be launched";
                    return health.fail(&Failure::new(error, text));
                }
            }
            if self.conditional.kind != Kind::CU_GRAPH_COND_TYPE_WHILE {
                return;
            }
        }
    }
}

/// The work that gives values what each launch begins with.
pub(crate) struct Defaults(pub(super) Vec<Arc<ConditionalValue>>);

impl Defaults {
    /// The context of that number, if one of the values belongs to it.
    pub(super) fn context_among(&self, context: u64) -> Option<u64> {
        self.0.iter().any(|value| value.context.id == context).then_some(context)
    }
}

impl Job for Defaults {
    fn pieces(&self) -> u64 {
        1
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn run(&self, _: Range<u64>) -> Result<(), Failure> {
        for value in &self.0 {
            value.default.into_iter().for_each(|default| value.set(default));
        }
        Ok(())
    }
}
