//! What a stream notes of its newest work.

use loom::sync::Arc;
use loom::thread;

use crate::in_every_order;
use crate::newest::Newest;
use crate::sync::{AtomicU64, Ordering};

/// A stream's count of its work, and its notes, of which there is room for two.
#[derive(Clone)]
struct Line {
    count: Arc<AtomicU64>,
    newest: Arc<Newest<2>>,
}

impl Line {
    fn new() -> Line {
        Line { count: Arc::new(AtomicU64::new(0)), newest: Arc::new(Newest::new()) }
    }

    /// Counts and notes a piece of work.
    fn enqueue(&self) {
        let number = self.count.fetch_add(1, Ordering::AcqRel) + 1;
        self.newest.note(number, 100 + number);
    }

    /// The notes of all numbers that were given out, of which there are no more than five.
    fn notes(&self) -> Vec<(u64, u64)> {
        let noted = |number| self.newest.get(number).map(|note| (number, note));
        (1..=5).filter_map(noted).collect()
    }
}

#[test]
fn what_is_read_of_a_number_was_noted_for_it() {
    in_every_order(|| {
        let line = Line::new();
        let others = [(); 2].map(|()| {
            let line = line.clone();
            thread::spawn(move || (0..2).for_each(|_| line.enqueue()))
        });
        let is_right = |&(number, note): &(u64, u64)| note == 100 + number;
        assert!(line.notes().iter().all(is_right));
        others.into_iter().for_each(|other| other.join().expect("no panic"));
        let left = line.notes();
        assert!(left.iter().all(is_right));
        assert_eq!(left.len(), 2, "each place has the note of one number");
    });
}

#[test]
fn the_newest_of_one_thread_are_all_there() {
    in_every_order(|| {
        let line = Line::new();
        let other = line.clone();
        let writer = thread::spawn(move || (0..5).for_each(|_| other.enqueue()));
        assert!(line.notes().is_sorted(), "whatever is noted meanwhile");
        writer.join().expect("no panic");
        assert_eq!(line.notes(), [(4, 104), (5, 105)]);
    });
}

#[test]
fn who_sees_a_number_given_out_by_a_thread_that_is_done_sees_its_note() {
    in_every_order(|| {
        let line = Line::new();
        let other = line.clone();
        let writer = thread::spawn(move || other.enqueue());
        line.enqueue();
        writer.join().expect("no panic");
        assert_eq!(line.notes(), [(1, 101), (2, 102)]);
    });
}
