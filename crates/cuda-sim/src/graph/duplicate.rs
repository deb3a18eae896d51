//! Copies of graphs.

use std::sync::Arc;

use cuda_sys::CUresult;

use super::body::{GraphNodeRecord, GraphTemplate};
use super::operation::NodeOperation;

impl GraphTemplate {
    /// A copy with nodes of its own, and with copies of child graphs.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` where nodes allocate or free memory or are conditional,
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn duplicate(&self) -> Result<Arc<GraphTemplate>, CUresult> {
        if self.has_memory_nodes() || self.has_conditional_nodes() {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        let again = |node: Option<GraphNodeRecord>| {
            let Some(node) = node else { return Ok(None) };
            let operation = match &node.operation {
                NodeOperation::Child(child) => {
                    NodeOperation::Child(child.duplicate()?.into_child())
                }
                operation => operation.clone(),
            };
            Ok(Some(GraphNodeRecord { operation, origin: node.handle, shown: None, ..node }))
        };
        let nodes = self.nodes().into_iter().map(again).collect::<Result<_, CUresult>>()?;
        GraphTemplate::of_nodes(self.table, nodes, self.held())
    }

    /// The node that is a copy of the one with that handle.
    pub(crate) fn copy_of(&self, origin: u64) -> Option<u64> {
        let body = self.body();
        let mut nodes = body.nodes.iter().flatten();
        nodes.find(|node| node.origin == origin).map(|node| node.handle)
    }

    /// Takes the graph into a node.
    pub(crate) fn into_child(self: Arc<GraphTemplate>) -> Arc<GraphTemplate> {
        self.become_child();
        self
    }
}
