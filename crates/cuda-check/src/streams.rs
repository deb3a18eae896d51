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
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::enabled;
use super::vector_clock::VectorClock;

/// The clock of a stream.
pub struct StreamClock {
    pub(crate) id: u64,
    owner: u64,
    /// The ordinal of its device.
    pub(crate) device: u32,
    role: DefaultStreamRole,
    /// The stream's number by `cuStreamGetId`; 0 for streams that the program does not name.
    number: AtomicU64,
    history: Mutex<StreamHistory>,
    /// Pairs of how far the host has seen the stream come and when it learned so. This lock is
    /// taken last.
    seen: Mutex<Vec<(u64, u64)>>,
}

/// A stream's part in the order between a context's legacy default stream and its blocking streams.
enum DefaultStreamRole {
    Legacy(Mutex<Followers>),
    Blocking(Arc<StreamClock>),
    NonBlocking,
}

/// The streams that order themselves against a legacy default stream.
#[derive(Default)]
struct Followers {
    open: Vec<Weak<StreamClock>>,
    /// The operations of those that have been closed.
    closed: VectorClock,
}

#[derive(Default)]
struct StreamHistory {
    enqueued: u64,
    /// The operations that come before the next one.
    tail: Arc<VectorClock>,
    /// The clocks of earlier positions, by the queue's sequence numbers: what an event or wait
    /// there captures.
    marks: BTreeMap<u64, Arc<VectorClock>>,
    /// The time when the last host function ended: unknown as long as it is 0.
    host_function: Option<Arc<AtomicU64>>,
}

/// The place of an operation in the order of all: the operations before it, and those before
/// whatever comes after it.
pub(crate) struct EnqueueOrder {
    /// The place among the operations of the stream.
    pub(crate) sequence: u64,
    /// The time when it was enqueued, on the clock of what the host learns.
    pub(crate) time: u64,
    /// The time when the last host function before it in its stream ended.
    pub(crate) after_host: Option<Arc<AtomicU64>>,
    pub(crate) before: Arc<VectorClock>,
    /// To be handed to [`remember`](StreamClock::remember).
    pub(crate) after: Arc<VectorClock>,
}

/// The number of marks, and of entries of what the host has seen, that are kept of each stream.
const MAX_MARKS: usize = 4096;

/// The number of entries up to which a clock is left as it is. In a larger one those are dropped that
/// say nothing, since the host has seen that work end.
const MAX_UNCHECKED: usize = 16;

/// Orders what the host learns among the operations that it enqueues.
static TIME: AtomicU64 = AtomicU64::new(1);

static STREAMS: Mutex<Option<HashMap<u64, Weak<StreamClock>>>> = Mutex::new(None);

pub(crate) fn now() -> u64 {
    TIME.fetch_add(1, Ordering::AcqRel)
}

fn find(id: u64) -> Option<Arc<StreamClock>> {
    STREAMS.lock().as_ref()?.get(&id)?.upgrade()
}

impl fmt::Debug for StreamClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.describe())
    }
}

impl StreamClock {
    /// The clock of a legacy default stream.
    pub fn legacy(device: u32, owner: u64) -> Arc<StreamClock> {
        StreamClock::open(device, owner, DefaultStreamRole::Legacy(Mutex::default()))
    }

    /// The clock of a stream that is ordered against a legacy default stream.
    pub fn blocking(device: u32, owner: u64, legacy: &Arc<StreamClock>) -> Arc<StreamClock> {
        let clock =
            StreamClock::open(device, owner, DefaultStreamRole::Blocking(Arc::clone(legacy)));
        if let DefaultStreamRole::Legacy(followers) = &legacy.role {
            followers.lock().open.push(Arc::downgrade(&clock));
        }
        clock
    }

    /// The clock of a stream that is ordered by events only.
    pub fn non_blocking(device: u32, owner: u64) -> Arc<StreamClock> {
        StreamClock::open(device, owner, DefaultStreamRole::NonBlocking)
    }

    fn open(device: u32, owner: u64, role: DefaultStreamRole) -> Arc<StreamClock> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let clock = Arc::new(StreamClock {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            owner,
            device,
            role,
            number: AtomicU64::new(0),
            history: Mutex::default(),
            seen: Mutex::default(),
        });
        STREAMS.lock().get_or_insert_default().insert(clock.id, Arc::downgrade(&clock));
        clock
    }

    /// The stream takes no more work.
    pub fn close(&self) {
        let DefaultStreamRole::Blocking(legacy) = &self.role else { return };
        let DefaultStreamRole::Legacy(followers) = &legacy.role else { return };
        let mut followers = followers.lock();
        followers.closed.join(&self.history.lock().tail);
        let own = self.id;
        followers.open.retain(|open| open.upgrade().is_some_and(|open| open.id != own));
    }

    /// The program knows the stream by this number.
    pub fn name(&self, number: u64) {
        self.number.store(number, Ordering::Relaxed);
    }

    /// The stream in words.
    pub(crate) fn describe(&self) -> String {
        match (&self.role, self.number.load(Ordering::Relaxed)) {
            (DefaultStreamRole::Legacy(_), _) => "the legacy default stream".to_owned(),
            (_, 0) => "a stream of the driver's".to_owned(),
            (_, number) => format!("stream {number}"),
        }
    }

    /// An operation is enqueued. If it is a host function, `ends` is to say when it ended, as
    /// [`now`] does.
    pub(crate) fn advance(&self, ends: Option<&Arc<AtomicU64>>) -> EnqueueOrder {
        let others = self.others();
        let mut history = self.history.lock();
        history.enqueued += 1;
        let sequence = history.enqueued;
        let mut before = VectorClock::clone(&history.tail);
        before.join(&others);
        if before.len() > MAX_UNCHECKED {
            before.retain(|stream, count| find(stream).is_some_and(|it| !it.host_has_seen(count)));
        }
        let mut after = before.clone();
        after.raise(self.id, sequence);
        let (before, after) = (Arc::new(before), Arc::new(after));
        history.tail = Arc::clone(&after);
        let after_host = history.host_function.clone();
        if ends.is_some() {
            history.host_function = ends.cloned();
        }
        EnqueueOrder { sequence, time: now(), after_host, before, after }
    }

    /// Counts an operation that touches no memory. The clock that is returned is to be handed to
    /// [`remember`](StreamClock::remember).
    pub fn enqueue_marker(&self) -> Arc<VectorClock> {
        self.advance(None).after
    }

    /// The queue gave this number to what was enqueued.
    pub fn remember(&self, sequence: u64, clock: Arc<VectorClock>) {
        let mut history = self.history.lock();
        history.marks.insert(sequence, clock);
        while history.marks.len() > MAX_MARKS {
            history.marks.pop_first();
        }
    }

    /// Remembers what comes after all work so far, for who captures the queue's number: an event, a
    /// wait.
    pub fn mark(&self, sequence: u64) {
        let mut clock = self.others();
        clock.join(&self.history.lock().tail);
        self.remember(sequence, Arc::new(clock));
    }

    /// The clock at the queue's number.
    fn at(&self, sequence: u64) -> Option<Arc<VectorClock>> {
        let history = self.history.lock();
        let before = history.marks.range(..=sequence).next_back();
        before.or_else(|| history.marks.first_key_value()).map(|(_, clock)| Arc::clone(clock))
    }

    /// Makes what is enqueued from now on come after a point of another stream.
    pub fn wait_for(&self, other: &StreamClock, sequence: u64) {
        if let Some(clock) = other.at(sequence) {
            Arc::make_mut(&mut self.history.lock().tail).join(&clock);
        }
    }

    /// The host knows that the stream has come to the queue's number.
    pub fn host_saw(&self, sequence: u64) {
        if let Some(clock) = self.at(sequence) {
            see(&clock);
        }
    }

    /// The operations that the legacy default stream's rule puts before the next one, besides those
    /// of the stream itself.
    fn others(&self) -> VectorClock {
        match &self.role {
            DefaultStreamRole::NonBlocking => VectorClock::default(),
            DefaultStreamRole::Blocking(legacy) => VectorClock::clone(&legacy.history.lock().tail),
            DefaultStreamRole::Legacy(followers) => {
                let followers = followers.lock();
                let mut clock = followers.closed.clone();
                for open in followers.open.iter().filter_map(Weak::upgrade) {
                    clock.join(&open.history.lock().tail);
                }
                clock
            }
        }
    }

    fn see(&self, count: u64, time: u64) {
        let mut known = self.seen.lock();
        if known.last().is_none_or(|&(seen, _)| seen < count) {
            known.push((count, time));
            if known.len() > MAX_MARKS {
                known.drain(..MAX_MARKS / 2);
            }
        }
    }

    fn host_has_seen(&self, count: u64) -> bool {
        self.seen.lock().last().is_some_and(|&(seen, _)| seen >= count)
    }

    /// Whether the host knew before that time that the operation was done.
    pub(crate) fn was_seen(&self, sequence: u64, time: u64) -> bool {
        let known = self.seen.lock();
        let first = known.partition_point(|&(seen, _)| seen < sequence);
        known.get(first).is_some_and(|&(_, learned)| learned < time)
    }
}

/// The host knows that what the clock says is done.
pub(crate) fn see(clock: &VectorClock) {
    let time = now();
    for (stream, count) in clock.iter() {
        if let Some(stream) = find(stream) {
            stream.see(count, time);
        }
    }
}

/// The host has waited for all that was in those streams: `of` is asked with the numbers of the
/// context and of the device of each.
pub fn host_saw_all(of: impl Fn(u64, u32) -> bool) {
    if !enabled::is_on() {
        return;
    }
    let streams: Vec<_> = {
        let mut streams = STREAMS.lock();
        let Some(streams) = streams.as_mut() else { return };
        streams.retain(|_, stream| stream.strong_count() > 0);
        streams.values().filter_map(Weak::upgrade).collect()
    };
    for stream in streams.iter().filter(|stream| of(stream.owner, stream.device)) {
        let tail = Arc::clone(&stream.history.lock().tail);
        see(&tail);
    }
}
