//! What the scheduler's lock protects: the streams' queues, and what may run now.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::effects::Effects;
use super::host::HostThreadTask;
use super::parker::Parker;
use super::point::{QueuePoint, StreamProgress};
use super::queue_table::{PendingOperation, QueueTable, RunningWork};
use super::ready_queue::ReadyQueue;
use super::running::Running;
use super::stepper::Stepper;
use super::work::StreamWork;
use super::worker_slots::{Wake, WorkerSlots};
use crate::time::{self, TimedOperation};

/// The scheduler's state: the queues of all streams, the line of those who want a slot, and the
/// slots.
#[derive(Default)]
pub(super) struct SchedulerState {
    pub(super) queues: QueueTable,
    pub(super) ready: ReadyQueue,
    pub(super) slots: WorkerSlots,
    /// The choice of operations one by one, if the schedule makes it.
    pub(super) stepper: Option<Stepper>,
}

impl SchedulerState {
    pub(super) fn new(slots: usize) -> SchedulerState {
        SchedulerState { slots: WorkerSlots::new(slots), ..SchedulerState::default() }
    }

    pub(super) fn enqueue(
        &mut self,
        stream: &Arc<StreamProgress>,
        after: impl IntoIterator<Item = QueuePoint>,
        work: StreamWork,
        effects: &mut Effects,
    ) -> QueuePoint {
        let mut after: SmallVec<[QueuePoint; 2]> = after.into_iter().collect();
        after.extend(self.queues.default_stream_order(stream));
        let Some(queue) = self.queues.get_mut(stream) else {
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

    /// Notes that a host thread is to be woken by `parker` when the point is complete. False if it
    /// is already.
    pub(super) fn wake_at(&mut self, point: &QueuePoint, parker: &Arc<Parker<Wake>>) -> bool {
        if point.is_complete() {
            return false;
        }
        let queue = self.queues.get_mut(&point.progress);
        queue.map(|queue| queue.wake_host_at(point.sequence, parker)).is_some()
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
            self.queues.forget_if_finished(&stream);
        }
    }

    /// The stream's next operation, if its turn has come; otherwise sees to it that the stream is
    /// looked at again when it may have.
    fn next(&mut self, stream: &Arc<StreamProgress>) -> Option<StreamWork> {
        let stepping = self.stepper.is_some();
        let queue = self.queues.get_mut(stream)?;
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
        // An incomplete point keeps its stream's queue.
        self.queues.get_mut(&awaited.progress)?.wake_stream_at(awaited.sequence, stream);
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
        let Some(queue) = self.queues.get_mut(stream) else { return false };
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
        if let Some(queue) = self.queues.get_mut(stream) {
            queue.complete(todo, effects);
        }
    }
}
