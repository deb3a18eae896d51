//! Random programs over streams, events and buffers: what the race checker finds in them, and what a
//! search through everything that happened finds.

use gpu_runtime::{
    Access, Device, DeviceBuffer, Event, MemoryAccess, Order, Party, RaceChecker, Stream, WorkId,
    on_own_account, with_order,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use test_support::isolate;

use crate::fixture::{start, zeros};

const STREAMS: usize = 3;
const EVENTS: usize = 2;
const ELEMENTS: usize = 8;

#[derive(Debug, Clone)]
enum Step {
    /// A stream sets a range of one of two buffers.
    Fill {
        stream: usize,
        buffer: usize,
        start: usize,
        len: usize,
    },
    /// A stream copies a range from one buffer to the same place in the other.
    Copy {
        stream: usize,
        from: usize,
        start: usize,
        len: usize,
    },
    Record {
        stream: usize,
        event: usize,
    },
    WaitEvent {
        stream: usize,
        event: usize,
    },
    WaitStream {
        stream: usize,
        other: usize,
    },
    SynchronizeEvent {
        event: usize,
    },
    SynchronizeStream {
        stream: usize,
    },
    /// The host asks whether an event is past; if so, it knows.
    Query {
        event: usize,
    },
    /// An allocator waits until a stream is done, and tells nobody.
    Poll {
        stream: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let stream = || 0..STREAMS;
    let event = || 0..EVENTS;
    let range = || (0..ELEMENTS).prop_flat_map(|start| (Just(start), 1..=ELEMENTS - start));
    prop_oneof![
        4 => (stream(), 0..2usize, range())
            .prop_map(|(stream, buffer, (start, len))| Step::Fill { stream, buffer, start, len }),
        4 => (stream(), 0..2usize, range())
            .prop_map(|(stream, from, (start, len))| Step::Copy { stream, from, start, len }),
        3 => (stream(), event()).prop_map(|(stream, event)| Step::Record { stream, event }),
        3 => (stream(), event()).prop_map(|(stream, event)| Step::WaitEvent { stream, event }),
        3 => (stream(), stream()).prop_map(|(stream, other)| Step::WaitStream { stream, other }),
        1 => event().prop_map(|event| Step::SynchronizeEvent { event }),
        1 => stream().prop_map(|stream| Step::SynchronizeStream { stream }),
        1 => event().prop_map(|event| Step::Query { event }),
        1 => stream().prop_map(|stream| Step::Poll { stream }),
    ]
}

/// What happened: each thing comes after those it names, and after what they come after.
#[derive(Default)]
struct Past {
    things: Vec<(Vec<usize>, Vec<MemoryAccess>, Option<WorkId>)>,
    streams: [Option<usize>; STREAMS],
    events: [Option<usize>; EVENTS],
    host: Option<usize>,
}

impl Past {
    fn add(
        &mut self,
        after: &[Option<usize>],
        accesses: Vec<MemoryAccess>,
        work: Option<WorkId>,
    ) -> Option<usize> {
        let after = after.iter().chain([&self.host]).filter_map(|thing| *thing).collect();
        self.things.push((after, accesses, work));
        Some(self.things.len() - 1)
    }

    fn comes_after(&self, later: usize, earlier: usize) -> bool {
        let (after, ..) = &self.things[later];
        after.iter().any(|&thing| thing == earlier || self.comes_after(thing, earlier))
    }

    /// The work that is the first to race with earlier work.
    fn first_race(&self) -> Option<WorkId> {
        let races = |later: usize| {
            (0..later).any(|earlier| {
                let (_, before, _) = &self.things[earlier];
                let (_, after, _) = &self.things[later];
                let conflict = before.iter().any(|a| after.iter().any(|b| conflict(a, b)));
                conflict && !self.comes_after(later, earlier)
            })
        };
        (0..self.things.len()).find(|&later| races(later)).and_then(|later| self.things[later].2)
    }
}

fn conflict(a: &MemoryAccess, b: &MemoryAccess) -> bool {
    let overlap = a.start < b.start + b.bytes as u64 && b.start < a.start + a.bytes as u64;
    overlap && (a.access == Access::Write || b.access == Access::Write)
}

/// The programs that are left out, since a race is not found there: a wait for work that somebody who
/// only looks has found done takes no number on its stream, and an event that was recorded on that
/// stream before, with no work in between, counts as recorded after it.
#[derive(Default)]
struct Ambiguous {
    /// Whether the newest thing on a stream is a record of an event.
    is_recorded: [bool; STREAMS],
    /// Whether all work of a stream was found done.
    is_past: [bool; STREAMS],
    /// The streams that events were recorded on, and whether what they stand for was found done.
    events: [Option<(usize, bool)>; EVENTS],
}

impl Ambiguous {
    /// Whether a step is to be left out; else it is noted.
    fn leaves_out(&mut self, step: &Step) -> bool {
        match *step {
            Step::Fill { stream, .. } | Step::Copy { stream, .. } => {
                (self.is_recorded[stream], self.is_past[stream]) = (false, false);
            }
            Step::Record { stream, event } => {
                self.is_recorded[stream] = true;
                self.events[event] = Some((stream, self.is_past[stream]));
            }
            Step::WaitEvent { stream, event } => {
                let is_past = self.events[event].is_some_and(|(_, is_past)| is_past);
                return self.is_recorded[stream] && is_past;
            }
            Step::WaitStream { stream, other } => {
                return self.is_recorded[stream] && self.is_past[other];
            }
            Step::Poll { stream } => {
                self.is_past[stream] = true;
                let of_stream = |event: &&mut (usize, bool)| event.0 == stream;
                let events = self.events.iter_mut().flatten();
                events.filter(of_stream).for_each(|(_, is_past)| *is_past = true);
            }
            Step::SynchronizeEvent { .. } | Step::SynchronizeStream { .. } | Step::Query { .. } => {
            }
        }
        false
    }
}

/// Runs a program, and tells what happened.
fn run(program: &[Step], streams: &[Stream], buffers: &[DeviceBuffer<u32>; 2]) -> Past {
    let events: Vec<Event> = (0..EVENTS).map(|_| Event::new()).collect();
    let mut past = Past::default();
    let at = |buffer: usize, start: usize| buffers[buffer].ptr().offset(start * 4);
    let mut ambiguous = Ambiguous::default();
    for step in program {
        if ambiguous.leaves_out(step) {
            continue;
        }
        match *step {
            Step::Fill { stream, buffer, start, len } => {
                let to = at(buffer, start);
                // SAFETY: the buffer has that range; what lies in it is of no importance.
                unsafe { streams[stream].enqueue_fill(to, 1, len * 4) }.expect("it is taken");
                let work = streams[stream].point().work();
                let accesses = vec![MemoryAccess::write(to, len * 4)];
                past.streams[stream] = past.add(&[past.streams[stream]], accesses, Some(work));
            }
            Step::Copy { stream, from, start, len } => {
                let (src, dst) = (at(from, start), at(1 - from, start));
                // SAFETY: both ends lie within their buffers, which are not the same, and the buffers live
                // until the device is synchronized.
                unsafe { streams[stream].enqueue_dtod(dst, src, len * 4) }.expect("it is taken");
                let work = streams[stream].point().work();
                let accesses =
                    vec![MemoryAccess::read(src, len * 4), MemoryAccess::write(dst, len * 4)];
                past.streams[stream] = past.add(&[past.streams[stream]], accesses, Some(work));
            }
            Step::Record { stream, event } => {
                events[event].record(&streams[stream]).expect("it is recorded");
                past.events[event] = past.streams[stream];
            }
            Step::WaitEvent { stream, event } => {
                events[event].wait(&streams[stream]).expect("it is taken");
                let after = [past.streams[stream], past.events[event]];
                past.streams[stream] = past.add(&after, Vec::new(), None);
            }
            Step::WaitStream { stream, other } => {
                streams[stream].wait_stream(&streams[other]).expect("it is taken");
                let after = [past.streams[stream], past.streams[other]];
                past.streams[stream] = past.add(&after, Vec::new(), None);
            }
            Step::SynchronizeEvent { event } => {
                events[event].synchronize().expect("the device works");
                past.host = past.add(&[past.events[event]], Vec::new(), None);
            }
            Step::SynchronizeStream { stream } => {
                streams[stream].synchronize().expect("the device works");
                past.host = past.add(&[past.streams[stream]], Vec::new(), None);
            }
            Step::Poll { stream } => on_own_account(|| {
                let point = streams[stream].point();
                while !point.is_complete().expect("the device works") {
                    std::thread::yield_now();
                }
            }),
            Step::Query { event } => {
                if events[event].query().expect("the device works") {
                    past.host = past.add(&[past.events[event]], Vec::new(), None);
                }
            }
        }
    }
    past
}

#[test]
fn the_first_race_of_a_random_program_is_the_first_that_there_is() {
    isolate(|| {
        start();
        let device = Device::get(0).expect("there is a device");
        let buffers = [zeros(device, ELEMENTS), zeros(device, ELEMENTS)];
        let mut runner = TestRunner::new(Config::with_cases(300));
        let program = proptest::collection::vec(step(), 1..30);
        let checked = runner.run(&program, |program| {
            let streams: Vec<_> =
                (0..STREAMS).map(|_| Stream::new(device).expect("a stream")).collect();
            let checker = RaceChecker::start();
            let past = with_order(Order::Manual, || run(&program, &streams, &buffers));
            let races = checker.finish();
            device.synchronize().expect("the device works");
            let found = races.first().map(|race| match race.later.party {
                Party::Work { id, .. } => Ok(id),
                _ => Err(TestCaseError::fail("the host accesses nothing")),
            });
            prop_assert_eq!(found.transpose()?, past.first_race());
            Ok(())
        });
        checked.expect("they agree");
    })
    // The driver's own checks would make the device unusable.
    .env("GPU_DRIVER", "software:1")
    .run();
}
