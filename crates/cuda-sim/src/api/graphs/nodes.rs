//! Nodes that are added to graphs, and the one kind of them that captures need: child graphs.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUgraph, CUgraphEdgeData, CUgraphNode, CUresult};

use super::structure::edges;
use crate::api::Result;
use crate::api::arguments::{self, Count, Items, List, Out, handle};
use crate::device::{SimulatedMachine, machine};
use crate::graph::NodeOperation;

/// The nodes that a new node comes after, as a call lists them.
#[derive(Clone, Copy)]
pub(in crate::api) struct Dependencies<'call> {
    nodes: Items<'call, CUgraphNode>,
    /// The data of the edges from them; null stands for edges without ports.
    data: Items<'call, CUgraphEdgeData>,
}

impl<'call> Dependencies<'call> {
    /// Without data of the edges.
    pub(in crate::api) fn new(nodes: List<'call, CUgraphNode>, count: Count) -> Self {
        Dependencies::with_data(nodes, List::null(), count)
    }

    pub(in crate::api) fn with_data(
        nodes: List<'call, CUgraphNode>,
        data: List<'call, CUgraphEdgeData>,
        count: Count,
    ) -> Self {
        Dependencies { nodes: nodes.of(count), data: data.of(count) }
    }
}

pub(in crate::api) fn cuGraphAddChildGraphNode(
    node: Out<CUgraphNode>,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    count: Count,
    child: CUgraph,
) -> Result {
    let after = Dependencies::new(dependencies, count);
    node.set(insert(graph, after, |_| child_of(graph, child))?);
    Ok(())
}

/// Adds a node that does what `operation` says.
pub(in crate::api) fn insert(
    graph: CUgraph,
    after: Dependencies,
    operation: impl FnOnce(&'static SimulatedMachine) -> Result<NodeOperation>,
) -> Result<CUgraphNode> {
    let machine = machine()?;
    let graph = arguments::graph(graph)?;
    let edges = edges(&graph, after.nodes, after.data)?;
    let added = graph.add(operation(machine)?, edges)?;
    Ok(handle(graph.handle_of(added)))
}

/// The operation of a node that does what a copy of `child` does.
pub(in crate::api) fn child_of(parent: CUgraph, child: CUgraph) -> Result<NodeOperation> {
    let child = arguments::graph(child)?;
    if parent == handle(child.handle) || child.is_being_captured() {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(NodeOperation::Child(child.duplicate()?.into_child()))
}
