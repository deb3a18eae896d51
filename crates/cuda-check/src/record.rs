//! What memory remembers of an access: who made it, and when.

use ptx_jit::{AccessInfo, AccessKind};

/// The class of an access, which decides with which others it conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum AccessClass {
    Read = 1,
    Write = 2,
    /// A read that is `.volatile`, `.relaxed` or stronger.
    StrongRead = 3,
    StrongWrite = 4,
    Atomic = 5,
    /// A read by a copy.
    BulkRead = 6,
    /// A write by a copy or a fill.
    BulkWrite = 7,
}

/// The classes that write, as a set of bits.
const WRITES: u16 = AccessClass::Write.bit()
    | AccessClass::StrongWrite.bit()
    | AccessClass::Atomic.bit()
    | AccessClass::BulkWrite.bit();

/// The classes that are strong.
const STRONG: u16 =
    AccessClass::StrongRead.bit() | AccessClass::StrongWrite.bit() | AccessClass::Atomic.bit();

impl AccessClass {
    const fn bit(self) -> u16 {
        1 << self as u8
    }

    /// The kind of a thread's access.
    pub(crate) fn of(access: AccessInfo) -> AccessClass {
        match (access.access, access.strong) {
            (AccessKind::Atomic, _) => AccessClass::Atomic,
            (AccessKind::Read, false) => AccessClass::Read,
            (AccessKind::Read, true) => AccessClass::StrongRead,
            (AccessKind::Write, false) => AccessClass::Write,
            (AccessKind::Write, true) => AccessClass::StrongWrite,
        }
    }

    /// The effect of the class's accesses on the memory.
    pub(crate) fn kind(self) -> AccessKind {
        match self {
            AccessClass::Read | AccessClass::StrongRead | AccessClass::BulkRead => AccessKind::Read,
            AccessClass::Write | AccessClass::StrongWrite | AccessClass::BulkWrite => {
                AccessKind::Write
            }
            AccessClass::Atomic => AccessKind::Atomic,
        }
    }

    pub(crate) fn writes(self) -> bool {
        WRITES >> self as u8 & 1 != 0
    }

    /// Whether two threads may do so at the same time: strong operations of the same scope are not
    /// a data race with each other (PTX ISA, memory consistency model, "Data races").
    pub(crate) fn is_strong(self) -> bool {
        STRONG >> self as u8 & 1 != 0
    }

    fn from_bits(bits: u64) -> Option<AccessClass> {
        Some(match bits {
            1 => AccessClass::Read,
            2 => AccessClass::Write,
            3 => AccessClass::StrongRead,
            4 => AccessClass::StrongWrite,
            5 => AccessClass::Atomic,
            6 => AccessClass::BulkRead,
            7 => AccessClass::BulkWrite,
            _ => return None,
        })
    }
}

/// An access in 16 bytes: an epoch in the sense of FastTrack (Flanagan and Freund, "FastTrack:
/// Efficient and Precise Dynamic Race Detection", PLDI 2009), with what a report needs besides. All
/// zero: none.
///
/// An epoch is a thread and its clock at the access. Whether the access happened before another one
/// is a single comparison, with the other thread's vector clock at that thread: memory need not keep
/// a vector clock for each access, as long as it keeps the last accesses only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessRecord {
    /// Block (32 bits), operation (28), kind (4).
    high: u64,
    /// Bytes of the granule (16 bits), line (18), clock (20), thread (10).
    low: u64,
}

/// Operations are told apart by so many bits of their numbers.
pub(crate) const ID_BITS: u32 = 28;

const LINE_BITS: u32 = 18;
const CLOCK_BITS: u32 = 20;
const THREAD_BITS: u32 = 10;

/// The last clock of a thread that can be told from others.
pub(crate) const LAST_CLOCK: u32 = (1 << CLOCK_BITS) - 1;

/// The parts of a record but for the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author {
    pub(crate) kind: AccessClass,
    /// The low bits of the operation's number.
    pub(crate) operation: u32,
    pub(crate) block: u32,
    pub(crate) thread: u32,
    pub(crate) clock: u32,
    pub(crate) line: u32,
}

impl AccessRecord {
    pub(crate) fn new(author: Author, bytes: u16) -> AccessRecord {
        let Author { kind, operation, block, thread, clock, line } = author;
        let line = u64::from(line).min((1 << LINE_BITS) - 1);
        AccessRecord {
            high: u64::from(block) | u64::from(operation) << 32 | (kind as u64) << 60,
            low: u64::from(thread)
                | u64::from(clock.min(LAST_CLOCK)) << THREAD_BITS
                | line << (THREAD_BITS + CLOCK_BITS)
                | u64::from(bytes) << (THREAD_BITS + CLOCK_BITS + LINE_BITS),
        }
    }

    pub(crate) fn class(self) -> Option<AccessClass> {
        AccessClass::from_bits(self.high >> 60)
    }

    /// Whether its class is in a set of them.
    fn is_in(self, classes: u16) -> bool {
        classes >> (self.high >> 60) & 1 != 0
    }

    pub(crate) fn is_none(self) -> bool {
        self.high >> 60 == 0
    }

    pub(crate) fn operation(self) -> u32 {
        (self.high >> 32) as u32 & ((1 << ID_BITS) - 1)
    }

    pub(crate) fn block(self) -> u32 {
        self.high as u32
    }

    pub(crate) fn thread(self) -> u32 {
        self.low as u32 & ((1 << THREAD_BITS) - 1)
    }

    pub(crate) fn clock(self) -> u32 {
        (self.low >> THREAD_BITS) as u32 & LAST_CLOCK
    }

    /// The line of the instruction in the PTX text; 0 for copies and fills.
    pub(crate) fn line(self) -> u32 {
        (self.low >> (THREAD_BITS + CLOCK_BITS)) as u32 & ((1 << LINE_BITS) - 1)
    }

    /// The bytes of the granule that were accessed, as a mask.
    pub(crate) fn bytes(self) -> u16 {
        (self.low >> (THREAD_BITS + CLOCK_BITS + LINE_BITS)) as u16
    }

    /// Whether the same thread of the same operation made both accesses.
    pub(crate) fn is_by(self, author: &Author) -> bool {
        self.operation() == author.operation
            && self.block() == author.block
            && self.thread() == author.thread
    }

    /// Whether two accesses would be a race if nothing orders them.
    pub(crate) fn conflicts(self, kind: AccessClass, bytes: u16) -> bool {
        // No record has no bytes.
        self.bytes() & bytes != 0
            && (kind.writes() || self.is_in(WRITES))
            && !(kind.is_strong() && self.is_in(STRONG))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_back_what_it_was_made_from() {
        let author = Author {
            kind: AccessClass::Atomic,
            operation: (1 << 28) - 1,
            block: u32::MAX,
            thread: 1023,
            clock: LAST_CLOCK,
            line: 262_143,
        };
        let record = AccessRecord::new(author, 0xf00f);
        assert_eq!(
            (record.class(), record.operation()),
            (Some(AccessClass::Atomic), (1 << 28) - 1)
        );
        assert_eq!((record.block(), record.thread()), (u32::MAX, 1023));
        assert_eq!((record.clock(), record.line()), (LAST_CLOCK, 262_143));
        assert_eq!(record.bytes(), 0xf00f);
        assert!(record.is_by(&author) && !record.is_none() && AccessRecord::default().is_none());
    }

    #[test]
    fn two_accesses_conflict_where_one_writes_and_not_both_are_strong() {
        let record = |kind| {
            let author = Author { kind, operation: 1, block: 0, thread: 0, clock: 1, line: 1 };
            AccessRecord::new(author, 0b11)
        };
        assert!(record(AccessClass::Read).conflicts(AccessClass::Write, 1));
        assert!(!record(AccessClass::Read).conflicts(AccessClass::Read, 1));
        assert!(!record(AccessClass::Write).conflicts(AccessClass::Write, 0b100));
        assert!(!record(AccessClass::Atomic).conflicts(AccessClass::StrongRead, 1));
        assert!(record(AccessClass::Atomic).conflicts(AccessClass::Read, 1));
        assert!(!AccessRecord::default().conflicts(AccessClass::Write, 1));
    }
}
