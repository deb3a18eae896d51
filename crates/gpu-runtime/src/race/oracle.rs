//! The checker against brute force: random programs, and order by paths through a graph.

use std::panic::Location;

use proptest::prelude::*;

use super::act::Act;
use super::placed::Placed;
use super::state::RaceState;
use crate::types::Access;
use crate::types::StreamId;
use crate::types::Work;
use crate::types::{MemoryAccess, WorkId};

const STREAMS: usize = 4;
const EVENTS: usize = 3;

/// A step of a program.
#[derive(Debug, Clone)]
enum Step {
    /// A stream does something with memory.
    Work {
        stream: usize,
        accesses: Vec<MemoryAccess>,
    },
    Record {
        stream: usize,
        event: usize,
    },
    /// A stream waits for an event.
    Wait {
        stream: usize,
        event: usize,
    },
    /// The host waits for an event, or asks and is told that it is past.
    Learn {
        event: usize,
    },
    /// The host does something with memory.
    Host {
        accesses: Vec<MemoryAccess>,
    },
    /// The checker forgets what it can.
    Forget,
}

/// Addresses show bytes in turn: each byte by two of them.
const BYTES: u64 = 8;

/// The same accesses by what they reach.
fn placed(accesses: &[MemoryAccess]) -> Vec<Placed> {
    let parts = |access: &MemoryAccess| {
        let MemoryAccess { start, bytes, access } = *access;
        let end = start + bytes as u64;
        let turn = end.min((start / BYTES + 1) * BYTES);
        [start..turn, turn..end].map(|part| {
            let bytes = (part.end - part.start) as usize;
            Placed::at(part.start % BYTES, MemoryAccess { start: part.start, bytes, access })
        })
    };
    accesses.iter().flat_map(parts).filter(|part| !part.places().is_empty()).collect()
}

fn access() -> impl Strategy<Value = MemoryAccess> {
    (0..12u64, 1..5usize, any::<bool>()).prop_map(|(start, bytes, writes)| MemoryAccess {
        start,
        bytes,
        access: if writes { Access::Write } else { Access::Read },
    })
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..STREAMS;
    let event = || 0..EVENTS;
    let accesses = || proptest::collection::vec(access(), 1..3);
    prop_oneof![
        6 => (stream(), accesses()).prop_map(|(stream, accesses)| Step::Work { stream, accesses }),
        4 => (stream(), event()).prop_map(|(stream, event)| Step::Record { stream, event }),
        4 => (stream(), event()).prop_map(|(stream, event)| Step::Wait { stream, event }),
        2 => event().prop_map(|event| Step::Learn { event }),
        1 => accesses().prop_map(|accesses| Step::Host { accesses }),
        1 => Just(Step::Forget),
    ]
}

fn id(stream: usize) -> StreamId {
    StreamId::of(stream as u32 % 2, stream as u64)
}

/// The things that happen, as nodes; each comes after those it lists, and after what they come after.
#[derive(Default)]
struct Graph {
    nodes: Vec<Node>,
    /// The newest node of each stream, and of the host.
    streams: [Option<usize>; STREAMS],
    host: Option<usize>,
    /// The node that each event stands for.
    events: [Option<usize>; EVENTS],
}

struct Node {
    after: Vec<usize>,
    accesses: Vec<MemoryAccess>,
    work: Option<WorkId>,
}

impl Graph {
    /// Adds what comes after these, and after everything that the host knew by then.
    fn add(&mut self, after: &[Option<usize>], accesses: &[MemoryAccess], work: Option<WorkId>) {
        let after = after.iter().chain([&self.host]).filter_map(|node| *node).collect();
        self.nodes.push(Node { after, accesses: accesses.to_vec(), work });
    }

    fn newest(&self) -> Option<usize> {
        self.nodes.len().checked_sub(1)
    }

    fn is_before(&self, earlier: usize, later: usize) -> bool {
        self.nodes[later].after.iter().any(|&node| node == earlier || self.is_before(earlier, node))
    }

    /// The works that the newest node races with.
    fn races(&self) -> Vec<WorkId> {
        let Some((newest, earlier)) = self.nodes.split_last() else { return Vec::new() };
        let races = |&(index, node): &(usize, &Node)| {
            let pairs =
                node.accesses.iter().flat_map(|a| newest.accesses.iter().map(move |b| (a, b)));
            let conflict = pairs.into_iter().any(|(a, b)| conflict(a, b));
            conflict && !self.is_before(index, earlier.len())
        };
        earlier.iter().enumerate().filter(races).filter_map(|(_, node)| node.work).collect()
    }
}

fn conflict(a: &MemoryAccess, b: &MemoryAccess) -> bool {
    let bytes = |access: &MemoryAccess| access.start..access.start + access.bytes as u64;
    let overlap = bytes(a).any(|one| bytes(b).any(|other| one % BYTES == other % BYTES));
    overlap && (a.access == Access::Write || b.access == Access::Write)
}

/// Runs a program by the checker and by the graph. Of each step that accesses memory: what the
/// checker finds, and what there is.
fn run(program: &[Step]) -> Vec<(Vec<WorkId>, Vec<WorkId>)> {
    let (mut state, mut graph, mut outcomes) = (RaceState::default(), Graph::default(), Vec::new());
    let mut sequences = [0u64; STREAMS];
    // The work that each event comes after.
    let mut recorded: [Option<WorkId>; EVENTS] = [None; EVENTS];
    for step in program {
        match *step {
            Step::Work { stream, ref accesses } => {
                sequences[stream] += 1;
                let work = WorkId { stream: id(stream), sequence: sequences[stream] };
                graph.add(&[graph.streams[stream]], accesses, Some(work));
                graph.streams[stream] = graph.newest();
                let found = state.conflicts(work.stream, &placed(accesses));
                outcomes.push((ids(&found), graph.races()));
                let place = Location::caller();
                state.note(Act { id: work, work: Work::Callback, place }, &placed(accesses));
            }
            Step::Host { ref accesses } => {
                graph.add(&[], accesses, None);
                outcomes.push((ids(&state.conflicts_of_host(&placed(accesses))), graph.races()));
                // The next work comes after it, as after all that the host has done.
                graph.host = graph.newest();
            }
            Step::Record { stream, event } => {
                recorded[event] = Some(WorkId { stream: id(stream), sequence: sequences[stream] });
                graph.events[event] = graph.streams[stream];
            }
            Step::Wait { stream, event } => {
                if let Some(awaited) = recorded[event].filter(|of| of.stream != id(stream)) {
                    sequences[stream] += 1;
                    state.order(id(stream), sequences[stream], awaited);
                    graph.add(&[graph.streams[stream], graph.events[event]], &[], None);
                    graph.streams[stream] = graph.newest();
                }
            }
            Step::Learn { event } => {
                if let Some(done) = recorded[event] {
                    state.learn(done);
                    graph.add(&[graph.events[event]], &[], None);
                    graph.host = graph.newest();
                }
            }
            Step::Forget => state.forget_what_is_over(),
        }
    }
    outcomes
}

fn ids(found: &[super::act::Conflict]) -> Vec<WorkId> {
    found.iter().map(|conflict| conflict.earlier.act.id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_first_race_is_found_and_none_that_is_not(
        program in proptest::collection::vec(step(), 1..50),
    ) {
        let outcomes = run(&program);
        for (found, races) in &outcomes {
            prop_assert!(found.iter().all(|work| races.contains(work)), "{found:?} of {races:?}");
        }
        // After a race the checker remembers only the later of both, so it may miss others.
        let first = |which: fn(&(Vec<WorkId>, Vec<WorkId>)) -> bool| outcomes.iter().position(which);
        prop_assert_eq!(first(|(found, _)| !found.is_empty()), first(|(_, races)| !races.is_empty()));
    }
}
