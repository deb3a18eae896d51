//! The content of a graph: its work, and all that it keeps alive.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use cuda_sys::CUgraphNode;

use super::accesses::merged;
use super::hooks::Hooks;
use crate::device::Handle;
use crate::stream::GraphResource;
use crate::types::{Access, GraphNode, MemoryAccess, Work};
use crate::uses::{Birth, Uses};

/// A value that a graph keeps alive.
pub(crate) type KeptValue = Arc<dyn Any + Send + Sync>;

/// The content of a graph. Executable graphs share it.
pub(crate) struct GraphContent {
    /// The whole as one piece of work.
    pub(crate) work: Work,
    pub(crate) nodes: Arc<[GraphNode]>,
    /// The driver's names of the nodes.
    handles: Box<[Handle<CUgraphNode>]>,
    /// The memory that all nodes together access.
    pub(crate) accesses: Box<[MemoryAccess]>,
    pub(crate) memory: CapturedMemory,
    /// The memory that holds something from the first launch on.
    pub(crate) births: Box<[Arc<Birth>]>,
    pub(crate) hooks: Hooks,
    _kept: Vec<KeptValue>,
}

/// The memory that captured work uses, by use records.
#[derive(Default)]
pub(crate) struct CapturedMemory {
    /// Memory from outside, which the graph owns with others.
    pub(crate) outside: Vec<(Arc<Uses>, Access)>,
    /// Memory that was allocated for the capture. What is still held is used by each
    /// launch; the rest belongs to the graph's pool.
    pub(crate) born: Vec<Weak<Uses>>,
    /// The index of each record among those, by its address: as long as the capture goes on, no
    /// other record is there, for even weak handles keep the place.
    known: HashMap<usize, usize>,
}

impl CapturedMemory {
    /// Notes a use. Of several, the strongest counts.
    pub(crate) fn note(&mut self, record: &Arc<Uses>, access: Access, is_born: bool) {
        let address = Arc::as_ptr(record).addr();
        match self.known.get(&address) {
            Some(&index) if !is_born && access == Access::Write => {
                self.outside[index].1 = Access::Write;
            }
            Some(_) => {}
            None if is_born => {
                self.known.insert(address, self.born.len());
                self.born.push(Arc::downgrade(record));
            }
            None => {
                self.known.insert(address, self.outside.len());
                self.outside.push((Arc::clone(record), access));
            }
        }
    }
}

impl GraphContent {
    pub(crate) fn new(
        nodes: Vec<GraphNode>,
        handles: Vec<Handle<CUgraphNode>>,
        mut memory: CapturedMemory,
        kept: Vec<KeptValue>,
        births: Vec<Arc<Birth>>,
        hooks: Hooks,
    ) -> GraphContent {
        // Nothing is noted any more.
        memory.known = HashMap::new();
        let accesses = merged(&nodes);
        let nodes: Arc<[GraphNode]> = nodes.into();
        let work = Work::Graph { nodes: Arc::clone(&nodes) };
        let (handles, births) = (handles.into(), births.into());
        GraphContent { work, nodes, handles, accesses, memory, births, hooks, _kept: kept }
    }

    /// The node that the driver calls so.
    pub(crate) fn node(&self, handle: Handle<CUgraphNode>) -> Option<&GraphNode> {
        self.nodes.get(self.index_of(handle)?)
    }

    pub(crate) fn index_of(&self, handle: Handle<CUgraphNode>) -> Option<usize> {
        self.handles.iter().position(|known| *known == handle)
    }
}

impl GraphResource for Arc<GraphContent> {
    fn to_keep(&self) -> KeptValue {
        Arc::<GraphContent>::clone(self)
    }
}
