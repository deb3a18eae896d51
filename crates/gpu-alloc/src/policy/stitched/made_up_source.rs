//! A source of memory for the tests of single parts.

use crate::policy::{Address, MemorySource, Physical, SourceError, VirtualMemorySource};

type Result<T> = std::result::Result<T, SourceError<&'static str>>;

/// Memory that is nowhere. It notes the calls that a driver would get.
#[derive(Debug)]
pub(super) struct MadeUpSource {
    /// The bytes that can still be made.
    pub(super) left: u64,
    pub(super) calls: Vec<&'static str>,
    names: u64,
}

impl MadeUpSource {
    pub(super) fn of(left: u64) -> Self {
        MadeUpSource { left, calls: Vec::new(), names: 0 }
    }
}

impl MemorySource for MadeUpSource {
    type Error = &'static str;

    fn allocate(&mut self, _: u64) -> Result<Address> {
        Err(SourceError::Exhausted)
    }

    fn release(&mut self, _: Address, _: u64) {}

    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = Self::Error>> {
        Some(self)
    }
}

impl VirtualMemorySource for MadeUpSource {
    type Error = &'static str;

    fn page_bytes(&self) -> u64 {
        super::pages::PAGE
    }

    fn reserve(&mut self, _: u64) -> Result<Address> {
        self.calls.push("reserve");
        Ok(Address(1 << 40))
    }

    fn unreserve(&mut self, _: Address, _: u64) {
        self.calls.push("unreserve");
    }

    fn create(&mut self, bytes: u64) -> Result<Physical> {
        self.left = self.left.checked_sub(bytes).ok_or(SourceError::Exhausted)?;
        self.names += 1;
        self.calls.push("create");
        Ok(Physical(self.names))
    }

    fn destroy(&mut self, _: Physical, bytes: u64) {
        self.left += bytes;
        self.calls.push("destroy");
    }

    fn map(&mut self, _: Address, _: Physical, _: u64) -> Result<()> {
        self.calls.push("map");
        Ok(())
    }

    fn set_access(&mut self, _: Address, _: u64) -> Result<()> {
        self.calls.push("set_access");
        Ok(())
    }

    fn unmap(&mut self, _: Address, _: u64) {
        self.calls.push("unmap");
    }
}
