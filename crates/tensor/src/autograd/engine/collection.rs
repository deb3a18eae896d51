//! The gradients at chosen edges (`torch.autograd.grad`).

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::tensor::{Edge, EdgeId, EndId, NodeOutput};
use crate::{Result, Tensor};

/// The gradients that a walk collects.
pub(in crate::autograd) struct Collection {
    /// The edges at which gradients are wanted, with the positions of their results.
    wanted: FxHashMap<EdgeId, SmallVec<[usize; 1]>>,
    /// The nodes from which a wanted edge can be reached.
    on_the_way: FxHashSet<EndId>,
    pub(super) gradients: Vec<Option<Tensor>>,
}

impl Collection {
    /// A collection of the gradients at `inputs` in a walk from `roots`.
    pub(in crate::autograd) fn new<'a>(
        inputs: &[Edge],
        roots: impl Iterator<Item = &'a Edge>,
    ) -> Collection {
        let mut wanted: FxHashMap<EdgeId, SmallVec<[usize; 1]>> = FxHashMap::default();
        for (position, edge) in inputs.iter().enumerate() {
            wanted.entry(edge.id()).or_default().push(position);
        }
        let consumers = consumers(roots);
        let mut on_the_way = FxHashSet::default();
        let mut stack: Vec<EndId> = wanted.keys().map(|id| id.end).collect();
        while let Some(id) = stack.pop() {
            let consumers = consumers.get(&id).into_iter().flatten();
            stack.extend(consumers.filter(|&&consumer| on_the_way.insert(consumer)));
        }
        Collection { wanted, on_the_way, gradients: inputs.iter().map(|_| None).collect() }
    }

    pub(super) fn needs(&self, id: EdgeId) -> bool {
        self.wanted.contains_key(&id) || self.on_the_way.contains(&id.end)
    }

    /// Adds a gradient that arrived at an edge, if it is wanted.
    pub(super) fn take(&mut self, id: EdgeId, gradient: &Tensor) -> Result<()> {
        for &position in self.wanted.get(&id).into_iter().flatten() {
            let slot = &mut self.gradients[position];
            *slot = Some(match slot.take() {
                Some(so_far) => (so_far + gradient)?,
                None => gradient.clone(),
            });
        }
        Ok(())
    }
}

/// The edges that can be reached from `roots`, reversed: for each end of an edge, the nodes that it
/// leads from.
fn consumers<'a>(roots: impl Iterator<Item = &'a Edge>) -> FxHashMap<EndId, SmallVec<[EndId; 2]>> {
    let mut consumers: FxHashMap<EndId, SmallVec<[EndId; 2]>> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    let mut stack: Vec<&Edge> = roots.collect();
    while let Some(edge) = stack.pop() {
        let Edge::Node(NodeOutput { node, .. }) = edge else { continue };
        if seen.insert(edge.end()) {
            for input in node.inputs.iter().flatten() {
                consumers.entry(input.end()).or_default().push(edge.end());
                stack.push(input);
            }
        }
    }
    consumers
}
