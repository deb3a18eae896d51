//! All pools: those of the devices, and those that the program made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cuda_sys::CUresult;
use parking_lot::{Mutex, MutexGuard};

use super::stream_ordered::StreamOrderedPool;
use crate::device::gpu::Device;
use crate::device::memory::allocation::GlobalAllocation;
use crate::device::memory::global_memory::GlobalMemory;
use crate::device::registry::{HandleKind, Registry};
use crate::queue::QueuePoint;

/// The pools of the process.
#[derive(Debug)]
pub(crate) struct Pools {
    handles: Registry<StreamOrderedPool>,
    table: Mutex<PoolTable>,
    /// Whether something was allocated or freed in a stream's order, so that calls which
    /// synchronise have something to do.
    are_used: AtomicBool,
}

#[derive(Debug, Default)]
struct PoolTable {
    /// The default and the current pool of each device by ordinal, made when first asked for.
    of_devices: Vec<Option<DevicePools>>,
    /// All that have memory, or may come to have some.
    live: Vec<Arc<StreamOrderedPool>>,
}

#[derive(Debug, Clone)]
struct DevicePools {
    default: Arc<StreamOrderedPool>,
    current: Arc<StreamOrderedPool>,
}

const OUT_OF_MEMORY: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;

impl Default for Pools {
    fn default() -> Pools {
        let handles = Registry::new(HandleKind::Pool);
        Pools { handles, table: Mutex::default(), are_used: AtomicBool::new(false) }
    }
}

impl Pools {
    /// The pool that a handle names.
    pub(crate) fn get(&self, handle: u64) -> Option<Arc<StreamOrderedPool>> {
        self.handles.get(handle)
    }

    /// A device's own pool.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` if there are too many pools.
    pub(crate) fn default_of(
        &self,
        device: &'static Device,
    ) -> Result<Arc<StreamOrderedPool>, CUresult> {
        Ok(self.of(device)?.default)
    }

    /// The pool from which streams of a device allocate.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` if there are too many pools.
    pub(crate) fn current_of(
        &self,
        device: &'static Device,
    ) -> Result<Arc<StreamOrderedPool>, CUresult> {
        Ok(self.of(device)?.current)
    }

    /// Has a device's streams allocate from one of its pools.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for another device's pool.
    pub(crate) fn set_current(
        &self,
        device: &'static Device,
        pool: Arc<StreamOrderedPool>,
    ) -> Result<(), CUresult> {
        if pool.device.id != device.id {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        self.of(device)?;
        let mut table = self.lock();
        let of_device = table.of_devices.get_mut(device.id.ordinal as usize);
        if let Some(Some(of_device)) = of_device {
            of_device.current = pool;
        }
        Ok(())
    }

    /// Makes a pool that may reserve so much.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` if there are too many pools.
    pub(crate) fn create(&self, device: &'static Device, most: u64) -> Result<u64, CUresult> {
        let make = |handle| StreamOrderedPool::new(handle, device, most, false);
        let (handle, pool) = self.handles.insert(make).ok_or(OUT_OF_MEMORY)?;
        self.lock().live.push(pool);
        Ok(handle)
    }

    /// Makes a handle name nothing. The pool's memory goes as it is freed.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for what is no handle, and for a device's default pool.
    pub(crate) fn destroy(&self, handle: u64) -> Result<(), CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        self.get(handle).filter(|pool| !pool.is_default).ok_or(invalid)?;
        let pool = self.handles.remove(handle).ok_or(invalid)?;
        pool.destroy();
        let mut table = self.lock();
        for of_device in table.of_devices.iter_mut().flatten() {
            if Arc::ptr_eq(&of_device.current, &pool) {
                of_device.current = Arc::clone(&of_device.default);
            }
        }
        Ok(())
    }

    /// Frees memory after the work up to a point, or at once: back to its pool, or, if it is of
    /// none, for good at the next synchronisation. False if it is freed already.
    pub(crate) fn free(
        &self,
        memory: &GlobalMemory,
        allocation: &Arc<GlobalAllocation>,
        after: Option<QueuePoint>,
    ) -> bool {
        self.are_used.store(true, Ordering::Release);
        if !memory.leave(allocation, after.clone()) {
            return false;
        }
        if let Some(pool) = &allocation.pool {
            pool.take_back(allocation, after);
        }
        true
    }

    /// The host has synchronised with one of the devices: what has been freed there by now is known
    /// to be free.
    pub(crate) fn synchronised(&self, with: &Device, devices: &[Device]) {
        if !self.are_used.load(Ordering::Acquire) {
            return;
        }
        let with = with.id.ordinal;
        for device in devices {
            let is_own = device.id.ordinal == with;
            device.memory.forget_left(|after| is_own || after.is_on(with));
        }
        let live = self.lock().live.clone();
        live.iter().for_each(|pool| pool.settle(with));
        drop(live);
        let is_gone = |pool: &mut Arc<StreamOrderedPool>| {
            self.handles.get(pool.handle).is_none() && pool.is_empty()
        };
        let gone: Vec<_> = self.lock().live.extract_if(.., is_gone).collect();
        drop(gone);
    }

    /// Forgets all pools and what the program set.
    pub(crate) fn reset(&self) {
        let table = std::mem::take(&mut *self.lock());
        drop(self.handles.remove_all(|_| true));
        drop(table);
    }

    fn of(&self, device: &'static Device) -> Result<DevicePools, CUresult> {
        let index = device.id.ordinal as usize;
        let mut table = self.lock();
        if let Some(Some(known)) = table.of_devices.get(index) {
            return Ok(known.clone());
        }
        let make = |handle| StreamOrderedPool::new(handle, device, u64::MAX, true);
        let (_, pool) = self.handles.insert(make).ok_or(OUT_OF_MEMORY)?;
        table.live.push(Arc::clone(&pool));
        let made = DevicePools { default: Arc::clone(&pool), current: pool };
        if table.of_devices.len() <= index {
            table.of_devices.resize(index + 1, None);
        }
        table.of_devices[index] = Some(made.clone());
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, PoolTable> {
        self.table.lock()
    }
}
