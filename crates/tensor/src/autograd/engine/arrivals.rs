//! The gradients that arrive at the nodes of a walk.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::Goal;
use crate::shared::Counted;
use crate::tensor::{Edge, EndId, NodeOutput};
use crate::{Result, Tensor};

/// The gradients of the outputs of a node, or of a leaf, as far as they have arrived.
pub(super) type OutputGradients = SmallVec<[Option<Tensor>; 1]>;

/// The gradients that arrive at a node or a leaf.
#[derive(Default)]
pub(super) struct Arrivals {
    /// The number of edges from which nothing has arrived yet, neither a gradient nor its absence.
    pub(super) expected: usize,
    /// The sums of the gradients that have arrived, by output.
    pub(super) sums: OutputGradients,
}

impl Arrivals {
    /// Adds a gradient that arrives by an edge, in the form of the edge's end.
    pub(super) fn add(&mut self, edge: &Edge, gradient: Tensor, records: bool) -> Result<()> {
        let (output, gradient) = (edge.output() as usize, edge.form().conform(gradient)?);
        if self.sums.len() <= output {
            self.sums.resize(output + 1, None);
        }
        let slot = &mut self.sums[output];
        *slot = Some(match slot.take() {
            Some(sum) => added(sum, gradient, records)?,
            None => gradient,
        });
        Ok(())
    }
}

/// The sum of two gradients, in the memory of one of them if nobody else has it. A sum that is
/// recorded (`create_graph`) is a new tensor.
fn added(sum: Tensor, gradient: Tensor, records: bool) -> Result<Tensor> {
    let is_free =
        |tensor: &Tensor| !records && tensor.is_sole_owner() && !tensor.layout().overlaps_itself();
    match (is_free(&sum), is_free(&gradient)) {
        (true, _) => sum.add_(&gradient),
        (false, true) => gradient.add_(&sum),
        (false, false) => sum.add(&gradient),
    }
}

/// The nodes and leaves that a walk from `roots` reaches, with the number of edges that lead to each,
/// but for nodes that [only one edge](is_reached_once) leads to.
pub(super) fn expected_arrivals(
    roots: &[(Edge, Tensor)],
    goal: &Goal,
) -> FxHashMap<EndId, Arrivals> {
    let mut expected: FxHashMap<EndId, Arrivals> = FxHashMap::default();
    let mut stack = Vec::new();
    for (edge, _) in roots.iter().filter(|(edge, _)| goal.needs(edge)) {
        if expected.insert(edge.end(), Arrivals::default()).is_none() {
            stack.push(edge);
        }
    }
    while let Some(edge) = stack.pop() {
        let Edge::Node(NodeOutput { node, .. }) = edge else { continue };
        for edge in node.inputs.iter().flatten().filter(|edge| goal.needs(edge)) {
            if is_reached_once(edge) {
                stack.push(edge);
                continue;
            }
            let arrivals = expected.entry(edge.end()).or_insert_with(|| {
                stack.push(edge);
                Arrivals::default()
            });
            arrivals.expected += 1;
        }
    }
    expected
}

/// Whether only this edge leads to a node: an edge owns what it leads to, and nobody else has that
/// node, neither another edge nor a tensor. So most nodes of a chain need not be counted.
fn is_reached_once(edge: &Edge) -> bool {
    match edge {
        Edge::Node(output) => Counted::handles(&output.node) == 1,
        Edge::Leaf(_) => false,
    }
}
