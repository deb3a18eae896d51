//! What is ordered by streams, events, waits and the host: a vector clock for each operation.
//!
//! Clocks are made when work is enqueued, from the program's order alone, so that a missing wait
//! shows in whatever order the work happens to run. An operation knows of the operations before it
//! in its stream; of those that an event captured which the stream was told to wait for; by the
//! rules of the legacy default stream, of what is in the other streams; and of all that the host
//! has waited for. Host threads count as one: how they order themselves cannot be seen here, so
//! what one has waited for is taken to be known to the others.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::clock::Clock;
use super::operation::{self, Operation};
use super::site::Site;
use crate::queue::{Health, StreamKind, Work};

/// The clock of a stream.
pub(crate) struct StreamClock {
    pub(super) id: u64,
    owner: u64,
    pub(super) health: &'static Health,
    order: Order,
    /// What `cuStreamGetId` says; 0 for streams that the program does not name.
    number: AtomicU64,
    state: Mutex<State>,
    /// How far the host has seen the stream come, and when it learned so. Its lock is taken last.
    seen: Mutex<Vec<(u64, u64)>>,
}

enum Order {
    Legacy(Mutex<Followers>),
    Blocking(Arc<StreamClock>),
    NonBlocking,
}

/// The streams that order themselves against a legacy default stream.
#[derive(Default)]
struct Followers {
    open: Vec<Weak<StreamClock>>,
    /// What was in those that have been closed.
    closed: Clock,
}

#[derive(Default)]
struct State {
    enqueued: u64,
    /// What comes before the next operation.
    tail: Arc<Clock>,
    /// What had come before when the queue's sequence number was that.
    marks: BTreeMap<u64, Arc<Clock>>,
    /// When the last host function ended: unknown as long as it is 0.
    host_function: Option<Arc<AtomicU64>>,
}

impl State {
    /// A function of the program that comes after what `before` says.
    fn host_function(
        &mut self,
        before: Arc<Clock>,
        function: Box<dyn FnOnce() + Send>,
    ) -> Box<dyn FnOnce() + Send> {
        let ended = Arc::new(AtomicU64::new(0));
        self.host_function = Some(Arc::clone(&ended));
        Box::new(move || {
            // The program's own code runs here: it may pass on what it knows.
            see(&before);
            function();
            ended.store(now(), Ordering::Release);
        })
    }
}

/// So many marks, and so many entries of what the host has seen, are kept of each stream.
const KEPT: usize = 4096;

/// A clock with more entries is looked through for those that say nothing.
const LARGE: usize = 16;

/// Orders what the host learns among the operations that it enqueues.
static TIME: AtomicU64 = AtomicU64::new(1);

static STREAMS: Mutex<Option<HashMap<u64, Weak<StreamClock>>>> = Mutex::new(None);

fn now() -> u64 {
    TIME.fetch_add(1, Ordering::AcqRel)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(id: u64) -> Option<Arc<StreamClock>> {
    lock(&STREAMS).as_ref()?.get(&id)?.upgrade()
}

impl fmt::Debug for StreamClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.describe())
    }
}

impl StreamClock {
    /// The clock of a new stream. `legacy` finds that of the stream which a blocking one is ordered
    /// against.
    pub(crate) fn open(
        health: &'static Health,
        owner: u64,
        kind: StreamKind<'_>,
        legacy: impl FnOnce() -> Option<Arc<StreamClock>>,
    ) -> Arc<StreamClock> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let order = match kind {
            StreamKind::Legacy => Order::Legacy(Mutex::default()),
            StreamKind::NonBlocking => Order::NonBlocking,
            StreamKind::Blocking(_) => legacy().map_or(Order::NonBlocking, Order::Blocking),
        };
        let clock = Arc::new(StreamClock {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            owner,
            health,
            order,
            number: AtomicU64::new(0),
            state: Mutex::default(),
            seen: Mutex::default(),
        });
        if let Order::Blocking(legacy) = &clock.order
            && let Order::Legacy(followers) = &legacy.order
        {
            lock(followers).open.push(Arc::downgrade(&clock));
        }
        lock(&STREAMS).get_or_insert_default().insert(clock.id, Arc::downgrade(&clock));
        clock
    }

    /// The stream takes no more work.
    pub(crate) fn close(&self) {
        let Order::Blocking(legacy) = &self.order else { return };
        let Order::Legacy(followers) = &legacy.order else { return };
        let mut followers = lock(followers);
        followers.closed.join(&lock(&self.state).tail);
        let own = self.id;
        followers.open.retain(|open| open.upgrade().is_some_and(|open| open.id != own));
    }

    /// The program knows the stream by this number.
    pub(crate) fn name(&self, number: u64) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// In words.
    pub(super) fn describe(&self) -> String {
        match (&self.order, self.number.load(Ordering::Relaxed)) {
            (Order::Legacy(_), _) => "the legacy default stream".to_owned(),
            (_, 0) => "a stream of the driver's".to_owned(),
            (_, number) => format!("stream {number}"),
        }
    }

    /// Prepares work for being enqueued. What is returned besides is to be handed to
    /// [`remember`](StreamClock::remember).
    pub(crate) fn enqueue(self: &Arc<StreamClock>, work: Work) -> (Work, Arc<Clock>) {
        let others = self.others();
        let mut state = lock(&self.state);
        state.enqueued += 1;
        let sequence = state.enqueued;
        let mut clock = Clock::clone(&state.tail);
        clock.join(&others);
        if clock.len() > LARGE {
            clock.retain(|stream, count| find(stream).is_some_and(|it| !it.host_has_seen(count)));
        }
        let before = Arc::new(clock);
        let mut tail = Clock::clone(&before);
        tail.raise(self.id, sequence);
        state.tail = Arc::new(tail);
        let tail = Arc::clone(&state.tail);
        let work = match work {
            Work::Job(job) => {
                let operation = Operation {
                    id: 0,
                    stream: Arc::clone(self),
                    sequence,
                    time: now(),
                    after_host: state.host_function.clone(),
                    clock: before,
                    label: job.label(),
                    site: Site::here(),
                    flags: Default::default(),
                    last_writes: Default::default(),
                };
                Work::Job(operation::attach(operation, job))
            }
            Work::Host(function) => Work::Host(state.host_function(before, function)),
            Work::Callback(function) => Work::Callback(state.host_function(before, function)),
            other => other,
        };
        (work, tail)
    }

    /// The queue gave this number to what was enqueued.
    pub(crate) fn remember(&self, sequence: u64, clock: Arc<Clock>) {
        let mut state = lock(&self.state);
        state.marks.insert(sequence, clock);
        while state.marks.len() > KEPT {
            state.marks.pop_first();
        }
    }

    /// All work so far, up to the queue's number, is captured.
    pub(crate) fn mark(&self, sequence: u64) {
        let mut clock = self.others();
        clock.join(&lock(&self.state).tail);
        self.remember(sequence, Arc::new(clock));
    }

    /// What had come before at the queue's number.
    fn at(&self, sequence: u64) -> Option<Arc<Clock>> {
        let state = lock(&self.state);
        let before = state.marks.range(..=sequence).next_back();
        before.or_else(|| state.marks.first_key_value()).map(|(_, clock)| Arc::clone(clock))
    }

    /// What is enqueued from now on comes after that point of another stream.
    pub(crate) fn wait_for(&self, other: &StreamClock, sequence: u64) {
        if let Some(clock) = other.at(sequence) {
            Arc::make_mut(&mut lock(&self.state).tail).join(&clock);
        }
    }

    /// The host knows that the stream has come to the queue's number.
    pub(crate) fn host_saw(&self, sequence: u64) {
        if let Some(clock) = self.at(sequence) {
            see(&clock);
        }
    }

    /// What the legacy default stream's rule puts before the next operation, besides what is in the
    /// stream itself.
    fn others(&self) -> Clock {
        match &self.order {
            Order::NonBlocking => Clock::default(),
            Order::Blocking(legacy) => Clock::clone(&lock(&legacy.state).tail),
            Order::Legacy(followers) => {
                let followers = lock(followers);
                let mut clock = followers.closed.clone();
                for open in followers.open.iter().filter_map(Weak::upgrade) {
                    clock.join(&lock(&open.state).tail);
                }
                clock
            }
        }
    }

    fn see(&self, count: u64, time: u64) {
        let mut known = lock(&self.seen);
        if known.last().is_none_or(|&(seen, _)| seen < count) {
            known.push((count, time));
            if known.len() > KEPT {
                known.drain(..KEPT / 2);
            }
        }
    }

    fn host_has_seen(&self, count: u64) -> bool {
        lock(&self.seen).last().is_some_and(|&(seen, _)| seen >= count)
    }

    /// Whether the host knew before that time that the operation was done.
    fn was_seen(&self, sequence: u64, time: u64) -> bool {
        let known = lock(&self.seen);
        let first = known.partition_point(|&(seen, _)| seen < sequence);
        known.get(first).is_some_and(|&(_, learned)| learned < time)
    }
}

/// The host knows that what the clock says is done.
fn see(clock: &Clock) {
    let time = now();
    for (stream, count) in clock.iter() {
        if let Some(stream) = find(stream) {
            stream.see(count, time);
        }
    }
}

/// The host has waited for all that was in those streams.
pub(crate) fn host_saw_all(of: impl Fn(u64, &'static Health) -> bool) {
    if !super::is_on() {
        return;
    }
    let streams: Vec<_> = {
        let mut streams = lock(&STREAMS);
        let Some(streams) = streams.as_mut() else { return };
        streams.retain(|_, stream| stream.strong_count() > 0);
        streams.values().filter_map(Weak::upgrade).collect()
    };
    for stream in streams.iter().filter(|stream| of(stream.owner, stream.health)) {
        let tail = Arc::clone(&lock(&stream.state).tail);
        see(&tail);
    }
}

/// Whether one operation is done before the other begins, in every order that the streams' rules
/// allow.
pub(super) fn happens_before(first: &Operation, second: &Operation) -> bool {
    if first.stream.id == second.stream.id || second.clock.of(first.stream.id) >= first.sequence {
        return true;
    }
    let after_host = second.after_host.as_ref().map_or(0, |ended| ended.load(Ordering::Acquire));
    first.stream.was_seen(first.sequence, second.time.max(after_host))
}
