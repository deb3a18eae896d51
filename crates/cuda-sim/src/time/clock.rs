//! The process's virtual clocks: the one simulation, and what the program's threads tell it and wait for.

use std::cell::RefCell;
use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::hosts::Hosts;
use super::position::{StreamOrdinal, StreamPosition};
use super::rate::per_second;
use super::simulation::{Simulation, TimedOperation};
use super::spans::{self, OperationId};
use crate::config::{Time, TimeModel};
use crate::links::{self, Residence};

struct Machine {
    model: TimeModel,
    simulation: Simulation,
    /// The time when threads were looked at last.
    looked: Instant,
}

static MACHINE: Mutex<Option<Machine>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

/// The number of threads that want the machine's lock: they are about to say something.
static ARRIVING: AtomicUsize = AtomicUsize::new(0);

/// Whether time is virtual: nothing is locked where it is real.
static VIRTUAL: AtomicBool = AtomicBool::new(false);

/// Counts restarts: clocks from before one are void.
static EPOCH: AtomicU64 = AtomicU64::new(0);

/// The time from one look at threads that hold up a decision to the next.
const LOOK: Duration = Duration::from_millis(2);

/// The time that a thread which holds up a decision is given to make its next call, where others are
/// at work that it may wait for.
const PATIENCE: Duration = Duration::from_millis(25);

/// The time that it is given if it does not sleep.
const LAST_PATIENCE: Duration = Duration::from_secs(10);

/// A thread's number in the simulation of an epoch.
struct EnteredThread {
    epoch: u64,
    number: u64,
}

thread_local! {
    static THREAD: RefCell<Option<EnteredThread>> = const { RefCell::new(None) };
}

impl Drop for EnteredThread {
    fn drop(&mut self) {
        if is_virtual() && self.epoch == EPOCH.load(Ordering::Acquire) {
            with(|machine| machine.simulation.hosts.leave(self.number));
            CHANGED.notify_all();
        }
    }
}

/// Chooses the clock, and starts it at zero.
pub(crate) fn set(time: &Time) {
    let mut machine = lock();
    *machine = match time {
        Time::Real => None,
        Time::Virtual(model) => Some(Machine {
            model: model.clone(),
            simulation: Simulation::default(),
            looked: Instant::now(),
        }),
    };
    EPOCH.fetch_add(1, Ordering::AcqRel);
    VIRTUAL.store(machine.is_some(), Ordering::Release);
    drop(machine);
    CHANGED.notify_all();
}

/// Whether time is virtual.
pub(crate) fn is_virtual() -> bool {
    VIRTUAL.load(Ordering::Relaxed)
}

/// The calling thread makes a call of the driver.
pub(crate) fn begin_call() {
    if !is_virtual() {
        return;
    }
    let number = thread();
    let has_news = with(|machine| {
        let (cost, decided) = (machine.model.call, machine.simulation.decided());
        machine.simulation.hosts.spend(number, cost, decided);
        machine.simulation.hosts.has_news()
    });
    if has_news == Some(true) {
        CHANGED.notify_all();
    }
}

/// The calling thread does something that takes so many nanoseconds.
pub(crate) fn spend(nanoseconds: u64) {
    let number = thread();
    with(|machine| {
        let decided = machine.simulation.decided();
        machine.simulation.hosts.spend(number, nanoseconds, decided);
    });
    CHANGED.notify_all();
}

/// The calling thread copies so many bytes of the program's memory to the driver's.
pub(crate) fn stage(bytes: u64) {
    if is_virtual() {
        let bandwidth = with(|machine| machine.model.host_copy).unwrap_or(u64::MAX);
        spend(per_second(bytes, bandwidth));
    }
}

/// The calling thread goes on no earlier than at that time.
pub(crate) fn advance(to: u64) {
    let number = thread();
    with(|machine| machine.simulation.hosts.advance(number, to));
    CHANGED.notify_all();
}

/// The calling thread's clock.
pub(crate) fn now() -> Option<u64> {
    is_virtual().then(|| {
        let number = thread();
        with(|machine| machine.simulation.hosts.clock(number)).unwrap_or(0)
    })
}

/// Holds all decisions up until so many threads have called the driver.
pub(crate) fn expect_threads(count: usize) {
    with(|machine| machine.simulation.hosts.expect(count));
}

/// Enters an operation.
pub(crate) fn enqueue(entry: TimedOperation) {
    let number = known_thread();
    spans::note_last(entry.at);
    let is_decided = with(|machine| {
        // Other threads than the host's enqueue when something else is done.
        let issued = number.map_or(0, |number| machine.simulation.hosts.clock(number));
        machine.simulation.enqueue(entry, issued, &machine.model);
        machine.decide(None)
    });
    if is_decided == Some(true) {
        CHANGED.notify_all();
    }
}

/// Makes the simulation note the times that are decided from now on, or no longer.
pub(crate) fn tell_spans(told: bool) {
    with(|machine| machine.simulation.spans.tell(told));
}

/// The times that were decided since this was asked last.
pub(crate) fn take_spans() -> Vec<(OperationId, Range<Duration>)> {
    with(|machine| machine.simulation.spans.take()).unwrap_or_default()
}

/// The stream gets no more work, and nobody asks for it.
pub(crate) fn forget(stream: StreamOrdinal) {
    if is_virtual() {
        with(|machine| machine.simulation.forget(stream, &machine.model));
    }
}

/// The calling thread begins to wait for a position, and [`join`]s it when the work is done. Until
/// then it makes no call, so nothing needs to wait for its next one.
pub(crate) fn begin_wait(awaited: StreamPosition) {
    let Some(number) = known_thread() else { return };
    with(|machine| {
        match machine.simulation.end_of(awaited) {
            Some(end) => machine.simulation.hosts.returns(number, end),
            None => machine.simulation.hosts.wait(number, awaited),
        }
        machine.decide(None);
    });
    CHANGED.notify_all();
}

/// The calling thread has waited for a position: its clock moves on to when it is reached.
pub(crate) fn join(awaited: StreamPosition) {
    let Some(number) = known_thread() else { return };
    let epoch = EPOCH.load(Ordering::Acquire);
    begin_wait(awaited);
    wait_for_decision(number, u64::MAX, epoch, |machine| {
        // Where its end is decided, the thread's next call must be reckoned with: nothing else is
        // decided without it.
        let end = machine.simulation.end_of(awaited).or_else(|| {
            machine.decide(None);
            machine.simulation.end_of(awaited)
        })?;
        machine.simulation.hosts.spend(number, 0, 0);
        machine.simulation.hosts.advance(number, end);
        Some(())
    });
}

/// Whether a position is reached by the calling thread's clock.
pub(crate) fn has_passed(asked: StreamPosition) -> bool {
    let number = thread();
    let epoch = EPOCH.load(Ordering::Acquire);
    let now = now().unwrap_or(0);
    let answer = wait_for_decision(number, now, epoch, |machine| {
        machine.decide(Some(number));
        if let Some(end) = machine.simulation.end_of(asked) {
            return Some(end <= now);
        }
        // What is not decided now ends later, if nobody can come before.
        (machine.simulation.hosts.horizon(Some(number)) >= now).then_some(false)
    });
    answer.unwrap_or(true)
}

impl Machine {
    /// Decides what can be. `asking` is a thread that makes no call before the answer: only what
    /// could begin by its clock is decided. Whether anything was.
    fn decide(&mut self, asking: Option<u64>) -> bool {
        let most = asking.map_or(u64::MAX, |number| self.simulation.hosts.clock(number));
        let horizon = |hosts: &Hosts| hosts.horizon(asking).min(most);
        self.simulation.decide(horizon, &self.model, links::slowness)
    }

    /// Sets the threads aside that hold up a decision until a time and do nothing, for one that has
    /// waited for so long. Whether there were any.
    fn go_on_without(&mut self, number: u64, time: u64, waited: Duration) -> bool {
        let is_given_up = waited >= LAST_PATIENCE;
        let hosts = &mut self.simulation.hosts;
        if is_given_up {
            hosts.expect(0);
        }
        hosts.look(number, asleep);
        let is_idle = hosts.are_idle(number) && !is_another_at_work(hosts);
        let patience = if is_idle { Duration::ZERO } else { PATIENCE };
        let stuck = hosts.stuck(number, time, patience, is_given_up);
        // One of them may have slept because it wants what is locked here.
        let is_certain = is_given_up || ARRIVING.load(Ordering::SeqCst) == 0;
        if is_certain {
            stuck.iter().for_each(|&number| hosts.set_aside(number));
        }
        is_certain && !stuck.is_empty()
    }
}

/// The real time that a copy is to take besides, its link being slow on demand: as much as it would
/// on an H200.
pub(crate) fn delay(to: Residence, from: Residence, bytes: u64) -> Duration {
    let more = links::slowness(to, from) - 1;
    if more == 0 || is_virtual() {
        return Duration::ZERO;
    }
    let once = TimeModel::H200.copy(to, from, bytes);
    Duration::from_nanos(once.saturating_mul(more))
}

/// Waits until `decision` gives an answer, which other threads may hold up that are behind `time`.
/// `None` if the simulation is started anew meanwhile.
fn wait_for_decision<R>(
    number: u64,
    time: u64,
    epoch: u64,
    mut decision: impl FnMut(&mut Machine) -> Option<R>,
) -> Option<R> {
    let mut guard = lock();
    let mut since = Instant::now();
    let mut last = 0;
    loop {
        let machine = guard.as_mut().filter(|_| EPOCH.load(Ordering::Acquire) == epoch)?;
        if let Some(answer) = decision(machine) {
            machine.simulation.hosts.ask(number, None);
            CHANGED.notify_all();
            return Some(answer);
        }
        machine.simulation.hosts.ask(number, Some(time));
        let horizon = machine.simulation.hosts.horizon(Some(number));
        if std::mem::replace(&mut last, horizon) != horizon {
            since = Instant::now();
        }
        let waited = since.elapsed();
        if waited >= LOOK && machine.looked.elapsed() >= LOOK {
            machine.looked = Instant::now();
            if machine.go_on_without(number, horizon.saturating_add(1).min(time), waited) {
                continue;
            }
        }
        CHANGED.wait_for(&mut guard, LOOK);
    }
}

/// The number of times that a thread has been switched to another one, if it waits for something
/// rather than for its turn on a processor: `status` in proc(5).
fn asleep(system: i32) -> Option<u64> {
    let Ok(status) = fs::read_to_string(format!("/proc/self/task/{system}/status")) else {
        // It has ended without a word.
        return Some(u64::MAX);
    };
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim())
    };
    let switches =
        |name: &str| field(name).and_then(|count| count.parse::<u64>().ok()).unwrap_or(0);
    let runs = field("State").is_some_and(|state| state.starts_with('R'));
    (!runs).then(|| switches("voluntary_ctxt_switches") + switches("nonvoluntary_ctxt_switches"))
}

/// Whether a thread of the program that the simulation does not know is at work: it may wake one of
/// those that it knows.
fn is_another_at_work(hosts: &Hosts) -> bool {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return true };
    let numbers = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok());
    numbers.filter(|&system: &i32| !hosts.knows(system)).any(|system| {
        let name = fs::read_to_string(format!("/proc/self/task/{system}/comm"));
        // What these do is done when their streams say so. Callbacks run in threads of another name.
        let is_of_driver =
            |name: String| ["cuda-sim worker", "cuda-sim steps"].contains(&name.trim());
        let is_of_driver = name.is_ok_and(is_of_driver);
        !is_of_driver && asleep(system).is_none()
    })
}

/// The calling thread's number, entered if it has none.
fn thread() -> u64 {
    if let Some(number) = known_thread() {
        return number;
    }
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (epoch, number) = (EPOCH.load(Ordering::Acquire), NEXT.fetch_add(1, Ordering::Relaxed));
    // SAFETY: the call takes nothing and only returns a number.
    let system = unsafe { libc::gettid() };
    with(|machine| machine.simulation.hosts.enter(number, system));
    let entered = THREAD.try_with(|thread| thread.replace(Some(EnteredThread { epoch, number })));
    drop(entered);
    number
}

fn known_thread() -> Option<u64> {
    let epoch = EPOCH.load(Ordering::Acquire);
    let known = THREAD.try_with(|thread| {
        let thread = thread.borrow();
        thread.as_ref().filter(|thread| thread.epoch == epoch).map(|thread| thread.number)
    });
    known.ok().flatten()
}

fn with<R>(change: impl FnOnce(&mut Machine) -> R) -> Option<R> {
    lock().as_mut().map(change)
}

fn lock() -> MutexGuard<'static, Option<Machine>> {
    ARRIVING.fetch_add(1, Ordering::SeqCst);
    let machine = MACHINE.lock();
    ARRIVING.fetch_sub(1, Ordering::SeqCst);
    machine
}
