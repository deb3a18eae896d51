//! The last accesses to a granule of memory, and the rule by which two of them are a race.

use std::ops::Range;

use super::record::{AccessClass, AccessRecord, Author};

/// The last accesses to a granule. Reads are kept of two different threads, so that a write is
/// unordered with one of them whenever more than one thread has read at the same time.
///
/// One write is enough: earlier ones to the same bytes happened before it, or the race was found then. For reads that
/// are unordered with each other FastTrack keeps a whole vector clock. Two records instead have the
/// same size for any number of readers; a race with a third reader is still found, as one with
/// either of the two, unless the writer is ordered after both.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) write: AccessRecord,
    pub(crate) reads: [AccessRecord; 2],
}

impl Cell {
    /// Takes note of an access to some bytes of the granule. `is_ordered` tells whether the author
    /// of a record was done before.
    ///
    /// # Errors
    /// The access that this one races with; nothing is noted then.
    pub(crate) fn access(
        &mut self,
        author: &Author,
        bytes: u16,
        is_ordered: &mut impl FnMut(AccessRecord) -> bool,
    ) -> Result<(), AccessRecord> {
        if races(self.write, author, bytes, is_ordered) {
            return Err(self.write);
        }
        if !author.kind.writes() {
            let record = AccessRecord::new(*author, bytes);
            self.note_read(record, author);
            return Ok(());
        }
        for read in &mut self.reads {
            if races(*read, author, bytes, is_ordered) {
                return Err(*read);
            }
            // Whoever is ordered with this write is ordered with the read too.
            if read.bytes() & !bytes == 0 {
                *read = AccessRecord::default();
            }
        }
        self.write = AccessRecord::new(*author, bytes);
        Ok(())
    }

    fn note_read(&mut self, record: AccessRecord, author: &Author) {
        let [first, second] = &mut self.reads;
        if first.is_none() || first.is_by(author) {
            *first = record;
        } else if first.operation() != author.operation && second.is_none() {
            // An earlier operation's read makes room, but is kept as long as there is some.
            *second = *first;
            *first = record;
        } else {
            *second = record;
        }
    }

    /// Looks for a race as [`access`](Cell::access) does, without taking note of the access.
    pub(crate) fn look(
        &self,
        kind: AccessClass,
        is_ordered: &mut impl FnMut(AccessRecord) -> bool,
    ) -> Result<(), AccessRecord> {
        let records = [self.write, self.reads[0], self.reads[1]];
        let mut races =
            |record: &AccessRecord| record.conflicts(kind, u16::MAX) && !is_ordered(*record);
        records.into_iter().find(|record| races(record)).map_or(Ok(()), Err)
    }
}

/// The bytes of the granule beginning at `start` that lie in a range, as a mask.
pub(crate) fn touched(start: u64, granule: u64, range: &Range<u64>) -> u16 {
    let first = range.start.saturating_sub(start).min(granule);
    let end = (range.end - start).min(granule);
    ((1_u32 << end) - (1 << first)) as u16
}

/// Whether an access to some bytes races with that of a record. It is asked for each access of a kernel.
#[inline(always)]
fn races(
    record: AccessRecord,
    author: &Author,
    bytes: u16,
    is_ordered: &mut impl FnMut(AccessRecord) -> bool,
) -> bool {
    record.conflicts(author.kind, bytes) && !record.is_by(author) && !is_ordered(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn author(kind: AccessClass, thread: u32) -> Author {
        Author { kind, operation: 1, block: 0, thread, clock: 1, line: thread }
    }

    fn unordered(_: AccessRecord) -> bool {
        false
    }

    #[test]
    fn a_write_races_with_one_of_several_readers_also_if_the_last_one_is_itself() {
        let mut cell = Cell::default();
        for thread in [1, 2, 3] {
            assert_eq!(cell.access(&author(AccessClass::Read, thread), 1, &mut unordered), Ok(()));
        }
        assert!(cell.access(&author(AccessClass::Write, 3), 1, &mut unordered).is_err());
        assert!(cell.access(&author(AccessClass::Write, 1), 1, &mut unordered).is_err());
    }

    #[test]
    fn threads_that_write_different_bytes_do_not_race() {
        let mut cell = Cell::default();
        for thread in 0..4 {
            let bytes = 1 << thread;
            assert_eq!(
                cell.access(&author(AccessClass::Write, thread), bytes, &mut unordered),
                Ok(())
            );
        }
        let last = cell.write;
        assert_eq!(cell.access(&author(AccessClass::Read, 0), 8, &mut unordered), Err(last));
    }

    #[test]
    fn what_is_ordered_is_no_race() {
        let mut cell = Cell::default();
        let mut ordered = |_| true;
        assert_eq!(cell.access(&author(AccessClass::Read, 1), 1, &mut ordered), Ok(()));
        assert_eq!(cell.access(&author(AccessClass::Write, 2), 1, &mut ordered), Ok(()));
        assert_eq!(cell.reads, [AccessRecord::default(); 2]);
        assert_eq!(
            cell.access(&author(AccessClass::Atomic, 3), 1, &mut unordered),
            Err(cell.write)
        );
    }
}
