//! The observer that a timeline is made of.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::clock::Clock;
use super::stamps::{Marks, Stamps, TimedEvent};
use super::{Trace, TracedOperation, TracedRange, TracedWait};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::ledger::Work;
use crate::observe::{HostWait, NamedRange, Observer, Operation, WaitReason, WorkId};
use crate::stream::{Stream, StreamId};
use crate::waits::Leave;

/// With so many operations under way, those that are done are asked for their times.
const UNDER_WAY: usize = 1024;

pub(super) struct Recorder {
    clock: Clock,
    devices: Vec<Device>,
    books: Mutex<Books>,
}

struct Books {
    stamps: Stamps,
    /// What is just being enqueued: since when, and what marks its beginning. A stream is given one
    /// piece of work at a time.
    enqueuing: HashMap<StreamId, (Duration, Option<TimedEvent>)>,
    /// What is enqueued and not known to be done, by stream, oldest first.
    under_way: HashMap<StreamId, UnderWay>,
    /// How many those are.
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

/// What a stream has under way. It is kept, so that it can be waited for.
struct UnderWay {
    stream: Stream,
    /// Places among the operations, and what marks their times.
    work: VecDeque<(usize, Marks)>,
}

impl Recorder {
    pub(super) fn new(devices: impl IntoIterator<Item = Device>) -> Result<Recorder> {
        let devices: Vec<_> = devices.into_iter().collect();
        let clock = Clock::start();
        let books = Books {
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
        Ok(Recorder { clock, devices, books: Mutex::new(books) })
    }

    pub(super) fn finish(&self) -> Result<Trace> {
        let now = self.clock.now();
        let mut books = self.books();
        for UnderWay { stream, .. } in books.under_way.values() {
            match stream.synchronize_with(Leave::ask(stream.device(), WaitReason::Timeline)?) {
                Ok(()) | Err(Error::DeviceLost { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        books.settle(|_| true);
        let books = &mut *books;
        books.ranges.extend(books.open.drain().map(|(id, range)| (id, range.until(now))));
        // Numbers are in the order of beginnings, also where the clock stands still.
        books.ranges.sort_unstable_by_key(|(id, _)| *id);
        Ok(Trace {
            operations: std::mem::take(&mut books.operations),
            waits: std::mem::take(&mut books.waits),
            ranges: books.ranges.drain(..).map(|(_, range)| range).collect(),
            threads: books.threads.drain(..).map(|(_, name)| name).collect(),
            accuracy: books.stamps.accuracy(),
        })
    }

    fn records(&self, operation: &Operation<'_>) -> bool {
        let device = operation.stream.device();
        *operation.work != Work::Record && self.devices.contains(&device)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Recorder {
    fn enqueuing(&self, operation: &Operation<'_>) {
        if self.records(operation) {
            let mut books = self.books();
            let begin = books.stamps.begin(operation.stream);
            books.enqueuing.insert(operation.stream.id(), (self.clock.now(), begin));
        }
    }

    fn enqueued(&self, operation: &Operation<'_>, sequence: Option<u64>) {
        if !self.records(operation) {
            return;
        }
        let now = self.clock.now();
        let mut books = self.books();
        let stream = operation.stream.id();
        // It was being enqueued when the timeline began.
        let Some((since, begin)) = books.enqueuing.remove(&stream) else { return };
        let marks = books.stamps.end(operation.stream, operation.work, begin);
        let Some(sequence) = sequence else { return };
        let thread = books.thread();
        let index = books.operations.len();
        books.operations.push(TracedOperation {
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
            books.under_way.entry(stream).or_insert_with(new).work.push_back((index, marks));
            books.count += 1;
            if books.count.is_multiple_of(UNDER_WAY) {
                books.settle(Marks::is_past);
            }
        }
    }

    fn waiting(&self, wait: &HostWait<'_>) {
        if self.devices.contains(&wait.device) {
            self.books().waiting.insert(thread::current().id(), self.clock.now());
        }
    }

    fn waited(&self, wait: &HostWait<'_>) {
        let now = self.clock.now();
        let mut books = self.books();
        let Some(since) = books.waiting.remove(&thread::current().id()) else { return };
        let thread = books.thread();
        let HostWait { device, reason, place, .. } = *wait;
        books.waits.push(TracedWait { device, reason, place, thread, time: since..now });
    }

    fn range_entered(&self, range: &NamedRange<'_>) {
        let now = self.clock.now();
        let mut books = self.books();
        let (thread, name) = (books.thread(), range.name.to_owned());
        let open = TracedRange { name, place: range.place, thread, time: now..now };
        books.open.insert(range.id, open);
    }

    fn range_left(&self, id: u64) {
        let now = self.clock.now();
        let mut books = self.books();
        // It may have been entered before the timeline began.
        let left = books.open.remove(&id).map(|range| (id, range.until(now)));
        books.ranges.extend(left);
    }
}

impl TracedRange {
    fn until(mut self, end: Duration) -> TracedRange {
        self.time.end = end;
        self
    }
}

impl Books {
    /// Asks for the times of what is done, and lets go of what marked them.
    fn settle(&mut self, is_done: impl Fn(&Marks) -> bool) {
        let Books { stamps, under_way, operations, count, .. } = self;
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
