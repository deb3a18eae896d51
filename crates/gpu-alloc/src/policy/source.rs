//! Where a policy gets its memory from.

use super::Address;

/// Memory in large pieces: a driver, a model of one in a test, or a wrapper around another source.
pub trait MemorySource {
    /// What can go wrong besides a lack of memory.
    type Error;

    /// Provides `bytes` of memory that overlaps nothing it has provided and not got back.
    ///
    /// # Errors
    /// See [`SourceError`]. Nothing is taken then.
    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>>;

    /// Takes back what [`allocate`](Self::allocate) gave, whole, with the size that was asked for
    /// then.
    fn release(&mut self, address: Address, bytes: u64);
}

/// Why a source gave no memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceError<E> {
    /// It has not that much left.
    Exhausted,
    /// It has, perhaps, but more than `limit` bytes in all may not be taken.
    LimitReached {
        /// The bytes that may be taken from the source at any one time.
        limit: u64,
    },
    /// It is broken; asking again is of no use.
    Failed(E),
}
