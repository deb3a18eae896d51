//! What native code and its caller share: plain records at fixed places.

/// The number of access sizes that are checked: 1 to 32 bytes, by their logarithms.
pub(crate) const SIZES: usize = 6;

/// What native code is given about the launch and the running block.
#[repr(C)]
pub(crate) struct Context {
    /// The beginning of the device's own address range.
    pub(crate) window_start: u64,
    /// The device's own address range, per access size.
    pub(crate) window_slots: [u64; SIZES],
    pub(crate) parameters: *const u8,
    pub(crate) parameter_slots: [u64; SIZES],
    /// The running block's shared memory.
    pub(crate) shared: *mut u8,
    pub(crate) shared_slots: [u64; SIZES],
    pub(crate) local_slots: [u64; SIZES],
    /// The addresses of the module's variables.
    pub(crate) globals: *const u64,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) block_index: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) total_shared_bytes: u32,
    /// The [`Runner`](super::runner::Runner), for the functions that native code calls.
    pub(crate) runner: *const (),
}

/// The number of places for accesses of each size, aligned to it, in a range of `bytes` bytes.
///
/// An access is inside the range and aligned where its distance from the start, rotated right by
/// the logarithm of its size, is smaller than this.
pub(crate) fn slots(bytes: u64) -> [u64; SIZES] {
    std::array::from_fn(|log| bytes >> log)
}

/// A thread of the running block.
#[repr(C)]
pub(crate) struct Thread {
    pub(crate) local: *mut u8,
    /// Registers of a suspended thread.
    pub(crate) frame: *mut u64,
    /// The index in the block.
    pub(crate) linear: u32,
    pub(crate) index: [u32; 3],
    /// Where a suspended thread goes on; 0 is the beginning.
    pub(crate) state: u32,
    /// The suspension at which it waits.
    pub(crate) site: u32,
    /// What it hands to the suspension.
    pub(crate) operands: [u64; 4],
    /// What the suspension gives back.
    pub(crate) results: [u32; 2],
}

/// The kernel has run to its end: the thread of a suspending kernel, all threads of any other.
pub(crate) const FINISHED: u32 = 0;
/// The thread waits.
pub(crate) const SUSPENDED: u32 = 1;
/// The thread was stopped; the runner knows why.
pub(crate) const FAULTED: u32 = 2;
/// A function ended its thread.
pub(crate) const EXITED: u32 = 3;

/// A kernel as a function. Where threads may have to wait, it runs one thread up to the next wait
/// or its end; otherwise it runs all threads of the block one after the other, with one thread's
/// memory.
pub(crate) type Entry = unsafe extern "C" fn(*const Context, *mut Thread) -> u32;
