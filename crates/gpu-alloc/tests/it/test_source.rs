//! A memory source that lives in numbers, checks how it is used, and fails when told to.

use std::collections::BTreeMap;

use gpu_alloc::policy::{Address, MemorySource, SourceError};

/// Gives out the lowest addresses that are free, so that segments are often neighbours, and are
/// reused.
#[derive(Debug)]
pub(crate) struct TestSource {
    capacity: u64,
    given: BTreeMap<u64, u64>,
    fail_call: Option<(u32, Fault)>,
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Exhausted,
    Broken,
}

/// The error of a broken source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

const BASE: u64 = 1 << 32;

impl TestSource {
    pub(crate) fn new(capacity: u64) -> Self {
        TestSource { capacity, given: BTreeMap::new(), fail_call: None }
    }

    /// Makes a later allocation fail, the next one when `after` is 0.
    pub(crate) fn fail(&mut self, after: u32, fault: Fault) {
        self.fail_call = Some((after, fault));
    }

    /// What is given out, by address.
    pub(crate) fn given(&self) -> impl Iterator<Item = (Address, u64)> {
        self.given.iter().map(|(address, bytes)| (Address(*address), *bytes))
    }

    fn due_fault(&mut self) -> Option<Fault> {
        match self.fail_call.take()? {
            (0, fault) => Some(fault),
            (after, fault) => {
                self.fail_call = Some((after - 1, fault));
                None
            }
        }
    }
}

impl MemorySource for TestSource {
    type Error = Broken;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Broken>> {
        match self.due_fault() {
            Some(Fault::Exhausted) => return Err(SourceError::Exhausted),
            Some(Fault::Broken) => return Err(SourceError::Failed(Broken)),
            None => {}
        }
        let used: u64 = self.given.values().sum();
        if bytes > self.capacity - used {
            return Err(SourceError::Exhausted);
        }
        let mut address = BASE;
        for (given, size) in &self.given {
            if given - address >= bytes {
                break;
            }
            address = given + size;
        }
        self.given.insert(address, bytes);
        Ok(Address(address))
    }

    fn release(&mut self, address: Address, bytes: u64) {
        assert_eq!(self.given.remove(&address.0), Some(bytes), "released as it was given");
    }
}
