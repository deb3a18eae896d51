//! A source that remembers what was asked of it, for tests and replays.

use super::source::KnownVirtualMemory;
use super::{Address, MemorySource, Physical, SourceError, VirtualMemory};

/// Writes down every call to the source inside.
#[derive(Debug)]
pub struct Log<S>(Writer<S>);

/// The log at work. It is apart so that nobody gets at its virtual memory but where the source has
/// some.
#[derive(Debug)]
struct Writer<S> {
    source: S,
    calls: Vec<SourceCall>,
    /// The page of the source's virtual memory, once somebody has asked for that.
    page_bytes: u64,
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
    /// Addresses were asked for, and reserved.
    Reserved {
        /// The first.
        address: Address,
        /// How many.
        bytes: u64,
    },
    /// Addresses were asked for, and refused.
    ReserveRefused {
        /// How many.
        bytes: u64,
    },
    /// Reserved addresses were given back.
    Unreserved {
        /// The first.
        address: Address,
        /// How many.
        bytes: u64,
    },
    /// Physical memory was asked for, and made.
    Created {
        /// Its name.
        physical: Physical,
        /// Its size.
        bytes: u64,
    },
    /// Physical memory was asked for, and refused.
    CreateRefused {
        /// The size that was asked for.
        bytes: u64,
    },
    /// Physical memory was given back.
    Destroyed {
        /// Its name.
        physical: Physical,
        /// Its size.
        bytes: u64,
    },
    /// Physical memory was shown somewhere.
    Mapped {
        /// Where it begins.
        address: Address,
        /// Its name.
        physical: Physical,
        /// Its size.
        bytes: u64,
    },
    /// Physical memory was to be shown somewhere, and is not.
    MapRefused {
        /// Where it was to begin.
        address: Address,
        /// Its name.
        physical: Physical,
    },
    /// A range was made usable.
    AccessSet {
        /// Where it begins.
        address: Address,
        /// Its size.
        bytes: u64,
    },
    /// A range was to be made usable, and is not.
    AccessRefused {
        /// Where it begins.
        address: Address,
        /// Its size.
        bytes: u64,
    },
    /// The mappings of a range were ended.
    Unmapped {
        /// Where it begins.
        address: Address,
        /// Its size.
        bytes: u64,
    },
}

impl<S> Log<S> {
    /// Logs the calls to `source`.
    pub fn new(source: S) -> Self {
        Log(Writer { source, calls: Vec::new(), page_bytes: 0 })
    }

    /// The calls so far, first to last.
    pub fn calls(&self) -> &[SourceCall] {
        &self.0.calls
    }

    /// The calls since the last time that they were taken, first to last.
    pub fn take_calls(&mut self) -> Vec<SourceCall> {
        std::mem::take(&mut self.0.calls)
    }

    /// The source inside.
    pub fn source(&self) -> &S {
        &self.0.source
    }

    /// The source inside, to change.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.0.source
    }
}

impl<S: MemorySource> MemorySource for Log<S> {
    type Error = S::Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        let outcome = self.0.source.allocate(bytes);
        self.0.note(outcome, SourceCall::Refused { bytes }, |address| SourceCall::Allocated {
            address: *address,
            bytes,
        })
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.0.source.release(address, bytes);
        self.0.calls.push(SourceCall::Released { address, bytes });
    }

    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemory<Error = S::Error>> {
        self.0.page_bytes = self.0.source.virtual_memory()?.page_bytes();
        Some(&mut self.0)
    }
}

impl<S> Writer<S> {
    /// Writes down how a call went that may fail.
    fn note<T, E>(
        &mut self,
        outcome: Result<T, E>,
        refused: SourceCall,
        done: impl FnOnce(&T) -> SourceCall,
    ) -> Result<T, E> {
        self.calls.push(outcome.as_ref().map_or(refused, done));
        outcome
    }
}

impl<S: MemorySource> VirtualMemory for Writer<S> {
    type Error = S::Error;

    fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    fn reserve(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        let outcome = self.source.known_virtual_memory().reserve(bytes);
        self.note(outcome, SourceCall::ReserveRefused { bytes }, |address| SourceCall::Reserved {
            address: *address,
            bytes,
        })
    }

    fn unreserve(&mut self, address: Address, bytes: u64) {
        self.source.known_virtual_memory().unreserve(address, bytes);
        self.calls.push(SourceCall::Unreserved { address, bytes });
    }

    fn create(&mut self, bytes: u64) -> Result<Physical, SourceError<S::Error>> {
        let outcome = self.source.known_virtual_memory().create(bytes);
        self.note(outcome, SourceCall::CreateRefused { bytes }, |physical| SourceCall::Created {
            physical: *physical,
            bytes,
        })
    }

    fn destroy(&mut self, physical: Physical, bytes: u64) {
        self.source.known_virtual_memory().destroy(physical, bytes);
        self.calls.push(SourceCall::Destroyed { physical, bytes });
    }

    fn map(
        &mut self,
        address: Address,
        physical: Physical,
        bytes: u64,
    ) -> Result<(), SourceError<S::Error>> {
        let outcome = self.source.known_virtual_memory().map(address, physical, bytes);
        let mapped = SourceCall::Mapped { address, physical, bytes };
        self.note(outcome, SourceCall::MapRefused { address, physical }, |()| mapped)
    }

    fn set_access(&mut self, address: Address, bytes: u64) -> Result<(), SourceError<S::Error>> {
        let outcome = self.source.known_virtual_memory().set_access(address, bytes);
        let set = SourceCall::AccessSet { address, bytes };
        self.note(outcome, SourceCall::AccessRefused { address, bytes }, |()| set)
    }

    fn unmap(&mut self, address: Address, bytes: u64) {
        self.source.known_virtual_memory().unmap(address, bytes);
        self.calls.push(SourceCall::Unmapped { address, bytes });
    }
}
