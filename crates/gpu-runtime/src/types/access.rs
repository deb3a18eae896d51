//! Accesses of work to memory.

use super::DevicePtr;

/// The kind of an access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// It reads only.
    Read,
    /// It writes, and may read.
    Write,
}

/// A range of memory that work accesses. Addresses are unique: no two devices, nor a device and the
/// host, have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryAccess {
    /// The first address.
    pub start: u64,
    /// The size, in bytes.
    pub bytes: usize,
    /// The kind of access.
    pub access: Access,
}

impl MemoryAccess {
    /// A read of so many bytes.
    pub const fn read(start: DevicePtr, bytes: usize) -> MemoryAccess {
        MemoryAccess { start: start.address(), bytes, access: Access::Read }
    }

    /// A write of so many bytes.
    pub const fn write(start: DevicePtr, bytes: usize) -> MemoryAccess {
        MemoryAccess { start: start.address(), bytes, access: Access::Write }
    }
}
