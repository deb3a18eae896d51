//! Native code for kernels, made with Cranelift.
//!
//! One thread at a time: a kernel without suspension points becomes a loop over the threads of a
//! block with registers in SSA form; any other becomes a resumable function that runs one thread
//! until it must wait. Everything here relies on the front end having refused what cannot be
//! lowered.

mod access;
mod atomic;
mod bits;
mod bytes;
mod call;
mod carry;
mod compare;
mod control;
mod convert;
mod dot;
mod float;
mod function;
mod half;
mod integer;
mod lockstep;
mod memory;
mod native;
mod special;
mod suspend;
mod value;
#[allow(dead_code, unused_imports, reason = "the lowering of warps comes to use it step by step")]
mod vector;

pub(crate) use function::Point;
pub(crate) use native::{NativeKernel, Site, compile_threads, compile_warps};

/// Whether kernels can be translated for warps in lockstep on this host.
pub(crate) fn has_vectors() -> bool {
    vector::is_supported()
}
