//! Graphs: captured work as a value, with all the memory that it uses.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};

use cuda_sys::CUgraphNode;

use super::books::{Keep, Kept};
use super::driver::RawGraph;
use super::exec::GraphExec;
use super::hooks::Hooks;
use super::node::{GraphNode, merged};
use super::uses::Birth;
use crate::error::Result;
use crate::handle::Handle;
use crate::ledger::Work;
use crate::observe::MemoryAccess;
use crate::order::Access;
use crate::uses::Uses;

/// Work that was captured, and the order in which it must be done: what [`Stream::capture`] makes.
///
/// It does nothing by itself; [`instantiate`](Graph::instantiate) makes what can be launched. It
/// owns what its work uses: kernels, and memory from outside of the capture, which is kept when
/// its owner drops it and freed when the last graph goes that uses it. So no launch ever finds
/// memory that is somebody else's by then.
///
/// [`Stream::capture`]: crate::Stream::capture
pub struct Graph {
    pub(super) raw: RawGraph,
    pub(super) content: Arc<Content>,
}

/// What a graph is made of. Executable graphs share it.
pub(super) struct Content {
    /// The whole as one piece of work.
    pub(super) work: Work,
    pub(super) nodes: Arc<[GraphNode]>,
    /// The driver's names of the nodes.
    handles: Box<[Handle<CUgraphNode>]>,
    /// What all nodes together access.
    pub(super) accesses: Box<[MemoryAccess]>,
    pub(super) memory: Memory,
    /// The memory that holds something from the first launch on.
    pub(super) births: Box<[Arc<Birth>]>,
    pub(super) hooks: Hooks,
    _kept: Vec<Kept>,
}

/// The memory that captured work uses, by use records.
#[derive(Default)]
pub(super) struct Memory {
    /// Memory from outside, which the graph owns with others.
    pub(super) outside: Vec<(Arc<Uses>, Access)>,
    /// Memory that was allocated for the capture. What is still held is used by each launch; the
    /// rest belongs to the graph's pool.
    pub(super) born: Vec<Weak<Uses>>,
    /// Which of those a record is, by its address: as long as the capture goes on, no other record
    /// is there, for even weak handles keep the place.
    known: HashMap<usize, usize>,
}

impl Memory {
    /// Notes a use. Of several, the strongest counts.
    pub(super) fn note(&mut self, record: &Arc<Uses>, access: Access, is_born: bool) {
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

impl Content {
    pub(super) fn new(
        nodes: Vec<GraphNode>,
        handles: Vec<Handle<CUgraphNode>>,
        mut memory: Memory,
        kept: Vec<Kept>,
        births: Vec<Arc<Birth>>,
        hooks: Hooks,
    ) -> Content {
        // Nothing is noted any more.
        memory.known = HashMap::new();
        let accesses = merged(&nodes);
        let nodes: Arc<[GraphNode]> = nodes.into();
        let work = Work::Graph { nodes: Arc::clone(&nodes) };
        let (handles, births) = (handles.into(), births.into());
        Content { work, nodes, handles, accesses, memory, births, hooks, _kept: kept }
    }

    /// The node that the driver calls so.
    pub(super) fn node(&self, handle: Handle<CUgraphNode>) -> Option<&GraphNode> {
        self.nodes.get(self.place(handle)?)
    }

    fn place(&self, handle: Handle<CUgraphNode>) -> Option<usize> {
        self.handles.iter().position(|known| *known == handle)
    }
}

impl Keep for Arc<Content> {
    fn keep(&self) -> Kept {
        Arc::<Content>::clone(self)
    }
}

impl Graph {
    pub(super) fn new(raw: RawGraph, content: Content) -> Graph {
        Graph { raw, content: Arc::new(content) }
    }

    /// What was captured, in the order in which it was.
    pub fn nodes(&self) -> &[GraphNode] {
        &self.content.nodes
    }

    /// How many pieces of memory from outside of the capture the graph uses, and owns with others.
    pub fn inputs(&self) -> usize {
        self.content.memory.outside.len()
    }

    /// Which nodes come after which, by their places among [`nodes`](Graph::nodes): the first of each
    /// pair comes first.
    ///
    /// # Errors
    /// The driver's.
    pub fn edges(&self) -> Result<Vec<(usize, usize)>> {
        let place = |handle| self.content.place(handle);
        let edges = self.raw.edges()?.into_iter();
        let mut edges: Vec<_> =
            edges.filter_map(|(from, to)| Some((place(from)?, place(to)?))).collect();
        edges.sort_unstable();
        Ok(edges)
    }

    /// Makes a graph that can be launched. Of one graph there may be several; they share its memory,
    /// and their launches come one after the other.
    ///
    /// # Errors
    /// The driver's.
    pub fn instantiate(&self) -> Result<GraphExec> {
        Ok(GraphExec::new(self.raw.instantiate()?, Arc::clone(&self.content)))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} nodes)", self.content.nodes.len())
    }
}
