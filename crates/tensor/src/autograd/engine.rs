//! The walk: from the gradients of outputs back to the leaves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use gpu_runtime::{Order, Stream, StreamGuard, with_order};
use smallvec::SmallVec;

use super::error::AutogradError;
use super::mode::enter_grad_mode;
use super::node::{Edge, EdgeId, Gradients, Graph, Node};
use crate::{Result, Tensor};

/// What a walk is for.
pub(super) enum Goal {
    /// The gradients of all leaves, added to what they have.
    Accumulate,
    /// The gradients at some edges, and only those.
    Collect(Collection),
}

/// Walks back from `roots`, each with the gradient that arrives there, and gives what it collected.
///
/// A node runs when everything computed from it has run. Because nodes are numbered in the order
/// of their making, taking the highest number among those that have a gradient does just that.
pub(super) fn run(
    roots: Vec<(Edge, Tensor)>,
    goal: Goal,
    graph: Graph,
) -> Result<Vec<Option<Tensor>>> {
    let _no_second_derivatives = enter_grad_mode(false);
    // Neighbouring nodes may be on different streams: their order must not depend on the mode that
    // the forward pass ran in.
    with_order(Order::Automatic, || {
        let mut walk = Walk { ready: BTreeMap::new(), goal, graph, streams: Streams::default() };
        for (edge, gradient) in roots {
            walk.deliver(&edge, gradient)?;
        }
        walk.run()?;
        walk.streams.join()?;
        Ok(match walk.goal {
            Goal::Accumulate => Vec::new(),
            Goal::Collect(collection) => collection.gradients,
        })
    })
}

struct Walk {
    /// Nodes with the sum of the gradients that arrived so far, by their number.
    ready: BTreeMap<u64, (Arc<Node>, Tensor)>,
    goal: Goal,
    graph: Graph,
    streams: Streams,
}

impl Walk {
    fn run(&mut self) -> Result<()> {
        while let Some((_, (node, gradient))) = self.ready.pop_last() {
            if let Goal::Collect(collection) = &mut self.goal {
                collection.take(&Edge::Node(Arc::clone(&node)), &gradient)?;
                if !collection.on_the_way.contains(&node.sequence) {
                    continue;
                }
            }
            for (edge, gradient) in node.inputs.iter().zip(self.call(&node, gradient)?) {
                if let (Some(edge), Some(gradient)) = (edge, gradient) {
                    self.deliver(edge, gradient)?;
                }
            }
        }
        Ok(())
    }

    /// The backward function of a node, on the stream of its forward operation.
    fn call(&mut self, node: &Node, gradient: Tensor) -> Result<Gradients> {
        let needs: SmallVec<[bool; 3]> =
            node.inputs.iter().map(|edge| edge.as_ref().is_some_and(|e| self.needs(e))).collect();
        let function = node.function(self.graph)?;
        let _stream = self.streams.enter(node.stream.as_ref())?;
        function(&gradient, &needs).map_err(|source| {
            AutogradError::Backward { op: node.name, source: Box::new(source) }.into()
        })
    }

    fn needs(&self, edge: &Edge) -> bool {
        match &self.goal {
            Goal::Accumulate => true,
            Goal::Collect(collection) => collection.needs(edge),
        }
    }

    /// A gradient arrives at the end of an edge.
    fn deliver(&mut self, edge: &Edge, gradient: Tensor) -> Result<()> {
        let gradient = edge.form().conform(gradient)?;
        match (edge, &mut self.goal) {
            (Edge::Leaf(leaf), Goal::Accumulate) => leaf.accumulate(gradient),
            (Edge::Leaf(_), Goal::Collect(collection)) => collection.take(edge, &gradient),
            (Edge::Node(node), _) => {
                let arrived = match self.ready.remove(&node.sequence) {
                    Some((_, so_far)) => so_far.add(&gradient)?,
                    None => gradient,
                };
                self.ready.insert(node.sequence, (Arc::clone(node), arrived));
                Ok(())
            }
        }
    }
}

/// The gradients that a walk was asked for.
pub(super) struct Collection {
    wanted: HashMap<EdgeId, SmallVec<[usize; 1]>>,
    /// The numbers of the nodes from which a wanted edge can be reached.
    on_the_way: HashSet<u64>,
    gradients: Vec<Option<Tensor>>,
}

impl Collection {
    /// Of the gradients at `inputs`, as far as they can be reached from `roots`.
    pub(super) fn new<'a>(inputs: &[Edge], roots: impl Iterator<Item = &'a Edge>) -> Collection {
        let mut wanted: HashMap<EdgeId, SmallVec<[usize; 1]>> = HashMap::new();
        for (position, edge) in inputs.iter().enumerate() {
            wanted.entry(edge.id()).or_default().push(position);
        }
        let gradients = inputs.iter().map(|_| None).collect();
        let mut collection = Collection { wanted, on_the_way: HashSet::new(), gradients };
        // Inputs have lower numbers: when a node's turn comes, theirs has been.
        for node in reachable(roots).values() {
            if node.inputs.iter().flatten().any(|edge| collection.needs(edge)) {
                collection.on_the_way.insert(node.sequence);
            }
        }
        collection
    }

    /// Whether a gradient at this edge is wanted, or leads to one that is.
    fn needs(&self, edge: &Edge) -> bool {
        self.wanted.contains_key(&edge.id())
            || matches!(edge, Edge::Node(node) if self.on_the_way.contains(&node.sequence))
    }

    fn take(&mut self, edge: &Edge, gradient: &Tensor) -> Result<()> {
        for &position in self.wanted.get(&edge.id()).into_iter().flatten() {
            let slot = &mut self.gradients[position];
            *slot = Some(match slot.take() {
                Some(so_far) => so_far.add(gradient)?,
                None => gradient.clone(),
            });
        }
        Ok(())
    }
}

/// The nodes behind `roots`, by their number.
fn reachable<'a>(roots: impl Iterator<Item = &'a Edge>) -> BTreeMap<u64, &'a Arc<Node>> {
    let mut found = BTreeMap::new();
    let mut stack: Vec<&Edge> = roots.collect();
    while let Some(edge) = stack.pop() {
        if let Edge::Node(node) = edge
            && found.insert(node.sequence, node).is_none()
        {
            stack.extend(node.inputs.iter().flatten());
        }
    }
    found
}

/// The streams other than the caller's current ones that the walk used.
#[derive(Default)]
struct Streams {
    others: Vec<Stream>,
}

impl Streams {
    /// Makes a node's stream current, where it is not.
    fn enter(&mut self, stream: Option<&Stream>) -> Result<Option<StreamGuard>> {
        let Some(stream) = stream else { return Ok(None) };
        if stream.device().current_stream_ref()? == *stream {
            return Ok(None);
        }
        if !self.others.contains(stream) {
            self.others.push(stream.clone());
        }
        Ok(Some(stream.enter()?))
    }

    /// Makes the caller's current streams wait for the others, so that the walk as a whole is
    /// ordered as one operation of the caller's, in manual order too.
    fn join(&self) -> Result<()> {
        for stream in &self.others {
            stream.device().current_stream_ref()?.wait_stream(stream)?;
        }
        Ok(())
    }
}
