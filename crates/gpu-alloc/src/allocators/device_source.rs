//! The driver's memory on one device, as policies take it: in segments, or as addresses and physical
//! memory.

use std::collections::BTreeMap;

use gpu_runtime::{
    AddressRange, Device, DeviceAllocation, Error, MappingProblem, PhysicalMemory, VirtualMemory,
};

use crate::policy::{
    Address, MemorySource, Physical, Refusal, SealedSource, SourceError, TrustedSource,
    VirtualMemorySource,
};

type Result<T> = std::result::Result<T, SourceError<Error>>;

/// The memory of one device, straight from the driver: what a policy shares out.
///
/// It provides segments, and where the device manages virtual memory, addresses and physical memory
/// too. When it is dropped, all of it goes back to the driver.
///
/// ```
/// use gpu_alloc::DeviceSource;
/// use gpu_alloc::policy::MemorySource;
/// use gpu_runtime::{Device, DriverChoice};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
/// let mut source = DeviceSource::new(Device::get(0)?);
/// let memory = source.virtual_memory().expect("the software driver has it");
/// let page = memory.page_bytes();
/// let addresses = memory.reserve(2 * page).expect("addresses");
/// let physical = memory.create(page).expect("memory");
/// memory.map(addresses, physical, page).expect("nothing is there");
/// memory.set_access(addresses, page).expect("it is mapped");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DeviceSource {
    device: Device,
    segments: BTreeMap<Address, DeviceAllocation>,
    /// Made when somebody asks for it.
    mapped: Option<MappedMemory>,
    /// The memory that the device has, as far as that was asked.
    total: u64,
}

impl DeviceSource {
    /// A source of which nothing has been taken. It calls no driver.
    pub fn new(device: Device) -> Self {
        DeviceSource { device, segments: BTreeMap::new(), mapped: None, total: 0 }
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.device
    }
}

/// It is the driver's own memory.
impl SealedSource for DeviceSource {}

impl TrustedSource for DeviceSource {
    type Source = DeviceSource;

    fn into_source(self) -> DeviceSource {
        self
    }
}

impl MemorySource for DeviceSource {
    type Error = Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address> {
        let segment = DeviceAllocation::new(self.device, size(bytes)?).map_err(refusal)?;
        let address = Address(segment.ptr().address());
        self.segments.insert(address, segment);
        Ok(address)
    }

    fn release(&mut self, address: Address, _bytes: u64) {
        self.segments.remove(&address);
    }

    /// The device's memory, whoever has it now.
    fn could_hold(&mut self, bytes: u64) -> std::result::Result<(), Refusal> {
        if bytes > self.total
            && let Ok(memory) = self.device.memory_info()
        {
            self.total = memory.total as u64;
            return if bytes > self.total { Err(Refusal::Exhausted) } else { Ok(()) };
        }
        Ok(())
    }

    /// `None` where the device or its driver has none, or cannot be asked.
    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = Error>> {
        if self.mapped.is_none() {
            self.mapped = self.device.virtual_memory().ok()?.map(MappedMemory::new);
        }
        self.mapped.as_mut().map(|memory| memory as _)
    }
}

/// The addresses and physical memory that were taken of a device.
#[derive(Debug)]
struct MappedMemory {
    management: VirtualMemory,
    reserved: BTreeMap<Address, AddressRange>,
    created: BTreeMap<Physical, PhysicalMemory>,
    /// The number of names that were given to physical memory so far.
    names: u64,
}

impl MappedMemory {
    fn new(management: VirtualMemory) -> Self {
        let (reserved, created) = (BTreeMap::new(), BTreeMap::new());
        MappedMemory { management, reserved, created, names: 0 }
    }

    /// The reserved range that holds an address, and the address's offset there.
    fn range_at(&mut self, address: Address) -> Option<(&mut AddressRange, usize)> {
        let (start, range) = self.reserved.range_mut(..=address).next_back()?;
        let offset = usize::try_from(address.0 - start.0).ok()?;
        (offset < range.bytes()).then_some((range, offset))
    }

    /// Does something with a part of a reserved range.
    fn in_range(
        &mut self,
        operation: &'static str,
        address: Address,
        bytes: u64,
        run: impl FnOnce(&mut AddressRange, std::ops::Range<usize>) -> gpu_runtime::Result<()>,
    ) -> Result<()> {
        let unknown = self.fault(operation, bytes, MappingProblem::Unknown);
        let bytes = size(bytes)?;
        let (range, offset) = self.range_at(address).ok_or(unknown)?;
        run(range, offset..offset.saturating_add(bytes)).map_err(refusal)
    }

    /// The error of a policy that breaks the rules.
    fn fault(
        &self,
        operation: &'static str,
        bytes: u64,
        problem: MappingProblem,
    ) -> SourceError<Error> {
        let (device, bytes) = (self.management.device(), bytes.try_into().unwrap_or(usize::MAX));
        SourceError::Failed(Error::Mapping { operation, device, offset: 0, bytes, problem })
    }
}

impl VirtualMemorySource for MappedMemory {
    type Error = Error;

    fn page_bytes(&self) -> u64 {
        self.management.granularity() as u64
    }

    fn reserve(&mut self, bytes: u64) -> Result<Address> {
        let range = self.management.reserve(size(bytes)?).map_err(refusal)?;
        range.mark_cached();
        let address = Address(range.ptr().address());
        self.reserved.insert(address, range);
        Ok(address)
    }

    fn unreserve(&mut self, address: Address, _bytes: u64) {
        self.reserved.remove(&address);
    }

    fn create(&mut self, bytes: u64) -> Result<Physical> {
        let memory = self.management.create(size(bytes)?).map_err(refusal)?;
        memory.mark_cached();
        self.names += 1;
        let name = Physical(self.names);
        self.created.insert(name, memory);
        Ok(name)
    }

    fn destroy(&mut self, physical: Physical, _bytes: u64) {
        self.created.remove(&physical);
    }

    fn map(&mut self, address: Address, physical: Physical, bytes: u64) -> Result<()> {
        const MAP: &str = "map";
        let fault = |problem| self.fault(MAP, bytes, problem);
        let memory = self.created.get(&physical).ok_or_else(|| fault(MappingProblem::Unknown))?;
        if memory.bytes() as u64 != bytes {
            return Err(fault(MappingProblem::NotWhole));
        }
        let memory = memory.clone();
        self.in_range(MAP, address, bytes, |range, part| range.map(part.start, &memory))
    }

    fn set_access(&mut self, address: Address, bytes: u64) -> Result<()> {
        self.in_range("set access to", address, bytes, AddressRange::set_access)
    }

    fn unmap(&mut self, address: Address, bytes: u64) {
        if let Err(error) = self.in_range("unmap", address, bytes, AddressRange::unmap) {
            tracing::error!(?error, "memory stays mapped");
        }
    }
}

/// A size as this machine has it: what is larger, no device has.
fn size(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| SourceError::Exhausted)
}

fn refusal(error: Error) -> SourceError<Error> {
    match error {
        Error::OutOfMemory { .. } | Error::OutOfAddresses { .. } => SourceError::Exhausted,
        error => SourceError::Failed(error),
    }
}
