//! Use records that several threads lock together.

use loom::sync::Arc;
use loom::thread;
use smallvec::SmallVec;

use crate::hold::hold;
use crate::in_every_order;
use crate::sync::Mutex;

/// A use that a thread makes of a record.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Read,
    Write,
}

/// The uses of a piece of memory, by the names of threads.
type Record = Mutex<Vec<(char, Use)>>;

#[test]
fn threads_that_use_the_same_memory_in_any_order_never_wait_for_each_other_forever() {
    in_every_order(|| {
        let records: Arc<[Record; 2]> = Arc::new([(); 2].map(|()| Record::new(Vec::new())));
        // One after the other, or the other way round; the second names one twice.
        let programs = [
            ('a', vec![(0, Use::Write), (1, Use::Read)]),
            ('b', vec![(1, Use::Write), (0, Use::Read), (0, Use::Write)]),
        ];
        let threads = programs.map(|(name, operands)| {
            let records = Arc::clone(&records);
            thread::spawn(move || {
                let operands = operands.into_iter();
                let mut held = SmallVec::new();
                let is_strong = |(_, used): &(usize, Use)| *used == Use::Write;
                let made = |operand, record| (operand, record);
                hold(operands, |(at, _)| &records[*at], is_strong, made, &mut held);
                let seen: Vec<usize> = held.iter().map(|(_, record)| record.len()).collect();
                thread::yield_now();
                for ((_, used), record) in held.iter_mut() {
                    record.push((name, *used));
                }
                seen
            })
        });
        let seen = threads.map(|thread| thread.join().expect("no panic"));
        // Whoever came first came first everywhere.
        assert!(seen == [[0, 0], [1, 1]] || seen == [[1, 1], [0, 0]], "{seen:?}");
        let first = records[0].lock();
        assert!(first.iter().all(|(_, used)| *used == Use::Write), "the stronger use counts");
    });
}
