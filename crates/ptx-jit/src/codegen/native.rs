//! A kernel as native code: translated for threads or for warps, and kept while it may be called.

use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};

use cranelift_codegen::ir::Function;
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::JITModule;
use parking_lot::Mutex;

use super::cold;
use super::jit_module::{CodeSettings, new_module};
use super::lockstep::WarpLowering;
use super::module_builder::{FunctionScope, ModuleBuilder};
use super::records::{CodeRecords, ResumePoint, ResumeTable, StackUse};
use super::thread::{Lowering, Start};
use crate::abi::{CheckLevel, HelperAddresses, ThreadEntry, WarpEntry};
use crate::ir;

/// A kernel as native code: a function with a signature of `F`.
pub(crate) struct NativeKernel<F> {
    entry: F,
    /// Keeps the code alive.
    module: ManuallyDrop<Mutex<JITModule>>,
    pub(crate) records: CodeRecords,
    pub(crate) stack_use: StackUse,
}

/// The circumstances for which code is made.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) check: CheckLevel,
    /// The addresses of the functions that it calls.
    pub(crate) helpers: HelperAddresses,
}

impl<F: Copy> NativeKernel<F> {
    /// The kernel as a function, which may be called while `self` lives.
    pub(crate) fn entry(&self) -> F {
        self.entry
    }
}

impl<F> Drop for NativeKernel<F> {
    fn drop(&mut self) {
        // SAFETY: `module` is taken nowhere else.
        let module = unsafe { ManuallyDrop::take(&mut self.module) };
        let module = module.into_inner();
        // SAFETY: who calls the entry holds a reference to `self`, so the code is running nowhere.
        unsafe { module.free_memory() };
    }
}

/// Translates a kernel for one thread at a time. With points, which may be none, it is one that
/// runs beside its warps: its threads may begin and stop there.
///
/// # Errors
///
/// What Cranelift says against the host or the code.
pub(crate) fn compile_threads(
    kernel: &ir::KernelIr,
    target: Target,
    plan: &ir::Resumable,
    points: Option<&[ResumePoint]>,
) -> Result<NativeKernel<ThreadEntry>, String> {
    let start = match points {
        None if !kernel.suspends => Start::AllThreads(plan),
        points => Start::Resumable(plan, points.unwrap_or_default()),
    };
    let (native, ()) = compile(kernel, target, |scope, function, context| {
        Lowering::run(scope, function, context, start);
    })?;
    // SAFETY: the code has the signature of `ThreadEntry`, in the C calling convention.
    Ok(unsafe { native.with_entry(|code| std::mem::transmute::<*const u8, ThreadEntry>(code)) })
}

/// Translates a kernel for full warps in lockstep.
///
/// # Errors
///
/// What Cranelift says against the host or the code.
pub(crate) fn compile_warps(
    kernel: &ir::KernelIr,
    target: Target,
    plan: &ir::Lockstep,
) -> Result<(NativeKernel<WarpEntry>, ResumeTable), String> {
    let (native, points) = compile(kernel, target, |scope, function, context| {
        WarpLowering::run(scope, function, context, plan)
    })?;
    // SAFETY: the code has the signature of `WarpEntry`, in the C calling convention.
    let native =
        unsafe { native.with_entry(|code| std::mem::transmute::<*const u8, WarpEntry>(code)) };
    Ok((native, points))
}

/// Does a part of a translation in which a mistake of ours must not become the program's: a panic
/// is an error.
///
/// # Errors
///
/// Those of `part`, and the message of a panic in it.
pub(crate) fn contained<T>(part: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    // What a translation changes is its own, and is dropped with it.
    panic::catch_unwind(AssertUnwindSafe(part)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(format!("the translator panicked: {}", text.unwrap_or("it does not say why")))
    })
}

/// Translates a kernel: its entry, which `lower` fills, and all that it calls.
fn compile<T>(
    kernel: &ir::KernelIr,
    target: Target,
    lower: impl FnOnce(FunctionScope<'_>, &mut Function, &mut FunctionBuilderContext) -> T,
) -> Result<(NativeKernel<*const u8>, T), String> {
    contained(|| try_to_compile(kernel, target, lower))
}

fn try_to_compile<T>(
    kernel: &ir::KernelIr,
    target: Target,
    lower: impl FnOnce(FunctionScope<'_>, &mut Function, &mut FunctionBuilderContext) -> T,
) -> Result<(NativeKernel<*const u8>, T), String> {
    let Target { check, helpers } = target;
    let settings = CodeSettings::of_kernel(kernel);
    let module = new_module(helpers, cold::symbols(helpers)?, settings)?;
    let mut functions = ModuleBuilder::new(kernel, check, module);
    let defined = functions.define_all(lower, |scope, function, context, code| {
        Lowering::run(scope, function, context, Start::Function(code));
    });
    let (module, records, stack_use) = functions.finish();
    match defined {
        Ok((entry, result)) => {
            let module = ManuallyDrop::new(Mutex::new(module));
            Ok((NativeKernel { entry, module, records, stack_use }, result))
        }
        Err(error) => {
            // SAFETY: none of the code was handed out.
            unsafe { module.free_memory() };
            Err(error)
        }
    }
}

impl NativeKernel<*const u8> {
    /// The kernel with its entry as a function.
    ///
    /// # Safety
    ///
    /// The entry has the signature of `F`.
    unsafe fn with_entry<F>(mut self, entry: impl FnOnce(*const u8) -> F) -> NativeKernel<F> {
        let entry = entry(self.entry);
        let records = std::mem::take(&mut self.records);
        let stack_use = self.stack_use;
        let mut left = ManuallyDrop::new(self);
        // SAFETY: what is left of `self` is not dropped, so the module is taken only here.
        let module = unsafe { ManuallyDrop::take(&mut left.module) };
        NativeKernel { entry, module: ManuallyDrop::new(module), records, stack_use }
    }
}
