//! Calls that hardly ever happen, in the middle of code that runs all the time.
//!
//! An ordinary call may overwrite most registers, so every value that is needed behind it would be
//! kept in memory, also where the call does not happen. These calls go through functions that keep all
//! registers, made once for all kernels. What is called answers in the block's context, since a
//! function of that kind returns nothing. LLVM has `preserve_most` and `coldcc` for the same.

use std::mem::offset_of;
use std::sync::OnceLock;

use cranelift_codegen::Context as FunctionContext;
use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, Signature};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};

use super::jit_module::{CodeSettings, describe, new_module};
use crate::abi::{Helper, HelperAddresses, KernelContext};

/// The helpers that can be called so. Each takes the block's context first, and gives 32 bits or
/// nothing.
const COLD: &[Helper] = &[
    Helper::Check,
    Helper::Deny,
    Helper::Poll,
    Helper::Trap,
    Helper::StackOverflow,
    Helper::RunLanes,
    Helper::Exchange,
    Helper::Sweep,
    Helper::GatherLanes,
    Helper::ScatterLanes,
    Helper::DenyGroup,
    Helper::DenyRows,
];

/// The symbol of the function that calls a helper and keeps all registers.
pub(super) fn name(helper: Helper) -> String {
    format!("{}_cold", helper.name())
}

/// The signature of that function.
pub(super) fn signature(helper: Helper) -> Signature {
    let mut signature = Signature::new(CallConv::PreserveAll);
    signature.params.extend(helper.parameters().iter().map(|&ty| AbiParam::new(ty)));
    signature
}

/// The symbols and addresses of all such functions. A process has one set of helpers.
///
/// # Errors
///
/// What Cranelift says against the host.
pub(super) fn symbols(helpers: HelperAddresses) -> Result<&'static [(String, usize)], String> {
    static SYMBOLS: OnceLock<Result<Vec<(String, usize)>, String>> = OnceLock::new();
    SYMBOLS.get_or_init(|| compile(helpers)).as_deref().map_err(Clone::clone)
}

fn compile(helpers: HelperAddresses) -> Result<Vec<(String, usize)>, String> {
    let mut module = new_module(helpers, &[], CodeSettings::SHORT)?;
    let defined: Result<Vec<FuncId>, String> =
        COLD.iter().map(|&helper| define(&mut module, helper)).collect();
    let defined = defined.and_then(|ids| {
        module.finalize_definitions().map_err(describe)?;
        Ok(ids)
    });
    match defined {
        Ok(ids) => {
            let address = |id| module.get_finalized_function(id) as usize;
            let symbols = COLD.iter().zip(ids).map(|(&helper, id)| (name(helper), address(id)));
            // The code outlives the module, whose memory is never given back.
            Ok(symbols.collect())
        }
        Err(error) => {
            // SAFETY: none of the code was handed out.
            unsafe { module.free_memory() };
            Err(error)
        }
    }
}

/// A function that calls a helper and leaves its answer in the context.
fn define(module: &mut JITModule, helper: Helper) -> Result<FuncId, String> {
    let mut inner = module.make_signature();
    inner.params = signature(helper).params;
    inner.returns.extend(helper.result().map(AbiParam::new));
    let callee = module.declare_function(helper.name(), Linkage::Import, &inner);
    let callee = callee.map_err(describe)?;
    let id = module.declare_function(&name(helper), Linkage::Local, &signature(helper));
    let id = id.map_err(describe)?;

    let mut context = FunctionContext::new();
    context.func.signature = signature(helper);
    let callee = module.declare_func_in_func(callee, &mut context.func);
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let arguments = builder.block_params(entry).to_vec();
    let call = builder.ins().call(callee, &arguments);
    let answer = builder.inst_results(call).first().copied();
    if let Some(answer) = answer {
        let offset = offset_of!(KernelContext, answer) as i32;
        builder.ins().store(MemFlagsData::trusted(), answer, arguments[0], offset);
    }
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    module.define_function(id, &mut context).map_err(describe)?;
    Ok(id)
}
