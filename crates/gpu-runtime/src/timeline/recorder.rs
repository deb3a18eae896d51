//! The observer that a timeline is made of.

use std::collections::{HashMap, VecDeque};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::clock::HostClock;
use super::stamps::{Marks, Stamps, TimedEvent};
use super::{Trace, TracedOperation, TracedRange, TracedWait};
use crate::error::{Error, Result};
use crate::observe::{EnqueuedWork, HostWait, NamedRange, Observer};
use crate::stream::Stream;
use crate::types::{Device, StreamId, WaitReason, Work, WorkId};
use crate::wait::WaitPermit;

/// With so many operations under way, those that are done are asked for their times.
const UNDER_WAY: usize = 1024;

pub(super) struct Recorder {
    clock: HostClock,
    devices: Vec<Device>,
    state: Mutex<RecorderState>,
}

struct RecorderState {
    stamps: Stamps,
    /// The work that is just being enqueued: since when, and what marks its beginning. A stream is given
    /// one
    /// piece of work at a time.
    enqueuing: HashMap<StreamId, (Duration, Option<TimedEvent>)>,
    /// The work that is enqueued and not known to be done, by stream, oldest first.
    under_way: HashMap<StreamId, UnderWay>,
    /// The number of pieces of work under way.
    count: usize,
    operations: Vec<TracedOperation>,
    waiting: HashMap<ThreadId, Duration>,
    waits: Vec<TracedWait>,
    /// The ranges that were entered and not left yet, by their numbers; they have no end so far.
    open: HashMap<u64, TracedRange>,
    /// Those that were left, with their numbers.
    ranges: Vec<(u64, TracedRange)>,
    threads: Vec<(ThreadId, String)>,
}

/// The work that a stream has under way. The stream is kept, so that it can be waited for.
struct UnderWay {
    stream: Stream,
    /// Places among the operations, and what marks their times.
    work: VecDeque<(usize, Marks)>,
}

impl Recorder {
    pub(super) fn new(devices: impl IntoIterator<Item = Device>) -> Result<Recorder> {
        let devices: Vec<_> = devices.into_iter().collect();
        let clock = HostClock::start();
        let state = RecorderState {
            stamps: Stamps::start(&clock, &devices)?,
            enqueuing: HashMap::new(),
            under_way: HashMap::new(),
            count: 0,
            operations: Vec::new(),
            waiting: HashMap::new(),
            waits: Vec::new(),
            open: HashMap::new(),
            ranges: Vec::new(),
            threads: Vec::new(),
        };
        Ok(Recorder { clock, devices, state: Mutex::new(state) })
    }

    pub(super) fn finish(&self) -> Result<Trace> {
        let now = self.clock.now();
        let mut state = self.state();
        for UnderWay { stream, .. } in state.under_way.values() {
            match stream.synchronize_with(WaitPermit::ask(stream.device(), WaitReason::Timeline)?) {
                Ok(()) | Err(Error::DeviceLost { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        state.settle(|_| true);
        let state = &mut *state;
        state.ranges.extend(state.open.drain().map(|(id, range)| (id, range.until(now))));
        // Numbers are in the order of beginnings, also where the clock stands still.
        state.ranges.sort_unstable_by_key(|(id, _)| *id);
        Ok(Trace {
            operations: std::mem::take(&mut state.operations),
            waits: std::mem::take(&mut state.waits),
            ranges: state.ranges.drain(..).map(|(_, range)| range).collect(),
            threads: state.threads.drain(..).map(|(_, name)| name).collect(),
            accuracy: state.stamps.accuracy(),
        })
    }

    fn records(&self, operation: &EnqueuedWork<'_>) -> bool {
        let device = operation.stream.device();
        *operation.work != Work::Record && self.devices.contains(&device)
    }

    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock()
    }
}

impl Observer for Recorder {
    fn enqueuing(&self, operation: &EnqueuedWork<'_>) {
        if self.records(operation) {
            let mut state = self.state();
            let begin = state.stamps.begin(operation.stream);
            state.enqueuing.insert(operation.stream.id(), (self.clock.now(), begin));
        }
    }

    fn enqueued(&self, operation: &EnqueuedWork<'_>, sequence: Option<u64>) {
        if !self.records(operation) {
            return;
        }
        let now = self.clock.now();
        let mut state = self.state();
        let stream = operation.stream.id();
        // It was being enqueued when the timeline began.
        let Some((since, begin)) = state.enqueuing.remove(&stream) else { return };
        let marks = state.stamps.end(operation.stream, operation.work, begin);
        let Some(sequence) = sequence else { return };
        let thread = state.thread();
        let index = state.operations.len();
        state.operations.push(TracedOperation {
            id: WorkId { stream, sequence },
            work: operation.work.clone(),
            place: operation.place,
            thread,
            call: since..now,
            time: None,
            awaits: operation.awaits,
        });
        if let Some(marks) = marks {
            let new = || UnderWay { stream: operation.stream.clone(), work: VecDeque::new() };
            state.under_way.entry(stream).or_insert_with(new).work.push_back((index, marks));
            state.count += 1;
            if state.count.is_multiple_of(UNDER_WAY) {
                state.settle(Marks::is_past);
            }
        }
    }

    fn waiting(&self, wait: &HostWait<'_>) {
        if self.devices.contains(&wait.device) {
            self.state().waiting.insert(thread::current().id(), self.clock.now());
        }
    }

    fn waited(&self, wait: &HostWait<'_>) {
        let now = self.clock.now();
        let mut state = self.state();
        let Some(since) = state.waiting.remove(&thread::current().id()) else { return };
        let thread = state.thread();
        let HostWait { device, reason, place, .. } = *wait;
        state.waits.push(TracedWait { device, reason, place, thread, time: since..now });
    }

    fn range_entered(&self, range: &NamedRange<'_>) {
        let now = self.clock.now();
        let mut state = self.state();
        let (thread, name) = (state.thread(), range.name.to_owned());
        let open = TracedRange { name, place: range.place, thread, time: now..now };
        state.open.insert(range.id, open);
    }

    fn range_left(&self, id: u64) {
        let now = self.clock.now();
        let mut state = self.state();
        // It may have been entered before the timeline began.
        let left = state.open.remove(&id).map(|range| (id, range.until(now)));
        state.ranges.extend(left);
    }
}

impl TracedRange {
    fn until(mut self, end: Duration) -> TracedRange {
        self.time.end = end;
        self
    }
}

impl RecorderState {
    /// Asks for the times of what is done, and lets go of what marked them.
    fn settle(&mut self, is_done: impl Fn(&Marks) -> bool) {
        let RecorderState { stamps, under_way, operations, count, .. } = self;
        stamps.collect();
        for UnderWay { work, .. } in under_way.values_mut() {
            while let Some((index, marks)) = work.pop_front_if(|(_, marks)| is_done(marks)) {
                operations[index].time = stamps.time(marks);
                *count -= 1;
            }
        }
    }

    /// The number of the calling thread.
    fn thread(&mut self) -> usize {
        let current = thread::current();
        let known = self.threads.iter().position(|(id, _)| *id == current.id());
        known.unwrap_or_else(|| {
            let name = current.name().map(str::to_owned);
            let name = name.unwrap_or_else(|| format!("thread {}", self.threads.len()));
            self.threads.push((current.id(), name));
            self.threads.len() - 1
        })
    }
}
