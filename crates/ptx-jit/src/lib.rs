//! PTX run on the host: kernels become native code, and their blocks run on threads of the program.
//!
//! [`Program::load`] reads a PTX text (with the crate [`ptx`]), [`Kernel::compile`] translates one of
//! its kernels with Cranelift, and [`Launch::run`] runs blocks of it on the calling thread, over memory
//! that a [`MemoryView`] vouches for. Full warps run in lockstep, in vectors; where their lanes part,
//! each goes on as a thread and comes back.
//!
//! It is not a driver: it knows no devices, streams, contexts or handles, and no order between
//! launches. The crate `cuda-sim` is one, and is made of this.
//!
//! ```
//! use std::ops::Range;
//! use std::sync::atomic::AtomicBool;
//!
//! use ptx_jit::{AccessKind, CheckLevel, Execution, Launch, MemoryView, ExecutionMode, Program};
//!
//! /// Memory that kernels may touch: one vector.
//! struct Memory(Range<u64>);
//!
//! impl MemoryView for Memory {
//!     fn window(&self) -> Range<u64> {
//!         0..0 // no address passes unasked
//!     }
//!     fn permits(&self, address: u64, bytes: u64, _: AccessKind) -> bool {
//!         self.0.contains(&address) && address + bytes <= self.0.end
//!     }
//!     fn heap_allocate(&self, _: u64) -> Option<u64> {
//!         None
//!     }
//!     fn heap_release(&self, _: u64) -> bool {
//!         false
//!     }
//!     fn print(&self, text: &str) {
//!         print!("{text}");
//!     }
//! }
//!
//! let program = Program::load(
//!     ".version 8.0 .target sm_80 .address_size 64
//!      .visible .entry number(.param .u64 out) {
//!          .reg .u32 %r; .reg .u64 %a, %o;
//!          mov.u32 %r, %tid.x;
//!          ld.param.u64 %a, [out];
//!          mul.wide.u32 %o, %r, 4;
//!          add.u64 %a, %a, %o;
//!          st.global.u32 [%a], %r;
//!          ret;
//!      }",
//! )?;
//! let kernel = program.kernel("number").expect("the text has it");
//! let block = [64, 1, 1];
//! let level = CheckLevel::Window;
//! let code = kernel.compile(level, Execution::of(ExecutionMode::Lockstep, level, block))?;
//!
//! let mut numbers = vec![0u32; 64];
//! let start = numbers.as_mut_ptr() as u64;
//! let launch = Launch {
//!     kernel: &code,
//!     grid: [1, 1, 1],
//!     block,
//!     dynamic_shared_bytes: 0,
//!     parameters: &start.to_le_bytes(),
//!     globals: &[],
//!     memory: &Memory(start..start + 4 * 64),
//! };
//! launch.run(0..1, &AtomicBool::new(false))?;
//! assert!(numbers.iter().copied().eq(0..64));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Layers, as `cargo xtask tidy` checks them: `exec` runs blocks and has the functions that native code
//! calls; `program` is a text with its kernels and their code; `codegen` lowers to Cranelift; `ir` finds
//! what the lanes of a warp have in common; `abi` is what native code and Rust agree on; `runtime` has
//! the arithmetic that the host lacks; [`code_cache`] keeps code on disk; [`stack`] and [`trap`] are where native code runs, and what
//! becomes of its wild accesses.

// Layers, the top one first; a module imports only from lines below its own.
//
//   fuzzing
//   exec
//   program
//   codegen
//   ir
//   abi
//   runtime
//   code_cache
//   stack
//   trap
mod abi;
pub mod code_cache;
mod codegen;
mod exec;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod ir;
mod program;
mod runtime;
pub mod stack;
pub mod trap;

pub use abi::{AccessInfo, AccessKind, CheckLevel};
pub use exec::{
    AccessContext, AccessRefusal, Assertion, BlockChecker, BlockLayout, Fault, FaultKind, Launch,
    MemoryView, Misuse, Violation,
};
pub use ir::WarpShape;
pub use program::{
    CompileError, CompiledKernel, Execution, ExecutionMode, GlobalVariable, Kernel,
    MAX_STATIC_SHARED_BYTES, Parameter, Program, Relocation, Space,
};
/// A step of a thread's asynchronous copies, of which a [`BlockChecker`] is told.
pub use ptx::CopyGroup;

/// The README's example is tested as the documentation's are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
