//! Stream-ordered memory: pools from which streams allocate (`cuMemAllocAsync`), and to which they
//! free.

mod blocks;
pub(in crate::device) mod pools;
pub(in crate::device) mod stream_ordered;
