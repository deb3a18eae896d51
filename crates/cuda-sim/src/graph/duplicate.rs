//! Copies of graphs.

use std::sync::Arc;

use cuda_sys::CUresult;

use super::body::{GraphNodeRecord, GraphTemplate};
use super::edges::{GraphEdge, NodeId};
use super::executable::Executable;
use super::operation::NodeOperation;
use super::plan::{GraphTopology, LaunchPlan};

impl GraphTemplate {
    /// A copy with nodes of its own, and with copies of child graphs.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_SUPPORTED` where nodes allocate or free memory, `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn duplicate(&self) -> Result<Arc<GraphTemplate>, CUresult> {
        if self.has_memory_nodes() {
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

impl Executable {
    /// A graph that does the same.
    ///
    /// # Errors
    /// Those of [`GraphTemplate::duplicate`].
    pub(crate) fn to_graph(&self) -> Result<Arc<GraphTemplate>, CUresult> {
        let state = self.state();
        if state.plan.steps.iter().any(|step| step.operation.is_about_memory()) {
            return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
        }
        self.graph_of(&state.plan, &state.plan.shape)
    }

    fn graph_of(
        &self,
        plan: &LaunchPlan,
        shape: &GraphTopology,
    ) -> Result<Arc<GraphTemplate>, CUresult> {
        let nodes = shape.nodes.iter().map(|node| {
            let step = &plan.steps[node.step];
            let operation = match &node.child {
                Some(child) => NodeOperation::Child(self.graph_of(plan, child)?.into_child()),
                None if !step.is_enabled => NodeOperation::Empty,
                None => step.operation.clone(),
            };
            let edges = node.dependencies.iter();
            let edges =
                edges.map(|&(from, ports)| GraphEdge { from: NodeId(from), ports }).collect();
            Ok(Some(GraphNodeRecord::new(0, operation, edges)))
        });
        GraphTemplate::of_nodes(self.table(), nodes.collect::<Result<_, CUresult>>()?, Vec::new())
    }
}
