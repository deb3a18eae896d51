//! Native code for kernels, made with Cranelift.
//!
//! There are two translations. `lockstep` translates a kernel for a full warp, whose lanes go through the code
//! together, with `vector` for what differs between them. The other modules translate for one
//! thread: a loop over the threads of a block where none of them waits, and else a resumable
//! function that runs a thread until it must wait. That is the simple one, for checked runs; and lockstep uses it for what each lane does by itself, inside its own code and where
//! lanes diverge. Everything here relies on the front end having refused what cannot be
//! lowered.

mod arena;
mod array_functions;
mod cold;
mod emitter;
mod float_bits;
mod flow;
mod jit_module;
mod lockstep;
mod module_builder;
mod native;
mod operators;
mod records;
mod runtime_calls;
mod scalar;
mod signature;
mod thread;
mod types;
mod vector;

pub(crate) use native::{NativeKernel, Target, compile_threads, compile_warps, contained};
pub(crate) use records::{AccessGroup, LaneAccess, ResumeTable, StackUse, SuspendPoint};
pub(crate) use thread::SpaceWindow;

/// Whether kernels can be translated for warps in lockstep on this host.
pub(crate) fn has_vectors() -> bool {
    vector::is_supported()
}
