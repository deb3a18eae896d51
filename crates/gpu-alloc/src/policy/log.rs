//! A source that remembers what was asked of it, for tests and replays.

use super::{Address, MemorySource, SourceError};

/// Writes down every call to the source inside.
#[derive(Debug)]
pub struct Log<S> {
    source: S,
    calls: Vec<SourceCall>,
}

/// One call to a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceCall {
    /// Memory was asked for, and given.
    Allocated {
        /// Where it begins.
        address: Address,
        /// Its size.
        bytes: u64,
    },
    /// Memory was asked for, and refused.
    Refused {
        /// The size that was asked for.
        bytes: u64,
    },
    /// Memory was given back.
    Released {
        /// Where it began.
        address: Address,
        /// Its size.
        bytes: u64,
    },
}

impl<S> Log<S> {
    /// Logs the calls to `source`.
    pub fn new(source: S) -> Self {
        Log { source, calls: Vec::new() }
    }

    /// The calls so far, first to last.
    pub fn calls(&self) -> &[SourceCall] {
        &self.calls
    }

    /// The source inside.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// The source inside, to change.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }
}

impl<S: MemorySource> MemorySource for Log<S> {
    type Error = S::Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        let outcome = self.source.allocate(bytes);
        self.calls.push(match outcome {
            Ok(address) => SourceCall::Allocated { address, bytes },
            Err(_) => SourceCall::Refused { bytes },
        });
        outcome
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.source.release(address, bytes);
        self.calls.push(SourceCall::Released { address, bytes });
    }
}
