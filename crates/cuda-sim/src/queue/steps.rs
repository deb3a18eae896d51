//! Schedules that run one operation at a time: who runs them, and when.
//!
//! Whoever waits takes the steps: the host thread chooses an operation, has it run, and sees it end
//! before it chooses the next. So nothing depends on how quick a thread is. Only what waits for
//! something else than the driver's streams is left behind after a while, and goes on beside the
//! others: a host function that waits for the program, a kernel that waits for a flag.

use std::thread;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use super::choice::Reason;
use super::effects::Effects;
use super::point::QueuePoint;
use super::policy::ExploredChoices;
use super::scheduler::Scheduler;
use super::state::SchedulerState;
use super::stepper::Stepper;
use crate::config::{Schedule, ScheduleTrace};

/// The time for which an operation may give no sign of life before others run beside it, and the host
/// may make no call before operations run all the same.
const PATIENCE: Duration = Duration::from_millis(500);

impl Scheduler {
    /// Orders operations by a schedule from now on. Waits for all that is enqueued.
    pub(crate) fn set_schedule(&'static self, schedule: &Schedule) {
        self.change_stepper(Stepper::new(schedule));
    }

    /// Orders operations by the places of choices from now on, in the same way.
    pub(crate) fn explore(&'static self, places: ExploredChoices) {
        self.change_stepper(Some(Stepper::exploring(places)));
    }

    /// The choices since the schedule was set. `None` if it is [`Schedule::Fast`].
    pub(crate) fn trace(&self) -> Option<ScheduleTrace> {
        self.lock().stepper.as_ref().map(|stepper| stepper.trace().clone())
    }

    /// The choices of an exploration by their places among the options.
    pub(crate) fn places(&self) -> Option<ExploredChoices> {
        self.lock().stepper.as_ref().and_then(Stepper::places).cloned()
    }

    /// Whether a recorded schedule did not fit what the program did.
    pub(crate) fn has_diverged(&self) -> bool {
        self.lock().stepper.as_ref().is_some_and(Stepper::has_diverged)
    }

    /// Runs what the schedule wants to run now that something was enqueued.
    pub(super) fn take_early_steps(&'static self) {
        while self.step(Reason::Enqueued) {}
    }

    /// Takes a step: a program that asks in a loop is to come to an end.
    pub(super) fn take_step(&'static self) {
        self.step(Reason::Asked);
    }

    /// Sees to it that what is done by the virtual clock is done in fact. False if it takes so long
    /// that it may be waiting for the program that asks.
    pub(super) fn catch_up(&'static self, point: &QueuePoint) -> bool {
        const MAX_WAIT: Duration = Duration::from_secs(20);
        let begun = Instant::now();
        while !point.is_complete() {
            let most = if self.host_threads.are_busy() { PATIENCE } else { MAX_WAIT };
            if begun.elapsed() > most {
                return false;
            }
            if self.is_stepping() {
                self.take_step();
            } else {
                thread::sleep(Duration::from_micros(50));
            }
        }
        true
    }

    /// Takes steps until a point is complete.
    pub(super) fn step_to(&'static self, point: &QueuePoint) {
        while !point.is_complete() {
            if !self.step(Reason::Waiting(point)) {
                let mut state = self.settled();
                let nothing_to_do =
                    state.stepper.as_ref().is_some_and(|stepper| !stepper.has_enabled());
                if nothing_to_do && !point.is_complete() {
                    self.wait_for_change(&mut state, PATIENCE);
                }
            }
        }
    }

    /// Takes one step, if the schedule wants to, and waits for its end.
    fn step(&'static self, reason: Reason<'_>) -> bool {
        let mut state = self.settled();
        if let Reason::Waiting(point) = reason
            && point.is_complete()
        {
            return true;
        }
        let mut effects = Effects::default();
        let stepped = state.step(reason, &mut effects);
        drop(state);
        self.apply(effects);
        if stepped {
            drop(self.settled());
        }
        stepped
    }

    /// The state, once nothing runs but what was left behind.
    fn settled(&'static self) -> MutexGuard<'static, SchedulerState> {
        let mut state = self.lock();
        let mut life = 0;
        let mut since = Instant::now();
        while let Some(stepper) = state.stepper.as_mut().filter(|stepper| stepper.is_busy()) {
            let now_alive = stepper.signs_of_life();
            if now_alive != life {
                (life, since) = (now_alive, Instant::now());
            }
            let Some(left) = PATIENCE.checked_sub(since.elapsed()) else {
                stepper.leave_behind();
                break;
            };
            self.wait_for_change(&mut state, left);
        }
        state
    }

    /// Waits until an operation has ended, or something was enqueued.
    fn wait_for_change(&self, state: &mut MutexGuard<'static, SchedulerState>, most: Duration) {
        self.stepped.wait_for(state, most);
    }

    fn change_stepper(&'static self, stepper: Option<Stepper>) {
        self.wait_for_everything();
        let stepped = stepper.is_some();
        self.update(|state, effects| {
            self.note_stepping(stepped);
            state.set_stepper(stepper, effects);
        });
        if stepped {
            self.watching.call_once(|| self.start_watching());
        }
    }

    /// Starts the thread that takes steps for programs which wait for their work by other means
    /// than the driver's.
    fn start_watching(&'static self) {
        let thread = thread::Builder::new().name("cuda-sim steps".to_owned());
        if let Err(error) = thread.spawn(|| self.watch()) {
            tracing::error!(%error, "nobody moves on what the program does not wait for");
        }
    }

    fn watch(&'static self) {
        let mut seen = 0;
        loop {
            thread::sleep(PATIENCE / 2);
            while let Some(now) = self.idle_activity() {
                if std::mem::replace(&mut seen, now) != now || !self.step(Reason::Asked) {
                    break;
                }
                // The step itself does not count.
                seen = self.idle_activity().unwrap_or(seen);
            }
        }
    }

    /// The count of what has happened, if there is something that could run.
    fn idle_activity(&self) -> Option<u64> {
        let state = self.lock();
        let stepper = state.stepper.as_ref().filter(|stepper| stepper.has_enabled())?;
        Some(stepper.signs_of_life())
    }
}
