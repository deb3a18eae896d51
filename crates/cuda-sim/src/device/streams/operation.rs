//! What a stream does, as data: from it a capture makes a node of its graph.

use std::sync::Arc;

use cuda_sys::CUmemorytype as Kind;

use crate::device::code::kernel_call::KernelCall;
use crate::device::contexts::context::Context;

/// An operation that a stream enqueues, with all its parameters. Memory is named by addresses:
/// they are looked up again when the operation runs.
pub(crate) enum StreamOperation {
    Kernel(KernelCall),
    Copy(CopyParameters, Arc<Context>),
    Fill(FillParameters, Arc<Context>),
}

/// A copy of `depth` planes of `height` rows of `width` bytes, none of which is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyParameters {
    pub(crate) from: CopyNodeEnd,
    pub(crate) to: CopyNodeEnd,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// One end of a copy: where rows lie, as `CUDA_MEMCPY3D` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyNodeEnd {
    pub(crate) kind: Kind,
    pub(crate) address: u64,
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) z: u64,
    /// Bytes from one row to the next.
    pub(crate) pitch: u64,
    /// Rows from one plane to the next.
    pub(crate) height: u64,
    /// The memory was page-locked when the node was made. If it has been freed since, whatever is
    /// at the address now must not be touched: it is not memory that the program meant.
    pub(crate) is_page_locked: bool,
}

/// A fill of `height` rows of `width` values of `size` bytes each, none of which is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FillParameters {
    pub(crate) address: u64,
    /// Bytes from one row to the next, where there are several.
    pub(crate) pitch: u64,
    pub(crate) value: u32,
    pub(crate) size: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}
