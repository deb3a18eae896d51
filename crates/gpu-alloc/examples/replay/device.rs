//! A device's memory in numbers: it keeps the books, and panics when a rule of the driver is broken.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;

use gpu_alloc::policy::{Address, MemorySource, Physical, SourceError, VirtualMemorySource};

/// The granule of physical memory and of addresses.
pub(crate) const PAGE: u64 = 2 << 20;

/// The lowest address that is given out.
const BASE: u64 = 1 << 32;

/// Memory of some capacity.
#[derive(Debug)]
pub(crate) struct DeviceModel {
    addresses: AddressOrder,
    capacity: u64,
    used: u64,
    highest_use: u64,
    /// The ranges of addresses that are taken, by their first address.
    ranges: BTreeMap<u64, TakenRange>,
    pieces: BTreeMap<Physical, ModelChunk>,
    mappings: BTreeMap<u64, MappedRange>,
    next_piece: u64,
    /// Behind all addresses that were ever given out.
    next_address: u64,
    calls: CallCounts,
}

/// The rule by which addresses are given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddressOrder {
    /// The lowest that are free, so that segments are often neighbours, and addresses come again.
    Lowest,
    /// None twice, in rising order.
    Rising,
}

/// The number of calls to the device by kind, refusals included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CallCounts {
    pub(crate) allocate: u64,
    pub(crate) release: u64,
    pub(crate) reserve: u64,
    pub(crate) unreserve: u64,
    pub(crate) create: u64,
    pub(crate) destroy: u64,
    pub(crate) map: u64,
    pub(crate) set_access: u64,
    pub(crate) unmap: u64,
}

#[derive(Debug)]
struct TakenRange {
    bytes: u64,
    /// Whether they are addresses only; otherwise there is memory behind all of them.
    is_reservation: bool,
}

#[derive(Debug)]
struct ModelChunk {
    bytes: u64,
    mappings: u32,
    is_destroyed: bool,
}

#[derive(Debug)]
struct MappedRange {
    physical: Physical,
    bytes: u64,
    is_accessible: bool,
}

impl DeviceModel {
    pub(crate) fn new(capacity: u64, addresses: AddressOrder) -> Self {
        DeviceModel {
            addresses,
            capacity,
            used: 0,
            highest_use: 0,
            ranges: BTreeMap::new(),
            pieces: BTreeMap::new(),
            mappings: BTreeMap::new(),
            next_piece: 0,
            next_address: BASE,
            calls: CallCounts::default(),
        }
    }

    /// The physical memory that is taken, in bytes.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// The most that was ever taken.
    pub(crate) fn highest_use(&self) -> u64 {
        self.highest_use
    }

    pub(crate) fn calls(&self) -> CallCounts {
        self.calls
    }

    /// The plain segments that are given out, by address.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (Address, u64)> {
        let segments = self.ranges.iter().filter(|(_, taken)| !taken.is_reservation);
        segments.map(|(address, taken)| (Address(*address), taken.bytes))
    }

    /// The reserved ranges of addresses.
    pub(crate) fn reservations(&self) -> impl Iterator<Item = (Address, u64)> {
        let ranges = self.ranges.iter().filter(|(_, taken)| taken.is_reservation);
        ranges.map(|(address, taken)| (Address(*address), taken.bytes))
    }

    /// Every mapping, by address: the piece behind it, and its length.
    pub(crate) fn mappings(&self) -> impl Iterator<Item = (Address, Physical, u64)> {
        let shown = |(address, mapping): (&u64, &MappedRange)| {
            (Address(*address), mapping.physical, mapping.bytes)
        };
        self.mappings.iter().map(shown)
    }

    /// The number of pieces of physical memory.
    pub(crate) fn pieces(&self) -> usize {
        self.pieces.values().filter(|piece| !piece.is_destroyed).count()
    }

    /// Whether nothing of it is taken, addresses included.
    pub(crate) fn is_untouched(&self) -> bool {
        self.ranges.is_empty() && self.pieces.is_empty() && self.mappings.is_empty()
    }

    /// Whether there is memory behind all of a range, with access set.
    pub(crate) fn is_usable(&self, address: Address, bytes: u64) -> bool {
        let range = address.0..address.0 + bytes;
        let below = self.ranges.range(..=range.start).next_back();
        match below {
            Some((start, taken)) if start + taken.bytes >= range.end => {
                !taken.is_reservation || self.is_mapped(&range, |mapping| mapping.is_accessible)
            }
            _ => false,
        }
    }

    /// Whether all of a range is mapped, in the way that `as_wanted` says.
    fn is_mapped(&self, range: &Range<u64>, as_wanted: impl Fn(&MappedRange) -> bool) -> bool {
        let below = self.mappings.range(..=range.start).next_back();
        let first = below.map_or(range.start, |(address, _)| *address);
        let mut end = first;
        for (address, mapping) in self.mappings.range(first..range.end) {
            if *address != end || !as_wanted(mapping) {
                return false;
            }
            end = address + mapping.bytes;
        }
        end >= range.end
    }

    /// Whether all of a range is mapped, and no mapping reaches beyond it.
    fn is_mapped_in_whole_pieces(&self, range: &Range<u64>) -> bool {
        let last = self.mappings.range(range.clone()).next_back();
        self.mappings.contains_key(&range.start)
            && self.is_mapped(range, |_| true)
            && last.is_some_and(|(address, mapping)| address + mapping.bytes == range.end)
    }

    fn take(&mut self, bytes: u64) -> Result<(), SourceError<Infallible>> {
        if bytes > self.capacity - self.used {
            return Err(SourceError::Exhausted);
        }
        self.used += bytes;
        self.highest_use = self.highest_use.max(self.used);
        Ok(())
    }

    fn take_addresses(&mut self, bytes: u64, is_reservation: bool) -> Address {
        let address = match self.addresses {
            AddressOrder::Lowest => self.lowest_free(bytes),
            AddressOrder::Rising => self.next_address,
        };
        let end = (address + bytes).next_multiple_of(PAGE);
        self.next_address = self.next_address.max(end);
        self.ranges.insert(address, TakenRange { bytes, is_reservation });
        Address(address)
    }

    fn lowest_free(&self, bytes: u64) -> u64 {
        let mut address = BASE;
        for (start, taken) in &self.ranges {
            if start - address >= bytes {
                break;
            }
            address = (start + taken.bytes).next_multiple_of(PAGE);
        }
        address
    }

    fn give_addresses_back(&mut self, address: Address, bytes: u64, is_reservation: bool) {
        let taken = self.ranges.remove(&address.0).expect("what is given back was given out");
        assert_eq!((taken.bytes, taken.is_reservation), (bytes, is_reservation));
    }

    /// Frees a piece once it is neither held nor mapped.
    fn settle(&mut self, physical: Physical) {
        let piece = &self.pieces[&physical];
        if piece.is_destroyed && piece.mappings == 0 {
            self.used -= piece.bytes;
            self.pieces.remove(&physical);
        }
    }
}

impl MemorySource for DeviceModel {
    type Error = Infallible;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Infallible>> {
        self.calls.allocate += 1;
        self.take(whole_pages(bytes))?;
        Ok(self.take_addresses(bytes, false))
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.calls.release += 1;
        self.give_addresses_back(address, bytes, false);
        self.used -= whole_pages(bytes);
    }

    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = Infallible>> {
        Some(self)
    }
}

impl VirtualMemorySource for DeviceModel {
    type Error = Infallible;

    fn page_bytes(&self) -> u64 {
        PAGE
    }

    fn reserve(&mut self, bytes: u64) -> Result<Address, SourceError<Infallible>> {
        self.calls.reserve += 1;
        assert!(is_in_pages(bytes), "addresses are reserved in whole pages");
        if self.lowest_free(bytes).max(self.next_address).checked_add(bytes).is_none() {
            return Err(SourceError::Exhausted);
        }
        Ok(self.take_addresses(bytes, true))
    }

    fn unreserve(&mut self, address: Address, bytes: u64) {
        self.calls.unreserve += 1;
        self.give_addresses_back(address, bytes, true);
        let left = self.mappings.range(address.0..address.0 + bytes).next();
        assert!(left.is_none(), "nothing is mapped where a reservation ends");
    }

    fn create(&mut self, bytes: u64) -> Result<Physical, SourceError<Infallible>> {
        self.calls.create += 1;
        assert!(is_in_pages(bytes), "physical memory comes in whole pages");
        self.take(bytes)?;
        let physical = Physical(self.next_piece);
        self.next_piece += 1;
        self.pieces.insert(physical, ModelChunk { bytes, mappings: 0, is_destroyed: false });
        Ok(physical)
    }

    fn destroy(&mut self, physical: Physical, bytes: u64) {
        self.calls.destroy += 1;
        let piece = self.pieces.get_mut(&physical).expect("what is destroyed was created");
        assert_eq!((piece.bytes, piece.is_destroyed), (bytes, false), "destroyed as it was made");
        piece.is_destroyed = true;
        self.settle(physical);
    }

    fn map(
        &mut self,
        address: Address,
        physical: Physical,
        bytes: u64,
    ) -> Result<(), SourceError<Infallible>> {
        self.calls.map += 1;
        let range = address.0..address.0 + bytes;
        let piece = self.pieces.get_mut(&physical).expect("what is mapped was created");
        assert_eq!((piece.bytes, piece.is_destroyed), (bytes, false), "a whole piece is mapped");
        assert!(range.start.is_multiple_of(PAGE), "mappings begin with a page");
        let around = self.ranges.range(..=range.start).next_back();
        let reserved = around
            .is_some_and(|(start, taken)| taken.is_reservation && start + taken.bytes >= range.end);
        assert!(reserved, "what is mapped into is reserved");
        let below = self.mappings.range(..range.end).next_back();
        let free = below.is_none_or(|(start, mapping)| start + mapping.bytes <= range.start);
        assert!(free, "nothing is mapped there already");
        piece.mappings += 1;
        self.mappings.insert(range.start, MappedRange { physical, bytes, is_accessible: false });
        Ok(())
    }

    fn set_access(&mut self, address: Address, bytes: u64) -> Result<(), SourceError<Infallible>> {
        self.calls.set_access += 1;
        let range = address.0..address.0 + bytes;
        assert!(self.is_mapped_in_whole_pieces(&range), "access is set for whole mappings");
        self.mappings.range_mut(range).for_each(|(_, mapping)| mapping.is_accessible = true);
        Ok(())
    }

    fn unmap(&mut self, address: Address, bytes: u64) {
        self.calls.unmap += 1;
        let range = address.0..address.0 + bytes;
        assert!(self.is_mapped_in_whole_pieces(&range), "mappings go as a whole");
        while let Some((&at, _)) = self.mappings.range(range.clone()).next() {
            let MappedRange { physical, .. } =
                self.mappings.remove(&at).expect("it was just found");
            self.pieces.get_mut(&physical).expect("a mapping shows a piece").mappings -= 1;
            self.settle(physical);
        }
    }
}

fn whole_pages(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX)
}

fn is_in_pages(bytes: u64) -> bool {
    bytes > 0 && bytes.is_multiple_of(PAGE)
}
