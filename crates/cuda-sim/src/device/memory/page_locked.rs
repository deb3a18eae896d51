//! Page-locked host memory: allocated here, or registered by the program.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use cuda_sys::CUresult;
use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE};
use parking_lot::RwLock;
use ptx_jit::AccessKind;

use super::allocation::next_id;
use cuda_check::MemoryKind;

/// Host memory that every device can reach at the host's own addresses.
#[derive(Debug)]
pub(crate) struct PageLockedAllocation {
    /// The first byte.
    pub(crate) address: u64,
    /// The size that was asked for.
    pub(crate) bytes: u64,
    /// The number of the context that it belongs to.
    pub(crate) owner: u64,
    /// A number that no other allocation of the process ever has.
    pub(crate) id: u64,
    /// Flags of `cuMemHostAlloc` or `cuMemHostRegister`.
    pub(crate) flags: u32,
    /// Whose memory it is.
    pub(crate) source: HostSource,
    /// The mapping to be undone.
    mapped: usize,
}

/// The origin of page-locked memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostSource {
    /// `cuMemHostAlloc`.
    Driver,
    /// `cuMemHostRegister`: it stays the program's.
    Program,
}

/// All page-locked memory of the process.
#[derive(Debug, Default)]
pub(crate) struct PageLockedMemory {
    live: RwLock<BTreeMap<u64, Arc<PageLockedAllocation>>>,
}

impl PageLockedAllocation {
    /// Whether devices may do so: what was registered as read-only they only read.
    pub(crate) fn permits(&self, access: AccessKind) -> bool {
        let is_read_only = self.source == HostSource::Program
            && self.flags & cuda_sys::CU_MEMHOSTREGISTER_READ_ONLY != 0;
        !is_read_only || access == AccessKind::Read
    }

    /// The addresses.
    pub(crate) fn range(&self) -> Range<u64> {
        self.address..self.address + self.bytes
    }
}

impl Drop for PageLockedAllocation {
    fn drop(&mut self) {
        if self.mapped > 0 {
            let address = ptr::with_exposed_provenance_mut(self.address as usize);
            // SAFETY: the mapping was made for this allocation, which nothing uses any more.
            let result = unsafe { libc::munmap(address, self.mapped) };
            debug_assert_eq!(result, 0, "a mapping of the driver's own can be undone");
        }
    }
}

impl PageLockedMemory {
    /// Allocates `bytes`, which are not zero.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn allocate(
        &self,
        bytes: u64,
        flags: u32,
        owner: u64,
    ) -> Result<Arc<PageLockedAllocation>, CUresult> {
        let (address, mapped) = map(bytes).map_err(|error| {
            tracing::debug!(%error, bytes, "no page-locked memory");
            CUresult::CUDA_ERROR_OUT_OF_MEMORY
        })?;
        let source = HostSource::Driver;
        let id = next_id();
        let allocation =
            Arc::new(PageLockedAllocation { address, bytes, owner, id, flags, source, mapped });
        self.write(|live| live.insert(address, Arc::clone(&allocation)));
        cuda_check::allocated(allocation.range(), MemoryKind::Host, owner);
        Ok(allocation)
    }

    /// Registers memory of the program.
    ///
    /// # Errors
    /// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED` where it overlaps with what is page-locked.
    pub(crate) fn register(
        &self,
        range: Range<u64>,
        flags: u32,
        owner: u64,
    ) -> Result<(), CUresult> {
        let (address, bytes) = (range.start, range.end - range.start);
        let source = HostSource::Program;
        let id = next_id();
        let allocation =
            Arc::new(PageLockedAllocation { address, bytes, owner, id, flags, source, mapped: 0 });
        self.write(|live| {
            let before = live.range(..range.end).next_back();
            if before.is_some_and(|(_, other)| other.range().end > address) {
                return Err(CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
            }
            live.insert(address, allocation);
            cuda_check::allocated(range, MemoryKind::Host, owner);
            Ok(())
        })
    }

    /// The allocation that begins at an address.
    pub(crate) fn starting_at(&self, address: u64) -> Option<Arc<PageLockedAllocation>> {
        self.read(|live| live.get(&address).cloned())
    }

    /// The allocation that an address lies in.
    pub(crate) fn containing(&self, address: u64) -> Option<Arc<PageLockedAllocation>> {
        self.read(|live| {
            let (_, allocation) = live.range(..=address).next_back()?;
            allocation.range().contains(&address).then(|| Arc::clone(allocation))
        })
    }

    /// Frees an allocation, or ends its registration. False if that was done already.
    pub(crate) fn free(&self, allocation: &Arc<PageLockedAllocation>) -> bool {
        self.write(|live| {
            let known = live.get(&allocation.address);
            let known = known.is_some_and(|known| Arc::ptr_eq(known, allocation));
            if known {
                cuda_check::freed(allocation.address);
            }
            known && live.remove(&allocation.address).is_some()
        })
    }

    /// Frees all that belongs to an owner, or everything.
    pub(crate) fn free_all(&self, owner: Option<u64>) {
        let leaves =
            |allocation: &Arc<PageLockedAllocation>| owner.is_none_or(|id| allocation.owner == id);
        let leaving = self.write(|live| {
            live.extract_if(.., |_, allocation| leaves(allocation)).collect::<Vec<_>>()
        });
        leaving.iter().for_each(|&(address, _)| cuda_check::freed(address));
        drop(leaving);
    }

    /// Whether any of it belongs to that owner.
    pub(in crate::device) fn belongs_to(&self, owner: u64) -> bool {
        self.read(|live| live.values().any(|allocation| allocation.owner == owner))
    }

    /// The number of page-locked allocations.
    pub(crate) fn count(&self) -> usize {
        self.read(BTreeMap::len)
    }

    fn read<R>(&self, look: impl FnOnce(&BTreeMap<u64, Arc<PageLockedAllocation>>) -> R) -> R {
        look(&self.live.read())
    }

    fn write<R>(
        &self,
        change: impl FnOnce(&mut BTreeMap<u64, Arc<PageLockedAllocation>>) -> R,
    ) -> R {
        change(&mut self.live.write())
    }
}

fn map(bytes: u64) -> io::Result<(u64, usize)> {
    const PAGE: u64 = 4096;
    let rounded = bytes.checked_next_multiple_of(PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
    let length = usize::try_from(rounded).map_err(io::Error::other)?;
    let flags = MAP_PRIVATE | MAP_ANONYMOUS;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing.
    let address =
        unsafe { libc::mmap(ptr::null_mut(), length, PROT_READ | PROT_WRITE, flags, -1, 0) };
    if address == MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok((address.expose_provenance() as u64, length))
}
