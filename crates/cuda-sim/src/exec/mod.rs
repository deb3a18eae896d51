//! Execution: a PTX module as a [`Program`], its kernels, and launches of them on the calling thread.

mod fault;
mod launch;
mod program;

pub(crate) use fault::{Access, Fault, FaultKind};
pub(crate) use launch::{Launch, MemoryView};
pub(crate) use program::{
    CheckLevel, CompileError, CompiledKernel, GlobalVariable, Kernel, Parameter, Program,
    Relocation, Space,
};
