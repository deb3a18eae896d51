//! The warps of a block, as native code finds them: each as a record and a frame behind it, one behind
//! the other, and behind the last full one a record at which a sweep over them ends.

use std::ops::{Index, IndexMut};

use crate::abi::{END, Thread, WarpRecord, warp_stride};
use crate::exec::buffer::Buffer;

pub(in crate::exec) struct Records {
    memory: Buffer,
    stride: usize,
    /// Of full warps.
    count: usize,
}

impl Records {
    /// Records of `full` warps, whose threads they do not know yet, and frames for `all`.
    pub(in crate::exec) fn new(full: usize, all: usize, frame_bytes: usize) -> Records {
        let stride = warp_stride(frame_bytes);
        let memory = Buffer::new(all.max(full + 1) * stride);
        let mut records = Records { memory, stride, count: full };
        for warp in 0..=full {
            let place = records.place(warp);
            // SAFETY: the memory has room for so many, and its places are aligned.
            unsafe { place.write(WarpRecord::default()) };
        }
        records.record(full).state = END;
        records
    }

    /// Tells each warp its threads.
    pub(in crate::exec) fn set_threads(&mut self, threads: &mut [Thread]) {
        for (warp, threads) in threads.chunks_exact_mut(32).enumerate().take(self.count) {
            let (linear, index) = (threads[0].linear, threads[0].index);
            let record = &mut self[warp];
            (record.linear, record.index) = (linear, index);
            record.threads = threads.as_mut_ptr();
        }
    }

    /// How many full warps there are.
    pub(in crate::exec) fn len(&self) -> usize {
        self.count
    }

    /// All of it, for native code.
    pub(in crate::exec) fn start(&self) -> *mut WarpRecord {
        self.place(0)
    }

    pub(in crate::exec) fn place(&self, warp: usize) -> *mut WarpRecord {
        self.memory.start().wrapping_add(warp * self.stride).cast()
    }

    pub(in crate::exec) fn frame(&self, warp: usize) -> *mut u8 {
        self.place(warp).wrapping_add(1).cast()
    }

    /// Which warp has a record.
    pub(super) fn warp_at(&self, place: *const WarpRecord) -> usize {
        (place.addr() - self.start().addr()) / self.stride
    }

    /// The state of what lies behind a warp.
    pub(super) fn state_behind(&mut self, warp: usize) -> &mut u32 {
        assert!(warp < self.count);
        &mut self.record(warp + 1).state
    }

    fn record(&mut self, warp: usize) -> &mut WarpRecord {
        // SAFETY: written in `new`. Native code, which reads and writes it too, runs only while
        // nothing of `self` is borrowed.
        unsafe { &mut *self.place(warp) }
    }
}

impl Index<usize> for Records {
    type Output = WarpRecord;

    fn index(&self, warp: usize) -> &WarpRecord {
        assert!(warp < self.count);
        // SAFETY: as for `record`.
        unsafe { &*self.place(warp) }
    }
}

impl IndexMut<usize> for Records {
    fn index_mut(&mut self, warp: usize) -> &mut WarpRecord {
        assert!(warp < self.count);
        self.record(warp)
    }
}
