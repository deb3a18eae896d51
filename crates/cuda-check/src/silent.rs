//! Writes that change nothing: who makes them races with nobody in the launch.
//!
//! A write is looked at before it is made. So where two blocks write the same value at the same time,
//! the second may meet the record of the first, and the old value in memory: what is about to be
//! written counts as written.

use std::sync::Arc;

use parking_lot::Mutex;
use ptx_jit::{AccessInfo, AccessKind, trap};

use super::record::AccessRecord;

/// The weak write of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlainWrite {
    address: u64,
    bytes: u32,
    value: u64,
}

impl PlainWrite {
    /// The access, if it is one.
    pub(crate) fn of(address: u64, access: AccessInfo, value: Option<u64>) -> Option<PlainWrite> {
        let value = value.filter(|_| access.access == AccessKind::Write && !access.strong)?;
        Some(PlainWrite { address, bytes: access.bytes, value })
    }

    /// Whether it would write what is there.
    pub(crate) fn changes_nothing(self) -> bool {
        let bytes = self.value.to_le_bytes();
        let is_there = |(index, byte): (usize, &u8)| {
            let place = std::ptr::with_exposed_provenance::<u8>(self.address as usize + index);
            // SAFETY: the access has been found to lie in memory that the thread may touch, which
            // the attempt looks at once more; others may write it meanwhile, so it is volatile.
            *byte == unsafe { place.read_volatile() }
        };
        let all = || bytes.iter().take(self.bytes as usize).enumerate().all(is_there);
        // SAFETY: what is called has nothing to drop, and takes no lock.
        let found = unsafe { trap::attempt(all) };
        found == Ok(true)
    }
}

/// The last plain write of each thread of the host that runs blocks of a launch. The others are in
/// memory: a thread has made its write when it comes to the next one.
#[derive(Default)]
pub(crate) struct LastWrites {
    writers: Mutex<Vec<Arc<Writer>>>,
}

/// The place for the last plain write of one thread of the host.
#[derive(Default)]
pub(crate) struct Writer {
    last: Mutex<Option<LastWrite>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct LastWrite {
    block: u32,
    thread: u32,
    write: PlainWrite,
}

impl LastWrites {
    /// Adds a thread of the host that runs blocks.
    pub(crate) fn join(&self) -> Arc<Writer> {
        let writer = Arc::new(Writer::default());
        let mut writers = self.writers.lock();
        // What others wrote who are done is in memory.
        writers.retain(|other| Arc::strong_count(other) > 1);
        writers.push(Arc::clone(&writer));
        writer
    }

    /// Whether the author of a record is about to write the same.
    pub(crate) fn repeats(&self, write: PlainWrite, record: AccessRecord) -> bool {
        let same = LastWrite { block: record.block(), thread: record.thread(), write };
        self.writers.lock().iter().any(|writer| *writer.last.lock() == Some(same))
    }
}

impl Writer {
    /// A thread of a block is about to make a write, of which there is no record yet.
    pub(crate) fn note(&self, block: u32, thread: u32, write: PlainWrite) {
        *self.last.lock() = Some(LastWrite { block, thread, write });
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{AccessClass, Author};
    use super::*;

    #[test]
    fn a_write_that_is_about_to_be_made_counts_until_its_thread_makes_the_next() {
        let access = AccessInfo::weak(AccessKind::Write, 4);
        let write = |value| PlainWrite::of(0x1000, access, Some(value)).expect("it is plain");
        let record = |thread| {
            let (kind, operation, block) = (AccessClass::Write, 1, 2);
            AccessRecord::new(Author { kind, operation, block, thread, clock: 1, line: 1 }, 0xf)
        };
        let writes = LastWrites::default();
        let writer = writes.join();
        writer.note(2, 3, write(7));
        assert!(writes.repeats(write(7), record(3)));
        assert!(!writes.repeats(write(8), record(3)), "another value");
        assert!(!writes.repeats(write(7), record(4)), "another author");
        writer.note(2, 3, write(8));
        assert!(!writes.repeats(write(7), record(3)), "that one has been made");
    }

    #[test]
    fn strong_writes_and_those_of_several_values_are_not_plain() {
        let access = AccessInfo { strong: true, ..AccessInfo::weak(AccessKind::Write, 4) };
        assert_eq!(PlainWrite::of(0, access, Some(1)), None);
        assert_eq!(PlainWrite::of(0, AccessInfo { strong: false, ..access }, None), None);
    }
}
