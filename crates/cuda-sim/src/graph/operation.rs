//! What the nodes of a graph do.

use std::sync::Arc;

use cuda_sys::{CUgraphExecUpdateResult as Outcome, CUgraphNodeType as NodeType, CUresult};

use super::body::GraphTemplate;
use super::conditional::{Conditional, Defaults};
use super::host_call::HostFunction;
use super::memory::{GraphMemory, RightToFree, Use};
use crate::device::memory_operations::{MemoryOperation, memory_operations};
use crate::device::{
    Context, CopyParameters, Event, FillParameters, KernelCall, SimulatedMachine, StreamOperation,
    allocation_work,
};
use crate::queue::{Failure, Job, StreamWork};

/// The operation of a node, with copies of all its parameters: nothing is read from the program's
/// memory again.
#[derive(Clone)]
pub(crate) enum NodeOperation {
    /// Nothing: it stands for what it depends on.
    Empty,
    /// Launches a kernel.
    Kernel(KernelCall),
    /// Copies memory.
    Copy(CopyParameters, Arc<Context>),
    /// Fills memory.
    Fill(FillParameters, Arc<Context>),
    /// Calls a function of the program.
    Host(HostFunction),
    /// Runs a graph that belongs to the node.
    Child(Arc<GraphTemplate>),
    /// Runs graphs that belong to the node, if and as often as a value says.
    Conditional(Arc<Conditional>),
    /// Gives the values of conditional nodes what a launch begins with. No node of the program's
    /// does that.
    Defaults(Arc<Defaults>),
    /// Records an event, for work outside the graph.
    Record(Arc<Event>),
    /// Waits for an event that was recorded outside the graph.
    Wait(Arc<Event>),
    /// Operations on single values.
    Batch(Arc<[MemoryOperation]>, Arc<Context>),
    /// Allocates memory that was set aside for it.
    Allocate(Arc<GraphMemory>),
    /// Frees memory of an allocation node.
    Free(Arc<RightToFree>),
    /// Nothing any more: it went with its context. Its type is kept.
    Orphan(NodeType),
}

impl From<StreamOperation> for NodeOperation {
    fn from(operation: StreamOperation) -> NodeOperation {
        match operation {
            StreamOperation::Kernel(call) => NodeOperation::Kernel(call),
            StreamOperation::Copy(parameters, context) => NodeOperation::Copy(parameters, context),
            StreamOperation::Fill(parameters, context) => NodeOperation::Fill(parameters, context),
        }
    }
}

impl NodeOperation {
    /// The node's type.
    pub(crate) fn node_type(&self) -> NodeType {
        match self {
            NodeOperation::Empty => NodeType::CU_GRAPH_NODE_TYPE_EMPTY,
            NodeOperation::Kernel(_) => NodeType::CU_GRAPH_NODE_TYPE_KERNEL,
            NodeOperation::Copy(..) => NodeType::CU_GRAPH_NODE_TYPE_MEMCPY,
            NodeOperation::Fill(..) => NodeType::CU_GRAPH_NODE_TYPE_MEMSET,
            NodeOperation::Host(_) => NodeType::CU_GRAPH_NODE_TYPE_HOST,
            NodeOperation::Child(_) => NodeType::CU_GRAPH_NODE_TYPE_GRAPH,
            NodeOperation::Conditional(_) => NodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL,
            NodeOperation::Defaults(_) => NodeType::CU_GRAPH_NODE_TYPE_EMPTY,
            NodeOperation::Record(_) => NodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD,
            NodeOperation::Wait(_) => NodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT,
            NodeOperation::Batch(..) => NodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP,
            NodeOperation::Allocate(_) => NodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC,
            NodeOperation::Free(_) => NodeType::CU_GRAPH_NODE_TYPE_MEM_FREE,
            NodeOperation::Orphan(node_type) => *node_type,
        }
    }

    /// The context that the operation is bound to, if any.
    pub(crate) fn context(&self) -> Option<&Arc<Context>> {
        match self {
            NodeOperation::Kernel(call) => Some(&call.function.module.context),
            NodeOperation::Copy(_, context)
            | NodeOperation::Fill(_, context)
            | NodeOperation::Batch(_, context) => Some(context),
            NodeOperation::Record(event) => Some(&event.context),
            _ => None,
        }
    }

    /// Whether it allocates or frees memory.
    pub(crate) fn is_about_memory(&self) -> bool {
        matches!(self, NodeOperation::Allocate(_) | NodeOperation::Free(_))
    }

    /// The memory that a launch of it allocates or frees.
    pub(super) fn memory_use(&self) -> Option<Use<'_>> {
        match self {
            NodeOperation::Allocate(memory) => Some(Use::Allocates(memory)),
            NodeOperation::Free(right) => Some(Use::Frees(right)),
            _ => None,
        }
    }

    /// Asks whether a step that does this can do `successor` instead (`cuGraphExecUpdate`).
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) fn check_successor(&self, successor: &NodeOperation) -> Result<(), Outcome> {
        let same_context = match (self.context(), successor.context()) {
            (Some(present), Some(next)) => present.id == next.id,
            (present, next) => present.is_none() == next.is_none(),
        };
        let (fits, otherwise) = match (self, successor) {
            (NodeOperation::Kernel(_), NodeOperation::Kernel(_)) => {
                (true, Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE)
            }
            (NodeOperation::Copy(present, _), NodeOperation::Copy(next, _)) => {
                let same_kinds =
                    present.from.kind == next.from.kind && present.to.kind == next.to.kind;
                (same_kinds, Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED)
            }
            (NodeOperation::Fill(present, _), NodeOperation::Fill(next, _)) => {
                let extent = |fill: &FillParameters| (fill.size, fill.width, fill.height);
                let plain = present.height == 1 && next.height == 1;
                let fits = plain || extent(present) == extent(next);
                (fits, Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED)
            }
            (NodeOperation::Batch(present, _), NodeOperation::Batch(next, _)) => (
                present.len() == next.len(),
                Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED,
            ),
            (NodeOperation::Conditional(present), NodeOperation::Conditional(next)) => {
                (Arc::ptr_eq(present, next), Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
            }
            (NodeOperation::Allocate(present), NodeOperation::Allocate(next)) => {
                (Arc::ptr_eq(present, next), Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
            }
            (NodeOperation::Free(present), NodeOperation::Free(next)) => {
                (Arc::ptr_eq(present, next), Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
            }
            (present, next) => (
                present.node_type() == next.node_type(),
                Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED,
            ),
        };
        if fits && same_context { Ok(()) } else { Err(otherwise) }
    }

    /// Takes from it what belongs to a context that is going away, and hands it back.
    pub(super) fn orphan(&mut self, context: u64) -> Option<NodeOperation> {
        let owner = match self {
            NodeOperation::Wait(event) => event.context.id,
            NodeOperation::Allocate(memory) => memory.allocation.owner,
            NodeOperation::Free(right) => right.memory.allocation.owner,
            NodeOperation::Conditional(conditional) => conditional.value().context_id(),
            NodeOperation::Defaults(defaults) => defaults.context_among(context)?,
            _ => self.context()?.id,
        };
        if owner != context {
            return None;
        }
        let orphan = NodeOperation::Orphan(self.node_type());
        Some(std::mem::replace(self, orphan))
    }

    /// The work that one launch enqueues for the node. For events and conditional nodes, the launch
    /// itself sees to that.
    ///
    /// # Errors
    /// Those of preparing a kernel, and `CUDA_ERROR_CONTEXT_IS_DESTROYED`. Memory that is
    /// gone is an error of the work itself, as it is on a GPU.
    pub(super) fn work(&self, machine: &'static SimulatedMachine) -> Result<StreamWork, CUresult> {
        let job = match self {
            NodeOperation::Allocate(memory) => return Ok(allocation_work(&memory.allocation)),
            NodeOperation::Empty
            | NodeOperation::Child(_)
            | NodeOperation::Conditional(_)
            | NodeOperation::Record(_)
            | NodeOperation::Wait(_) => {
                return Ok(StreamWork::Nothing);
            }
            NodeOperation::Batch(operations, context) => {
                let work = memory_operations(machine, operations, context);
                return Ok(work.unwrap_or_else(|_| StreamWork::Job(Gone::job("memory operation"))));
            }
            NodeOperation::Defaults(defaults) => Arc::clone(defaults) as Arc<dyn Job>,
            NodeOperation::Free(right) => return Ok(right.memory.freeing()),
            NodeOperation::Orphan(_) => return Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED),
            NodeOperation::Host(call) => return Ok(call.work()),
            NodeOperation::Kernel(call) => call.clone().into_job(machine)?,
            NodeOperation::Copy(parameters, context) => {
                parameters.job(machine, context).unwrap_or_else(|_| Gone::job("copy"))
            }
            NodeOperation::Fill(parameters, context) => {
                parameters.job(machine, context).unwrap_or_else(|_| Gone::job("fill"))
            }
        };
        Ok(StreamWork::Job(job))
    }
}

/// A node whose memory was freed after the node was made.
struct Gone {
    what: &'static str,
}

impl Gone {
    fn job(what: &'static str) -> Arc<dyn Job> {
        Arc::new(Gone { what })
    }
}

impl Job for Gone {
    fn pieces(&self) -> u64 {
        1
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn run(&self, _: std::ops::Range<u64>) -> Result<(), Failure> {
        Err(Failure::new(
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            format!("a {} of a graph: its memory is not allocated any more", self.what),
        ))
    }
}
