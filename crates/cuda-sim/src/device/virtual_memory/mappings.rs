//! Virtual memory management: reserved addresses, and physical memory that is mapped there.
//!
//! Addresses are reserved in the window of a device, which its kernels reach without being asked.
//! Pages have the access that any device was given, so where that is more than the window's own
//! device was given, its kernels are asked for every access.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use cuda_sys::CUresult;
use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use ptx_jit::AccessKind;

use super::physical::{MemoryLocation, PhysicalAllocation};
use crate::device::gpu::{Device, device_at};
use crate::device::memory::allocation::next_id;
use crate::device::memory::protection::Protection;
use crate::device::memory::window::GRANULE;

/// Sizes and addresses of mappings are multiples of this, the recommended granularity too.
pub(crate) const GRANULARITY: u64 = GRANULE;

/// Physical memory at an address.
#[derive(Debug)]
pub(crate) struct MemoryMapping {
    pub(crate) range: Range<u64>,
    pub(crate) physical: Arc<PhysicalAllocation>,
    /// A number that no other allocation of the process ever has.
    pub(crate) id: u64,
    /// The reserved range that it is in.
    pub(crate) reserved: Range<u64>,
    /// The access that devices have, by ordinal; others have none.
    devices: BTreeMap<u32, Protection>,
    host: Protection,
}

/// All virtual memory of the process: reserved addresses, mappings, and handles of physical memory.
#[derive(Debug, Default)]
pub(crate) struct VirtualMemoryManager {
    table: RwLock<MappingTable>,
}

#[derive(Debug, Default)]
struct MappingTable {
    /// Reserved ranges by start, with the ordinal of the device in whose window they are.
    reserved: BTreeMap<u64, Reservation>,
    mapped: BTreeMap<u64, Arc<MemoryMapping>>,
    handles: BTreeMap<u64, HandleReferences>,
    made: u64,
}

#[derive(Debug)]
struct Reservation {
    /// The size that was asked for.
    bytes: u64,
    /// The part of the window that it takes up, in whole granules.
    taken: Range<u64>,
    window_of: u32,
}

#[derive(Debug)]
struct HandleReferences {
    physical: Arc<PhysicalAllocation>,
    references: u64,
}

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

impl VirtualMemoryManager {
    /// Reserves addresses in a device's window, at `hint` if that is free.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`: the window has no such range left.
    pub(crate) fn reserve(
        &self,
        device: &Device,
        bytes: u64,
        alignment: u64,
        hint: u64,
    ) -> Result<u64, CUresult> {
        let out_of_memory = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        let whole = bytes.checked_next_multiple_of(GRANULARITY).ok_or(out_of_memory)?;
        let taken = device.memory.reserve_addresses(whole, alignment.max(GRANULARITY), hint);
        let taken = taken.ok_or(out_of_memory)?;
        let start = taken.start;
        let reservation = Reservation { bytes, taken, window_of: device.id.ordinal };
        self.write().reserved.insert(start, reservation);
        cuda_check::made("reserved range of addresses", start);
        Ok(start)
    }

    /// Gives reserved addresses back.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what is not a whole reservation, and where something is
    /// mapped.
    pub(crate) fn free(
        &self,
        devices: &[Device],
        address: u64,
        bytes: u64,
    ) -> Result<(), CUresult> {
        let mut table = self.write();
        let reservation = table.reserved.get(&address).ok_or(INVALID)?;
        if reservation.bytes != bytes || table.mapped_in(&reservation.taken).next().is_some() {
            return Err(INVALID);
        }
        let reservation = table.reserved.remove(&address).ok_or(INVALID)?;
        reservation.give_back(devices);
        cuda_check::taken_back(address);
        Ok(())
    }

    /// Makes physical memory, on a device if one is given, and a handle for it.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn create(
        &self,
        bytes: u64,
        place: MemoryLocation,
        device: Option<&'static Device>,
    ) -> Result<u64, CUresult> {
        let mut table = self.write();
        table.made += 1;
        // Like other handles: not small, with low bits of zero.
        let handle = 0x6d << 48 | table.made << 4;
        let memory = device.map(|device| &device.memory);
        let physical = Arc::new(PhysicalAllocation::new(handle, bytes, place, memory)?);
        table.handles.insert(handle, HandleReferences { physical, references: 1 });
        drop(table);
        cuda_check::made("handle of physical memory", handle);
        Ok(handle)
    }

    /// The physical memory that a handle names.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what is no handle.
    pub(crate) fn physical(&self, handle: u64) -> Result<Arc<PhysicalAllocation>, CUresult> {
        let table = self.read();
        Ok(Arc::clone(&table.handles.get(&handle).ok_or(INVALID)?.physical))
    }

    /// Lets go of a handle once.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what is no handle.
    pub(crate) fn release(&self, handle: u64) -> Result<(), CUresult> {
        let mut table = self.write();
        let known = table.handles.get_mut(&handle).ok_or(INVALID)?;
        known.references -= 1;
        let gone = (known.references == 0).then(|| table.handles.remove(&handle));
        drop(table);
        if gone.is_some() {
            cuda_check::taken_back(handle);
        }
        drop(gone);
        Ok(())
    }

    /// The handle of what is mapped at an address, held once more.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` where nothing is mapped.
    pub(crate) fn retain(&self, address: u64) -> Result<u64, CUresult> {
        let mut table = self.write();
        let physical = Arc::clone(&table.containing(address).ok_or(INVALID)?.physical);
        let handle = physical.handle;
        let known =
            table.handles.entry(handle).or_insert(HandleReferences { physical, references: 0 });
        known.references += 1;
        let is_new = known.references == 1;
        drop(table);
        if is_new {
            cuda_check::made("handle of physical memory", handle);
        }
        Ok(handle)
    }

    /// Maps all of a handle's memory, where nobody has access to it yet.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what is no handle, a size other than its own, addresses that
    /// are not aligned or not reserved, and where something is mapped;
    /// `CUDA_ERROR_OUT_OF_MEMORY` if the machine has no room for another mapping.
    pub(crate) fn map(&self, address: u64, bytes: u64, handle: u64) -> Result<(), CUresult> {
        let mut table = self.write();
        let physical = Arc::clone(&table.handles.get(&handle).ok_or(INVALID)?.physical);
        let end = address.checked_add(bytes).ok_or(INVALID)?;
        let reservation = table.reservation_at(address).ok_or(INVALID)?;
        let fits = end <= reservation.taken.end && address.is_multiple_of(GRANULARITY);
        if bytes != physical.bytes || !fits || table.mapped_in(&(address..end)).next().is_some() {
            return Err(INVALID);
        }
        let reserved = reservation.taken.start..reservation.taken.start + reservation.bytes;
        let range = address..end;
        // SAFETY: the range is reserved, and nothing is mapped there.
        if let Err(error) = unsafe { physical.map(&range) } {
            tracing::warn!(%error, bytes, "memory was not mapped");
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
        let id = next_id();
        cuda_check::mapped(range.clone(), &physical.contents);
        let (devices, host) = (BTreeMap::new(), Protection::None);
        let mapping = MemoryMapping { range, physical, id, reserved, devices, host };
        table.mapped.insert(address, Arc::new(mapping));
        Ok(())
    }

    /// Undoes whole mappings, which follow on each other.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for any other range.
    pub(crate) fn unmap(
        &self,
        devices: &[Device],
        address: u64,
        bytes: u64,
    ) -> Result<(), CUresult> {
        let mut table = self.write();
        let mut gone = Vec::new();
        for start in table.whole_mappings(address, bytes)? {
            gone.extend(table.mapped.remove(&start));
        }
        for mapping in &gone {
            cuda_check::freed(mapping.range.start);
            if let Some(device) = device_at(devices, mapping.range.start) {
                device.memory.unmap(mapping.range.clone(), mapping.is_exposed(device));
            }
        }
        drop(table);
        drop(gone);
        Ok(())
    }

    /// Changes what may be done to whole mappings, which follow on each other, from devices and
    /// from the host, which has no ordinal.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for any other range, and for the host where the memory is a
    /// device's.
    pub(crate) fn set_access(
        &self,
        devices: &[Device],
        address: u64,
        bytes: u64,
        changes: &[(Option<u32>, Protection)],
    ) -> Result<(), CUresult> {
        let mut table = self.write();
        let starts = table.whole_mappings(address, bytes)?;
        let on_device =
            |start| matches!(table.mapped[start].physical.place, MemoryLocation::Device(_));
        let of_host = changes.iter().any(|(device, _)| device.is_none());
        if of_host && starts.iter().any(on_device) {
            return Err(INVALID);
        }
        for start in starts {
            let Some(old) = table.mapped.get(&start) else { continue };
            let mut new = old.with_access();
            for &(device, protection) in changes {
                match device {
                    Some(ordinal) => drop(new.devices.insert(ordinal, protection)),
                    None => new.host = protection,
                }
            }
            if let Some(device) = device_at(devices, start) {
                let (was, is) = (old.is_exposed(device), new.is_exposed(device));
                device.memory.protect(&new.range, new.widest(), [was, is])?;
            }
            table.mapped.insert(start, Arc::new(new));
        }
        Ok(())
    }

    /// The mapping that an address lies in.
    pub(crate) fn containing(&self, address: u64) -> Option<Arc<MemoryMapping>> {
        self.read().containing(address).cloned()
    }

    /// The reserved range around an address.
    pub(crate) fn reservation(&self, address: u64) -> Option<Range<u64>> {
        let table = self.read();
        let reservation = table.reservation_at(address)?;
        Some(reservation.taken.start..reservation.taken.start + reservation.bytes)
    }

    /// Whether all of a range is mapped, and in such a way.
    pub(crate) fn all(&self, range: &Range<u64>, wanted: impl Fn(&MemoryMapping) -> bool) -> bool {
        let table = self.read();
        let mut address = range.start;
        while address < range.end {
            match table.containing(address) {
                Some(mapping) if wanted(mapping) => address = mapping.range.end,
                _ => return false,
            }
        }
        true
    }

    /// Undoes and releases everything.
    pub(in crate::device) fn reset(&self, devices: &[Device]) {
        let mut table = self.write();
        let old = std::mem::take(&mut *table);
        // Handles are numbered on, so that an old one names nothing new.
        table.made = old.made;
        old.handles
            .keys()
            .chain(old.reserved.keys())
            .for_each(|&made| cuda_check::taken_back(made));
        for mapping in old.mapped.values() {
            cuda_check::freed(mapping.range.start);
            if let Some(device) = device_at(devices, mapping.range.start) {
                device.memory.unmap(mapping.range.clone(), mapping.is_exposed(device));
            }
        }
        old.reserved.values().for_each(|reservation| reservation.give_back(devices));
        drop(table);
        drop(old);
    }

    fn read(&self) -> RwLockReadGuard<'_, MappingTable> {
        self.table.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, MappingTable> {
        self.table.write()
    }
}

impl MappingTable {
    fn reservation_at(&self, address: u64) -> Option<&Reservation> {
        let (_, reservation) = self.reserved.range(..=address).next_back()?;
        reservation.taken.contains(&address).then_some(reservation)
    }

    fn containing(&self, address: u64) -> Option<&Arc<MemoryMapping>> {
        let (_, mapping) = self.mapped.range(..=address).next_back()?;
        mapping.range.contains(&address).then_some(mapping)
    }

    fn mapped_in(&self, range: &Range<u64>) -> impl Iterator<Item = &Arc<MemoryMapping>> {
        let start = range.start;
        let before = self.mapped.range(..range.end).map(|(_, mapping)| mapping).rev();
        before.take_while(move |mapping| mapping.range.end > start)
    }

    /// The starts of the mappings that a range consists of.
    fn whole_mappings(&self, address: u64, bytes: u64) -> Result<Vec<u64>, CUresult> {
        let end = address.checked_add(bytes).filter(|_| bytes > 0).ok_or(INVALID)?;
        let (mut next, mut starts) = (address, Vec::new());
        while next < end {
            let mapping = self.mapped.get(&next).ok_or(INVALID)?;
            starts.push(next);
            next = mapping.range.end;
        }
        if next == end { Ok(starts) } else { Err(INVALID) }
    }
}

impl MemoryMapping {
    /// The access that the device of that ordinal has.
    pub(crate) fn device_protection(&self, ordinal: u32) -> Protection {
        self.devices.get(&ordinal).copied().unwrap_or_default()
    }

    /// The access that the host has.
    pub(crate) fn host_protection(&self) -> Protection {
        self.host
    }

    /// Whether kernels of the device of that ordinal may do so.
    pub(crate) fn permits(&self, ordinal: u32, access: AccessKind) -> bool {
        self.device_protection(ordinal).permits(access)
    }

    /// The most that anyone may do.
    fn widest(&self) -> Protection {
        self.devices.values().copied().fold(self.host, Protection::max)
    }

    /// Whether others may do more than the device in whose window it is.
    fn is_exposed(&self, window_of: &Device) -> bool {
        self.widest() > self.device_protection(window_of.id.ordinal)
    }

    fn with_access(&self) -> MemoryMapping {
        MemoryMapping {
            range: self.range.clone(),
            physical: Arc::clone(&self.physical),
            id: self.id,
            reserved: self.reserved.clone(),
            devices: self.devices.clone(),
            host: self.host,
        }
    }
}

impl Reservation {
    fn give_back(&self, devices: &[Device]) {
        let device = devices.get(self.window_of as usize);
        device.into_iter().for_each(|device| device.memory.free_addresses(&self.taken));
    }
}
