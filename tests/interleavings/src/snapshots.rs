//! Host memory of tensors: snapshots that are read while others write, and guards that writers respect.

use std::panic::Location;

use loom::cell::Cell;
use loom::sync::{Arc, RwLock};
use loom::thread;

use crate::gate::HostGate;
use crate::in_every_order;
use crate::owners::Owners;

/// A block of memory, which loom watches: who reads while another thread writes makes the test fail.
struct Block {
    owners: Owners,
    bytes: Cell<u64>,
}

impl Block {
    fn new(bytes: u64) -> Arc<Block> {
        Arc::new(Block { owners: Owners::one(), bytes: Cell::new(bytes) })
    }

    fn read(&self) -> u64 {
        self.bytes.get()
    }

    fn add(&self, number: u64) {
        self.bytes.set(self.bytes.get() + number);
    }

    /// Leaves; the last owner must be alone with the memory.
    fn leave(&self) {
        if self.owners.leave() {
            self.add(0);
        }
    }
}

/// A storage on the heap, reduced to its lock.
struct Heap(RwLock<Arc<Block>>);

impl Heap {
    fn new(bytes: u64) -> Arc<Heap> {
        Arc::new(Heap(RwLock::new(Block::new(bytes))))
    }

    fn snapshot(&self) -> Arc<Block> {
        let block = self.0.read().expect("no panic");
        block.owners.join();
        Arc::clone(&block)
    }

    fn add(&self, number: u64) {
        let mut block = self.0.write().expect("no panic");
        if !block.owners.is_sole() {
            let copy = Block::new(block.read());
            block.leave();
            *block = copy;
        }
        block.add(number);
    }
}

#[test]
fn a_snapshot_does_not_change_and_no_write_is_lost() {
    in_every_order(|| {
        let heap = Heap::new(0);
        let threads = [1, 10].map(|number| {
            let heap = Arc::clone(&heap);
            thread::spawn(move || {
                let snapshot = heap.snapshot();
                let before = snapshot.read();
                heap.add(number);
                assert_eq!(snapshot.read(), before);
                snapshot.leave();
            })
        });
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let last = heap.snapshot();
        assert_eq!(last.read(), 11);
    });
}

#[test]
fn a_writer_that_finds_the_guard_gone_writes_in_place_after_all_that_it_read() {
    in_every_order(|| {
        let heap = Heap::new(0);
        let snapshot = heap.snapshot();
        let reader = thread::spawn(move || {
            assert_eq!(snapshot.read(), 0);
            snapshot.leave();
        });
        heap.add(1);
        heap.add(1);
        assert_eq!(heap.snapshot().read(), 2);
        reader.join().expect("no panic");
    });
}

/// Page-locked memory: it stays where it is.
struct Pinned {
    gate: HostGate,
    bytes: Cell<u64>,
}

impl Pinned {
    fn read(&self) -> u64 {
        self.bytes.get()
    }

    /// Whether a number was added, or refused for a guard's sake.
    fn try_add(&self, number: u64) -> bool {
        let Ok(_alone) = self.gate.enter_to_write() else { return false };
        self.bytes.set(self.bytes.get() + number);
        true
    }
}

#[test]
fn nobody_writes_under_a_guard_and_nobody_is_refused_for_what_the_library_reads() {
    in_every_order(|| {
        let memory = Arc::new(Pinned { gate: HostGate::new(), bytes: Cell::new(0) });
        let writer = {
            let memory = Arc::clone(&memory);
            thread::spawn(move || u64::from(memory.try_add(1)))
        };
        let place = Location::caller();
        memory.gate.note_guard(place);
        let seen = memory.read();
        assert!(!memory.try_add(10), "the guard is this thread's own");
        assert_eq!(memory.read(), seen);
        memory.gate.forget_guard(place);
        {
            let _inside = memory.gate.enter_to_read();
            memory.read();
        }
        let written = writer.join().expect("no panic");
        assert!(memory.try_add(10));
        assert_eq!(memory.read(), 10 + written);
    });
}

#[test]
fn a_writer_waits_for_what_the_library_reads() {
    in_every_order(|| {
        let memory = Arc::new(Pinned { gate: HostGate::new(), bytes: Cell::new(0) });
        let reader = {
            let memory = Arc::clone(&memory);
            thread::spawn(move || {
                let _inside = memory.gate.enter_to_read();
                let seen = memory.read();
                thread::yield_now();
                assert_eq!(memory.read(), seen);
            })
        };
        assert!(memory.try_add(1), "there is no guard");
        reader.join().expect("no panic");
    });
}
