//! The autograd engine: the walk through the graph, from the gradients of outputs back to the
//! leaves.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use gpu_runtime::{Order, Stream, StreamGuard, with_order};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::mode::enter_grad_mode;
use crate::AutogradError;
use crate::tensor::{Edge, EdgeId, Gradients, GraphRetention, Leaf, Node};
use crate::{Result, Tensor};

/// The gradients that a walk computes.
pub(super) enum Goal {
    /// The gradients of all leaves, which are added to those that they have (`backward`).
    Accumulate,
    /// The gradients at some edges, and no others (`torch.autograd.grad`).
    Collect(Collection),
}

impl Goal {
    /// Whether the gradient at this edge is wanted, or one that is wanted is computed from it.
    fn needs(&self, edge: &Edge) -> bool {
        match self {
            Goal::Accumulate => true,
            Goal::Collect(collection) => collection.needs(edge.id()),
        }
    }
}

/// Walks back from `roots`, each with the gradient that arrives there, and gives the gradients that
/// were collected.
///
/// A node is ready when the gradients of all nodes that were computed from it have arrived: first
/// the edges that lead to each node are counted (PyTorch's `compute_dependencies`), then each
/// arrival counts down. Of several ready nodes the one that became ready last goes first. PyTorch
/// takes the one that was recorded last (`sequence_nr`); here the order, and with it the order in
/// which gradients are summed, follows from the graph alone, so that it does not depend on the
/// threads that recorded it.
pub(super) fn run(
    roots: Vec<(Edge, Tensor)>,
    goal: Goal,
    graph: GraphRetention,
) -> Result<Vec<Option<Tensor>>> {
    let _no_second_derivatives = enter_grad_mode(false);
    // Neighbouring nodes may be on different streams: their order must not depend on the mode that
    // the forward pass ran in.
    with_order(Order::Automatic, || {
        let arrivals = expected_arrivals(&roots, &goal);
        let mut walk =
            Walk { arrivals, ready: Vec::new(), goal, graph, streams: SideStreams::default() };
        walk.begin(roots)?;
        walk.run()?;
        walk.streams.join()?;
        Ok(match walk.goal {
            Goal::Accumulate => Vec::new(),
            Goal::Collect(collection) => collection.gradients,
        })
    })
}

/// The state of a walk through the graph.
struct Walk {
    /// The nodes that are not ready yet.
    arrivals: FxHashMap<EdgeId, Arrivals>,
    /// The nodes that are ready, each with the gradient of its output; `None` if none arrived.
    ready: Vec<(Arc<Node>, Option<Tensor>)>,
    goal: Goal,
    graph: GraphRetention,
    streams: SideStreams,
}

/// The gradients that arrive at a node.
#[derive(Default)]
struct Arrivals {
    /// The number of edges from which nothing has arrived yet, neither a gradient nor its absence.
    expected: usize,
    /// The sum of the gradients that have arrived.
    sum: Option<Tensor>,
}

impl Arrivals {
    fn add(&mut self, gradient: Tensor) -> Result<()> {
        self.sum = Some(match self.sum.take() {
            Some(sum) => sum.add(&gradient)?,
            None => gradient,
        });
        Ok(())
    }
}

/// The nodes that a walk from `roots` reaches, with the number of edges that lead to each.
fn expected_arrivals(roots: &[(Edge, Tensor)], goal: &Goal) -> FxHashMap<EdgeId, Arrivals> {
    let mut expected: FxHashMap<EdgeId, Arrivals> = FxHashMap::default();
    let mut stack = Vec::new();
    for (edge, _) in roots.iter().filter(|(edge, _)| goal.needs(edge)) {
        let Edge::Node(node) = edge else { continue };
        if expected.insert(edge.id(), Arrivals::default()).is_none() {
            stack.push(node);
        }
    }
    while let Some(node) = stack.pop() {
        for edge in node.inputs.iter().flatten().filter(|edge| goal.needs(edge)) {
            let Edge::Node(input) = edge else { continue };
            let arrivals = expected.entry(edge.id()).or_insert_with(|| {
                stack.push(input);
                Arrivals::default()
            });
            arrivals.expected += 1;
        }
    }
    expected
}

impl Walk {
    /// Delivers the gradients of the roots.
    fn begin(&mut self, roots: Vec<(Edge, Tensor)>) -> Result<()> {
        let mut nodes = Vec::new();
        for (edge, gradient) in roots {
            let gradient = edge.form().conform(gradient)?;
            match edge {
                Edge::Leaf(leaf) => self.arrive_at_leaf(&leaf, gradient)?,
                Edge::Node(node) => {
                    if let Some(arrivals) = self.arrivals.get_mut(&EdgeId::of(&node)) {
                        arrivals.add(gradient)?;
                        nodes.push(node);
                    }
                }
            }
        }
        nodes.iter().for_each(|node| self.release(node));
        Ok(())
    }

    /// Calls the ready nodes, and delivers their gradients, until no node is left.
    fn run(&mut self) -> Result<()> {
        while let Some((node, gradient)) = self.ready.pop() {
            let gradients = match gradient {
                Some(gradient) => self.call(&node, gradient)?,
                None => Gradients::new(),
            };
            let mut gradients = gradients.into_iter();
            for edge in &node.inputs {
                let gradient = gradients.next().flatten();
                if let Some(edge) = edge {
                    self.deliver(edge, gradient)?;
                }
            }
        }
        Ok(())
    }

    /// Calls a node's backward function, on the stream of its forward operation, and gives the
    /// gradients of its inputs; none if none is needed.
    fn call(&mut self, node: &Arc<Node>, gradient: Tensor) -> Result<Gradients> {
        if let Goal::Collect(collection) = &mut self.goal {
            collection.take(EdgeId::of(node), &gradient)?;
        }
        let needs = |edge: &Option<Edge>| edge.as_ref().is_some_and(|edge| self.goal.needs(edge));
        let needs: SmallVec<[bool; 3]> = node.inputs.iter().map(needs).collect();
        if !needs.contains(&true) {
            return Ok(Gradients::new());
        }
        let function = node.function(self.graph)?;
        let _stream = self.streams.enter(node.stream.as_ref())?;
        function(&gradient, &needs).map_err(|source| {
            AutogradError::Backward { op: node.name, source: Box::new(source) }.into()
        })
    }

    /// Delivers the gradient of a node's input, or that there is none, to the end of its edge.
    fn deliver(&mut self, edge: &Edge, gradient: Option<Tensor>) -> Result<()> {
        let gradient = gradient.map(|gradient| edge.form().conform(gradient)).transpose()?;
        match (edge, gradient) {
            (Edge::Leaf(leaf), Some(gradient)) => self.arrive_at_leaf(leaf, gradient),
            (Edge::Leaf(_), None) => Ok(()),
            (Edge::Node(node), gradient) => {
                // Nothing that is wanted is computed from a node that was not counted.
                let Some(arrivals) = self.arrivals.get_mut(&edge.id()) else { return Ok(()) };
                arrivals.expected -= 1;
                gradient.map_or(Ok(()), |gradient| arrivals.add(gradient))?;
                self.release(node);
                Ok(())
            }
        }
    }

    /// Adds a gradient to a leaf, or to those that are collected.
    fn arrive_at_leaf(&mut self, leaf: &Arc<Leaf>, gradient: Tensor) -> Result<()> {
        match &mut self.goal {
            Goal::Accumulate => leaf.accumulate(gradient),
            Goal::Collect(collection) => collection.take(EdgeId::of(leaf), &gradient),
        }
    }

    /// Makes a node ready if everything that it expects has arrived.
    fn release(&mut self, node: &Arc<Node>) {
        if let Entry::Occupied(arrivals) = self.arrivals.entry(EdgeId::of(node))
            && arrivals.get().expected == 0
        {
            self.ready.push((Arc::clone(node), arrivals.remove().sum));
        }
    }
}

/// The gradients that a walk collects.
pub(super) struct Collection {
    /// The edges at which gradients are wanted, with the positions of their results.
    wanted: FxHashMap<EdgeId, SmallVec<[usize; 1]>>,
    /// The nodes from which a wanted edge can be reached.
    on_the_way: FxHashSet<EdgeId>,
    gradients: Vec<Option<Tensor>>,
}

impl Collection {
    /// A collection of the gradients at `inputs` in a walk from `roots`.
    pub(super) fn new<'a>(inputs: &[Edge], roots: impl Iterator<Item = &'a Edge>) -> Collection {
        let mut wanted: FxHashMap<EdgeId, SmallVec<[usize; 1]>> = FxHashMap::default();
        for (position, edge) in inputs.iter().enumerate() {
            wanted.entry(edge.id()).or_default().push(position);
        }
        let consumers = consumers(roots);
        let mut on_the_way = FxHashSet::default();
        let mut stack: Vec<EdgeId> = wanted.keys().copied().collect();
        while let Some(id) = stack.pop() {
            let consumers = consumers.get(&id).into_iter().flatten();
            stack.extend(consumers.filter(|&&consumer| on_the_way.insert(consumer)));
        }
        Collection { wanted, on_the_way, gradients: inputs.iter().map(|_| None).collect() }
    }

    fn needs(&self, id: EdgeId) -> bool {
        self.wanted.contains_key(&id) || self.on_the_way.contains(&id)
    }

    /// Adds a gradient that arrived at an edge, if it is wanted.
    fn take(&mut self, id: EdgeId, gradient: &Tensor) -> Result<()> {
        for &position in self.wanted.get(&id).into_iter().flatten() {
            let slot = &mut self.gradients[position];
            *slot = Some(match slot.take() {
                Some(so_far) => so_far.add(gradient)?,
                None => gradient.clone(),
            });
        }
        Ok(())
    }
}

/// The edges that can be reached from `roots`, reversed: for each end of an edge, the nodes that it
/// leads from.
fn consumers<'a>(
    roots: impl Iterator<Item = &'a Edge>,
) -> FxHashMap<EdgeId, SmallVec<[EdgeId; 2]>> {
    let mut consumers: FxHashMap<EdgeId, SmallVec<[EdgeId; 2]>> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    let mut stack: Vec<&Edge> = roots.collect();
    while let Some(edge) = stack.pop() {
        let Edge::Node(node) = edge else { continue };
        if seen.insert(edge.id()) {
            for input in node.inputs.iter().flatten() {
                consumers.entry(input.id()).or_default().push(edge.id());
                stack.push(input);
            }
        }
    }
    consumers
}

/// The streams, other than the caller's current ones, that a walk has enqueued work on.
#[derive(Default)]
struct SideStreams {
    others: Vec<Stream>,
}

impl SideStreams {
    /// Makes a node's stream current, unless it is.
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

    /// Makes the caller's current streams wait for the others. So the whole walk is ordered like
    /// one operation on the caller's current streams, in manual order too (as PyTorch's engine does
    /// it).
    fn join(&self) -> Result<()> {
        for stream in &self.others {
            stream.device().current_stream_ref()?.wait_stream(stream)?;
        }
        Ok(())
    }
}
