//! Who gets a slot: no more threads than there are slots run pieces of jobs at once.
//!
//! Workers hold slots, and so do host threads that take part in what they wait for. After each change
//! of the state [`SchedulerState::settle`] sees to it that somebody is on the way to each free slot for
//! which there is something to do.

use std::sync::Arc;

use super::effects::Effects;
use super::parker::Parker;
use super::point::QueuePoint;
use super::queue_table::{Queue, RunningWork};
use super::running::Running;
use super::state::SchedulerState;
use super::worker_slots::{JobShare, Wait, Wake};

impl SchedulerState {
    /// A worker that has looked at the line takes a slot and the next job, or sleeps.
    pub(super) fn acquire_or_sleep(&mut self, effects: &mut Effects) -> Option<Arc<Running>> {
        self.slots.stop_looking();
        let next = self.take_slot(effects);
        if next.is_none() {
            self.slots.fall_asleep();
        }
        next
    }

    /// A worker goes on to the next job, or looks for one.
    pub(super) fn exchange(
        &mut self,
        part: JobShare,
        effects: &mut Effects,
    ) -> Option<Arc<Running>> {
        self.release_slot(part, effects);
        let next = self.take_slot(effects);
        if next.is_none() {
            self.slots.begin_to_look();
        }
        next
    }

    /// A host thread that waits for a point goes on to the next job of the point's stream, or
    /// leaves its slot.
    pub(super) fn release_and_try_acquire(
        &mut self,
        part: JobShare,
        awaited: &QueuePoint,
        effects: &mut Effects,
    ) -> Option<Arc<Running>> {
        self.release_slot(part, effects);
        self.try_acquire(awaited)
    }

    /// A host thread that waits for a point takes a slot at the job that the point's stream runs, or
    /// would if it had its turn. It jumps no queue.
    pub(super) fn try_acquire(&mut self, awaited: &QueuePoint) -> Option<Arc<Running>> {
        if awaited.is_complete() {
            return None;
        }
        let RunningWork::Job(running) = &self.queues.get(&awaited.progress)?.current else {
            return None;
        };
        // Each entry before the job has a claim to one of the free slots. Without this a host that
        // waits in a loop would starve the streams that nobody waits for.
        if running.unclaimed() == 0 || self.slots.free() <= self.ready.before(running) {
            return None;
        }
        let running = Arc::clone(running);
        self.ready.remove(&running);
        self.slots.take();
        Some(running)
    }

    /// A host thread that waits for a point takes a slot, or is woken by `parker` when there is one
    /// for it or the point is complete.
    pub(super) fn acquire_or_be_woken(
        &mut self,
        awaited: &QueuePoint,
        parker: &Arc<Parker<Wake>>,
    ) -> Wait {
        match self.try_acquire(awaited) {
            Some(running) => Wait::Acquired(running),
            None if self.wake_at(awaited, parker) => Wait::Asleep,
            None => Wait::Over,
        }
    }

    /// A thread in the middle of a job leaves its slot to others, and gets one back by `parker`.
    /// False if nobody wants it.
    pub(super) fn yield_slot(&mut self, parker: &Arc<Parker<()>>) -> bool {
        let is_wanted = self.outnumbered() > 0;
        if is_wanted {
            self.slots.release();
            self.ready.push_yielded(Arc::clone(parker));
        }
        is_wanted
    }

    /// The number of entries in line for which there is no slot.
    pub(super) fn outnumbered(&self) -> usize {
        self.ready.waiting().saturating_sub(self.slots.free())
    }

    /// The number of threads that would find a slot, and something to do.
    pub(super) fn openings(&self) -> usize {
        self.ready.len().min(self.slots.free())
    }

    /// Whether there is a slot that nobody in line is going to take.
    pub(super) fn has_spare_slot(&self) -> bool {
        self.slots.free() > self.ready.len()
    }

    /// Calls whoever can go on.
    pub(super) fn settle(&mut self, effects: &mut Effects) {
        self.resume_yielded(effects);
        loop {
            // Who is on the way looks at the line itself, so one for each opening is enough. Calling
            // more would wake threads that find nothing and go to sleep again.
            let coming = self.slots.coming();
            if self.openings() <= coming {
                return;
            }
            // A host thread that helps spares another switch of threads, unless its stream and
            // others are to take turns: a worker runs all of them.
            if coming == 0 && self.ready.waiting() == 1 && self.give_to_host(effects) {
                continue;
            }
            if self.slots.call() {
                effects.called_workers += 1;
            } else {
                // All are busy, or have yielded in the middle of a job. Those keep their threads, so
                // there can be more workers than slots.
                self.slots.begin_to_look();
                effects.new_workers += 1;
            }
        }
    }

    /// Gives a slot to a host thread that waits for the job which is first in line. False if none
    /// does.
    pub(super) fn give_to_host(&mut self, effects: &mut Effects) -> bool {
        if self.slots.free() == 0 {
            return false;
        }
        // Only the job in front: a host that helped another one would overtake the line.
        let Some(running) = self.ready.front().cloned() else { return false };
        let waiting = self.queues.get_mut(&running.stream).and_then(Queue::forget_host);
        let Some(parker) = waiting else { return false };
        self.ready.remove(&running);
        self.slots.take();
        effects.woken.push((parker, Wake::Slot(running)));
        true
    }

    fn take_slot(&mut self, effects: &mut Effects) -> Option<Arc<Running>> {
        self.resume_yielded(effects);
        if self.slots.free() == 0 {
            return None;
        }
        let next = self.ready.pop();
        if next.is_some() {
            self.slots.take();
        }
        next
    }

    fn release_slot(&mut self, part: JobShare, effects: &mut Effects) {
        self.slots.release();
        if part.ended {
            self.finish(&part.running.stream, effects);
        } else if part.gives_way {
            // Behind all that are as urgent: jobs take turns, however long they are.
            self.ready.push(part.running);
        }
    }

    /// Gives slots to those whose turn it is to go on with what they are in the middle of.
    fn resume_yielded(&mut self, effects: &mut Effects) {
        while let Some(parker) = self.ready.pop_yielded(self.slots.free()) {
            self.slots.take();
            effects.resumed.push(parker);
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
