//! Handles with a fixed value, which cuda.h defines by casts that bindgen cannot follow.

use std::ptr::without_provenance_mut;

use crate::CUstream;

/// The legacy default stream, which orders itself against every blocking stream of its context.
pub const CU_STREAM_LEGACY: CUstream = without_provenance_mut(1);

/// The calling thread's own default stream.
pub const CU_STREAM_PER_THREAD: CUstream = without_provenance_mut(2);
