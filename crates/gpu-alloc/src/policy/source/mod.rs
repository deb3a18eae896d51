//! Sources of memory, which policies take it from, and adaptors around them.

mod adapted;
mod call;
mod counts;
mod denial;
mod limit;
mod log;
mod on_refusal;
mod trusted;

pub use self::adapted::{Adapted, Adaptor};
pub use self::call::SourceCall;
pub use self::counts::SourceCounts;
pub(super) use self::denial::Unable;
pub use self::denial::{Refusal, RequestKind, SourceDenial};
pub use self::limit::{Limit, Limiting};
pub use self::log::{Log, Logging};
pub use self::on_refusal::OnRefusal;
pub(crate) use self::trusted::Sealed as SealedSource;
pub use self::trusted::TrustedSource;
use super::Address;

/// Memory in large pieces: a driver, a model of one in a test, or an adaptor around another source.
///
/// Policies rely on what is said here of the memory that a source provides, and on addresses that do
/// not wrap around. Over a source that breaks its word they may panic, or hand out one range twice.
pub trait MemorySource {
    /// The error for all that can go wrong besides a lack of memory.
    type Error;

    /// Provides `bytes` of memory that overlaps nothing it has provided and not got back.
    ///
    /// # Errors
    /// See [`SourceError`]. Nothing is taken then.
    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>>;

    /// Takes back what [`allocate`](Self::allocate) gave, whole, with the size that was asked for
    /// then.
    fn release(&mut self, address: Address, bytes: u64);

    /// Whether so many bytes in all could ever be taken from it at one time, as far as it knows: a
    /// policy asks before it takes memory for a request that would need so much, and gives none back
    /// for one that cannot be served. It is always right to say that they could.
    ///
    /// # Errors
    /// Why not.
    fn could_hold(&mut self, bytes: u64) -> Result<(), Refusal> {
        let _ = bytes;
        Ok(())
    }

    /// Its addresses and its memory apart, where it can provide them so: always, or never.
    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = Self::Error>> {
        None
    }
}

impl<S: MemorySource + ?Sized> MemorySource for Box<S> {
    type Error = S::Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        (**self).allocate(bytes)
    }

    fn release(&mut self, address: Address, bytes: u64) {
        (**self).release(address, bytes);
    }

    fn could_hold(&mut self, bytes: u64) -> Result<(), Refusal> {
        (**self).could_hold(bytes)
    }

    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = S::Error>> {
        (**self).virtual_memory()
    }
}

/// Addresses and physical memory, to be put together by whoever takes them.
///
/// The rules are the driver's. Sizes and addresses are multiples of a page. A mapping shows the
/// whole of a piece of physical memory, and goes as a whole; one piece may be mapped at several
/// addresses. What is mapped can be used once access was set. To unmap is right only when no work
/// uses the addresses any more, and whoever does it must know: the source does not wait.
pub trait VirtualMemorySource {
    /// The error for all that can go wrong besides a lack of memory.
    type Error;

    /// The bytes of a page.
    fn page_bytes(&self) -> u64;

    /// Reserves a range of addresses, which takes no memory.
    ///
    /// # Errors
    /// See [`SourceError`]. Nothing is taken then.
    fn reserve(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>>;

    /// Takes a whole reserved range back, in which nothing is mapped.
    fn unreserve(&mut self, address: Address, bytes: u64);

    /// Provides physical memory.
    ///
    /// # Errors
    /// See [`SourceError`]. Nothing is taken then.
    fn create(&mut self, bytes: u64) -> Result<Physical, SourceError<Self::Error>>;

    /// Takes physical memory back, with the size that was asked for then. It is free once nothing
    /// maps it.
    fn destroy(&mut self, physical: Physical, bytes: u64);

    /// Shows `physical`, which has `bytes`, at reserved addresses where nothing is mapped.
    ///
    /// # Errors
    /// See [`SourceError`]. Nothing is mapped then.
    fn map(
        &mut self,
        address: Address,
        physical: Physical,
        bytes: u64,
    ) -> Result<(), SourceError<Self::Error>>;

    /// Makes a range usable that is mapped throughout.
    ///
    /// # Errors
    /// See [`SourceError`]. The range stays mapped.
    fn set_access(&mut self, address: Address, bytes: u64) -> Result<(), SourceError<Self::Error>>;

    /// Ends all mappings of a range, which holds each of them as a whole.
    fn unmap(&mut self, address: Address, bytes: u64);
}

/// Access to the virtual memory of a source that is known to have some.
pub(super) trait KnownVirtualMemory: MemorySource {
    /// The virtual memory of a source that was seen to have some.
    fn known_virtual_memory(&mut self) -> &mut dyn VirtualMemorySource<Error = Self::Error> {
        self.virtual_memory().expect("a source has virtual memory always or never")
    }
}

impl<S: MemorySource> KnownVirtualMemory for S {}

/// The name of a piece of physical memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Physical(pub u64);

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

impl<E> From<Refusal> for SourceError<E> {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Exhausted => SourceError::Exhausted,
            Refusal::Limit(limit) => SourceError::LimitReached { limit },
        }
    }
}
