//! A source that gives out no more than a limit: the per-process memory fraction, the cap on
//! page-locked memory.

use super::{Address, MemorySource, SourceError};

/// Counts what is taken from the source inside, and refuses what would exceed the limit.
#[derive(Debug)]
pub struct Limit<S> {
    source: S,
    limit: Option<u64>,
    held: u64,
}

impl<S> Limit<S> {
    /// Limits a source of which nothing has been taken yet; `None` is no limit.
    pub fn new(source: S, limit: Option<u64>) -> Self {
        Limit { source, limit, held: 0 }
    }

    /// Changes the limit. What is held beyond a lower one stays held; no more is given until it has
    /// come back.
    pub fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit;
    }

    /// The limit in force.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The bytes taken and not given back.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// The source inside.
    pub fn source(&self) -> &S {
        &self.source
    }
}

impl<S: MemorySource> MemorySource for Limit<S> {
    type Error = S::Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        if let Some(limit) = self.limit
            && bytes > limit.saturating_sub(self.held)
        {
            return Err(SourceError::LimitReached { limit });
        }
        let address = self.source.allocate(bytes)?;
        self.held += bytes;
        Ok(address)
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.source.release(address, bytes);
        self.held -= bytes;
    }
}
