//! What native code and its caller share: plain records at fixed places.

use std::mem::offset_of;

/// The number of access sizes that are checked: 1 to 32 bytes, by their logarithms.
pub(crate) const SIZES: usize = 6;

/// The most bytes that a thread accesses at once.
pub(crate) const MAX_BYTES: usize = 1 << (SIZES - 1);

/// The record that native code is given about the launch and the running block.
#[repr(C)]
pub(crate) struct KernelContext {
    /// The beginning of the device's own address range.
    pub(crate) window_start: u64,
    /// The number of slots for accesses of each size in the device's own address range; see
    /// [`slots`].
    pub(crate) window_slots: [u64; SIZES],
    pub(crate) parameters: *const u8,
    pub(crate) parameter_slots: [u64; SIZES],
    /// The running block's shared memory.
    pub(crate) shared: *mut u8,
    pub(crate) shared_slots: [u64; SIZES],
    pub(crate) local_slots: [u64; SIZES],
    /// The lowest address that the stack may have reached where a function calls another one.
    pub(crate) stack_limit: u64,
    /// The addresses of the module's variables.
    pub(crate) globals: *const u64,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) block_index: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) total_shared_bytes: u32,
    /// The records of the block's full warps. Behind the last one lies a record in the state
    /// [`END`].
    pub(crate) warps: *mut WarpRecord,
    pub(crate) warp_count: u32,
    /// Whether the warps are run in a chain, each going on to the next one, and not one at a time.
    pub(crate) chained: u32,
    /// The numbers of warps that the running sweep over the chain has found to have ended, and to
    /// go on elsewhere than at the barrier.
    pub(crate) ended: u32,
    pub(crate) elsewhere: u32,
    /// Whether warps that wait at the barrier are marked with [`WAITS`].
    pub(crate) marked: u32,
    /// The number of sweeps over the chain so far.
    pub(crate) sweeps: u32,
    /// The warp that returned to the scheduler, in a chain.
    pub(crate) running: *mut WarpRecord,
    /// A buffer for accesses that a warp makes lane by lane: what they have read or are to write,
    /// as it would lie in memory, rows without gaps.
    pub(crate) lanes: [u64; LANES * MAX_BYTES / 8],
    /// The answer of a helper that was called on the cold path.
    pub(crate) answer: u32,
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

/// The record of a thread of the running block.
#[repr(C)]
pub(crate) struct ThreadRecord {
    pub(crate) local: *mut u8,
    /// The frame of the thread's warp, in which its lane has its cells.
    pub(crate) frame: *mut u8,
    /// The linear index in the block, and the index along each axis.
    pub(crate) linear: u32,
    pub(crate) index: [u32; 3],
    /// The state in which a suspended thread goes on; 0 is the beginning.
    pub(crate) state: u32,
    /// The state at which the thread stops, to go on with its warp; 0 for none.
    pub(crate) stop: u32,
    /// The suspension at which it waits.
    pub(crate) site: u32,
    /// The operands of the suspension.
    pub(crate) operands: [u64; OPERANDS],
    /// The results of the suspension.
    pub(crate) results: [u64; RESULTS],
}

/// The record of a full warp of the running block. Behind it lies the warp's frame.
#[repr(C, align(64))]
pub(crate) struct WarpRecord {
    /// The thread of the first lane; the others follow.
    pub(crate) threads: *mut ThreadRecord,
    /// The indices of the first lane in the block, as its thread has them.
    pub(crate) linear: u32,
    pub(crate) index: [u32; 3],
    /// The state in which the warp goes on; 0 is the beginning, and [`NOWHERE`] if it has ended.
    pub(crate) state: u32,
    /// The operands of a barrier: which one, how many threads it waits for, and in how many lanes
    /// the predicate holds. Zeros while the warp waits nowhere, for most warps have nothing else to
    /// say.
    pub(crate) operands: [u32; 3],
    /// The result of the barrier.
    pub(crate) result: u32,
    /// The state in which the lanes come together again after they have diverged; 0 for none.
    pub(crate) stop: u32,
    /// The state of the lanes in `there`.
    pub(crate) point: u32,
    /// The lanes that have come to `point`.
    pub(crate) there: u32,
    /// The lanes that wait elsewhere.
    pub(crate) waiting: u32,
    /// The lanes' operands of an operation of the warp.
    pub(crate) given: [[u64; LANES]; OPERANDS],
    /// The lanes' results of it.
    pub(crate) taken: [[u64; LANES]; RESULTS],
}

impl WarpRecord {
    /// Puts the warp at the beginning of a kernel. The lanes' operands and results stay as they are,
    /// since they are written before they are read.
    pub(crate) fn restart(&mut self) {
        self.threads = std::ptr::null_mut();
        (self.linear, self.index) = (0, [0; 3]);
        (self.state, self.operands, self.result) = (0, [0; 3], 0);
        (self.stop, self.point, self.there, self.waiting) = (0, 0, 0, 0);
    }
}

const _: () = {
    // Native code finds the indices of both behind their linear ones.
    assert!(offset_of!(ThreadRecord, index) == offset_of!(ThreadRecord, linear) + 4);
    assert!(offset_of!(WarpRecord, index) == offset_of!(WarpRecord, linear) + 4);
};

/// The distance between the records of warps whose frames have a size.
pub(crate) fn warp_stride(frame_bytes: usize) -> usize {
    (size_of::<WarpRecord>() + frame_bytes).next_multiple_of(align_of::<WarpRecord>())
}

/// The most operands that a lane hands to a suspension: those of a product of matrices.
pub(crate) const OPERANDS: usize = ptx::MATRIX_SOURCES;

/// The most results of a suspension.
pub(crate) const RESULTS: usize = ptx::MATRIX_RESULTS;

/// The number of lanes of a warp.
pub(crate) const LANES: usize = 32;

/// The state of a warp that has run to its end.
pub(crate) const NOWHERE: u32 = 1 << 31;
/// The state of the record behind the last warp, at which a chain of warps ends.
pub(crate) const END: u32 = 1 << 29;
/// The mark in the state of a warp that waits at the barrier while others of its chain still come
/// there.
pub(crate) const WAITS: u32 = 1 << 30;

/// The number that says that a thread commits its copies; others are of groups that it does not wait for.
pub(crate) const COMMIT: u32 = u32::MAX;

/// The status of a kernel that has run to its end: the thread of a suspending kernel, all threads
/// of any other.
pub(crate) const FINISHED: u32 = 0;
/// The status of a thread or warp that waits.
pub(crate) const SUSPENDED: u32 = 1;
/// The status of a thread or warp that was stopped by a fault, which the runner has.
pub(crate) const FAULTED: u32 = 2;
/// The status of a called function that ended its thread.
pub(crate) const EXITED: u32 = 3;

/// The status of a thread that has come to the state at which it is to stop.
pub(crate) const STOPPED: u32 = 4;
/// The status of a warp whose lanes have diverged; its record says where they are.
pub(crate) const DIVERGED: u32 = 5;

/// A kernel as a function of a warp. It runs a full warp up to the next wait or its end, or to
/// where its lanes part for more than a short way; in a chain, all warps from that one on.
pub(crate) type WarpEntry = unsafe extern "C" fn(*mut KernelContext, *mut WarpRecord) -> u32;

/// A kernel as a function. Where threads may have to wait, it runs one thread up to the next wait
/// or its end; otherwise it runs all threads of the block one after the other, with one thread's
/// memory.
pub(crate) type ThreadEntry = unsafe extern "C" fn(*mut KernelContext, *mut ThreadRecord) -> u32;
