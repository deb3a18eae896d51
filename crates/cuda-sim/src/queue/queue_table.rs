//! The queues of all streams: what each runs, what is to come, and what comes before what.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;

use super::effects::Effects;
use super::health::Health;
use super::kind::StreamKind;
use super::parker::Parker;
use super::point::{QueuePoint, StreamProgress, may_be_awaited};
use super::ready_queue::PRIORITIES;
use super::running::Running;
use super::work::StreamWork;
use super::worker_slots::Wake;

/// The queues of all streams that have an owner or work left.
#[derive(Default)]
pub(super) struct QueueTable {
    /// Queues by the index that a stream's progress has. Vacant places are used again.
    queues: Vec<Option<Queue>>,
    vacant: Vec<usize>,
}

/// The queue of a stream: what it runs and what is to come.
pub(super) struct Queue {
    pub(super) progress: Arc<StreamProgress>,
    pub(super) health: &'static Health,
    owner: u64,
    order: StreamOrdering,
    pub(super) priority: usize,
    pub(super) pending: VecDeque<PendingOperation>,
    pub(super) enqueued: u64,
    pub(super) current: RunningWork,
    waiters: Vec<(u64, Waiter)>,
    closed: bool,
    /// Its number in the schedule, once it got work.
    pub(super) number: Option<u32>,
}

/// An operation whose turn has not come.
pub(super) struct PendingOperation {
    pub(super) after: SmallVec<[QueuePoint; 2]>,
    pub(super) work: StreamWork,
}

/// The part of a stream in the order between its context's legacy default stream and the others.
enum StreamOrdering {
    Legacy { followers: Vec<Arc<StreamProgress>> },
    Blocking { legacy: Arc<StreamProgress> },
    NonBlocking,
}

/// The operation that a stream runs.
pub(super) enum RunningWork {
    Idle,
    /// A host function, or any operation of those that run one at a time.
    Called,
    Job(Arc<Running>),
}

/// A stream or a host thread that waits for a point of a stream.
enum Waiter {
    Stream(Arc<StreamProgress>),
    Host(Arc<Parker<Wake>>),
}

impl QueueTable {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Queue> {
        self.queues.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Queue> {
        self.queues.iter_mut().flatten()
    }

    pub(super) fn open(
        &mut self,
        health: &'static Health,
        owner: u64,
        kind: StreamKind<&Arc<StreamProgress>>,
        priority: usize,
    ) -> Arc<StreamProgress> {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.queues.push(None);
            self.queues.len() - 1
        });
        let progress = StreamProgress::new(index, health.ordinal());
        let order = match kind {
            StreamKind::Legacy => StreamOrdering::Legacy { followers: Vec::new() },
            StreamKind::NonBlocking => StreamOrdering::NonBlocking,
            StreamKind::Blocking(legacy) => {
                self.add_follower(legacy, &progress);
                StreamOrdering::Blocking { legacy: Arc::clone(legacy) }
            }
        };
        self.queues[index] = Some(Queue {
            progress: Arc::clone(&progress),
            health,
            owner,
            order,
            priority: priority.min(PRIORITIES - 1),
            pending: VecDeque::new(),
            enqueued: 0,
            current: RunningWork::Idle,
            waiters: Vec::new(),
            closed: false,
            number: None,
        });
        progress
    }

    /// The stream's owner has let go of it: it is forgotten once its work is done.
    pub(super) fn close(&mut self, stream: &Arc<StreamProgress>) {
        if let Some(queue) = self.get_mut(stream) {
            queue.closed = true;
            self.forget_if_finished(stream);
        }
    }

    /// The stream's last operation, and whether there is nothing that the next one would have to
    /// wait for besides.
    pub(super) fn tail(&self, stream: &Arc<StreamProgress>) -> (QueuePoint, bool) {
        let alone = self.default_stream_order(stream).is_empty();
        let sequence = self.get(stream).map_or(0, |queue| queue.enqueued);
        (QueuePoint { progress: Arc::clone(stream), sequence }, alone)
    }

    /// The ends of all streams of an owner that have work left, or of all whose device has that
    /// health.
    pub(super) fn unfinished(&self, of: Unfinished) -> Vec<QueuePoint> {
        let wanted = |queue: &&Queue| match of {
            Unfinished::Owner(owner) => queue.owner == owner,
            Unfinished::Device(health) => std::ptr::eq(queue.health, health),
            Unfinished::Any => true,
        };
        let mut streams: Vec<&Queue> = self.iter().filter(wanted).collect();
        // Indices of queues follow from when streams were forgotten; numbers from the calls.
        streams.sort_by_key(|queue| queue.number);
        streams.into_iter().map(Queue::end).filter(may_be_awaited).collect()
    }

    /// The amount of work that is left.
    pub(super) fn outstanding(&self) -> Outstanding {
        let mut left = Outstanding::default();
        for queue in self.iter().filter(|queue| !queue.end().is_complete()) {
            left.streams += 1;
            left.operations += queue.enqueued - queue.progress.completed();
            if let RunningWork::Job(running) = &queue.current {
                left.pieces += running.unclaimed();
            }
        }
        left
    }

    /// The ends of all streams of an owner.
    pub(super) fn ends_of(&self, owner: u64) -> Vec<QueuePoint> {
        self.iter().filter(|queue| queue.owner == owner).map(Queue::end).collect()
    }

    /// The points that the next operation of the stream waits for by the rule of the legacy default
    /// stream.
    pub(super) fn default_stream_order(
        &self,
        stream: &Arc<StreamProgress>,
    ) -> SmallVec<[QueuePoint; 2]> {
        let end_of = |other| self.get(other).map(Queue::end).filter(may_be_awaited);
        match self.get(stream).map(|queue| &queue.order) {
            Some(StreamOrdering::Legacy { followers }) => {
                followers.iter().filter_map(end_of).collect()
            }
            Some(StreamOrdering::Blocking { legacy }) => end_of(legacy).into_iter().collect(),
            Some(StreamOrdering::NonBlocking) | None => SmallVec::new(),
        }
    }

    fn add_follower(&mut self, legacy: &Arc<StreamProgress>, follower: &Arc<StreamProgress>) {
        if let Some(Queue { order: StreamOrdering::Legacy { followers }, .. }) =
            self.get_mut(legacy)
        {
            followers.push(Arc::clone(follower));
        }
    }

    /// Forgets a stream that has neither an owner nor work left.
    pub(super) fn forget_if_finished(&mut self, stream: &Arc<StreamProgress>) {
        let Some(queue) = self.get_mut(stream) else { return };
        if !queue.closed || !queue.end().is_complete() {
            return;
        }
        let index = stream.index;
        let forgotten = self.queues[index].take();
        self.vacant.push(index);
        if let Some(Queue { order: StreamOrdering::Blocking { legacy }, .. }) = forgotten
            && let Some(Queue { order: StreamOrdering::Legacy { followers }, .. }) =
                self.get_mut(&legacy)
        {
            followers.retain(|follower| !Arc::ptr_eq(follower, stream));
        }
    }

    /// The stream's queue, unless the stream is forgotten and its place taken by another.
    pub(super) fn get_mut(&mut self, stream: &Arc<StreamProgress>) -> Option<&mut Queue> {
        let queue = self.queues.get_mut(stream.index)?.as_mut()?;
        Arc::ptr_eq(&queue.progress, stream).then_some(queue)
    }

    /// The stream's queue, to look at.
    pub(super) fn get(&self, stream: &Arc<StreamProgress>) -> Option<&Queue> {
        let queue = self.queues.get(stream.index)?.as_ref()?;
        Arc::ptr_eq(&queue.progress, stream).then_some(queue)
    }
}

/// The amount of work that is left: whatever gets done changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Outstanding {
    pub(super) streams: usize,
    operations: u64,
    /// Unclaimed pieces of the jobs that run.
    pieces: u64,
}

/// Whose unfinished work is asked for.
#[derive(Clone, Copy)]
pub(super) enum Unfinished {
    Owner(u64),
    Device(&'static Health),
    Any,
}

impl Queue {
    /// A host thread that waits for a point of the stream: it is not to be woken any more.
    pub(super) fn forget_host(&mut self) -> Option<Arc<Parker<Wake>>> {
        let is_host = |(_, waiter): &(u64, Waiter)| matches!(waiter, Waiter::Host(_));
        let index = self.waiters.iter().position(is_host)?;
        match self.waiters.swap_remove(index).1 {
            Waiter::Host(parker) => Some(parker),
            Waiter::Stream(_) => None,
        }
    }

    /// Notes that another stream is to be looked at again when this one has come to that number.
    pub(super) fn wake_stream_at(&mut self, sequence: u64, stream: &Arc<StreamProgress>) {
        self.waiters.push((sequence, Waiter::Stream(Arc::clone(stream))));
    }

    /// Notes that a host thread is to be woken when the stream has come to that number.
    pub(super) fn wake_host_at(&mut self, sequence: u64, parker: &Arc<Parker<Wake>>) {
        self.waiters.push((sequence, Waiter::Host(Arc::clone(parker))));
    }

    /// The current operation is done: the streams that waited for it are to be looked at again, and
    /// the hosts to be woken.
    pub(super) fn complete(
        &mut self,
        streams: &mut SmallVec<[Arc<StreamProgress>; 8]>,
        effects: &mut Effects,
    ) {
        self.current = RunningWork::Idle;
        let completed = self.progress.advance();
        self.waiters.retain_mut(|(sequence, waiter)| {
            let due = *sequence <= completed;
            match waiter {
                Waiter::Stream(other) if due => streams.push(Arc::clone(other)),
                Waiter::Host(parker) if due => {
                    effects.woken.push((Arc::clone(parker), Wake::Complete));
                }
                _ => {}
            }
            !due
        });
    }

    fn end(&self) -> QueuePoint {
        QueuePoint { progress: Arc::clone(&self.progress), sequence: self.enqueued }
    }
}
