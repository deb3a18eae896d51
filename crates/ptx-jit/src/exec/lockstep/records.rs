//! The warps of a block, as native code finds them: each as a record and a frame behind it, one behind
//! the other, and behind the last full one a record at which a sweep over them ends.

use std::ops::{Index, IndexMut};

use crate::abi::{END, ThreadRecord, WarpRecord, warp_stride};
use crate::exec::buffer::Buffer;

pub(in crate::exec) struct WarpRecords {
    memory: Buffer,
    stride: usize,
    /// The number of full warps.
    count: usize,
}

impl WarpRecords {
    /// Makes records of `full` warps, whose threads are set later, and frames for `all`: lanes of a
    /// warp that is not full keep their registers in one too.
    pub(in crate::exec) fn new(full: usize, all: usize, frame_bytes: usize) -> WarpRecords {
        let stride = warp_stride(frame_bytes);
        // Registers lie in a frame only once they were put there.
        let memory = Buffer::unspecified(all.max(full + 1) * stride);
        let mut records = WarpRecords { memory, stride, count: full };
        for warp in 0..=full {
            records.record(warp).restart();
        }
        records.record(full).state = END;
        records
    }

    /// Tells each warp its threads.
    pub(in crate::exec) fn set_threads(&mut self, threads: &mut [ThreadRecord]) {
        for (warp, threads) in threads.chunks_exact_mut(32).enumerate().take(self.count) {
            let (linear, index) = (threads[0].linear, threads[0].index);
            let record = &mut self[warp];
            (record.linear, record.index) = (linear, index);
            record.threads = threads.as_mut_ptr();
        }
    }

    /// The number of full warps.
    pub(in crate::exec) fn len(&self) -> usize {
        self.count
    }

    /// The first record. Native code finds the others behind it.
    pub(in crate::exec) fn start(&self) -> *mut WarpRecord {
        self.place(0)
    }

    pub(in crate::exec) fn place(&self, warp: usize) -> *mut WarpRecord {
        self.memory.start().wrapping_add(warp * self.stride).cast()
    }

    pub(in crate::exec) fn frame(&self, warp: usize) -> *mut u8 {
        self.place(warp).wrapping_add(1).cast()
    }

    /// The distance between a warp's frame and the next one's.
    pub(in crate::exec) fn stride(&self) -> usize {
        self.stride
    }

    /// The index of the warp that has the record at an address.
    pub(super) fn warp_at(&self, place: *const WarpRecord) -> usize {
        (place.addr() - self.start().addr()) / self.stride
    }

    /// The state in the record behind a warp's.
    pub(super) fn state_behind(&mut self, warp: usize) -> &mut u32 {
        assert!(warp < self.count);
        &mut self.record(warp + 1).state
    }

    fn record(&mut self, warp: usize) -> &mut WarpRecord {
        // SAFETY: the memory has room for so many, its places are aligned, and all of its bytes have been
        // written, of which any make a record. Native code, which reads and writes it too, runs only
        // while nothing of `self` is borrowed.
        unsafe { &mut *self.place(warp) }
    }
}

impl Index<usize> for WarpRecords {
    type Output = WarpRecord;

    fn index(&self, warp: usize) -> &WarpRecord {
        assert!(warp < self.count);
        // SAFETY: as in `record`.
        unsafe { &*self.place(warp) }
    }
}

impl IndexMut<usize> for WarpRecords {
    fn index_mut(&mut self, warp: usize) -> &mut WarpRecord {
        assert!(warp < self.count);
        self.record(warp)
    }
}
