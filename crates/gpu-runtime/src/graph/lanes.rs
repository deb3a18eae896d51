//! The streams that take part in a capture, and how far each has come.

use cuda_sys::CUgraphNode;
use smallvec::SmallVec;

use super::driver;
use super::uses::Position;
use crate::error::Result;
use crate::handle::Handle;
use crate::stream::{Stream, StreamId};

/// The streams of a capture; the first one is where it began.
#[derive(Default)]
pub(super) struct Lanes(Vec<Lane>);

/// One stream's part.
struct Lane {
    stream: Stream,
    /// Its nodes, each of which comes after the one before.
    nodes: Vec<Handle<CUgraphNode>>,
    /// What the next node will depend on.
    next_after: Nodes,
    /// Of each stream, how many nodes the next node comes after, as far as is noted.
    reach: Vec<usize>,
}

/// What comes after an event, or a stream, that is waited for.
#[derive(Clone)]
pub(crate) struct Awaited {
    pub(super) at: Position,
    pub(super) nodes: Nodes,
}

pub(super) type Nodes = SmallVec<[Handle<CUgraphNode>; 2]>;

impl Lanes {
    /// Adds a stream that has no nodes.
    pub(super) fn add(&mut self, stream: Stream) -> usize {
        let (nodes, next_after, reach) = (Vec::new(), Nodes::new(), Vec::new());
        self.0.push(Lane { stream, nodes, next_after, reach });
        self.0.len() - 1
    }

    pub(super) fn find(&self, stream: &Stream) -> Option<usize> {
        self.0.iter().position(|lane| lane.stream == *stream)
    }

    pub(super) fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.0.iter().map(|lane| &lane.stream)
    }

    /// Where a stream is.
    pub(super) fn position(&self, lane: usize) -> Position {
        Position { lane, nodes: self.0[lane].nodes.len() }
    }

    /// What waits for all that a stream has been given.
    pub(super) fn awaited(&self, lane: usize) -> Awaited {
        Awaited { at: self.position(lane), nodes: self.0[lane].next_after.clone() }
    }

    /// Notes a node that was just captured on a stream.
    pub(super) fn push(&mut self, lane: usize, node: Handle<CUgraphNode>) {
        let lane = &mut self.0[lane];
        lane.nodes.push(node);
        lane.next_after.clear();
        lane.next_after.push(node);
    }

    /// Makes the next node of a stream come after a position of another one.
    pub(super) fn come_after(&mut self, lane: usize, position: Position) -> Result<()> {
        let Some(last) = position.nodes.checked_sub(1) else { return Ok(()) };
        let node = self.0[position.lane].nodes[last];
        self.wait_for(lane, &Awaited { at: position, nodes: Nodes::from_slice(&[node]) })
    }

    /// Makes the next node of a stream come after what is awaited.
    pub(super) fn wait_for(&mut self, lane: usize, awaited: &Awaited) -> Result<()> {
        let (own, other) = (lane, awaited.at.lane);
        let lane = &mut self.0[own];
        let new = |node: &&Handle<CUgraphNode>| !lane.next_after.contains(node);
        let nodes: Nodes = awaited.nodes.iter().filter(new).copied().collect();
        if own == other || nodes.is_empty() || lane.reaches(awaited) {
            return Ok(());
        }
        driver::depend(&lane.stream, &nodes)?;
        lane.next_after.extend(nodes);
        if lane.reach.len() <= other {
            lane.reach.resize(other + 1, 0);
        }
        lane.reach[other] = lane.reach[other].max(awaited.at.nodes);
        Ok(())
    }

    /// The streams whose work the first one is not known to come after.
    pub(super) fn apart(&self) -> Vec<usize> {
        let Some((origin, others)) = self.0.split_first() else { return Vec::new() };
        let apart = others.iter().enumerate().filter(|(index, lane)| {
            let reached = origin.reach.get(index + 1).copied().unwrap_or(0);
            reached < lane.nodes.len()
        });
        apart.map(|(index, _)| index + 1).collect()
    }

    pub(super) fn id(&self, lane: usize) -> StreamId {
        self.0[lane].stream.id()
    }
}

impl Lane {
    /// Whether the next node comes after what is awaited anyway: a stream's nodes come one after the
    /// other. An event may also stand for what its stream waits for, which is not looked through.
    fn reaches(&self, awaited: &Awaited) -> bool {
        let of_stream = awaited.nodes.len() <= 1;
        let reached = self.reach.get(awaited.at.lane).copied().unwrap_or(0);
        of_stream && reached >= awaited.at.nodes && awaited.at.nodes > 0
    }
}
