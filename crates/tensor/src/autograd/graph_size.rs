//! The memory that a graph keeps for its backward pass.

use rustc_hash::{FxHashMap, FxHashSet};

use super::history::edge_of;
use crate::Tensor;
use crate::tensor::{Edge, NodeOutput};

/// The number of bytes that the graph of `outputs` keeps for the backward pass: the whole storages
/// of all tensors that its operations have saved, each once. The storages of `except` do not count:
/// parameters and inputs, which are there anyway. A part of the graph that a pass has freed keeps
/// nothing.
///
/// ```
/// use tensor::{saved_bytes, tensor};
/// let x = tensor![1.0, 2.0, 3.0]?.requires_grad_(true)?;
/// let y = x.exp()?;                       // saves its result
/// let z = y.mul(&x)?.sum(())?;              // saves both factors
/// assert_eq!(saved_bytes(&[&z], &[&x]), 12);
/// z.backward()?;
/// assert_eq!(saved_bytes(&[&z], &[&x]), 0);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn saved_bytes(outputs: &[&Tensor], except: &[&Tensor]) -> usize {
    let mut storages: FxHashMap<usize, usize> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    let mut stack: Vec<Edge> = outputs.iter().filter_map(|output| edge_of(output)).collect();
    while let Some(edge) = stack.pop() {
        let Edge::Node(NodeOutput { node, .. }) = &edge else { continue };
        if !seen.insert(edge.end()) {
            continue;
        }
        storages.extend(node.saved().iter().map(|saved| (saved.id, saved.bytes)));
        stack.extend(node.inputs.iter().flatten().cloned());
    }
    let excepted: FxHashSet<usize> = except.iter().map(|tensor| tensor.storage().id()).collect();
    storages.iter().filter(|(id, _)| !excepted.contains(id)).map(|(_, bytes)| bytes).sum()
}

impl Tensor {
    /// The number of bytes that the graph of this tensor keeps for its backward pass, without the
    /// memory of `except`; see [`saved_bytes`].
    pub fn saved_bytes(&self, except: &[&Tensor]) -> usize {
        saved_bytes(&[self], except)
    }
}
