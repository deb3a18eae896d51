//! Operations that run one at a time: which could run, which are needed,
//! and what it means to begin one.

use std::sync::Arc;

use smallvec::smallvec;

use super::effects::Effects;
use super::host::HostThreadTask;
use super::job::Job;
use super::point::{QueuePoint, StreamProgress};
use super::queue_table::RunningWork;
use super::state::SchedulerState;
use super::stepper::Stepper;

impl SchedulerState {
    /// Lets a stepper choose operations from now on, or all start on their own. Work that other
    /// threads have enqueued since everything was waited for is looked at again.
    pub(super) fn set_stepper(&mut self, stepper: Option<Stepper>, effects: &mut Effects) {
        self.stepper = stepper;
        self.queues.iter_mut().for_each(|queue| queue.number = None);
        let streams = self.queues.iter().map(|queue| Arc::clone(&queue.progress));
        self.advance_all(streams.collect(), effects);
    }

    /// The stream's next operation could run.
    pub(super) fn enable(&mut self, stream: &Arc<StreamProgress>) {
        let known = self.queues.get(stream).and_then(|queue| queue.number);
        let Some(stepper) = &mut self.stepper else { return };
        let number = known.unwrap_or_else(|| stepper.number());
        stepper.enable(number, stream);
        if let Some(queue) = self.queues.get_mut(stream) {
            queue.number = Some(number);
        }
    }

    /// Gives a number to a stream that gets work, so that numbers follow from the host's calls and
    /// not from what could run when.
    pub(super) fn number(&mut self, stream: &Arc<StreamProgress>) {
        let Some(stepper) = &mut self.stepper else { return };
        stepper.activity += 1;
        if self.queues.get(stream).is_some_and(|queue| queue.number.is_none()) {
            let number = self.stepper.as_mut().map(Stepper::number);
            if let Some(queue) = self.queues.get_mut(stream) {
                queue.number = number;
            }
        }
    }

    /// Begins an operation, if the schedule says so. False if it does not.
    pub(super) fn step(&mut self, reason: Reason<'_>, effects: &mut Effects) -> bool {
        let needed = match reason {
            Reason::Waiting(point) => self.needed(point),
            Reason::Enqueued | Reason::Asked => Vec::new(),
        };
        let may_stop = matches!(reason, Reason::Enqueued);
        let Some(stepper) = &mut self.stepper else { return false };
        let Some(stream) = stepper.choose(&needed, may_stop) else { return false };
        let Some(queue) = self.queues.get_mut(&stream) else { return false };
        let Some(operation) = queue.pending.pop_front() else { return false };
        if self.start(&stream, operation.work, effects) {
            // It was dropped, the device being lost.
            let mut todo = smallvec![Arc::clone(&stream)];
            self.complete(&stream, &mut todo, effects);
            self.advance_all(todo, effects);
        } else if effects.host_calls.last().is_some_and(|call| call.is_host_function)
            && let Some(stepper) = &mut self.stepper
        {
            stepper.begin(&stream);
        }
        true
    }

    /// Starts a job on one thread, in the order that the schedule gives its pieces.
    pub(super) fn start_in_order(
        &mut self,
        stream: &Arc<StreamProgress>,
        job: Arc<dyn Job>,
        effects: &mut Effects,
    ) {
        let Some(stepper) = &mut self.stepper else { return };
        let (order, life) = stepper.begin(stream);
        let Some(queue) = self.queues.get_mut(stream) else { return };
        queue.current = RunningWork::Called;
        let health = queue.health;
        let function = Box::new(move || {
            order.run(job.as_ref(), health, &life);
            drop(job);
        });
        let stream = Arc::clone(stream);
        effects.host_calls.push(HostThreadTask {
            function,
            stream,
            health,
            is_host_function: false,
        });
    }

    /// The numbers of the streams that could go on and on which a point depends, in the order in
    /// which they are found.
    fn needed(&self, point: &QueuePoint) -> Vec<u32> {
        let mut found = Vec::new();
        let mut seen: Vec<&Arc<StreamProgress>> = Vec::new();
        let mut todo = vec![point];
        while let Some(point) = todo.pop() {
            let progress = &point.progress;
            if point.is_complete() || seen.iter().any(|known| Arc::ptr_eq(known, progress)) {
                continue;
            }
            seen.push(progress);
            let Some(queue) = self.queues.get(progress) else { continue };
            let enabled = |number: &u32| {
                self.stepper.as_ref().is_some_and(|stepper| stepper.is_enabled(*number))
            };
            match queue.number.filter(enabled) {
                Some(number) => found.push(number),
                None => todo.extend(queue.pending.front().iter().flat_map(|first| &first.after)),
            }
        }
        found
    }
}

/// Why the schedule is asked for an operation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reason<'a> {
    /// Something was enqueued: nothing need run.
    Enqueued,
    /// The program asked whether something is done, and it is not.
    Asked,
    /// Somebody waits.
    Waiting(&'a QueuePoint),
}
