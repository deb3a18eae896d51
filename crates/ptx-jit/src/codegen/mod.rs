//! Native code for kernels, made with Cranelift.
//!
//! In two ways. `lockstep` translates a kernel for a full warp, whose lanes go through the code
//! together, with `vector` for what differs between them. The other modules translate for one
//! thread: a loop over the threads of a block where none of them waits, and else a resumable
//! function that runs a thread until it must wait. That is the simple way, in which checked runs
//! are made; and lockstep uses it for what each lane does by itself, inside its own code and where
//! lanes go different ways. Everything here relies on the front end having refused what cannot be
//! lowered.

mod access;
mod arena;
mod atomic;
mod bits;
mod bytes;
mod call;
mod carry;
mod cold;
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
mod vector;

pub(crate) use access::Window;
pub(crate) use native::{
    Frames, LaneAccess, NativeKernel, Places, Site, Target, compile_threads, compile_warps,
    contained,
};

/// Whether kernels can be translated for warps in lockstep on this host.
pub(crate) fn has_vectors() -> bool {
    vector::is_supported()
}
