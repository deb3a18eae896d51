//! What the scheduler's lock protects: the streams' queues, and what may run now.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::health::Health;
use super::host::HostThreadTask;
use super::kind::StreamKind;
use super::parker::Parker;
use super::point::{QueuePoint, StreamProgress, may_be_awaited};
use super::ready_queue::{PRIORITIES, ReadyQueue};
use super::running::Running;
use super::stepper::Stepper;
use super::work::StreamWork;
use super::worker_slots::{Wake, WorkerSlots};
use crate::time::{self, TimedOperation};

/// The things to do once the lock is released.
#[derive(Default)]
pub(super) struct Effects {
    pub(super) woken: SmallVec<[(Arc<Parker<Wake>>, Wake); 4]>,
    pub(super) resumed: SmallVec<[Arc<Parker<()>>; 1]>,
    pub(super) host_calls: SmallVec<[HostThreadTask; 1]>,
    dropped: Vec<StreamWork>,
    /// Sleeping workers that were called, and workers that are to start.
    pub(super) called_workers: usize,
    pub(super) new_workers: usize,
}

impl Effects {
    /// Whether there is nothing to do, as after most changes.
    pub(super) fn are_none(&self) -> bool {
        self.called_workers + self.new_workers == 0
            && self.woken.is_empty()
            && self.resumed.is_empty()
            && self.host_calls.is_empty()
            && self.dropped.is_empty()
    }

    /// Wakes and drops, and hands each host function to `start`.
    pub(super) fn carry_out(self, start: impl FnMut(HostThreadTask)) {
        drop(self.dropped);
        self.resumed.iter().for_each(|parker| parker.wake(()));
        self.woken.into_iter().for_each(|(parker, wake)| parker.wake(wake));
        self.host_calls.into_iter().for_each(start);
    }
}

/// The scheduler's state: the queues of all streams, the line of those who want a slot, and the
/// slots.
#[derive(Default)]
pub(super) struct SchedulerState {
    pub(super) queues: Vec<Option<Queue>>,
    vacant: Vec<usize>,
    pub(super) ready: ReadyQueue,
    pub(super) slots: WorkerSlots,
    /// The choice of operations one by one, if the schedule makes it.
    pub(super) stepper: Option<Stepper>,
}

pub(super) struct Queue {
    pub(super) progress: Arc<StreamProgress>,
    pub(super) health: &'static Health,
    owner: u64,
    order: StreamOrdering,
    priority: usize,
    pub(super) pending: VecDeque<PendingOperation>,
    pub(super) enqueued: u64,
    pub(super) current: RunningWork,
    waiters: Vec<(u64, Waiter)>,
    closed: bool,
    /// Its number in the schedule, once it got work.
    pub(super) number: Option<u32>,
}

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

pub(super) enum RunningWork {
    Idle,
    /// A host function, or any operation of those that run one at a time.
    Called,
    Job(Arc<Running>),
}

enum Waiter {
    Stream(Arc<StreamProgress>),
    Host(Arc<Parker<Wake>>),
}

impl SchedulerState {
    pub(super) fn new(slots: usize) -> SchedulerState {
        SchedulerState { slots: WorkerSlots::new(slots), ..SchedulerState::default() }
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
        let progress = StreamProgress::new(index);
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

    /// The stream's owner has let go of it: forget it once its work is done.
    pub(super) fn close(&mut self, stream: &Arc<StreamProgress>) {
        if let Some(queue) = self.queue(stream) {
            queue.closed = true;
            self.forget_if_finished(stream);
        }
    }

    pub(super) fn enqueue(
        &mut self,
        stream: &Arc<StreamProgress>,
        after: impl IntoIterator<Item = QueuePoint>,
        work: StreamWork,
        effects: &mut Effects,
    ) -> QueuePoint {
        let mut after: SmallVec<[QueuePoint; 2]> = after.into_iter().collect();
        after.extend(self.default_stream_order(stream));
        let Some(queue) = self.queue(stream) else {
            // A stream is forgotten when its handle has gone, and handles enqueue.
            effects.dropped.push(work);
            return QueuePoint { progress: Arc::clone(stream), sequence: stream.completed() };
        };
        queue.enqueued += 1;
        let sequence = queue.enqueued;
        let work = match work {
            StreamWork::Job(job) => StreamWork::Job(queue.health.planned(job)),
            work => work,
        };
        if time::is_virtual() {
            let at = QueuePoint { progress: Arc::clone(stream), sequence }.position();
            let after = after.iter().map(QueuePoint::position).collect();
            time::enqueue(TimedOperation { at, after, demand: work.demand(), stamp: work.stamp() });
        }
        queue.pending.push_back(PendingOperation { after, work });
        if queue.pending.len() == 1 && matches!(queue.current, RunningWork::Idle) {
            self.advance(Arc::clone(stream), effects);
        }
        QueuePoint { progress: Arc::clone(stream), sequence }
    }

    /// The stream's last operation, and whether there is nothing that the next one would have to
    /// wait for besides.
    pub(super) fn tail(&self, stream: &Arc<StreamProgress>) -> (QueuePoint, bool) {
        let alone = self.default_stream_order(stream).is_empty();
        let sequence = self.peek(stream).map_or(0, |queue| queue.enqueued);
        (QueuePoint { progress: Arc::clone(stream), sequence }, alone)
    }

    /// Has `parker` woken when the point is complete. False if it is already.
    pub(super) fn wake_at(&mut self, point: &QueuePoint, parker: &Arc<Parker<Wake>>) -> bool {
        if point.is_complete() {
            return false;
        }
        let waiter = (point.sequence, Waiter::Host(Arc::clone(parker)));
        self.queue(&point.progress).map(|queue| queue.waiters.push(waiter)).is_some()
    }

    /// The ends of all streams of an owner that have work left, or of all whose device has that
    /// health.
    pub(super) fn unfinished(&self, of: Unfinished) -> Vec<QueuePoint> {
        let wanted = |queue: &&Queue| match of {
            Unfinished::Owner(owner) => queue.owner == owner,
            Unfinished::Device(health) => std::ptr::eq(queue.health, health),
            Unfinished::Any => true,
        };
        let mut streams: Vec<&Queue> = self.queues.iter().flatten().filter(wanted).collect();
        // Indices of queues follow from when streams were forgotten; numbers from the calls.
        streams.sort_by_key(|queue| queue.number);
        streams.into_iter().map(Queue::end).filter(may_be_awaited).collect()
    }

    /// The amount of work that is left.
    pub(super) fn outstanding(&self) -> Outstanding {
        let mut left = Outstanding::default();
        for queue in self.queues.iter().flatten().filter(|queue| !queue.end().is_complete()) {
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
        self.queues.iter().flatten().filter(|queue| queue.owner == owner).map(Queue::end).collect()
    }

    /// The stream's current operation is done: goes on with what waited for it.
    pub(super) fn finish(&mut self, stream: &Arc<StreamProgress>, effects: &mut Effects) {
        if let Some(stepper) = &mut self.stepper {
            stepper.end(stream);
        }
        let mut todo = smallvec![Arc::clone(stream)];
        self.complete(stream, &mut todo, effects);
        self.advance_all(todo, effects);
    }

    fn advance(&mut self, stream: Arc<StreamProgress>, effects: &mut Effects) {
        self.advance_all(smallvec![stream], effects);
    }

    /// Starts what can start, in these streams and in those that waited for them.
    pub(super) fn advance_all(
        &mut self,
        mut todo: SmallVec<[Arc<StreamProgress>; 8]>,
        effects: &mut Effects,
    ) {
        while let Some(stream) = todo.pop() {
            while let Some(work) = self.next(&stream) {
                if !self.start(&stream, work, effects) {
                    break;
                }
                self.complete(&stream, &mut todo, effects);
            }
            self.forget_if_finished(&stream);
        }
    }

    /// The stream's next operation, if its turn has come; otherwise sees to it that the stream is
    /// looked at again when it may have.
    fn next(&mut self, stream: &Arc<StreamProgress>) -> Option<StreamWork> {
        let stepping = self.stepper.is_some();
        let queue = self.queue(stream)?;
        if !matches!(queue.current, RunningWork::Idle) {
            return None;
        }
        let first = queue.pending.front_mut()?;
        while first.after.last().is_some_and(QueuePoint::is_complete) {
            first.after.pop();
        }
        let Some(awaited) = first.after.last().cloned() else {
            if stepping && first.work.has_body() {
                self.enable(stream);
                return None;
            }
            return queue.pending.pop_front().map(|operation| operation.work);
        };
        let waiter = (awaited.sequence, Waiter::Stream(Arc::clone(stream)));
        // An incomplete point keeps its stream's queue.
        self.queue(&awaited.progress)?.waiters.push(waiter);
        None
    }

    /// Starts an operation. True if that was all there was to do.
    pub(super) fn start(
        &mut self,
        stream: &Arc<StreamProgress>,
        work: StreamWork,
        effects: &mut Effects,
    ) -> bool {
        let stepping = self.stepper.is_some();
        let Some(queue) = self.queue(stream) else { return false };
        match work {
            StreamWork::Nothing => return true,
            StreamWork::Timestamp(time) => {
                if !time::is_virtual() {
                    time.set_now();
                }
                return true;
            }
            work if work.ends_with_the_device() && queue.health.is_stopped() => {
                effects.dropped.push(work);
                return true;
            }
            StreamWork::Host(function) | StreamWork::Callback(function) => {
                queue.current = RunningWork::Called;
                let (stream, health) = (Arc::clone(stream), queue.health);
                let call = HostThreadTask { function, stream, health, is_host_function: true };
                effects.host_calls.push(call);
            }
            StreamWork::Job(job) if stepping => self.start_in_order(stream, job, effects),
            StreamWork::Job(job) => {
                let (health, priority) = (queue.health, queue.priority);
                let running = Arc::new(Running::new(job, Arc::clone(stream), health, priority));
                queue.current = RunningWork::Job(Arc::clone(&running));
                self.ready.push(running);
            }
        }
        false
    }

    pub(super) fn complete(
        &mut self,
        stream: &Arc<StreamProgress>,
        todo: &mut SmallVec<[Arc<StreamProgress>; 8]>,
        effects: &mut Effects,
    ) {
        let Some(queue) = self.queue(stream) else { return };
        queue.current = RunningWork::Idle;
        let completed = queue.progress.advance();
        queue.waiters.retain_mut(|(sequence, waiter)| {
            let due = *sequence <= completed;
            match waiter {
                Waiter::Stream(other) if due => todo.push(Arc::clone(other)),
                Waiter::Host(parker) if due => {
                    effects.woken.push((Arc::clone(parker), Wake::Complete));
                }
                _ => {}
            }
            !due
        });
    }

    /// The points that the next operation of the stream waits for by the rule of the legacy default
    /// stream.
    pub(super) fn default_stream_order(
        &self,
        stream: &Arc<StreamProgress>,
    ) -> SmallVec<[QueuePoint; 2]> {
        let end_of = |other| self.peek(other).map(Queue::end).filter(may_be_awaited);
        match self.peek(stream).map(|queue| &queue.order) {
            Some(StreamOrdering::Legacy { followers }) => {
                followers.iter().filter_map(end_of).collect()
            }
            Some(StreamOrdering::Blocking { legacy }) => end_of(legacy).into_iter().collect(),
            Some(StreamOrdering::NonBlocking) | None => SmallVec::new(),
        }
    }

    fn add_follower(&mut self, legacy: &Arc<StreamProgress>, follower: &Arc<StreamProgress>) {
        if let Some(Queue { order: StreamOrdering::Legacy { followers }, .. }) = self.queue(legacy)
        {
            followers.push(Arc::clone(follower));
        }
    }

    fn forget_if_finished(&mut self, stream: &Arc<StreamProgress>) {
        let Some(queue) = self.queue(stream) else { return };
        if !queue.closed || !queue.end().is_complete() {
            return;
        }
        let index = stream.index;
        let forgotten = self.queues[index].take();
        self.vacant.push(index);
        if let Some(Queue { order: StreamOrdering::Blocking { legacy }, .. }) = forgotten
            && let Some(Queue { order: StreamOrdering::Legacy { followers }, .. }) =
                self.queue(&legacy)
        {
            followers.retain(|follower| !Arc::ptr_eq(follower, stream));
        }
    }

    /// The stream's queue, unless the stream is forgotten and its place taken by another.
    pub(super) fn queue(&mut self, stream: &Arc<StreamProgress>) -> Option<&mut Queue> {
        let queue = self.queues.get_mut(stream.index)?.as_mut()?;
        Arc::ptr_eq(&queue.progress, stream).then_some(queue)
    }

    pub(super) fn peek(&self, stream: &Arc<StreamProgress>) -> Option<&Queue> {
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

    fn end(&self) -> QueuePoint {
        QueuePoint { progress: Arc::clone(&self.progress), sequence: self.enqueued }
    }
}
