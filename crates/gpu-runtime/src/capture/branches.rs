//! The streams that take part in a capture, and how far each has come.

use cuda_sys::CUgraphNode;
use smallvec::SmallVec;

use super::driver;
use crate::device::Handle;
use crate::error::Result;
use crate::stream::Stream;
use crate::types::StreamId;
use crate::uses::BranchPosition;

/// The streams of a capture; the first one is where it began.
#[derive(Default)]
pub(super) struct CaptureBranches(Vec<CaptureBranch>);

/// One stream's part.
struct CaptureBranch {
    stream: Stream,
    /// Its nodes, each of which comes after the one before.
    nodes: Vec<Handle<CUgraphNode>>,
    /// The nodes that the next node will depend on.
    next_after: Nodes,
    /// For each other branch the number of its nodes that the next node comes after, as far as is noted.
    reach: Vec<usize>,
}

/// A point of captured work that other streams can wait for: what an event stands for that was
/// recorded in a capture.
#[derive(Clone)]
pub(crate) struct CapturedPoint {
    pub(super) at: BranchPosition,
    pub(super) nodes: Nodes,
}

pub(super) type Nodes = SmallVec<[Handle<CUgraphNode>; 2]>;

impl CaptureBranches {
    /// Adds a stream that has no nodes.
    pub(super) fn add(&mut self, stream: Stream) -> usize {
        let (nodes, next_after, reach) = (Vec::new(), Nodes::new(), Vec::new());
        self.0.push(CaptureBranch { stream, nodes, next_after, reach });
        self.0.len() - 1
    }

    pub(super) fn find(&self, stream: &Stream) -> Option<usize> {
        self.0.iter().position(|branch| branch.stream == *stream)
    }

    pub(super) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.0.iter().map(|branch| &branch.stream)
    }

    /// The point that a branch has come to.
    pub(super) fn position(&self, branch: usize) -> BranchPosition {
        BranchPosition { branch, nodes: self.0[branch].nodes.len() }
    }

    /// The point after all that a stream has been given.
    pub(super) fn point(&self, branch: usize) -> CapturedPoint {
        CapturedPoint { at: self.position(branch), nodes: self.0[branch].next_after.clone() }
    }

    /// Notes a node that was just captured on a stream.
    pub(super) fn push(&mut self, branch: usize, node: Handle<CUgraphNode>) {
        let branch = &mut self.0[branch];
        branch.nodes.push(node);
        branch.next_after.clear();
        branch.next_after.push(node);
    }

    /// Makes the next node of a stream come after a position of another one.
    pub(super) fn come_after(&mut self, branch: usize, position: BranchPosition) -> Result<()> {
        let Some(last) = position.nodes.checked_sub(1) else { return Ok(()) };
        let node = self.0[position.branch].nodes[last];
        self.wait_for(branch, &CapturedPoint { at: position, nodes: Nodes::from_slice(&[node]) })
    }

    /// Makes the next node of a stream come after what is awaited.
    pub(super) fn wait_for(&mut self, branch: usize, awaited: &CapturedPoint) -> Result<()> {
        let (own, other) = (branch, awaited.at.branch);
        let branch = &mut self.0[own];
        let new = |node: &&Handle<CUgraphNode>| !branch.next_after.contains(node);
        let nodes: Nodes = awaited.nodes.iter().filter(new).copied().collect();
        if own == other || nodes.is_empty() || branch.reaches(awaited) {
            return Ok(());
        }
        driver::depend(&branch.stream, &nodes)?;
        branch.next_after.extend(nodes);
        if branch.reach.len() <= other {
            branch.reach.resize(other + 1, 0);
        }
        branch.reach[other] = branch.reach[other].max(awaited.at.nodes);
        Ok(())
    }

    /// The streams whose work the first one is not known to come after.
    pub(super) fn apart(&self) -> Vec<usize> {
        let Some((origin, others)) = self.0.split_first() else { return Vec::new() };
        let apart = others.iter().enumerate().filter(|(index, branch)| {
            let reached = origin.reach.get(index + 1).copied().unwrap_or(0);
            reached < branch.nodes.len()
        });
        apart.map(|(index, _)| index + 1).collect()
    }

    pub(super) fn id(&self, branch: usize) -> StreamId {
        self.0[branch].stream.id()
    }
}

impl CaptureBranch {
    /// Whether the next node comes after what is awaited anyway: a stream's nodes come one after the
    /// other. An event may also stand for what its stream waits for, which is not looked through.
    fn reaches(&self, awaited: &CapturedPoint) -> bool {
        let of_stream = awaited.nodes.len() <= 1;
        let reached = self.reach.get(awaited.at.branch).copied().unwrap_or(0);
        of_stream && reached >= awaited.at.nodes && awaited.at.nodes > 0
    }
}
