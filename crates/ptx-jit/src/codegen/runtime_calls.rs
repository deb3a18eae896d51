//! The functions that the code of one function calls: those of the runtime, and those of its kernel.

use std::collections::HashMap;
use std::mem::offset_of;

use cranelift_codegen::ir::{self as clif, FuncRef, InstBuilder, MemFlagsData, Value};
use cranelift_frontend::FunctionBuilder;
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};

use super::cold;
use crate::abi::{Helper, KernelContext};

/// The functions that may be called, each declared in the caller when it is first called.
pub(super) struct RuntimeCalls<'a> {
    module: &'a mut JITModule,
    /// The native functions for the kernel's callees.
    callees: &'a [FuncId],
    ordinary: HashMap<Helper, FuncRef>,
    cold: HashMap<Helper, FuncRef>,
}

impl<'a> RuntimeCalls<'a> {
    pub(super) fn new(module: &'a mut JITModule, callees: &'a [FuncId]) -> RuntimeCalls<'a> {
        RuntimeCalls { module, callees, ordinary: HashMap::new(), cold: HashMap::new() }
    }

    /// Calls a function of the runtime; its result, if it has one.
    pub(super) fn call(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        helper: Helper,
        arguments: &[Value],
    ) -> Option<Value> {
        let function = match self.ordinary.get(&helper) {
            Some(&function) => function,
            None => {
                let mut signature = self.module.make_signature();
                let parameters = helper.parameters().iter();
                signature.params.extend(parameters.map(|&ty| clif::AbiParam::new(ty)));
                signature.returns.extend(helper.result().map(clif::AbiParam::new));
                let function = self.import(b, helper.name(), &signature);
                *self.ordinary.entry(helper).or_insert(function)
            }
        };
        let call = b.ins().call(function, arguments);
        b.inst_results(call).first().copied()
    }

    /// Calls a function of the runtime by its cold way (see [`cold`]); its answer, if it has one. The
    /// first argument is the block's context, in which the answer is left.
    pub(super) fn call_cold(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        helper: Helper,
        arguments: &[Value],
    ) -> Option<Value> {
        let function = match self.cold.get(&helper) {
            Some(&function) => function,
            None => {
                let function = self.import(b, &cold::name(helper), &cold::signature(helper));
                *self.cold.entry(helper).or_insert(function)
            }
        };
        b.ins().call(function, arguments);
        let (flags, offset) = (MemFlagsData::trusted(), offset_of!(KernelContext, answer) as i32);
        helper.result().map(|ty| b.ins().load(ty, flags, arguments[0], offset))
    }

    /// Calls one of the kernel's callees; its status.
    pub(super) fn call_function(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        callee: usize,
        arguments: &[Value],
    ) -> Value {
        let target = self.module.declare_func_in_func(self.callees[callee], b.func);
        let call = b.ins().call(target, arguments);
        b.inst_results(call)[0]
    }

    /// Calls the C library's function that copies memory.
    pub(super) fn call_memcpy(
        &self,
        b: &mut FunctionBuilder<'_>,
        to: Value,
        from: Value,
        bytes: Value,
    ) {
        b.call_memcpy(self.target(), to, from, bytes);
    }

    /// The layout of data and the calling convention of the host.
    pub(super) fn target(&self) -> cranelift_codegen::isa::TargetFrontendConfig {
        self.module.target_config()
    }

    fn import(
        &mut self,
        b: &mut FunctionBuilder<'_>,
        name: &str,
        signature: &clif::Signature,
    ) -> FuncRef {
        let id = self.module.declare_function(name, Linkage::Import, signature);
        let id = id.expect("a helper is declared with the same signature every time");
        self.module.declare_func_in_func(id, b.func)
    }
}
