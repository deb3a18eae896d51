//! Work that is split, beside other work, and with panics.

use std::panic::AssertUnwindSafe;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::*;

/// Units of which each is worth a piece.
const LARGE: usize = GRAIN;

/// A crew of some size, whatever the machine has; its threads stay until the process ends. It is
/// remembered, since a crew without threads has nobody else who does, and would count as a leak.
fn crew_of(threads: usize) -> &'static Crew {
    static CREWS: Mutex<Vec<&'static Crew>> = Mutex::new(Vec::new());
    let crew = Crew::start(threads);
    CREWS.lock().push(crew);
    crew
}

#[test]
fn every_unit_is_done_once() {
    for units in [0, 1, 7, 100, 100_000] {
        for cost in [0, 10, LARGE, usize::MAX] {
            let sum = AtomicUsize::new(0);
            split(units, cost, |range| {
                sum.fetch_add(range.map(|unit| unit + 1).sum::<usize>(), Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), (1..=units).sum::<usize>());
        }
    }
}

#[test]
fn rounds_of_many_sizes_follow_each_other_without_loss() {
    for threads in [1, 2, 3, 5, 8] {
        let crew = crew_of(threads);
        for round in 0..2_000 {
            let units = round % 17;
            let done: Vec<_> = (0..units).map(|_| AtomicUsize::new(0)).collect();
            crew.run(units, 1 + round % 3, &|range: Range<usize>| {
                for unit in range {
                    done[unit].fetch_add(1, Ordering::Relaxed);
                }
            });
            assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn several_threads_do_one_piece_of_work() {
    let crew = crew_of(3);
    let all = Barrier::new(3);
    // Nobody gets past the barrier unless all three threads are in the work.
    crew.run(3, 1, &|_: Range<usize>| {
        all.wait();
    });
}

#[test]
fn callers_beside_each_other_and_within_each_other_never_wait() {
    let crew = crew_of(4);
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    crew.run(4, 1, &|_: Range<usize>| {
                        crew.run(4, 1, &|inner: Range<usize>| {
                            sum.fetch_add(inner.len(), Ordering::Relaxed);
                        });
                    });
                }
            });
        }
    });
    // A caller that was alone had its four units as one piece.
    assert_eq!(sum.into_inner() % 4, 0);
}

#[test]
fn work_within_work_is_done_by_its_caller() {
    let crew = crew_of(3);
    crew.run(8, 1, &|_: Range<usize>| {
        let outer = thread::current().id();
        crew.run(8, 1, &|range: Range<usize>| {
            assert_eq!(range, 0..8);
            assert_eq!(thread::current().id(), outer);
        });
    });
}

#[test]
fn a_panic_of_the_work_is_the_callers_and_the_pool_goes_on() {
    let crew = crew_of(3);
    for round in 0..100 {
        let borrowed = [1, 2, 3, 4, 5, 6];
        let seen = AtomicUsize::new(0);
        let panics = || {
            crew.run(6, 1, &|range: Range<usize>| {
                seen.fetch_add(1, Ordering::Relaxed);
                assert_ne!(borrowed[range.start], 1 + round % 6, "as it was");
            });
        };
        let payload = panic_of(panics);
        assert!(payload.contains("as it was"), "{payload}");
        assert!(seen.into_inner() <= 6);
        let sum = AtomicUsize::new(0);
        crew.run(6, 1, &|range: Range<usize>| {
            sum.fetch_add(range.len(), Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), 6);
    }
}

fn panic_of(f: impl FnOnce()) -> String {
    let payload = std::panic::catch_unwind(AssertUnwindSafe(f)).expect_err("it panics");
    *payload.downcast::<String>().expect("a message")
}

#[test]
fn threads_that_sleep_are_woken() {
    let crew = crew_of(2);
    for _ in 0..3 {
        // Longer than helpers look for work.
        thread::sleep(std::time::Duration::from_millis(2));
        let helped = AtomicBool::new(false);
        let caller = thread::current().id();
        crew.run(2, 1, &|_: Range<usize>| {
            if thread::current().id() == caller {
                while !helped.load(Ordering::Relaxed) {
                    thread::yield_now();
                }
            } else {
                helped.store(true, Ordering::Relaxed);
            }
        });
    }
}

#[test]
fn results_come_in_order_and_are_dropped_if_one_panics() {
    assert_eq!(map(100, |index| index.to_string())[99], "99");
    assert_eq!(map(0, |index| index), []);
    let message = panic_of(|| {
        map(10, |index| {
            assert_ne!(index, 5, "not five");
            vec![index; 10]
        });
    });
    assert!(message.contains("not five"), "{message}");
}

#[test]
fn absurd_numbers_of_threads_are_refused() {
    assert_eq!(set_num_threads(0), Err(SetThreadsError::Zero));
    for threads in [usize::MAX, 1 << 60, 1 << 16] {
        assert_eq!(set_num_threads(threads), Err(SetThreadsError::TooMany), "{threads}");
    }
}
