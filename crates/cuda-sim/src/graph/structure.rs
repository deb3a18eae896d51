//! The structure of a graph: edges are added, removed and listed.

use std::collections::BTreeSet;

use cuda_sys::CUresult;

use super::body::{GraphNodeRecord, GraphTemplate};
use super::edges::{GraphEdge, NodeId, Ports};

impl GraphTemplate {
    /// Adds edges, all of them or none.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for nodes that are not here, an edge that there is already, one
    /// from a node to itself, and data that does not fit the nodes.
    pub(crate) fn add_edges(&self, edges: &[(NodeId, GraphEdge)]) -> Result<(), CUresult> {
        let mut body = self.body();
        let mut seen = BTreeSet::new();
        for (to, edge) in edges {
            let fits = body.node(*to).is_some_and(|node| {
                node.dependencies.iter().all(|known| known.from != edge.from)
                    && body.accepts(*edge, &node.operation)
            });
            if !fits || edge.from == *to || !seen.insert((edge.from, *to)) {
                return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
        }
        for (to, edge) in edges {
            if let Some(node) = body.node_mut(*to) {
                node.dependencies.push(*edge);
            }
        }
        Ok(())
    }

    /// Removes edges, all of them or none.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if one is not there, with that data, and where nodes allocate or
    /// free memory.
    pub(crate) fn remove_edges(&self, edges: &[(NodeId, GraphEdge)]) -> Result<(), CUresult> {
        if self.has_memory_nodes() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let mut body = self.body();
        let known = edges
            .iter()
            .all(|(to, edge)| body.node(*to).is_some_and(|node| node.dependencies.contains(edge)));
        if !known {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for (to, edge) in edges {
            if let Some(node) = body.node_mut(*to) {
                node.dependencies.retain(|known| known != edge);
            }
        }
        Ok(())
    }

    /// The handles of all nodes, in the order of making.
    pub(crate) fn handles(&self) -> Vec<u64> {
        self.body().nodes.iter().flatten().map(|node| node.handle).collect()
    }

    /// The handles of the nodes that depend on nothing.
    pub(crate) fn roots(&self) -> Vec<u64> {
        let body = self.body();
        let nodes = body.nodes.iter().flatten();
        nodes.filter(|node| node.dependencies.is_empty()).map(|node| node.handle).collect()
    }

    /// All edges: from a node, to a node.
    pub(crate) fn edges(&self) -> Vec<(u64, u64, Ports)> {
        let body = self.body();
        let into = |node: &GraphNodeRecord| {
            let edge = |edge: &GraphEdge| (body.handle(edge.from), node.handle, edge.ports);
            node.dependencies.iter().map(edge).collect::<Vec<_>>()
        };
        body.nodes.iter().flatten().flat_map(into).collect()
    }

    /// The nodes that a node depends on.
    pub(crate) fn dependencies(&self, id: NodeId) -> Vec<(u64, Ports)> {
        let body = self.body();
        let edges = body.node(id).map(|node| node.dependencies.iter());
        let edges = edges.into_iter().flatten();
        edges.map(|edge| (body.handle(edge.from), edge.ports)).collect()
    }

    /// The nodes that depend on a node.
    pub(crate) fn dependents(&self, id: NodeId) -> Vec<(u64, Ports)> {
        let body = self.body();
        let on = |node: &GraphNodeRecord| {
            let edge = node.dependencies.iter().find(|edge| edge.from == id)?;
            Some((node.handle, edge.ports))
        };
        body.nodes.iter().flatten().filter_map(on).collect()
    }
}
