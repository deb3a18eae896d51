//! Tests of jobs and their sharing between workers; orders of streams are tested through the
//! driver's functions.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use cuda_sys::CUresult;

use super::*;

/// A job of a closure that is called with each range of pieces.
struct Pieces<F> {
    count: u64,
    run: F,
}

impl<F: Fn(Range<u64>) -> Result<(), Failure> + Send + Sync> Job for Pieces<F> {
    fn pieces(&self) -> u64 {
        self.count
    }

    fn is_heavy(&self) -> bool {
        self.count > 1
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        (self.run)(pieces)
    }
}

fn job(
    count: u64,
    run: impl Fn(Range<u64>) -> Result<(), Failure> + Send + Sync + 'static,
) -> StreamWork {
    StreamWork::Job(Arc::new(Pieces { count, run }))
}

fn device() -> &'static Health {
    Box::leak(Box::new(Health::new(0)))
}

fn stream(scheduler: &'static Scheduler, health: &'static Health) -> Stream {
    Stream::new(scheduler, health, 0, StreamKind::NonBlocking, 0)
}

fn failure() -> Failure {
    Failure::new(CUresult::CUDA_ERROR_LAUNCH_FAILED, "on purpose")
}

#[test]
fn every_piece_of_a_job_runs_once() {
    let stream = stream(Scheduler::new(4), device());
    for count in [1, 2, 7, 1000, 100_000] {
        let done: Arc<Vec<AtomicU64>> = Arc::new((0..count).map(|_| AtomicU64::new(0)).collect());
        let counted = Arc::clone(&done);
        stream.enqueue(job(count, move |pieces| {
            for piece in pieces {
                counted[piece as usize].fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }));
        stream.synchronize();
        assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn what_a_job_holds_is_free_when_its_end_is_seen() {
    let stream = stream(Scheduler::new(3), device());
    for _ in 0..2000 {
        let held = Arc::new(());
        let kept = Arc::clone(&held);
        stream.enqueue(job(3, move |_| {
            let _ = &kept;
            Ok(())
        }));
        stream.synchronize();
        assert_eq!(Arc::strong_count(&held), 1);
    }
}

#[test]
fn several_workers_share_a_job_that_takes_long() {
    const WORKERS: usize = 3;
    let stream = stream(Scheduler::new(WORKERS), device());
    let everybody = Arc::new(Barrier::new(WORKERS));
    // Each piece needs as many threads as there are workers, and the test helps with none.
    let point = stream.enqueue(job(2 * WORKERS as u64, move |pieces| {
        for _ in pieces {
            everybody.wait();
        }
        Ok(())
    }));
    while !point.is_complete() {
        thread::yield_now();
    }
}

#[test]
fn jobs_that_become_ready_at_once_get_a_worker_each() {
    const WORKERS: usize = 3;
    let (scheduler, health) = (Scheduler::new(WORKERS), device());
    let first = stream(scheduler, health);
    let others = [(); WORKERS].map(|()| stream(scheduler, health));
    for _ in 0..100 {
        let everybody = Arc::new(Barrier::new(WORKERS));
        let start = first.enqueue(job(1, |_| Ok(())));
        let ends = others.each_ref().map(|other| {
            let everybody = Arc::clone(&everybody);
            other.wait_for(&start);
            other.enqueue(job(1, move |_| {
                everybody.wait();
                Ok(())
            }))
        });
        while !ends.iter().all(QueuePoint::is_complete) {
            thread::yield_now();
        }
    }
}

#[test]
fn streams_that_wait_for_each_other_in_turns_come_to_an_end() {
    let (scheduler, health) = (Scheduler::new(2), device());
    let (one, two) = (stream(scheduler, health), stream(scheduler, health));
    for _ in 0..500 {
        for _ in 0..3 {
            two.wait_for(&one.enqueue(job(1, |_| Ok(()))));
            one.wait_for(&two.enqueue(job(1, |_| Ok(()))));
        }
        one.synchronize();
    }
}

#[test]
fn a_long_job_gives_way_to_another_stream() {
    let (scheduler, health) = (Scheduler::new(1), device());
    let (long, short) = (stream(scheduler, health), stream(scheduler, health));
    let (enqueued, may_go_on) = channel();
    let may_go_on = Mutex::new(may_go_on);
    let short_has_run = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&short_has_run);
    let point = long.enqueue(job(1000, move |pieces| {
        if pieces.start == 0 {
            may_go_on.lock().expect("no panic").recv().expect("the test goes on");
            return Ok(());
        }
        if seen.load(Ordering::Acquire) { Ok(()) } else { Err(failure()) }
    }));
    short.enqueue(job(1, move |_| {
        short_has_run.store(true, Ordering::Release);
        Ok(())
    }));
    enqueued.send(()).expect("the job waits");
    while !point.is_complete() {
        thread::yield_now();
    }
    assert_eq!(health.check(), Ok(()));
}

#[test]
fn a_long_job_gives_way_to_another_stream_also_where_the_host_helps() {
    let (scheduler, health) = (Scheduler::new(1), device());
    let (long, short) = (stream(scheduler, health), stream(scheduler, health));
    for _ in 0..200 {
        let short_has_run = Arc::new(AtomicBool::new(false));
        let (seen, enqueued) = (Arc::clone(&short_has_run), Arc::new(Barrier::new(2)));
        let begun = Arc::clone(&enqueued);
        let point = long.enqueue(job(1000, move |pieces| {
            if pieces.start == 0 {
                begun.wait();
                return Ok(());
            }
            if seen.load(Ordering::Acquire) { Ok(()) } else { Err(failure()) }
        }));
        thread::scope(|scope| {
            scope.spawn(|| {
                short.enqueue(job(1, move |_| {
                    short_has_run.store(true, Ordering::Release);
                    Ok(())
                }));
                enqueued.wait();
            });
            long.wait(&point);
        });
        assert_eq!(health.check(), Ok(()));
    }
}

#[test]
fn no_more_threads_run_jobs_at_once_than_there_are_workers_whoever_waits() {
    const HOSTS: usize = 4;
    for workers in 1..4 {
        let (scheduler, health) = (Scheduler::new(workers), device());
        let (inside, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let counted = |pieces| {
            let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
            job(pieces, move |_| {
                most.fetch_max(inside.fetch_add(1, Ordering::AcqRel) + 1, Ordering::AcqRel);
                // As long as it takes others to come too, if any may.
                (0..20).for_each(|_| thread::yield_now());
                inside.fetch_sub(1, Ordering::AcqRel);
                Ok(())
            })
        };
        let shared = stream(scheduler, health);
        let all: [Stream; HOSTS] = [(); HOSTS].map(|()| stream(scheduler, health));
        thread::scope(|scope| {
            for own in &all {
                let (counted, shared) = (&counted, &shared);
                scope.spawn(move || {
                    for round in 0..100 {
                        own.enqueue(counted(1 + round % 7));
                        own.enqueue(counted(1));
                        let common = shared.enqueue(counted(3));
                        if round % 3 == 0 {
                            own.wait_for(&common);
                        }
                        own.synchronize();
                        shared.wait(&common);
                    }
                });
            }
        });
        assert!((1..=workers).contains(&most.load(Ordering::Acquire)), "{workers} workers");
    }
}

#[test]
fn hosts_that_wait_share_one_worker_with_host_functions_that_enqueue() {
    let (scheduler, health) = (Scheduler::new(1), device());
    let done = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (own, other) = (stream(scheduler, health), stream(scheduler, health));
                let (own, other) = (Arc::new(own), Arc::new(other));
                for _ in 0..200 {
                    own.enqueue(job(2, |_| Ok(())));
                    let (next, enqueued) = (Arc::clone(&other), Arc::new(Barrier::new(2)));
                    let begun = Arc::clone(&enqueued);
                    own.enqueue(StreamWork::Host(Box::new(move || {
                        next.enqueue(job(2, |_| Ok(())));
                        begun.wait();
                    })));
                    own.enqueue(job(1, |_| Ok(())));
                    enqueued.wait();
                    other.synchronize();
                    own.synchronize();
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.load(Ordering::Relaxed), 800);
}

#[test]
fn jobs_that_wait_for_each_other_take_turns_in_one_slot() {
    let (scheduler, health) = (Scheduler::new(1), device());
    let streams = [(); 3].map(|()| stream(scheduler, health));
    let turn = Arc::new(AtomicU64::new(0));
    let points = [0, 1, 2].map(|index: usize| {
        let turn = Arc::clone(&turn);
        streams[index].enqueue(job(1, move |_| {
            for round in 0..20 {
                while turn.load(Ordering::Acquire) != 3 * round + index as u64 {
                    yield_slot();
                }
                turn.fetch_add(1, Ordering::AcqRel);
            }
            Ok(())
        }))
    });
    streams[1].wait(&points[1]);
    streams[0].wait(&points[0]);
    streams[2].wait(&points[2]);
    assert_eq!(turn.load(Ordering::Acquire), 60);
}

#[test]
fn a_job_that_gives_way_does_so_to_those_who_rest() {
    let (scheduler, health) = (Scheduler::new(1), device());
    let (waiting, long) = (stream(scheduler, health), stream(scheduler, health));
    let (flag, gone_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (raised, seen) = (Arc::clone(&flag), Arc::clone(&gone_on));
    waiting.enqueue(job(1, move |_| {
        while !flag.load(Ordering::Acquire) {
            yield_slot();
        }
        gone_on.store(true, Ordering::Release);
        Ok(())
    }));
    let point = long.enqueue(job(1000, move |pieces| {
        raised.store(true, Ordering::Release);
        if pieces.start == 0 || seen.load(Ordering::Acquire) { Ok(()) } else { Err(failure()) }
    }));
    while !point.is_complete() {
        thread::yield_now();
    }
    assert_eq!(health.check(), Ok(()));
}

#[test]
fn streams_of_higher_priority_go_first() {
    let (scheduler, health) = (Scheduler::new(1), device());
    let open = |priority| Stream::new(scheduler, health, 0, StreamKind::NonBlocking, priority);
    let (busy, low, high) = (open(0), open(0), open(5));
    let (go, may_go) = channel();
    let may_go = Mutex::new(may_go);
    let (begun, has_begun) = sync_channel(1);
    busy.enqueue(job(1, move |_| {
        begun.send(()).expect("the test waits");
        may_go.lock().expect("no panic").recv().expect("the test goes on");
        Ok(())
    }));
    has_begun.recv().expect("the only worker begins");
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name| {
        let order = Arc::clone(&order);
        job(1, move |_| {
            order.lock().expect("no panic").push(name);
            Ok(())
        })
    };
    let ends = [low.enqueue(note("low")), high.enqueue(note("high"))];
    go.send(()).expect("the job waits");
    while !ends.iter().all(QueuePoint::is_complete) {
        thread::yield_now();
    }
    assert_eq!(*order.lock().expect("no panic"), ["high", "low"]);
}

#[test]
fn the_first_failure_of_a_job_loses_the_device_and_drops_what_is_queued() {
    let (scheduler, lost, other) = (Scheduler::new(2), device(), device());
    let (on_lost, on_other) = (stream(scheduler, lost), stream(scheduler, other));
    on_lost.enqueue(job(1000, |pieces| if pieces.contains(&17) { Err(failure()) } else { Ok(()) }));
    let dropped = on_lost.enqueue(job(1, |_| panic!("it was to be dropped")));
    on_other.wait_for(&dropped);
    on_other.enqueue(job(1, |_| Ok(())));
    on_other.synchronize();
    assert_eq!(lost.check(), Err(CUresult::CUDA_ERROR_LAUNCH_FAILED));
    assert_eq!(lost.text().as_deref(), Some("on purpose"));
    assert_eq!((other.check(), other.text()), (Ok(()), None));
    lost.restore();
    on_lost.enqueue(job(1, |_| Ok(())));
    on_lost.synchronize();
    assert_eq!((lost.check(), lost.text()), (Ok(()), None));
}

#[test]
fn a_panic_in_a_job_loses_the_device_and_no_worker() {
    let (scheduler, health) = (Scheduler::new(1), device());
    let (one, other) = (stream(scheduler, health), stream(scheduler, device()));
    one.enqueue(job(1, |_| panic!("a bug")));
    one.synchronize();
    assert!(health.text().is_some_and(|text| text.contains("a bug")));
    let point = other.enqueue(job(1, |_| Ok(())));
    while !point.is_complete() {
        thread::yield_now();
    }
}

#[test]
fn streams_that_are_dropped_are_forgotten_when_their_work_is_done() {
    let (scheduler, health) = (Scheduler::new(1), device());
    let legacy = Stream::new(scheduler, health, 7, StreamKind::Legacy, 0);
    let mut ends = Vec::new();
    for _ in 0..100 {
        let stream = Stream::new(scheduler, health, 7, StreamKind::Blocking(&legacy), 0);
        ends.push(stream.enqueue(job(1, |_| Ok(()))));
    }
    scheduler.wait_for_owner(7);
    assert!(ends.iter().all(QueuePoint::is_complete) && legacy.is_idle());
}
