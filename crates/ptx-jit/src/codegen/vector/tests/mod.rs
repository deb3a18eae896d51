//! Tests of vector forms: functions over arrays of lanes, compiled and called.

mod choices;
mod exchange;
mod forms;
mod memory;
mod operations;

use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, UserFuncName, Value, types};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};

use super::*;
use crate::codegen::jit_module::{CodeSettings, new_module};
use crate::exec::helpers;

/// Bytes between the places of two operands.
const PLACE: usize = 8 * LANES;

/// Four operands, or a result of up to as many.
type Bytes = [u8; 4 * PLACE];

/// A function from the lanes of operands to those of results.
type Compiled = unsafe extern "C" fn(*const Bytes, *mut Bytes);

/// Where a function finds its operands and leaves its results.
struct Places {
    input: Value,
    output: Value,
}

impl Places {
    /// The lanes of an operand.
    fn load(&self, b: &mut FunctionBuilder<'_>, index: usize, ty: ScalarType) -> Lanes {
        let vector = vector_type(ty);
        let values = (0..LANES / vector.lane_count() as usize).map(|place| {
            let offset = (index * PLACE + 16 * place) as i32;
            b.ins().load(vector, MemFlagsData::trusted(), self.input, offset)
        });
        Lanes { values: values.collect() }
    }

    fn store(&self, b: &mut FunctionBuilder<'_>, index: usize, values: &[Value]) {
        for (place, &value) in values.iter().enumerate() {
            let offset = (index * PLACE + 16 * place) as i32;
            b.ins().store(MemFlagsData::trusted(), value, self.output, offset);
        }
    }
}

/// Adds a function whose body `lower` writes; nothing if it cannot.
fn define(
    module: &mut JITModule,
    lower: impl FnOnce(&mut FunctionBuilder<'_>, &Places) -> Option<()>,
) -> Option<FuncId> {
    let mut context = module.make_context();
    context.func.signature.call_conv = module.target_config().default_call_conv;
    context.func.signature.params = vec![AbiParam::new(types::I64); 2];
    let signature = context.func.signature.clone();
    let id = module.declare_anonymous_function(&signature).expect("the host can do it");
    context.func.name = UserFuncName::user(0, id.as_u32());
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let parameters = builder.block_params(entry);
    let places = Places { input: parameters[0], output: parameters[1] };
    lower(&mut builder, &places)?;
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    if let Err(error) = module.define_function(id, &mut context) {
        panic!("{error:?}\n{}", context.func.display());
    }
    Some(id)
}

/// A function that was defined, when the module's definitions are finalised.
fn defined(module: &JITModule, id: FuncId) -> Compiled {
    let code = module.get_finalized_function(id);
    // SAFETY: all functions are compiled with the signature of `Compiled`.
    unsafe { std::mem::transmute::<*const u8, Compiled>(code) }
}

fn call(function: Compiled, input: &Bytes) -> Bytes {
    let mut output = [0; 4 * PLACE];
    // SAFETY: the function was compiled with this signature, and reads and writes no more than
    // four operands and as many results.
    unsafe { function(input, &mut output) };
    output
}

/// Compiles one function, and calls it.
fn run(input: &Bytes, lower: impl FnOnce(&mut FunctionBuilder<'_>, &Places)) -> Bytes {
    let mut module =
        new_module(helpers::address, &[], CodeSettings::SHORT).expect("the host is supported");
    let id = define(&mut module, |b, places| {
        lower(b, places);
        Some(())
    });
    module.finalize_definitions().expect("the code can be linked");
    let output = call(defined(&module, id.expect("it was lowered")), input);
    // SAFETY: the function is not called any more.
    unsafe { module.free_memory() };
    output
}

/// Operands as bytes: each a number of that many bytes for each lane.
fn bytes(operands: &[(usize, &dyn Fn(usize) -> u64)]) -> Bytes {
    let mut bytes = [0; 4 * PLACE];
    for (index, (width, value)) in operands.iter().enumerate() {
        for lane in 0..LANES {
            let at = index * PLACE + lane * width;
            bytes[at..at + width].copy_from_slice(&value(lane).to_le_bytes()[..*width]);
        }
    }
    bytes
}

/// The lanes of a result of so many bytes each.
fn lanes_of(output: &Bytes, index: usize, width: usize) -> Vec<u64> {
    let own = &output[index * PLACE..][..LANES * width];
    let number =
        |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    own.chunks_exact(width).map(number).collect()
}
