//! A kernel's way through Cranelift: settings, declarations, definitions, and the finished code.

use std::mem::ManuallyDrop;
use std::sync::Mutex;

use cranelift_codegen::ir::{AbiParam, Signature, UserFuncName, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};

use super::function::{Lowering, Role};
use crate::exec::CheckLevel;
use crate::exec::runtime::Helper;
use crate::exec::state::Entry;
use crate::ir;
use crate::ptx::Suspension;

/// A kernel as native code.
pub(crate) struct NativeKernel {
    entry: Entry,
    /// Keeps the code alive.
    module: ManuallyDrop<Mutex<JITModule>>,
    /// The registers that a suspended thread keeps, 8 bytes each.
    pub(crate) frame_words: usize,
    /// Where threads may have to wait.
    pub(crate) sites: Vec<Site>,
}

/// A place in a kernel at which threads may have to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) suspension: Suspension,
    /// In the PTX text.
    pub(crate) line: u32,
}

impl NativeKernel {
    /// The kernel as a function, which may be called while `self` lives.
    pub(crate) fn entry(&self) -> Entry {
        self.entry
    }
}

impl Drop for NativeKernel {
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
    pub(super) kernel: &'k ir::Kernel,
    pub(super) check: CheckLevel,
    pub(super) module: JITModule,
    /// The native functions for [`ir::Kernel::callees`].
    pub(super) callees: Vec<FuncId>,
    pub(super) sites: Vec<Site>,
    pub(super) frame_words: usize,
}

/// Translates a kernel.
///
/// # Errors
///
/// What Cranelift says against the host or the code.
pub(crate) fn compile(kernel: &ir::Kernel, check: CheckLevel) -> Result<NativeKernel, String> {
    let mut unit = Unit {
        kernel,
        check,
        module: new_module()?,
        callees: Vec::new(),
        sites: Vec::new(),
        frame_words: 0,
    };
    match unit.define_all() {
        Ok(entry) => Ok(unit.finish(entry)),
        Err(error) => {
            // SAFETY: none of the code was handed out.
            unsafe { unit.module.free_memory() };
            Err(error)
        }
    }
}

impl Unit<'_> {
    fn define_all(&mut self) -> Result<Entry, String> {
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
        let role = if kernel.suspends { Role::Resumable } else { Role::AllThreads };
        self.define(entry, signature, &kernel.entry, role)?;
        for (index, (_, code)) in kernel.callees.iter().enumerate() {
            self.define(self.callees[index], function.clone(), code, Role::Function)?;
        }
        self.module.finalize_definitions().map_err(describe)?;
        let code = self.module.get_finalized_function(entry);
        // SAFETY: the code was made with `entry_signature`, which is that of `Entry`, in the C
        // calling convention.
        Ok(unsafe { std::mem::transmute::<*const u8, Entry>(code) })
    }

    fn define(
        &mut self,
        id: FuncId,
        signature: Signature,
        code: &ir::Code,
        role: Role,
    ) -> Result<(), String> {
        let mut context = self.module.make_context();
        context.func.signature = signature;
        context.func.name = UserFuncName::user(0, id.as_u32());
        let mut builder_context = FunctionBuilderContext::new();
        Lowering::new(self, &mut context.func, &mut builder_context, code, role).run();
        self.module.define_function(id, &mut context).map_err(describe)
    }

    /// As [`Entry`]: context and thread, giving a status.
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

    fn finish(self, entry: Entry) -> NativeKernel {
        NativeKernel {
            entry,
            module: ManuallyDrop::new(Mutex::new(self.module)),
            frame_words: self.frame_words,
            sites: self.sites,
        }
    }
}

pub(super) fn new_module() -> Result<JITModule, String> {
    let mut flags = settings::builder();
    // The verifier finds mistakes of ours only, so our own tests are its place.
    let verify = if cfg!(test) { "true" } else { "false" };
    let settings = [
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
        ("opt_level", "speed"),
        ("enable_verifier", verify),
    ];
    for (name, value) in settings {
        flags.set(name, value).map_err(|error| error.to_string())?;
    }
    let isa = cranelift_native::builder().map_err(str::to_owned)?;
    let isa = isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    for helper in Helper::ALL {
        builder.symbol(helper.name(), helper.address());
    }
    Ok(JITModule::new(builder))
}

fn describe(error: ModuleError) -> String {
    // The plain text of a compilation error only says that there was one.
    match error {
        ModuleError::Compilation(inner) => format!("{inner:?}"),
        other => other.to_string(),
    }
}
