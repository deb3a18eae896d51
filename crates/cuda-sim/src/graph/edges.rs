//! Edges of graphs.

use cuda_sys::CUgraphDependencyType as Dependency;

/// A node's number in its graph. Numbers go up in the order of making and are not used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(super) usize);

/// An edge of a graph, at the node that it leads to: the node that it comes from, and its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GraphEdge {
    pub(crate) from: NodeId,
    pub(crate) ports: Ports,
}

/// The data of an edge. The default one is a full dependency.
///
/// The others let a kernel begin before an earlier one has ended. Here it never does, which is one
/// of the ways that it may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ports {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) kind: u8,
}

impl Ports {
    /// The bytes of the `CUgraphEdgeData`.
    pub(crate) fn bytes(self) -> [u8; 8] {
        [self.from, self.to, self.kind, 0, 0, 0, 0, 0]
    }

    /// Whether an edge can have this data, between two kernels or other nodes (cuda.h,
    /// `CUgraphEdgeData`).
    pub(super) fn fits(self, between_kernels: bool) -> bool {
        let programmatic = Dependency::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC.0 as u8;
        match self {
            Ports { from: 0, to: 0, kind: 0 } => true,
            Ports { from: 1..=2, to: 0, kind } => between_kernels && kind == programmatic,
            _ => false,
        }
    }
}
