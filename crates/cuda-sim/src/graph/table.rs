//! The tables of handles of graphs and of their nodes.

use std::sync::{Arc, Weak};

use super::body::GraphTemplate;
use super::edges::NodeId;
use crate::device::{HandleKind, Registry};

/// Graphs and their nodes by handle.
pub(crate) struct GraphTable {
    pub(crate) graphs: Registry<GraphTemplate>,
    pub(crate) nodes: Registry<NodeRef>,
}

/// The node that a handle names, in its graph.
pub(crate) struct NodeRef {
    graph: Weak<GraphTemplate>,
    pub(crate) node: NodeId,
}

impl GraphTable {
    /// No graphs.
    pub(super) const fn new() -> GraphTable {
        GraphTable {
            graphs: Registry::new(HandleKind::Graph),
            nodes: Registry::new(HandleKind::GraphNode),
        }
    }

    /// Destroys a graph: its handle, those of its nodes and of the graphs in them name nothing
    /// from here on, whoever else looks at the graph at the moment. False if there is none.
    pub(crate) fn destroy(&self, handle: u64) -> bool {
        self.graphs.remove(handle).inspect(|graph| graph.clear()).is_some()
    }
}

impl NodeRef {
    pub(super) fn new(graph: &Arc<GraphTemplate>, node: NodeId) -> NodeRef {
        NodeRef { graph: Arc::downgrade(graph), node }
    }

    /// The node's graph, as long as there is one.
    pub(crate) fn graph(&self) -> Option<Arc<GraphTemplate>> {
        self.graph.upgrade()
    }
}
