//! Events that several threads record and wait for.

use loom::sync::Arc;
use loom::thread;

use crate::in_every_order;
use crate::sync::{AtomicU64, Ordering};
use crate::words::Words;

/// An event: what the driver has, and what the runtime knows of it.
struct Event {
    /// The recording that the driver's event stands for.
    driver: AtomicU64,
    recording: Words<2>,
}

impl Event {
    fn new() -> Arc<Event> {
        Arc::new(Event { driver: AtomicU64::new(0), recording: Words::new() })
    }

    /// Follows `Event::record`.
    fn record(&self, stream: u64) {
        let mut recording = self.recording.lock();
        self.driver.store(stream, Ordering::Relaxed);
        recording.set([stream, 10 * stream]);
    }

    /// Follows `Event::wait`; gives the recording that the driver's wait is for, and what is known of
    /// it.
    fn wait(&self) -> (u64, [u64; 2]) {
        let recording = self.recording.lock();
        (self.driver.load(Ordering::Relaxed), recording.get())
    }
}

// Two threads at a time: of more that look again and again there is no end of orders.

#[test]
fn whoever_waits_for_an_event_knows_which_recording_that_was() {
    in_every_order(|| {
        let event = Event::new();
        let known = |event: &Event| {
            let (awaited, known) = event.wait();
            assert_eq!(known, [awaited, 10 * awaited]);
            awaited
        };
        let other = {
            let event = Arc::clone(&event);
            thread::spawn(move || {
                event.record(1);
                assert_ne!(known(&event), 0);
            })
        };
        known(&event);
        event.record(2);
        other.join().expect("no panic");
        assert_ne!(known(&event), 0);
    });
}

#[test]
fn numbers_that_change_together_are_changed_by_one_thread_at_a_time() {
    in_every_order(|| {
        let words = Arc::new(Words::<2>::new());
        let count = |words: &Words<2>| {
            let mut held = words.lock();
            let [one, other] = held.get();
            assert_eq!(one, other);
            held.set([one + 1, other + 1]);
        };
        let other = {
            let words = Arc::clone(&words);
            thread::spawn(move || (0..2).for_each(|_| count(&words)))
        };
        (0..2).for_each(|_| count(&words));
        other.join().expect("no panic");
        assert_eq!(words.lock().get(), [4, 4]);
    });
}
