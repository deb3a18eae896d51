//! A kernel's functions while they are translated: what they are declared as, and how each goes
//! through Cranelift.

use cranelift_codegen::CompiledCode;
use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName, types};
use cranelift_codegen::verify_function;
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module, ModuleReloc};

use super::jit_module::describe;
use super::records::{CodeRecords, StackUse};
use super::runtime_calls::RuntimeCalls;
use crate::abi::CheckLevel;
use crate::code_cache;
use crate::ir::{FunctionIr, KernelIr};

/// The module of a kernel, to which its functions are added.
pub(super) struct ModuleBuilder<'k> {
    kernel: &'k KernelIr,
    check: CheckLevel,
    module: JITModule,
    /// The native functions for [`KernelIr::callees`].
    callees: Vec<FuncId>,
    records: CodeRecords,
    stack_use: StackUse,
}

/// The parts of a kernel's module that the lowering of one function may use.
pub(super) struct FunctionScope<'a> {
    pub(super) kernel: &'a KernelIr,
    pub(super) check: CheckLevel,
    pub(super) calls: RuntimeCalls<'a>,
    pub(super) records: &'a mut CodeRecords,
}

impl<'k> ModuleBuilder<'k> {
    /// A module without functions so far.
    pub(super) fn new(
        kernel: &'k KernelIr,
        check: CheckLevel,
        module: JITModule,
    ) -> ModuleBuilder<'k> {
        let (callees, records) = (Vec::new(), CodeRecords::default());
        ModuleBuilder { kernel, check, module, callees, records, stack_use: StackUse::default() }
    }

    /// Translates the kernel's entry, which `entry` fills, and all functions that it calls, each of
    /// which `function` fills; the entry's address, and what `entry` returned.
    ///
    /// # Errors
    ///
    /// What Cranelift says against the code.
    pub(super) fn define_all<T>(
        &mut self,
        entry: impl FnOnce(FunctionScope<'_>, &mut Function, &mut FunctionBuilderContext) -> T,
        function: impl Fn(FunctionScope<'_>, &mut Function, &mut FunctionBuilderContext, &FunctionIr),
    ) -> Result<(*const u8, T), String> {
        let signature = self.function_signature();
        for (index, _) in &self.kernel.callees {
            // No kernel's name has a space.
            let name = format!("function {index}");
            let callee = self.module.declare_function(&name, Linkage::Local, &signature);
            self.callees.push(callee.map_err(describe)?);
        }
        let entry_signature = self.entry_signature();
        // Profilers show this name.
        let name = &self.kernel.name;
        let id = self.module.declare_function(name, Linkage::Local, &entry_signature);
        let id = id.map_err(describe)?;
        let (frame, result) = self.define(id, entry_signature, entry)?;
        self.stack_use.all += frame;
        for (index, (_, code)) in self.kernel.callees.iter().enumerate() {
            let lower = |scope: FunctionScope<'_>,
                         text: &mut Function,
                         context: &mut FunctionBuilderContext| {
                function(scope, text, context, code);
            };
            let (frame, ()) = self.define(self.callees[index], signature.clone(), lower)?;
            self.stack_use.all += frame;
            self.stack_use.largest_callee = self.stack_use.largest_callee.max(frame);
        }
        self.module.finalize_definitions().map_err(describe)?;
        Ok((self.module.get_finalized_function(id), result))
    }

    /// The module, whose functions are defined, with what the runtime is told about them.
    pub(super) fn finish(self) -> (JITModule, CodeRecords, StackUse) {
        (self.module, self.records, self.stack_use)
    }

    /// Translates a function; the size of its frame, and what `lower` returned.
    fn define<T>(
        &mut self,
        id: FuncId,
        signature: Signature,
        lower: impl FnOnce(FunctionScope<'_>, &mut Function, &mut FunctionBuilderContext) -> T,
    ) -> Result<(usize, T), String> {
        let mut context = self.module.make_context();
        context.func.signature = signature;
        context.func.name = UserFuncName::user(0, id.as_u32());
        let mut builder_context = FunctionBuilderContext::new();
        let scope = FunctionScope {
            kernel: self.kernel,
            check: self.check,
            calls: RuntimeCalls::new(&mut self.module, &self.callees),
            records: &mut self.records,
        };
        let result = lower(scope, &mut context.func, &mut builder_context);
        // A mistake of ours that went on from here would be code that does something else.
        let verified = verify_function(&context.func, self.module.isa());
        verified.map_err(|errors| format!("the translation is not valid: {errors}"))?;
        let compiled = code_cache::compile(&mut context, self.module.isa());
        compiled.map_err(|error| describe(error.into()))?;
        let code = context.compiled_code().ok_or("the code generator gives no code")?;
        let relocations = code.buffer.relocs().iter();
        let relocations: Vec<ModuleReloc> = relocations
            .map(|relocation| ModuleReloc::from_mach_reloc(relocation, &context.func, id))
            .collect();
        let alignment = u64::from(code.buffer.alignment);
        let defined =
            self.module.define_function_bytes(id, alignment, code.code_buffer(), &relocations);
        defined.map_err(describe)?;
        Ok((frame_bytes(code)?, result))
    }

    /// The signature of [`ThreadEntry`](crate::abi::ThreadEntry) and
    /// [`WarpEntry`](crate::abi::WarpEntry): two pointers, giving a status.
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

/// The bytes that a function that was just translated takes of the stack.
fn frame_bytes(code: &CompiledCode) -> Result<usize, String> {
    /// The return address, and where the caller's frame is.
    const LINKS: usize = 16;
    let layout =
        code.buffer.frame_layout().ok_or("the code generator does not say how large a frame is")?;
    Ok(layout.frame_to_fp_offset as usize + LINKS)
}
