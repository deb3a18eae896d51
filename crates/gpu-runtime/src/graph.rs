//! Graphs: work that is captured once and launched again and again.

mod capture;
mod exec;

use std::fmt;
use std::sync::Arc;

use crate::capture::{GraphContent, RawGraph};
use crate::error::Result;
use crate::types::GraphNode;
pub use capture::{Capture, CaptureGuard, CaptureStatus};
pub use exec::GraphExec;

/// Work that was captured, and the order in which it must be done: what [`Stream::capture`] makes.
///
/// It does nothing by itself; [`instantiate`](Graph::instantiate) makes what can be launched. It
/// owns what its work uses: kernels, and memory from outside of the capture, which is kept when
/// its owner drops it and freed when the last graph goes that uses it. So no launch ever finds
/// memory that is somebody else's by then.
///
/// [`Stream::capture`]: crate::Stream::capture
pub struct Graph {
    raw: Arc<RawGraph>,
    content: Arc<GraphContent>,
}

impl Graph {
    pub(super) fn new(raw: RawGraph, content: GraphContent) -> Graph {
        Graph { raw: Arc::new(raw), content: Arc::new(content) }
    }

    /// The same graph once more.
    fn share(&self) -> Graph {
        Graph { raw: Arc::clone(&self.raw), content: Arc::clone(&self.content) }
    }

    /// The captured work, in the order in which it was captured.
    pub fn nodes(&self) -> &[GraphNode] {
        &self.content.nodes
    }

    /// The number of pieces of memory from outside of the capture that the graph uses, and owns
    /// with others.
    pub fn inputs(&self) -> usize {
        self.content.memory.outside.len()
    }

    /// The edges between nodes, by their indices in [`nodes`](Graph::nodes): the second node of
    /// each pair comes after the first.
    ///
    /// # Errors
    /// The driver's.
    pub fn edges(&self) -> Result<Vec<(usize, usize)>> {
        let place = |handle| self.content.index_of(handle);
        let edges = self.raw.edges()?.into_iter();
        let mut edges: Vec<_> =
            edges.filter_map(|(from, to)| Some((place(from)?, place(to)?))).collect();
        edges.sort_unstable();
        Ok(edges)
    }

    /// Makes a graph that can be launched. Of one graph there may be several; they share its
    /// memory, and their launches come one after the other.
    ///
    /// # Errors
    /// The driver's.
    pub fn instantiate(&self) -> Result<GraphExec> {
        Ok(GraphExec::new(self.raw.instantiate()?, self.share()))
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Graph({} nodes)", self.content.nodes.len())
    }
}
