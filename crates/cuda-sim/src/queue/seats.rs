//! Seats: no more threads than there are seats run pieces of jobs at once.
//!
//! Workers sit, and so do host threads that take part in what they wait for. After each change of
//! the books [`State::settle`] sees to it that somebody is on the way to each free seat for which
//! there is something to do.

use std::sync::Arc;

use super::job::Running;
use super::parker::Parker;
use super::point::Point;
use super::state::{Current, Effects, Queue, State};

/// How many seats there are, and what the workers do who do not sit.
#[derive(Debug, Default)]
pub(super) struct Seats {
    total: usize,
    taken: usize,
    /// Workers that are awake and about to look at the line.
    looking: usize,
    /// Workers that sleep, and those among them that were called.
    asleep: usize,
    called: usize,
}

/// What came of a thread's taking part in a job.
pub(super) struct Part {
    pub(super) running: Arc<Running>,
    /// It did the last of it.
    pub(super) ended: bool,
    /// It left something undone, because others want the seat.
    pub(super) gives_way: bool,
}

/// Why a host thread wakes that waits for a point.
pub(super) enum Wake {
    /// The point is complete.
    Complete,
    /// There is a seat for it, and a job on the way to the point.
    Seat(Arc<Running>),
}

/// How a host thread goes on that waits for a point.
pub(super) enum Wait {
    /// The point is complete.
    Over,
    /// It has a seat at this job.
    Seated(Arc<Running>),
    /// It sleeps until it is woken.
    Asleep,
}

impl Seats {
    pub(super) fn new(total: usize) -> Seats {
        Seats { total, ..Seats::default() }
    }

    pub(super) fn free(&self) -> usize {
        self.total - self.taken
    }

    pub(super) fn looking(&self) -> usize {
        self.looking
    }

    /// A sleeping worker that was called wakes. False if none was.
    pub(super) fn answer_call(&mut self) -> bool {
        if self.called == 0 {
            return false;
        }
        self.called -= 1;
        self.asleep -= 1;
        self.looking += 1;
        true
    }

    /// A worker that was to start did not.
    pub(super) fn lose_worker(&mut self) {
        self.looking -= 1;
    }

    fn call(&mut self) -> bool {
        let is_asleep = self.asleep > self.called;
        self.called += usize::from(is_asleep);
        is_asleep
    }
}

impl State {
    /// A worker that has looked at the line takes a seat and the next job, or sleeps.
    pub(super) fn take_seat_or_sleep(&mut self, effects: &mut Effects) -> Option<Arc<Running>> {
        self.seats.looking -= 1;
        let next = self.take_seat(effects);
        self.seats.asleep += usize::from(next.is_none());
        next
    }

    /// A worker goes on to the next job, or looks for one.
    pub(super) fn change_seat(
        &mut self,
        part: Part,
        effects: &mut Effects,
    ) -> Option<Arc<Running>> {
        self.leave_seat(part, effects);
        let next = self.take_seat(effects);
        self.seats.looking += usize::from(next.is_none());
        next
    }

    /// A host thread that waits for a point goes on to the next job of the point's stream, or
    /// leaves its seat.
    pub(super) fn stay_seated(
        &mut self,
        part: Part,
        awaited: &Point,
        effects: &mut Effects,
    ) -> Option<Arc<Running>> {
        self.leave_seat(part, effects);
        self.sit_down(awaited)
    }

    /// A host thread that waits for a point takes a seat at the job that the point's stream runs, or
    /// would if it had its turn. It jumps no queue.
    pub(super) fn sit_down(&mut self, awaited: &Point) -> Option<Arc<Running>> {
        if awaited.is_complete() {
            return None;
        }
        let Current::Job(running) = &self.peek(&awaited.progress)?.current else { return None };
        if running.unclaimed() == 0 || self.seats.free() <= self.ready.before(running) {
            return None;
        }
        let running = Arc::clone(running);
        self.ready.remove(&running);
        self.seats.taken += 1;
        Some(running)
    }

    /// A host thread that waits for a point takes a seat, or is woken by `parker` when there is one
    /// for it or the point is complete.
    pub(super) fn sit_down_or_sleep(
        &mut self,
        awaited: &Point,
        parker: &Arc<Parker<Wake>>,
    ) -> Wait {
        match self.sit_down(awaited) {
            Some(running) => Wait::Seated(running),
            None if self.wake_at(awaited, parker) => Wait::Asleep,
            None => Wait::Over,
        }
    }

    /// A thread in the middle of a job leaves its seat to others, and gets one back by `parker`.
    /// False if nobody wants it.
    pub(super) fn rest(&mut self, parker: &Arc<Parker<()>>) -> bool {
        let is_wanted = self.outnumbered() > 0;
        if is_wanted {
            self.seats.taken -= 1;
            self.ready.push_resting(Arc::clone(parker));
        }
        is_wanted
    }

    /// How many stand in line for whom there is no seat.
    pub(super) fn outnumbered(&self) -> usize {
        self.ready.waiting().saturating_sub(self.seats.free())
    }

    /// How many threads would find a seat, and something to do.
    pub(super) fn openings(&self) -> usize {
        self.ready.len().min(self.seats.free())
    }

    /// Whether there is a seat that nobody in line is going to take.
    pub(super) fn has_spare_seat(&self) -> bool {
        self.seats.free() > self.ready.len()
    }

    /// Calls whoever can go on.
    pub(super) fn settle(&mut self, effects: &mut Effects) {
        self.reseat(effects);
        loop {
            let coming = self.seats.looking + self.seats.called;
            if self.openings() <= coming {
                return;
            }
            // A host thread that helps spares another switch of threads, unless its stream and
            // others are to take turns: a worker runs all of them.
            if coming == 0 && self.ready.waiting() == 1 && self.seat_host(effects) {
                continue;
            }
            if self.seats.call() {
                effects.called_workers += 1;
            } else {
                // All are busy or resting.
                self.seats.looking += 1;
                effects.new_workers += 1;
            }
        }
    }

    /// Gives a seat to a host thread that waits for the job which is first in line. False if none
    /// does.
    pub(super) fn seat_host(&mut self, effects: &mut Effects) -> bool {
        if self.seats.free() == 0 {
            return false;
        }
        let Some(running) = self.ready.front().cloned() else { return false };
        let waiting = self.queue(&running.stream).and_then(Queue::forget_host);
        let Some(parker) = waiting else { return false };
        self.ready.remove(&running);
        self.seats.taken += 1;
        effects.woken.push((parker, Wake::Seat(running)));
        true
    }

    fn take_seat(&mut self, effects: &mut Effects) -> Option<Arc<Running>> {
        self.reseat(effects);
        if self.seats.free() == 0 {
            return None;
        }
        let next = self.ready.pop();
        self.seats.taken += usize::from(next.is_some());
        next
    }

    fn leave_seat(&mut self, part: Part, effects: &mut Effects) {
        self.seats.taken -= 1;
        if part.ended {
            self.finish(&part.running.stream, effects);
        } else if part.gives_way {
            self.ready.push(part.running);
        }
    }

    /// Gives seats to those whose turn it is to go on with what they are in the middle of.
    fn reseat(&mut self, effects: &mut Effects) {
        while let Some(parker) = self.ready.pop_resting(self.seats.free()) {
            self.seats.taken += 1;
            effects.reseated.push(parker);
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
