//! Accesses to memory, as native code describes them to the functions that check them.

use std::fmt;

/// The kinds of memory accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads and writes it in one step.
    Atomic,
}

impl AccessKind {
    /// The kind in words, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic operation",
        }
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An access of one thread: its size, and what it means to other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessInfo {
    /// The size in bytes.
    pub bytes: u32,
    /// The kind of access.
    pub access: AccessKind,
    /// Whether it is `.volatile`, `.relaxed` or stronger; atomic operations always are.
    pub strong: bool,
    /// Whether it has release semantics of its own.
    pub releases: bool,
    /// Whether it belongs to an asynchronous copy, which the thread has to wait for.
    pub asynchronous: bool,
}

const STRONG: u32 = 1 << 2;
const RELEASES: u32 = 1 << 3;
const HAS_VALUE: u32 = 1 << 4;
const ASYNCHRONOUS: u32 = 1 << 5;
const BYTES: u32 = 8;

impl AccessInfo {
    /// An access that orders nothing.
    #[must_use]
    pub const fn weak(access: AccessKind, bytes: u32) -> AccessInfo {
        AccessInfo { bytes, access, strong: false, releases: false, asynchronous: false }
    }

    /// An atomic operation.
    #[must_use]
    pub const fn atomic(bytes: u32) -> AccessInfo {
        AccessInfo { strong: true, ..AccessInfo::weak(AccessKind::Atomic, bytes) }
    }

    /// The access as one number, which native code hands to [`Helper::Check`](super::Helper);
    /// `has_value` if it hands over too what is written.
    pub(crate) fn packed(self, has_value: bool) -> u32 {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        self.bytes << BYTES
            | self.access as u32
            | flag(self.strong, STRONG)
            | flag(self.releases, RELEASES)
            | flag(self.asynchronous, ASYNCHRONOUS)
            | flag(has_value, HAS_VALUE)
    }

    /// The access that was packed, and whether a value comes with it.
    pub(crate) fn unpacked(packed: u32) -> (AccessInfo, bool) {
        let access = match packed & 3 {
            0 => AccessKind::Read,
            1 => AccessKind::Write,
            _ => AccessKind::Atomic,
        };
        let has = |bit: u32| packed & bit != 0;
        let (strong, releases) = (has(STRONG), has(RELEASES));
        let (bytes, asynchronous) = (packed >> BYTES, has(ASYNCHRONOUS));
        (AccessInfo { bytes, access, strong, releases, asynchronous }, has(HAS_VALUE))
    }
}

/// The checks that native code makes before it touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckLevel {
    /// Accesses inside the device's own address range pass unchecked; the
    /// [`MemoryView`](crate::MemoryView) is asked about all others.
    Window,
    /// Every access is checked, and a [`BlockChecker`](crate::BlockChecker) is told of it.
    Full,
}
