//! Physical memory without an address: parts of a file in memory, which may be mapped at several
//! addresses at a time.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;
use std::sync::{Arc, OnceLock};

use cuda_sys::CUresult;
use libc::{FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE, MAP_FAILED, MAP_FIXED, MAP_NORESERVE};
use libc::{MAP_SHARED, PROT_NONE};
use parking_lot::{Mutex, MutexGuard};

use crate::device::memory::global_memory::GlobalMemory;
use crate::device::memory::ranges::Ranges;
use crate::device::memory::window::GRANULE;
use cuda_check::Contents;

/// The location of physical memory (`CUmemLocation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryLocation {
    /// On the device of that ordinal.
    Device(u32),
    /// With the host, wherever.
    Host,
    /// On a NUMA node of the host, of which there is one.
    HostNode,
}

/// Physical memory that `cuMemCreate` made. It goes when neither a handle nor a mapping holds it
/// any more.
#[derive(Debug)]
pub(crate) struct PhysicalAllocation {
    /// Its handle.
    pub(crate) handle: u64,
    /// Its size, a multiple of the granule.
    pub(crate) bytes: u64,
    /// Its location.
    pub(crate) place: MemoryLocation,
    /// The device whose limit counts them.
    memory: Option<&'static GlobalMemory>,
    file: &'static MemoryFile,
    offset: u64,
    /// The record that checks keep of its bytes, wherever it is mapped.
    pub(in crate::device) contents: Arc<Contents>,
}

impl PhysicalAllocation {
    /// Takes `bytes`, a multiple of the granule.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`: the limit of the device is reached, or the machine's own.
    pub(in crate::device) fn new(
        handle: u64,
        bytes: u64,
        place: MemoryLocation,
        memory: Option<&'static GlobalMemory>,
    ) -> Result<PhysicalAllocation, CUresult> {
        let out_of_memory = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
        let file = MemoryFile::get().ok_or(out_of_memory)?;
        if memory.is_some_and(|memory| !memory.charge(bytes)) {
            return Err(out_of_memory);
        }
        let Some(offset) = file.free().take(bytes) else {
            memory.into_iter().for_each(|memory| memory.discharge(bytes));
            return Err(out_of_memory);
        };
        let contents = match place {
            MemoryLocation::Device(_) => Contents::default(),
            MemoryLocation::Host | MemoryLocation::HostNode => Contents::of_the_host(bytes),
        };
        Ok(PhysicalAllocation {
            handle,
            bytes,
            place,
            memory,
            file,
            offset,
            contents: Arc::new(contents),
        })
    }

    /// Maps all of it at an address, without access.
    ///
    /// # Errors
    /// The kernel may have no room for another mapping.
    ///
    /// # Safety
    /// The range, of as many bytes, belongs to the driver, and nothing is there.
    pub(in crate::device) unsafe fn map(&self, range: &Range<u64>) -> io::Result<()> {
        let address = ptr::with_exposed_provenance_mut(range.start as usize);
        let flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
        let (length, offset) = (self.bytes as usize, self.offset as libc::off_t);
        let file = self.file.file.as_raw_fd();
        // SAFETY: the range belongs to the driver, and nothing is there: what the new mapping
        // replaces is the reservation of addresses.
        let mapped = unsafe { libc::mmap(address, length, PROT_NONE, flags, file, offset) };
        if mapped == MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for PhysicalAllocation {
    fn drop(&mut self) {
        self.file.discard(self.offset, self.bytes);
        self.file.free().give(self.offset..self.offset + self.bytes);
        self.memory.into_iter().for_each(|memory| memory.discharge(self.bytes));
    }
}

/// Whether this machine lets the driver have such memory.
pub(crate) fn is_possible() -> bool {
    MemoryFile::get().is_some()
}

/// One file for all: there may be many more handles than a process may have files.
#[derive(Debug)]
struct MemoryFile {
    file: File,
    free: Mutex<Ranges>,
}

/// The length of the file, which has memory only where something was written.
const LENGTH: u64 = 1 << 46;

impl MemoryFile {
    fn get() -> Option<&'static MemoryFile> {
        static FILE: OnceLock<Option<MemoryFile>> = OnceLock::new();
        let make = || {
            MemoryFile::new().inspect_err(|error| {
            tracing::warn!(%error, "no file in memory, so there is no virtual memory management");
        })
        };
        FILE.get_or_init(|| make().ok()).as_ref()
    }

    fn new() -> io::Result<MemoryFile> {
        // SAFETY: the name ends with a NUL.
        let descriptor = unsafe { libc::memfd_create(c"cuda-sim".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and nobody else's.
        let file = unsafe { File::from_raw_fd(descriptor) };
        file.set_len(LENGTH)?;
        debug_assert!(LENGTH.is_multiple_of(GRANULE));
        Ok(MemoryFile { file, free: Mutex::new(Ranges::new(0..LENGTH)) })
    }

    fn free(&self) -> MutexGuard<'_, Ranges> {
        self.free.lock()
    }

    /// Gives the memory of a part back; it reads as zero from now on.
    fn discard(&self, offset: u64, bytes: u64) {
        let (mode, file) = (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, self.file.as_raw_fd());
        // SAFETY: the part belongs to a handle that has gone, and is mapped nowhere.
        let result = unsafe { libc::fallocate(file, mode, offset as i64, bytes as i64) };
        if result != 0 {
            tracing::warn!(error = %io::Error::last_os_error(), "memory was not returned");
        }
    }
}
