//! Memory as the work that uses it names it.

use crate::types::{Access, DevicePtr, MemoryAccess};
use crate::uses::Uses;

/// A piece of memory that work uses, as [`ordered`](crate::ordered) is told of it.
#[derive(Debug, Clone, Copy)]
pub struct MemoryUse<'a> {
    pub(super) uses: &'a Uses,
    pub(super) access: Access,
    /// The address and the size, if they are known.
    range: Option<(DevicePtr, usize)>,
    /// Whether it is a graph that fills it, which others may not use before.
    pub(super) is_filled: bool,
}

impl<'a> MemoryUse<'a> {
    /// Memory that is read, or written, somewhere.
    pub const fn new(uses: &'a Uses, access: Access) -> MemoryUse<'a> {
        MemoryUse { uses, access, range: None, is_filled: false }
    }

    /// The same, of which only this range is accessed. It changes nothing about the order;
    /// [`Observer`](crate::Observer)s are told of it.
    pub const fn over(self, start: DevicePtr, bytes: usize) -> MemoryUse<'a> {
        MemoryUse { range: Some((start, bytes)), ..self }
    }

    /// The same, where the work is a launch of the graph that fills the memory.
    pub(crate) const fn filled(self) -> MemoryUse<'a> {
        MemoryUse { is_filled: true, ..self }
    }

    pub(super) fn memory(&self) -> Option<MemoryAccess> {
        let (start, bytes) = self.range?;
        Some(MemoryAccess { start: start.address(), bytes, access: self.access })
    }
}

impl<'a> From<(&'a Uses, Access)> for MemoryUse<'a> {
    fn from((uses, access): (&'a Uses, Access)) -> MemoryUse<'a> {
        MemoryUse::new(uses, access)
    }
}
