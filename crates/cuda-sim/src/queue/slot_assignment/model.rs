//! A model of what threads do to the state, for tests: change by change, in any order.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::super::failure::Failure;
use super::super::health::Health;
use super::super::job::Job;
use super::super::kind::StreamKind;
use super::super::point::StreamProgress;
use super::super::work::StreamWork;
use super::*;

/// The calls of the hosts. Stream `s` gets work from host `s % HOSTS`, and the others may wait for
/// it.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) slots: usize,
    /// The streams' priorities.
    pub(super) streams: Vec<usize>,
    pub(super) calls: Vec<(usize, Call)>,
    /// Streams for which hosts wait that do nothing else.
    pub(super) watchers: Vec<Vec<usize>>,
}

#[derive(Debug, Clone)]
pub(super) enum Call {
    /// Enqueues a job of so many pieces, each of which spins until the call of that number, which
    /// comes before this one, has had its effect.
    Job {
        pieces: u64,
        spins_for: Option<usize>,
    },
    HostFunction,
    Wait,
}

const HOSTS: usize = 2;

/// A job of pieces that this model runs.
struct Pieces(u64);

impl Job for Pieces {
    fn pieces(&self) -> u64 {
        self.0
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn run(&self, _: Range<u64>) -> Result<(), Failure> {
        Ok(())
    }
}

/// The state and all threads.
pub(super) struct Machine {
    state: SchedulerState,
    streams: Vec<Arc<StreamProgress>>,
    calls: Vec<(usize, Call)>,
    /// The points at which the work of the calls ends, and whether a piece of it has run.
    points: Vec<Option<QueuePoint>>,
    has_run: Vec<bool>,
    threads: Vec<Thread>,
    most_yielded: usize,
}

struct Thread {
    /// `None` is a worker.
    host: Option<Host>,
    at: At,
}

struct Host {
    /// Calls of the program by number, or streams to wait for.
    calls: VecDeque<Result<usize, usize>>,
    awaited: Option<QueuePoint>,
    parker: Arc<Parker<Wake>>,
}

enum At {
    /// A host between its calls.
    Program,
    /// A host that waits and has no slot, or a worker that looks at the line.
    Standing,
    Asleep,
    /// It has a slot, and is to claim pieces.
    Acquired(Arc<Running>),
    /// It has a slot, and runs claimed pieces.
    Running(Arc<Running>, u64),
    Yielded(Arc<Running>, u64, Arc<Parker<()>>),
    /// A thread for a host function.
    HostFunction(Arc<StreamProgress>),
    Ended,
}

impl Machine {
    pub(super) fn new(program: &Program) -> Machine {
        let mut state = SchedulerState::new(program.slots);
        let health: &'static Health = Box::leak(Box::new(Health::new(0)));
        let mut open = |&priority| state.queues.open(health, 0, StreamKind::NonBlocking, priority);
        let streams: Vec<_> = program.streams.iter().map(&mut open).collect();
        let calls = |host| {
            let own = |&index: &usize| program.calls[index].0 % HOSTS == host;
            (0..program.calls.len()).filter(own).map(Ok).collect()
        };
        let watched = |streams: &Vec<usize>| streams.iter().copied().map(Err).collect();
        let scripts = (0..HOSTS).map(calls).chain(program.watchers.iter().map(watched));
        let threads = scripts.map(|calls| {
            let host = Host { calls, awaited: None, parker: Arc::default() };
            Thread { host: Some(host), at: At::Program }
        });
        Machine {
            threads: threads.collect(),
            state,
            streams,
            calls: program.calls.clone(),
            points: vec![None; program.calls.len()],
            has_run: vec![false; program.calls.len()],
            most_yielded: 0,
        }
    }

    /// Changes the state, as `Scheduler::update` does.
    fn update<R>(&mut self, change: impl FnOnce(&mut SchedulerState, &mut Effects) -> R) -> R {
        let mut effects = Effects::default();
        let result = change(&mut self.state, &mut effects);
        self.state.settle(&mut effects);
        let new = |at| Thread { host: None, at };
        self.threads.extend((0..effects.new_workers).map(|_| new(At::Standing)));
        let host_calls = std::mem::take(&mut effects.host_calls).into_iter();
        self.threads.extend(host_calls.map(|call| new(At::HostFunction(call.stream))));
        effects.carry_out(|_| {});
        result
    }

    /// The threads that can go on.
    pub(super) fn able(&self) -> Vec<usize> {
        let is_able = |&index: &usize| match &self.threads[index] {
            Thread { at: At::Ended, .. } => false,
            Thread { at: At::Asleep, host: None } => self.state.slots.has_called(),
            Thread { at: At::Asleep, host: Some(host) } => host.parker.is_told(),
            Thread { at: At::Yielded(_, _, parker), .. } => parker.is_told(),
            Thread { at: At::Running(running, _), .. } => {
                !self.spins(running) || self.state.outnumbered() > 0
            }
            _ => true,
        };
        (0..self.threads.len()).filter(is_able).collect()
    }

    /// Has a thread go on that can, up to its next change of what others see.
    pub(super) fn step(&mut self, index: usize) {
        let at = std::mem::replace(&mut self.threads[index].at, At::Ended);
        let next = match at {
            At::Program => self.call(index),
            At::Standing => self.stand(index),
            At::Asleep => match self.host(index).map(|host| host.parker.sleep()) {
                None => {
                    assert!(self.state.slots.answer_call());
                    At::Standing
                }
                Some(Wake::Complete) => At::Program,
                Some(Wake::Slot(running)) => At::Acquired(running),
            },
            At::Acquired(running) => match running.claim() {
                None => self.leave(index, JobShare { running, ended: false, gives_way: false }),
                Some(pieces) => {
                    if running.unclaimed() > 0 && self.state.has_spare_slot() {
                        self.update(|state, _| state.ready.share(Arc::clone(&running)));
                    }
                    At::Running(running, pieces.end - pieces.start)
                }
            },
            At::Running(running, pieces) => self.run(index, running, pieces),
            At::Yielded(running, pieces, parker) => {
                parker.sleep();
                At::Running(running, pieces)
            }
            At::HostFunction(stream) => {
                self.update(|state, effects| state.finish(&stream, effects));
                At::Ended
            }
            At::Ended => At::Ended,
        };
        self.threads[index].at = next;
        self.check();
    }

    /// A host that waits looks for a slot, or a worker for work.
    fn stand(&mut self, index: usize) -> At {
        let Some(parker) = self.host(index).map(|host| Arc::clone(&host.parker)) else {
            return self.update(SchedulerState::acquire_or_sleep).map_or(At::Asleep, At::Acquired);
        };
        let awaited = self.awaited(index);
        match self.update(|state, _| state.acquire_or_be_woken(&awaited, &parker)) {
            Wait::Over => At::Program,
            Wait::Acquired(running) => At::Acquired(running),
            Wait::Asleep => At::Asleep,
        }
    }

    /// A thread runs the pieces that it has claimed, or yields its slot in their middle.
    fn run(&mut self, index: usize, running: Arc<Running>, pieces: u64) -> At {
        if self.spins(&running) {
            let parker = Arc::new(Parker::default());
            let yields = self.update(|state, _| state.yield_slot(&parker));
            assert!(yields, "somebody wants the slot");
            return At::Yielded(running, pieces, parker);
        }
        if let Some(call) = self.call_of(&running) {
            self.has_run[call] = true;
        }
        let ended = running.done(pieces);
        let gives_way = running.unclaimed() > 0 && self.state.outnumbered() > 0;
        match ended || gives_way {
            true => self.leave(index, JobShare { running, ended, gives_way }),
            false => At::Acquired(running),
        }
    }

    /// The next call of a host.
    fn call(&mut self, index: usize) -> At {
        let next = self.threads[index].host.as_mut().and_then(|host| host.calls.pop_front());
        let awaited = match next {
            None => return At::Ended,
            Some(Err(stream)) => stream,
            Some(Ok(number)) => {
                let (stream, call) = self.calls[number].clone();
                let work = match call {
                    Call::Wait => None,
                    Call::Job { pieces, .. } => Some(StreamWork::Job(Arc::new(Pieces(pieces)))),
                    Call::HostFunction => Some(StreamWork::Host(Box::new(|| {}))),
                };
                if let Some(work) = work {
                    let stream = Arc::clone(&self.streams[stream]);
                    let enqueue = |state: &mut SchedulerState, effects: &mut _| {
                        state.enqueue(&stream, None, work, effects)
                    };
                    self.points[number] = Some(self.update(enqueue));
                    return At::Program;
                }
                stream
            }
        };
        let end = self.state.queues.tail(&self.streams[awaited]).0;
        if let Some(host) = &mut self.threads[index].host {
            host.awaited = Some(end.clone());
        }
        match self.update(|state, _| state.try_acquire(&end)) {
            Some(running) => At::Acquired(running),
            None => At::Standing,
        }
    }

    fn leave(&mut self, index: usize, part: JobShare) -> At {
        if self.host(index).is_none() {
            let next = self.update(|state, effects| state.exchange(part, effects));
            return next.map_or(At::Standing, At::Acquired);
        }
        let awaited = self.awaited(index);
        let next =
            self.update(|state, effects| state.release_and_try_acquire(part, &awaited, effects));
        next.map_or(At::Standing, At::Acquired)
    }

    fn host(&self, index: usize) -> Option<&Host> {
        self.threads[index].host.as_ref()
    }

    fn awaited(&self, index: usize) -> QueuePoint {
        self.host(index).and_then(|host| host.awaited.clone()).expect("it waits")
    }

    /// The call that enqueued a job which runs.
    fn call_of(&self, running: &Running) -> Option<usize> {
        let now = running.stream.completed() + 1;
        let is_it = |point: &Option<QueuePoint>| {
            point.as_ref().is_some_and(|point| {
                Arc::ptr_eq(&point.progress, &running.stream) && point.sequence == now
            })
        };
        self.points.iter().position(is_it)
    }

    /// Whether a job waits for something.
    fn spins(&self, running: &Running) -> bool {
        let call = self.call_of(running).map(|call| &self.calls[call].1);
        let Some(Call::Job { spins_for: Some(other), .. }) = call else { return false };
        match self.calls[*other].1 {
            Call::Job { .. } => !self.has_run[*other],
            Call::HostFunction => {
                !self.points[*other].as_ref().is_some_and(QueuePoint::is_complete)
            }
            Call::Wait => false,
        }
    }

    /// Checks what always holds.
    fn check(&mut self) {
        let count =
            |is_so: fn(&At) -> bool| self.threads.iter().filter(|thread| is_so(&thread.at)).count();
        let yielded = count(|at| matches!(at, At::Yielded(..)));
        let acquired = count(|at| matches!(at, At::Acquired(_) | At::Running(..)));
        let workers = self.threads.iter().filter(|thread| {
            thread.host.is_none() && !matches!(thread.at, At::HostFunction(_) | At::Ended)
        });
        let workers = workers.count();
        self.most_yielded = self.most_yielded.max(yielded);
        let slots = &self.state.slots;
        // A thread that was just given a slot has yet to wake.
        assert!(
            acquired <= slots.taken() && slots.taken() <= slots.total(),
            "{acquired} hold one: {slots:?}"
        );
        assert!(workers <= slots.total() + self.most_yielded, "{workers} workers: {slots:?}");
        let slots_wait = slots.free() > 0 && self.state.ready.waiting() > 0;
        assert!(!slots_wait || self.state.ready.front().is_some(), "one that rests may go on");
        assert!(self.state.openings() <= slots.coming(), "nobody comes: {slots:?}");
    }

    /// Checks what holds when no thread can go on.
    pub(super) fn check_end(&self) {
        let undone = self.points.iter().flatten().filter(|point| !point.is_complete()).count();
        let waiting = self.threads.iter().filter(|thread| thread.host.is_some());
        let waiting = waiting.filter(|thread| !matches!(thread.at, At::Ended)).count();
        let slots = &self.state.slots;
        assert_eq!((undone, waiting, slots.taken()), (0, 0, 0), "it is stuck: {slots:?}");
    }

    /// All that decides how it can go on.
    pub(super) fn signature(&self) -> String {
        let job = |running: &Arc<Running>| (self.call_of(running), running.unclaimed());
        let threads = self.threads.iter().map(|thread| {
            let calls = thread.host.as_ref().map_or(0, |host| host.calls.len());
            match &thread.at {
                At::Program => format!("{calls}p"),
                At::Standing => format!("{calls}s"),
                At::Asleep => {
                    format!("{calls}a{:?}", thread.host.as_ref().map(|host| host.parker.is_told()))
                }
                At::Acquired(running) => format!("{calls}j{:?}", job(running)),
                At::Running(running, pieces) => format!("{calls}r{:?}{pieces}", job(running)),
                At::Yielded(running, pieces, parker) => {
                    format!("{calls}z{:?}{pieces}{}", job(running), parker.is_told())
                }
                At::HostFunction(_) => format!("{calls}h"),
                At::Ended => "e".to_owned(),
            }
        });
        let threads: Vec<String> = threads.collect();
        let done: Vec<u64> = self.streams.iter().map(|stream| stream.completed()).collect();
        let line = self.state.ready.describe(job);
        format!("{threads:?} {done:?} {:?} {line} {:?}", self.has_run, self.state.slots)
    }
}
