//! Other parameters for executable graphs, node by node or from a graph of the same shape.

use std::collections::BTreeSet;

use cuda_sys::{CUgraphExecUpdateResult as Outcome, CUresult};

use super::body::GraphTemplate;
use super::executable::Executable;
use super::operation::NodeOperation;
use super::plan::{GraphTopology, living};

/// Why an executable graph cannot be updated from a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) outcome: Outcome,
    /// The node of the graph that is to blame, 0 if it is none in particular.
    pub(crate) node: u64,
    /// The node where an edge begins that does not match, 0 if it is none.
    pub(crate) from: u64,
}

impl Executable {
    /// Gives the step of a node other parameters.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what is no node of the graph, and parameters that its step
    /// cannot take.
    pub(crate) fn replace(&self, node: u64, operation: NodeOperation) -> Result<(), CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let mut state = self.state();
        let step = *state.plan.by_node.get(&node).ok_or(invalid)?;
        let present = &mut state.plan.steps[step].operation;
        if present.check_successor(&operation).is_err() {
            return Err(invalid);
        }
        let old = std::mem::replace(present, operation);
        drop(state);
        drop(old);
        Ok(())
    }

    /// Passes over the step of a node from now on, or not any more.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what is no node of the graph, or no kernel, copy or fill.
    pub(crate) fn enable(&self, node: u64, enables: bool) -> Result<(), CUresult> {
        self.with_switch(node, |is_enabled| *is_enabled = enables)
    }

    /// Whether the step of a node is not passed over.
    ///
    /// # Errors
    /// As [`enable`](Executable::enable).
    pub(crate) fn is_enabled(&self, node: u64) -> Result<bool, CUresult> {
        self.with_switch(node, |is_enabled| *is_enabled)
    }

    /// Takes all parameters from a graph of the same shape.
    ///
    /// # Errors
    /// What is not the same, or cannot be taken; nothing is changed then.
    pub(crate) fn update(&self, graph: &GraphTemplate) -> Result<(), Mismatch> {
        let mut state = self.state();
        let mut successors = Vec::new();
        compare(&state.plan.shape, graph, &mut successors)?;
        state.take(successors)
    }

    /// Takes the parameters of a child graph from a graph of the same shape.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what is no child graph of the graph, and for another shape.
    pub(crate) fn update_child(&self, node: u64, graph: &GraphTemplate) -> Result<(), CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let mut state = self.state();
        let step = *state.plan.by_node.get(&node).ok_or(invalid)?;
        let child = find_child(&state.plan.shape, step).ok_or(invalid)?;
        let mut successors = Vec::new();
        compare(child, graph, &mut successors).map_err(|_| invalid)?;
        state.take(successors).map_err(|_| invalid)
    }

    fn with_switch<R>(
        &self,
        node: u64,
        use_it: impl FnOnce(&mut bool) -> R,
    ) -> Result<R, CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let mut state = self.state();
        let step = *state.plan.by_node.get(&node).ok_or(invalid)?;
        let step = &mut state.plan.steps[step];
        match step.operation {
            NodeOperation::Kernel(_) | NodeOperation::Copy(..) | NodeOperation::Fill(..) => {
                Ok(use_it(&mut step.is_enabled))
            }
            _ => Err(invalid),
        }
    }
}

impl super::executable::LaunchState {
    /// Replaces operations, all of them or none.
    fn take(&mut self, successors: Vec<(usize, u64, NodeOperation)>) -> Result<(), Mismatch> {
        for (step, node, successor) in &successors {
            let present = &self.plan.steps[*step].operation;
            present.check_successor(successor).map_err(|outcome| Mismatch {
                outcome,
                node: *node,
                from: 0,
            })?;
        }
        for (step, _, successor) in successors {
            self.plan.steps[step].operation = successor;
        }
        Ok(())
    }
}

/// Compares a graph with a shape. Nodes are paired in the order in which they were made, which is
/// the same for two captures of the same calls.
fn compare(
    shape: &GraphTopology,
    graph: &GraphTemplate,
    successors: &mut Vec<(usize, u64, NodeOperation)>,
) -> Result<(), Mismatch> {
    let (nodes, edges) = living(graph);
    let topology = |node, from| {
        let outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
        Err(Mismatch { outcome, node, from })
    };
    if nodes.len() != shape.nodes.len() {
        return topology(0, 0);
    }
    for ((node, edges), known) in nodes.iter().zip(&edges).zip(&shape.nodes) {
        if edges.len() != known.dependencies.len() {
            return topology(node.handle, 0);
        }
        let expected: BTreeSet<usize> = known.dependencies.iter().map(|(from, _)| *from).collect();
        if let Some((from, _)) = edges.iter().find(|(from, _)| !expected.contains(from)) {
            return topology(node.handle, nodes[*from].handle);
        }
        if node.operation.node_type() != known.node_type {
            let outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
            return Err(Mismatch { outcome, node: node.handle, from: 0 });
        }
        match (&node.operation, &known.child) {
            (NodeOperation::Child(child), Some(shape)) => compare(shape, child, successors)?,
            (operation, _) => successors.push((known.step, node.handle, operation.clone())),
        }
    }
    Ok(())
}

fn find_child(shape: &GraphTopology, step: usize) -> Option<&GraphTopology> {
    let children = shape.nodes.iter().filter_map(|node| Some((node.step, node.child.as_ref()?)));
    children.into_iter().find_map(
        |(entry, child)| {
            if entry == step { Some(child) } else { find_child(child, step) }
        },
    )
}
