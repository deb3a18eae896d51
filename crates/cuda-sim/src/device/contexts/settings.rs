//! What a program can tell a context: flags, limits and preferences.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use cuda_sys::{CUctx_flags as Flags, CUfunc_cache, CUlimit, CUresult, CUsharedconfig};

/// The settings of a context.
#[derive(Debug)]
pub(crate) struct Settings {
    flags: AtomicU32,
    cache: AtomicU32,
    banks: AtomicU32,
    limits: [AtomicUsize; LIMITS.len()],
}

/// A limit, its default, and the most that it can be.
type ContextLimit = (CUlimit, usize, usize);

/// The limits of a device of compute capability 7.5; defaults as NVIDIA's driver gives them.
const LIMITS: [ContextLimit; 6] = [
    (CUlimit::CU_LIMIT_STACK_SIZE, 1 << 10, 512 << 10),
    (CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20, usize::MAX),
    (CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20, usize::MAX),
    (CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2, 24),
    (CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048, usize::MAX),
    (CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64, 128),
];

impl Settings {
    /// The defaults, with flags that [`checked_flags`] took.
    pub(crate) fn new(flags: u32) -> Settings {
        Settings {
            flags: AtomicU32::new(flags),
            cache: AtomicU32::new(CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE.0),
            banks: AtomicU32::new(CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE.0),
            limits: LIMITS.map(|(_, default, _)| AtomicUsize::new(default)),
        }
    }

    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// Replaces the flags.
    pub(crate) fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    /// # Errors
    /// `CUDA_ERROR_UNSUPPORTED_LIMIT` for a limit that the devices do not have.
    pub(crate) fn limit(&self, limit: CUlimit) -> Result<usize, CUresult> {
        Ok(self.limits[position(limit)?].load(Ordering::Relaxed))
    }

    /// # Errors
    /// As [`limit`](Settings::limit), and `CUDA_ERROR_INVALID_VALUE` for more than it can be.
    pub(crate) fn set_limit(&self, limit: CUlimit, value: usize) -> Result<(), CUresult> {
        let position = position(limit)?;
        if value > LIMITS[position].2 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        self.limits[position].store(value, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn cache(&self) -> CUfunc_cache {
        CUfunc_cache(self.cache.load(Ordering::Relaxed))
    }

    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a preference that cuda.h does not name.
    pub(crate) fn set_cache(&self, preference: CUfunc_cache) -> Result<(), CUresult> {
        check_cache(preference)?;
        self.cache.store(preference.0, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn banks(&self) -> CUsharedconfig {
        CUsharedconfig(self.banks.load(Ordering::Relaxed))
    }
}

/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for flags that cuda.h does not name, or two ways to wait at once.
pub(crate) fn checked_flags(flags: u32) -> Result<u32, CUresult> {
    let ways = [
        Flags::CU_CTX_SCHED_AUTO,
        Flags::CU_CTX_SCHED_SPIN,
        Flags::CU_CTX_SCHED_YIELD,
        Flags::CU_CTX_SCHED_BLOCKING_SYNC,
    ];
    let is_known = flags & !Flags::CU_CTX_FLAGS_MASK.0 == 0;
    let is_one_way = ways.iter().any(|way| flags & Flags::CU_CTX_SCHED_MASK.0 == way.0);
    if is_known && is_one_way { Ok(flags) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
}

/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a preference that cuda.h does not name.
pub(crate) fn check_cache(preference: CUfunc_cache) -> Result<(), CUresult> {
    let is_known = preference.0 <= CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL.0;
    if is_known { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
}

/// Banks of shared memory have four bytes on all devices that CUDA 13 knows: to ask for others has
/// no effect.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a size that cuda.h does not name.
pub(crate) fn check_banks(size: CUsharedconfig) -> Result<(), CUresult> {
    let is_known = size.0 <= CUsharedconfig::CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE.0;
    if is_known { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_VALUE) }
}

fn position(limit: CUlimit) -> Result<usize, CUresult> {
    let position = LIMITS.iter().position(|(known, ..)| *known == limit);
    position.ok_or(CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT)
}
