//! A source that gives out no more than a limit: the per-process memory fraction, the cap on
//! page-locked memory.

use super::source::KnownVirtualMemory;
use super::{Address, MemorySource, Physical, SourceError, VirtualMemory};

/// Counts what is taken from the source inside, and refuses what would exceed the limit.
///
/// Physical memory counts until it is destroyed; addresses do not count.
#[derive(Debug)]
pub struct Limit<S>(Meter<S>);

/// The limit at work. It is apart so that nobody gets at its virtual memory but where the source
/// has some.
#[derive(Debug)]
struct Meter<S> {
    source: S,
    limit: Option<u64>,
    held: u64,
    /// The page of the source's virtual memory, once somebody has asked for that.
    page_bytes: u64,
}

impl<S> Limit<S> {
    /// Limits a source of which nothing has been taken yet; `None` is no limit.
    pub fn new(source: S, limit: Option<u64>) -> Self {
        Limit(Meter { source, limit, held: 0, page_bytes: 0 })
    }

    /// Changes the limit. What is held beyond a lower one stays held; no more is given until it has
    /// come back.
    pub fn set_limit(&mut self, limit: Option<u64>) {
        self.0.limit = limit;
    }

    /// The limit in force.
    pub fn limit(&self) -> Option<u64> {
        self.0.limit
    }

    /// The bytes taken and not given back.
    pub fn held(&self) -> u64 {
        self.0.held
    }

    /// The source inside.
    pub fn source(&self) -> &S {
        &self.0.source
    }

    /// The source inside. What is taken past the limit is not counted.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.0.source
    }
}

impl<S: MemorySource> MemorySource for Limit<S> {
    type Error = S::Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        self.0.take(bytes, |source| source.allocate(bytes))
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.0.source.release(address, bytes);
        self.0.held -= bytes;
    }

    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemory<Error = S::Error>> {
        self.0.page_bytes = self.0.source.virtual_memory()?.page_bytes();
        Some(&mut self.0)
    }
}

impl<S: MemorySource> Meter<S> {
    fn take<T>(
        &mut self,
        bytes: u64,
        take: impl FnOnce(&mut S) -> Result<T, SourceError<S::Error>>,
    ) -> Result<T, SourceError<S::Error>> {
        if let Some(limit) = self.limit
            && bytes > limit.saturating_sub(self.held)
        {
            return Err(SourceError::LimitReached { limit });
        }
        let taken = take(&mut self.source)?;
        self.held += bytes;
        Ok(taken)
    }
}

impl<S: MemorySource> VirtualMemory for Meter<S> {
    type Error = S::Error;

    fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    fn reserve(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        self.source.known_virtual_memory().reserve(bytes)
    }

    fn unreserve(&mut self, address: Address, bytes: u64) {
        self.source.known_virtual_memory().unreserve(address, bytes);
    }

    fn create(&mut self, bytes: u64) -> Result<Physical, SourceError<S::Error>> {
        self.take(bytes, |source| source.known_virtual_memory().create(bytes))
    }

    fn destroy(&mut self, physical: Physical, bytes: u64) {
        self.source.known_virtual_memory().destroy(physical, bytes);
        self.held -= bytes;
    }

    fn map(
        &mut self,
        address: Address,
        physical: Physical,
        bytes: u64,
    ) -> Result<(), SourceError<S::Error>> {
        self.source.known_virtual_memory().map(address, physical, bytes)
    }

    fn set_access(&mut self, address: Address, bytes: u64) -> Result<(), SourceError<S::Error>> {
        self.source.known_virtual_memory().set_access(address, bytes)
    }

    fn unmap(&mut self, address: Address, bytes: u64) {
        self.source.known_virtual_memory().unmap(address, bytes);
    }
}
