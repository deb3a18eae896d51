//! The autograd engine: the walk through the graph, from the gradients of outputs back to the
//! leaves.

mod arrivals;
mod collection;
mod streams;

use std::collections::hash_map::Entry;
use std::sync::Arc;

use gpu_runtime::{Order, with_order};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use self::arrivals::{Arrivals, OutputGradients, expected_arrivals};
pub(super) use self::collection::Collection;
use self::streams::SideStreams;
use super::anomaly::check_numbers;
use crate::AutogradError;
use crate::autocast::without_autocast;
use crate::grad_mode::enter_grad_mode;
use crate::shared::Counted;
use crate::tensor::{Edge, EdgeId, EndId, Gradients, GraphRetention, Leaf, Node};
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

/// The choices of a backward pass.
#[derive(Clone, Copy)]
pub(super) struct PassOptions {
    pub(super) graph: GraphRetention,
    /// Whether the gradients are recorded themselves (`create_graph`).
    pub(super) create_graph: bool,
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
    options: PassOptions,
) -> Result<Vec<Option<Tensor>>> {
    let _records_only_on_demand = enter_grad_mode(options.create_graph);
    // Gradients are computed in the dtypes of the forward pass.
    let _as_they_are = without_autocast();
    // Neighbouring nodes may be on different streams: their order must not depend on the mode that
    // the forward pass ran in.
    with_order(Order::Automatic, || {
        let arrivals = expected_arrivals(&roots, &goal);
        let streams = SideStreams::default();
        let mut walk = Walk { arrivals, ready: Vec::new(), goal, options, streams };
        walk.begin(&roots)?;
        // The gradients may be written over from here on.
        drop(roots);
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
    /// The nodes and leaves that are not ready yet, but for nodes that one edge leads to.
    arrivals: FxHashMap<EndId, Arrivals>,
    /// The nodes that are ready, each with the gradients of its outputs as far as some arrived.
    ready: Vec<(Counted<Node>, OutputGradients)>,
    goal: Goal,
    options: PassOptions,
    streams: SideStreams,
}

impl Walk {
    /// Delivers the gradients of the roots.
    fn begin(&mut self, roots: &[(Edge, Tensor)]) -> Result<()> {
        for (edge, gradient) in roots {
            if let Some(arrivals) = self.arrivals.get_mut(&edge.end()) {
                arrivals.add(edge, gradient.clone(), self.options.create_graph)?;
            }
        }
        roots.iter().try_for_each(|(edge, _)| self.release(edge))
    }

    /// Calls the ready nodes, and delivers their gradients, until no node is left.
    fn run(&mut self) -> Result<()> {
        while let Some((node, gradients)) = self.ready.pop() {
            let gradients = match gradients.iter().any(Option::is_some) {
                true => self.call(&node, gradients)?,
                false => Gradients::new(),
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

    /// Calls a node's hooks and its backward function, on the stream of its forward operation, and
    /// gives the gradients of its inputs; none if none is needed.
    fn call(&mut self, node: &Counted<Node>, mut gradients: OutputGradients) -> Result<Gradients> {
        if gradients.len() < node.outputs.len() {
            gradients.resize(node.outputs.len(), None);
        }
        for (output, slot) in gradients.iter_mut().enumerate() {
            let Some(gradient) = slot.take() else { continue };
            let gradient = match node.existing_hooks() {
                Some(hooks) => {
                    let changed = hooks.call(output as u32, gradient)?;
                    node.outputs[output].conform(changed)?
                }
                None => gradient,
            };
            if let Goal::Collect(collection) = &mut self.goal {
                let id = EdgeId { end: EndId::of_node(node), output: output as u32 };
                collection.take(id, &gradient)?;
            }
            *slot = Some(gradient);
        }
        let mut needs: SmallVec<[bool; 3]> = SmallVec::new();
        for edge in &node.inputs {
            needs.push(edge.as_ref().is_some_and(|edge| self.goal.needs(edge)));
        }
        if !needs.contains(&true) {
            return Ok(Gradients::new());
        }
        let function = node.function(self.options.graph)?;
        let _stream = self.streams.enter(node.stream.as_ref())?;
        let gradients = function.call(&gradients, &needs).map_err(|source| {
            AutogradError::Backward { op: node.name, place: node.place, source: Box::new(source) }
        })?;
        check_numbers(node, &gradients)?;
        Ok(gradients)
    }

    /// Delivers the gradient of a node's input, or that there is none, to the end of its edge.
    fn deliver(&mut self, edge: &Edge, gradient: Option<Tensor>) -> Result<()> {
        // Nothing that is wanted is computed from what was not counted.
        if !self.goal.needs(edge) {
            return Ok(());
        }
        let Some(arrivals) = self.arrivals.get_mut(&edge.end()) else {
            return self.deliver_alone(edge, gradient);
        };
        arrivals.expected -= 1;
        if let Some(gradient) = gradient {
            arrivals.add(edge, gradient, self.options.create_graph)?;
        }
        self.release(edge)
    }

    /// Delivers a gradient, or that there is none, to a node that no other edge leads to, which makes
    /// it ready.
    fn deliver_alone(&mut self, edge: &Edge, gradient: Option<Tensor>) -> Result<()> {
        let Edge::Node(output) = edge else { return Ok(()) };
        let mut arrivals = Arrivals::default();
        if let Some(gradient) = gradient {
            arrivals.add(edge, gradient, self.options.create_graph)?;
        }
        self.ready.push((output.node.clone(), arrivals.sums));
        Ok(())
    }

    /// Makes a node ready, or gives a leaf its gradient, if everything that it expects has arrived.
    fn release(&mut self, edge: &Edge) -> Result<()> {
        if let Entry::Occupied(arrivals) = self.arrivals.entry(edge.end())
            && arrivals.get().expected == 0
        {
            let mut sums = arrivals.remove().sums;
            match edge {
                Edge::Node(output) => self.ready.push((output.node.clone(), sums)),
                Edge::Leaf(leaf) => {
                    if let Some(gradient) = sums.pop().flatten() {
                        self.arrive_at_leaf(leaf, gradient)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a gradient to a leaf, or to those that are collected.
    fn arrive_at_leaf(&mut self, leaf: &Arc<Leaf>, gradient: Tensor) -> Result<()> {
        let gradient = match leaf.existing_hooks() {
            Some(hooks) => leaf.form().conform(hooks.call(0, gradient)?)?,
            None => gradient,
        };
        match &mut self.goal {
            Goal::Accumulate => leaf.accumulate(gradient),
            Goal::Collect(collection) => {
                collection.take(EdgeId { end: EndId::of_leaf(leaf), output: 0 }, &gradient)
            }
        }
    }
}
