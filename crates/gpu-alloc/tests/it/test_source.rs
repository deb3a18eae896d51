//! A memory source that lives in numbers, checks how it is used, and fails when told to.

use gpu_alloc::policy::{
    Address, MemorySource, Physical, Refusal, SourceError, VirtualMemorySource,
};

use crate::device_model::{AddressOrder, DeviceModel};

/// A model of a device that may fail.
#[derive(Debug)]
pub(crate) struct TestSource {
    device: DeviceModel,
    has_virtual_memory: bool,
    fail_call: Option<(u32, Fault)>,
    /// What it says that it can hold.
    told: Option<u64>,
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

impl TestSource {
    pub(crate) fn new(capacity: u64) -> Self {
        let device = DeviceModel::new(capacity, AddressOrder::Lowest);
        TestSource { device, has_virtual_memory: true, fail_call: None, told: None }
    }

    /// One that provides plain segments only.
    pub(crate) fn without_virtual_memory(capacity: u64) -> Self {
        TestSource { has_virtual_memory: false, ..Self::new(capacity) }
    }

    /// One that says what it can hold.
    pub(crate) fn that_tells(capacity: u64) -> Self {
        TestSource { told: Some(capacity), ..Self::new(capacity) }
    }

    /// Makes a later call fail that may fail, the next one when `after` is 0.
    pub(crate) fn fail(&mut self, after: u32, fault: Fault) {
        self.fail_call = Some((after, fault));
    }

    /// Whether a call is still to fail.
    pub(crate) fn is_to_fail(&self) -> bool {
        self.fail_call.is_some()
    }

    /// The plain segments that are given out, by address.
    pub(crate) fn given(&self) -> impl Iterator<Item = (Address, u64)> {
        self.device.segments()
    }

    /// The model of the device, to look at.
    pub(crate) fn device(&self) -> &DeviceModel {
        &self.device
    }

    fn fault_if_due(&mut self) -> Result<(), SourceError<Broken>> {
        match self.fail_call.take() {
            None => Ok(()),
            Some((0, Fault::Exhausted)) => Err(SourceError::Exhausted),
            Some((0, Fault::Broken)) => Err(SourceError::Failed(Broken)),
            Some((after, fault)) => {
                self.fail_call = Some((after - 1, fault));
                Ok(())
            }
        }
    }
}

impl MemorySource for TestSource {
    type Error = Broken;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Broken>> {
        self.fault_if_due()?;
        self.device.allocate(bytes).map_err(as_ours)
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.device.release(address, bytes);
    }

    fn could_hold(&mut self, bytes: u64) -> Result<(), Refusal> {
        if self.told.is_some_and(|told| bytes > told) { Err(Refusal::Exhausted) } else { Ok(()) }
    }

    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = Broken>> {
        self.has_virtual_memory.then_some(self)
    }
}

impl VirtualMemorySource for TestSource {
    type Error = Broken;

    fn page_bytes(&self) -> u64 {
        self.device.page_bytes()
    }

    fn reserve(&mut self, bytes: u64) -> Result<Address, SourceError<Broken>> {
        self.fault_if_due()?;
        self.device.reserve(bytes).map_err(as_ours)
    }

    fn unreserve(&mut self, address: Address, bytes: u64) {
        self.device.unreserve(address, bytes);
    }

    fn create(&mut self, bytes: u64) -> Result<Physical, SourceError<Broken>> {
        self.fault_if_due()?;
        self.device.create(bytes).map_err(as_ours)
    }

    fn destroy(&mut self, physical: Physical, bytes: u64) {
        self.device.destroy(physical, bytes);
    }

    fn map(
        &mut self,
        address: Address,
        physical: Physical,
        bytes: u64,
    ) -> Result<(), SourceError<Broken>> {
        self.fault_if_due()?;
        self.device.map(address, physical, bytes).map_err(as_ours)
    }

    fn set_access(&mut self, address: Address, bytes: u64) -> Result<(), SourceError<Broken>> {
        self.fault_if_due()?;
        self.device.set_access(address, bytes).map_err(as_ours)
    }

    fn unmap(&mut self, address: Address, bytes: u64) {
        self.device.unmap(address, bytes);
    }
}

/// The model's refusal; it never breaks by itself.
fn as_ours(error: SourceError<std::convert::Infallible>) -> SourceError<Broken> {
    match error {
        SourceError::Exhausted => SourceError::Exhausted,
        SourceError::LimitReached { limit } => SourceError::LimitReached { limit },
        SourceError::Failed(never) => match never {},
    }
}
