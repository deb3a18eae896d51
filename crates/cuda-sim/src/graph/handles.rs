//! What names graphs, nodes and executable graphs, for all of the machine.

use std::sync::{Arc, Weak};

use super::body::{Graph, NodeId};
use super::captures::Captures;
use super::executable::Executable;
use super::memory::Memories;
use super::user_object::UserObject;
use crate::device::{HandleKind, Registry};

/// All graphs of the machine.
pub(crate) struct Graphs {
    pub(crate) graphs: Registry<Graph>,
    pub(crate) nodes: Registry<NodeRef>,
    pub(crate) executables: Registry<Executable>,
    pub(crate) user_objects: Registry<UserObject>,
    pub(crate) captures: Captures,
    pub(crate) memories: Memories,
}

/// What a node's handle names.
pub(crate) struct NodeRef {
    graph: Weak<Graph>,
    pub(crate) node: NodeId,
}

impl Graphs {
    /// No graphs.
    pub(crate) fn new() -> Graphs {
        Graphs {
            graphs: Registry::new(HandleKind::Graph),
            nodes: Registry::new(HandleKind::GraphNode),
            executables: Registry::new(HandleKind::Executable),
            user_objects: Registry::new(HandleKind::UserObject),
            captures: Captures::default(),
            memories: Memories::default(),
        }
    }

    /// Takes from all graphs what belongs to a context that is going away.
    pub(crate) fn orphan(&self, context: u64) {
        self.graphs.all().iter().for_each(|graph| graph.orphan(context));
        self.executables.all().iter().for_each(|executable| executable.orphan(context));
        self.memories.orphan(context);
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        drop(self.executables.remove_all(|_| true));
        drop(self.graphs.remove_all(|_| true));
        drop(self.nodes.remove_all(|_| true));
        drop(self.user_objects.remove_all(|_| true));
        self.memories.clear();
    }
}

impl NodeRef {
    pub(super) fn new(graph: &Arc<Graph>, node: NodeId) -> NodeRef {
        NodeRef { graph: Arc::downgrade(graph), node }
    }

    /// The node's graph, as long as there is one.
    pub(crate) fn graph(&self) -> Option<Arc<Graph>> {
        self.graph.upgrade()
    }
}
