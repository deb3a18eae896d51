//! A simulated GPU.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::memory::global_memory::GlobalMemory;
use super::properties::DeviceId;
use crate::config::PeerFault;
use crate::links;
use crate::queue::Health;

/// A simulated GPU.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) id: DeviceId,
    pub(crate) memory: GlobalMemory,
    pub(crate) health: Health,
    /// The handle of the primary context, which it keeps from one activation to the next.
    pub(super) primary_handle: u64,
    /// The count of `cuDevicePrimaryCtxRetain`.
    primary_retains: Mutex<u32>,
    /// The flags of the primary context, active or not.
    primary_flags: AtomicU32,
}

impl Device {
    /// A device with so much memory, one of `devices`, whose primary context has that handle.
    ///
    /// # Errors
    /// The process may not have that much address space.
    pub(super) fn new(
        id: DeviceId,
        memory: u64,
        devices: usize,
        primary_handle: u64,
    ) -> io::Result<Device> {
        Ok(Device {
            id,
            memory: GlobalMemory::new(id, memory, devices)?,
            health: Health::new(id.ordinal),
            primary_handle,
            primary_retains: Mutex::new(0),
            primary_flags: AtomicU32::new(0),
        })
    }

    /// Whether the way to another device is broken, on demand.
    pub(crate) fn is_cut_off_from(&self, other: &Device) -> bool {
        let fault = links::broken(self.id.ordinal as usize, other.id.ordinal as usize);
        fault == Some(PeerFault::Errors)
    }

    /// The count of `cuDevicePrimaryCtxRetain`. Whoever activates or deactivates the primary
    /// context holds it meanwhile.
    pub(super) fn primary_retains(&self) -> MutexGuard<'_, u32> {
        self.primary_retains.lock()
    }

    /// The flags of the primary context, active or not.
    pub(crate) fn primary_flags(&self) -> u32 {
        self.primary_flags.load(Ordering::Relaxed)
    }

    /// Sets them for each time that it becomes active.
    pub(super) fn store_primary_flags(&self, flags: u32) {
        self.primary_flags.store(flags, Ordering::Relaxed);
    }
}

/// The device whose address range an address lies in, allocated or not.
pub(super) fn device_at(devices: &[Device], address: u64) -> Option<&Device> {
    devices.iter().find(|device| device.memory.window().contains(&address))
}
