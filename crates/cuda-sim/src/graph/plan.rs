//! The plan of an executable graph: its nodes on streams of its own. Child graphs become part of
//! the whole, and chains of nodes that wait for each other anyway share a stream.
//!
//! Fewer streams mean fewer waits between them, which cost more than an operation that follows
//! another one in its stream. The plan is greedy: a node goes on in the stream of the first of its
//! dependencies that is that stream's end, or else opens a stream.

use std::collections::HashMap;
use std::sync::Arc;

use cuda_sys::CUgraphNodeType as NodeType;
use smallvec::SmallVec;

use super::body::{GraphNodeRecord, GraphTemplate};
use super::conditional::{ConditionalRun, Defaults};
use super::edges::{NodeId, Ports};
use super::operation::NodeOperation;
use super::order::topological;
use crate::device::Context;

/// The operations of a graph in an order in which they can be enqueued.
#[derive(Default)]
pub(super) struct LaunchPlan {
    pub(super) steps: Vec<PlanStep>,
    /// The contexts of the streams that they are laid out on.
    pub(super) lanes: Vec<Arc<Context>>,
    /// The steps of the nodes by their handles, those of child graphs included.
    pub(super) by_node: HashMap<u64, usize>,
    pub(super) shape: GraphTopology,
}

/// One step of a plan.
pub(super) struct PlanStep {
    pub(super) operation: NodeOperation,
    /// The bodies of a conditional node.
    pub(super) conditional: Option<Arc<ConditionalRun>>,
    /// A step that is not is passed over, and keeps its place in the order.
    pub(super) is_enabled: bool,
    pub(super) lane: usize,
    /// The steps that it waits for, but those in its own lane.
    pub(super) after: SmallVec<[usize; 2]>,
}

/// The nodes and edges of a graph as they were when it was instantiated: an update must have the
/// same.
#[derive(Default)]
pub(super) struct GraphTopology {
    pub(super) nodes: Vec<TopologyNode>,
}

pub(super) struct TopologyNode {
    pub(super) node_type: NodeType,
    /// Its step; that before all others for a child graph.
    pub(super) step: usize,
    /// Numbers of nodes in the shape, and how they are depended on.
    pub(super) dependencies: Vec<(usize, Ports)>,
    pub(super) child: Option<GraphTopology>,
}

/// Why there is no plan: the handle of a node on a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cycle(pub(super) u64);

/// A graph's living nodes in the order of making, and for each the numbers among them of those that
/// it depends on.
pub(super) fn living(graph: &GraphTemplate) -> (Vec<GraphNodeRecord>, Vec<Vec<(usize, Ports)>>) {
    let nodes = graph.nodes();
    let living = nodes.iter().enumerate().filter(|(_, node)| node.is_some());
    let numbers: HashMap<NodeId, usize> =
        living.enumerate().map(|(number, (id, _))| (NodeId(id), number)).collect();
    let nodes: Vec<GraphNodeRecord> = nodes.into_iter().flatten().collect();
    let dependencies = nodes.iter().map(|node| {
        // An edge is removed with its node, so all of them lead to living ones.
        let edges = node.dependencies.iter();
        edges.filter_map(|edge| Some((*numbers.get(&edge.from)?, edge.ports))).collect()
    });
    let dependencies = dependencies.collect();
    (nodes, dependencies)
}

impl LaunchPlan {
    /// Lays a graph out. Operations of no context of their own go where those before them go, or to
    /// `context`.
    pub(super) fn new(graph: &GraphTemplate, context: &Arc<Context>) -> Result<LaunchPlan, Cycle> {
        let mut layout = PlanBuilder {
            context,
            steps: Vec::new(),
            lanes: Vec::new(),
            ends: Vec::new(),
            by_node: HashMap::new(),
        };
        let defaults = graph.conditionals_with_defaults();
        let entry = (!defaults.is_empty())
            .then(|| layout.add(NodeOperation::Defaults(Arc::new(Defaults(defaults))), &[]));
        let shape = layout.lay(graph, entry)?.0;
        let PlanBuilder { steps, lanes, by_node, .. } = layout;
        Ok(LaunchPlan { steps, lanes, by_node, shape })
    }
}

struct PlanBuilder<'a> {
    context: &'a Arc<Context>,
    steps: Vec<PlanStep>,
    lanes: Vec<Arc<Context>>,
    /// The last step of each lane.
    ends: Vec<usize>,
    by_node: HashMap<u64, usize>,
}

impl PlanBuilder<'_> {
    /// Adds a graph's nodes, all of them after `entry`. Returns its shape, and the steps that
    /// nothing in it waits for.
    fn lay(
        &mut self,
        graph: &GraphTemplate,
        entry: Option<usize>,
    ) -> Result<(GraphTopology, Vec<usize>), Cycle> {
        let (nodes, edges) = living(graph);
        let numbers = |edges: &Vec<(usize, Ports)>| edges.iter().map(|(from, _)| *from).collect();
        let dependencies: Vec<Vec<usize>> = edges.iter().map(numbers).collect();
        let order = topological(&dependencies).map_err(|node| Cycle(nodes[node].handle))?;
        let mut first = vec![0; nodes.len()];
        let mut last = vec![0; nodes.len()];
        let mut children: Vec<Option<GraphTopology>> = nodes.iter().map(|_| None).collect();
        for number in order {
            let node = &nodes[number];
            let mut before: Vec<usize> = dependencies[number].iter().map(|&n| last[n]).collect();
            before.extend(entry.filter(|_| before.is_empty()));
            let operation = match &node.operation {
                // Nodes of the child have steps of their own; this one stands for the child's
                // begin.
                NodeOperation::Child(_) => NodeOperation::Empty,
                operation => operation.clone(),
            };
            first[number] = self.add(operation, &before);
            self.by_node.insert(node.handle, first[number]);
            last[number] = first[number];
            if let NodeOperation::Child(child) = &node.operation {
                let (shape, leaves) = self.lay(child, Some(first[number]))?;
                children[number] = Some(shape);
                // One step for the child's end, so that what depends on the child waits for one
                // step and not for all of the child's leaves.
                if !leaves.is_empty() {
                    last[number] = self.add(NodeOperation::Empty, &leaves);
                }
            }
        }
        let mut is_leaf = vec![true; nodes.len()];
        dependencies.iter().flatten().for_each(|&number| is_leaf[number] = false);
        let leaves = last.iter().zip(&is_leaf).filter(|(_, is_leaf)| **is_leaf);
        let leaves = leaves.map(|(step, _)| *step).collect();
        let shapes = nodes.iter().zip(edges).zip(children).zip(first);
        let shapes = shapes.map(|(((node, dependencies), child), step)| TopologyNode {
            node_type: node.operation.node_type(),
            step,
            dependencies,
            child,
        });
        Ok((GraphTopology { nodes: shapes.collect() }, leaves))
    }

    /// Adds a step. It goes on in the lane of one that it waits for, where that is the lane's end,
    /// or else opens one.
    fn add(&mut self, operation: NodeOperation, before: &[usize]) -> usize {
        let step = self.steps.len();
        let own = operation.context().cloned();
        let inherited = before.first().map(|&earlier| &self.lanes[self.steps[earlier].lane]);
        let context = own.unwrap_or_else(|| Arc::clone(inherited.unwrap_or(self.context)));
        let goes_on = before.iter().map(|&earlier| (earlier, self.steps[earlier].lane)).find(
            |&(earlier, lane)| self.ends[lane] == earlier && self.lanes[lane].id == context.id,
        );
        let lane = goes_on.map(|(_, lane)| lane).unwrap_or_else(|| {
            self.lanes.push(context);
            self.ends.push(step);
            self.lanes.len() - 1
        });
        self.ends[lane] = step;
        let elsewhere = before.iter().copied().filter(|&earlier| self.steps[earlier].lane != lane);
        let after = elsewhere.collect();
        self.steps.push(PlanStep { operation, conditional: None, is_enabled: true, lane, after });
        step
    }
}
