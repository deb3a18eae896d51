//! A kernel's way through Cranelift: settings, declarations, definitions, and the finished code.

use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use cranelift_codegen::Context as FunctionContext;
use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::verify_function;
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};
use ptx::Suspension;

use super::access::Window;
use super::arena::CodeMemory;
use super::cold;
use super::function::{Lowering, Point, Role};
use super::lockstep::WarpLowering;
use crate::abi::{CheckLevel, Helper, HelperAddresses, ThreadEntry, WarpEntry};
use crate::ir;

/// A kernel as native code: a function with a signature of `F`.
pub(crate) struct NativeKernel<F> {
    entry: F,
    /// Keeps the code alive.
    module: ManuallyDrop<Mutex<JITModule>>,
    /// Where threads may have to wait, and the operations among the lanes of warps.
    pub(crate) sites: Vec<Site>,
    /// Accesses of warps that native code may leave to the runtime.
    pub(crate) accesses: Vec<LaneAccess>,
    pub(crate) frames: Frames,
}

/// What code is made for.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub(crate) check: CheckLevel,
    /// Where the functions lie that it calls.
    pub(crate) helpers: HelperAddresses,
}

/// What functions take of the stack, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frames {
    /// All of them once: no chain of calls takes more, unless functions call themselves.
    pub(crate) all: usize,
    /// The largest of those that are called by others.
    pub(crate) largest_callee: usize,
}

/// An access that the lanes of a warp make one by one: lane `l` at
/// [`LaneStrides::at`](ir::LaneStrides::at) from the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneAccess {
    /// What each lane accesses.
    pub(crate) bytes: u32,
    pub(crate) window: Option<Window>,
    pub(crate) shape: ir::WarpShape,
    pub(crate) strides: ir::LaneStrides,
    /// Whether the lanes of a row are at one place.
    pub(crate) shares_rows: bool,
    /// In the PTX text.
    pub(crate) line: u32,
}

/// A place in a kernel at which threads may have to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) suspension: Suspension,
    /// In the PTX text.
    pub(crate) line: u32,
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
        let module = module.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: who calls the entry holds a reference to `self`, so the code is running nowhere.
        unsafe { module.free_memory() };
    }
}

/// The functions of a kernel while they are translated.
pub(super) struct Unit<'k> {
    pub(super) kernel: &'k ir::KernelIr,
    pub(super) check: CheckLevel,
    pub(super) module: JITModule,
    /// The native functions for [`ir::KernelIr::callees`].
    pub(super) callees: Vec<FuncId>,
    pub(super) sites: Vec<Site>,
    pub(super) accesses: Vec<LaneAccess>,
    frames: Frames,
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
    points: Option<&[Point]>,
) -> Result<NativeKernel<ThreadEntry>, String> {
    let resumable = kernel.suspends || points.is_some();
    let points = points.unwrap_or_default();
    let role = if resumable { Role::Resumable } else { Role::AllThreads };
    let (native, ()) = compile(kernel, target, |unit, function, context| {
        let code = &plan.code;
        Lowering::new(unit, function, context, code, role, (Some(plan), points)).run();
    })?;
    // SAFETY: the code has the signature of `ThreadEntry`, in the C calling convention.
    Ok(unsafe { native.with_entry(|code| std::mem::transmute::<*const u8, ThreadEntry>(code)) })
}

/// Where warps and their threads may be between two calls of a kernel's code for warps.
pub(crate) struct Places {
    /// The states of threads, from 1 on, in which they leave the lockstep or come back to it.
    pub(crate) points: Vec<Point>,
    /// Of each state of a warp, from 1 on, where it waits, if it does.
    pub(crate) waits: Vec<Option<Site>>,
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
) -> Result<(NativeKernel<WarpEntry>, Places), String> {
    let (native, places) = compile(kernel, target, |unit, function, context| {
        WarpLowering::new(unit, function, context, plan).run()
    })?;
    // SAFETY: the code has the signature of `WarpEntry`, in the C calling convention.
    let native =
        unsafe { native.with_entry(|code| std::mem::transmute::<*const u8, WarpEntry>(code)) };
    Ok((native, places))
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
    lower: impl FnOnce(&mut Unit<'_>, &mut Function, &mut FunctionBuilderContext) -> T,
) -> Result<(NativeKernel<*const u8>, T), String> {
    contained(|| try_to_compile(kernel, target, lower))
}

fn try_to_compile<T>(
    kernel: &ir::KernelIr,
    target: Target,
    lower: impl FnOnce(&mut Unit<'_>, &mut Function, &mut FunctionBuilderContext) -> T,
) -> Result<(NativeKernel<*const u8>, T), String> {
    let Target { check, helpers } = target;
    let module = new_module(helpers, cold::symbols(helpers)?)?;
    let mut unit = Unit {
        kernel,
        check,
        module,
        callees: Vec::new(),
        sites: Vec::new(),
        accesses: Vec::new(),
        frames: Frames::default(),
    };
    match unit.define_all(lower) {
        Ok((entry, result)) => {
            let Unit { module, sites, accesses, frames, .. } = unit;
            let module = ManuallyDrop::new(Mutex::new(module));
            Ok((NativeKernel { entry, module, sites, accesses, frames }, result))
        }
        Err(error) => {
            // SAFETY: none of the code was handed out.
            unsafe { unit.module.free_memory() };
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
        let sites = std::mem::take(&mut self.sites);
        let accesses = std::mem::take(&mut self.accesses);
        let frames = self.frames;
        let mut left = ManuallyDrop::new(self);
        // SAFETY: what is left of `self` is not dropped, so the module is taken only here.
        let module = unsafe { ManuallyDrop::take(&mut left.module) };
        NativeKernel { entry, module: ManuallyDrop::new(module), sites, accesses, frames }
    }
}

impl Unit<'_> {
    fn define_all<T>(
        &mut self,
        lower: impl FnOnce(&mut Self, &mut Function, &mut FunctionBuilderContext) -> T,
    ) -> Result<(*const u8, T), String> {
        let function = self.function_signature();
        for (index, _) in &self.kernel.callees {
            let name = format!("function{index}");
            let callee = self.module.declare_function(&name, Linkage::Local, &function);
            self.callees.push(callee.map_err(describe)?);
        }
        let signature = self.entry_signature();
        let entry = self.module.declare_function("kernel", Linkage::Local, &signature);
        let entry = entry.map_err(describe)?;
        let kernel = self.kernel;
        let (frame, result) = self.define(entry, signature, lower)?;
        self.frames.all += frame;
        for (index, (_, code)) in kernel.callees.iter().enumerate() {
            let id = self.callees[index];
            let (frame, ()) = self.define(id, function.clone(), |unit, function, context| {
                let role = Role::Function;
                Lowering::new(unit, function, context, code, role, (None, &[])).run();
            })?;
            self.frames.all += frame;
            self.frames.largest_callee = self.frames.largest_callee.max(frame);
        }
        self.module.finalize_definitions().map_err(describe)?;
        Ok((self.module.get_finalized_function(entry), result))
    }

    /// Translates a function; the size of its frame, and what `lower` returned.
    fn define<T>(
        &mut self,
        id: FuncId,
        signature: Signature,
        lower: impl FnOnce(&mut Self, &mut Function, &mut FunctionBuilderContext) -> T,
    ) -> Result<(usize, T), String> {
        let mut context = self.module.make_context();
        context.func.signature = signature;
        context.func.name = UserFuncName::user(0, id.as_u32());
        let mut builder_context = FunctionBuilderContext::new();
        let result = lower(self, &mut context.func, &mut builder_context);
        // A mistake of ours that went on from here would be code that does something else.
        let verified = verify_function(&context.func, self.module.isa());
        verified.map_err(|errors| format!("the translation is not valid: {errors}"))?;
        self.module.define_function(id, &mut context).map_err(describe)?;
        Ok((frame_bytes(&context)?, result))
    }

    /// As [`ThreadEntry`] and [`WarpEntry`]: two pointers, giving a status.
    fn entry_signature(&self) -> Signature {
        let mut signature = self.module.make_signature();
        let pointer = AbiParam::new(self.module.target_config().pointer_type());
        signature.params.extend([pointer, pointer]);
        signature.returns.push(AbiParam::new(types::I32));
        signature
    }

    /// Functions get the place of their frame in local memory too.
    fn function_signature(&self) -> Signature {
        let mut signature = self.entry_signature();
        signature.params.push(AbiParam::new(types::I64));
        signature
    }
}

/// What a function that was just translated takes of the stack.
fn frame_bytes(context: &FunctionContext) -> Result<usize, String> {
    /// The return address, and where the caller's frame is.
    const LINKS: usize = 16;
    let layout = context.compiled_code().and_then(|code| code.buffer.frame_layout());
    let layout = layout.ok_or("the code generator does not say how large a frame is")?;
    Ok(layout.frame_to_fp_offset as usize + LINKS)
}

/// A module whose code can call the helpers, and functions at some more addresses.
pub(super) fn new_module(
    helpers: HelperAddresses,
    others: &[(String, usize)],
) -> Result<JITModule, String> {
    let mut flags = settings::builder();
    // What is verified here is each step inside of Cranelift, beside what `Unit::define` looks at.
    let verify = if cfg!(test) { "true" } else { "false" };
    let settings = [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("opt_level", "speed"),
        // In code for warps, it has the record of the warp.
        ("enable_pinned_reg", "true"),
        ("enable_verifier", verify),
    ];
    for (name, value) in settings {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let isa = cranelift_native::builder().map_err(str::to_owned)?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())?;
    let memory = CodeMemory::new().map_err(|error| format!("no memory for code: {error}"))?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    for helper in Helper::ALL {
        builder.symbol(helper.name(), helpers(*helper));
    }
    builder.symbol("memcpy", libc::memcpy as *const u8);
    for (name, address) in others {
        builder.symbol(name.as_str(), *address as *const u8);
    }
    builder.memory_provider(Box::new(memory));
    Ok(JITModule::new(builder))
}

pub(super) fn describe(error: ModuleError) -> String {
    // The plain text of a compilation error only says that there was one.
    match error {
        ModuleError::Compilation(inner) => format!("{inner:?}"),
        other => other.to_string(),
    }
}
