//! Every form of the arithmetic instructions on 32 lanes at once, against plain Rust.
//!
//! Each form becomes a function over arrays of lanes: with operands that vary, and with each of
//! them the same in all lanes, known when compiling or not.

use cranelift_codegen::ir::{AbiParam, InstBuilder, MemFlagsData, UserFuncName, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

use super::*;
use crate::exec::tests::forms::{self, Form, Kind, tuples};
use crate::ptx::{self, Instruction, RegisterType};

/// Bytes that an operand's lanes take at most.
const PLACE: usize = 8 * LANES;

/// How the last operand is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Varying,
    /// In all lanes as in lane 0 of the array.
    Uniform,
    Constant(u64),
}

/// A function from the lanes of operands to those of a result.
type Compiled = unsafe extern "C" fn(*const [u8; 4 * PLACE], *mut [u8; PLACE]);

/// Compiles a form; nothing if it has no vector form.
fn declare(
    module: &mut JITModule,
    form: &Form,
    parsed: &ptx::Function,
    line: u32,
    given: Given,
) -> Option<FuncId> {
    let instruction = parsed.body.iter().find(|instruction| instruction.line == line);
    let instruction = instruction.expect("the kernel has the instruction on its line");
    let mut context = module.make_context();
    context.func.signature.call_conv = module.target_config().default_call_conv;
    context.func.signature.params = vec![AbiParam::new(types::I64); 2];
    let signature = context.func.signature.clone();
    let id = module.declare_anonymous_function(&signature).expect("the host can do it");
    context.func.name = UserFuncName::user(0, id.as_u32());
    let mut builder_context = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut builder_context);
    lower(&mut builder, form, instruction, parsed, given)?;
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    if let Err(error) = module.define_function(id, &mut context) {
        panic!("{}: {error:?}\n{}", form.opcode, context.func.display());
    }
    Some(id)
}

fn lower(
    b: &mut FunctionBuilder<'_>,
    form: &Form,
    instruction: &Instruction,
    function: &ptx::Function,
    given: Given,
) -> Option<()> {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let (input, output) = (b.block_params(entry)[0], b.block_params(entry)[1]);
    let count = form.operands.len();
    let types = source_types(instruction.operation, count)?;
    let mut operands = Vec::new();
    for (index, &ty) in types.iter().enumerate() {
        let register = register(form.operands[index]);
        let place = (index * PLACE) as i32;
        let lanes = match given {
            Given::Constant(bits) if index + 1 == count => constant(b, bits, ty),
            Given::Uniform if index + 1 == count => {
                let scalar = crate::codegen::value::register_type(register);
                let scalar = b.ins().load(scalar, MemFlagsData::trusted(), input, place);
                let lanes = splat(b, scalar, scalar_type(register));
                read(b, &lanes, register, ty)
            }
            _ => {
                let lanes = load(b, input, place, register);
                read(b, &lanes, register, ty)
            }
        };
        operands.push(lanes);
    }
    let results = operation(b, instruction.operation, &operands, true)?;
    let (lanes, ty) = &results[0];
    if form.result == Kind::Predicate {
        let word = bits(b, lanes);
        b.ins().store(MemFlagsData::trusted(), word, output, 0);
    } else {
        let destination = instruction.destinations[0].expect("the form has a result");
        let lanes = write(b, lanes, *ty, function.registers[destination.index()]);
        for (index, &value) in lanes.values.iter().enumerate() {
            b.ins().store(MemFlagsData::trusted(), value, output, 16 * index as i32);
        }
    }
    b.ins().return_(&[]);
    Some(())
}

fn load(b: &mut FunctionBuilder<'_>, base: Value, place: i32, register: RegisterType) -> Lanes {
    let ty = vector_type(scalar_type(register));
    let values = (0..LANES / ty.lane_count() as usize)
        .map(|index| b.ins().load(ty, MemFlagsData::trusted(), base, place + 16 * index as i32));
    Lanes { values: values.collect() }
}

fn register(kind: Kind) -> RegisterType {
    match kind {
        Kind::F32 => RegisterType::Float32,
        Kind::F64 => RegisterType::Float64,
        kind => match kind.bits() {
            16 => RegisterType::Bits16,
            32 => RegisterType::Bits32,
            64 => RegisterType::Bits64,
            _ => RegisterType::Predicate,
        },
    }
}

fn scalar_type(register: RegisterType) -> ScalarType {
    match register {
        RegisterType::Float32 => ScalarType::F32,
        RegisterType::Float64 => ScalarType::F64,
        other => ScalarType::untyped(other.bits()),
    }
}

/// Applies a function to the tuples, a warp at a time.
fn run(form: &Form, function: Compiled, tuples: &[Vec<u64>]) -> Vec<u64> {
    let width = |kind: Kind| kind.bits() as usize / 8;
    let mut results = Vec::new();
    for warp in tuples.chunks_exact(LANES) {
        let (mut input, mut output) = ([0u8; 4 * PLACE], [0u8; PLACE]);
        for (lane, tuple) in warp.iter().enumerate() {
            for (index, (&value, &kind)) in tuple.iter().zip(&form.operands).enumerate() {
                let at = index * PLACE + lane * width(kind);
                input[at..at + width(kind)].copy_from_slice(&value.to_le_bytes()[..width(kind)]);
            }
        }
        // SAFETY: the function was compiled with this signature, and reads and writes no more than
        // the lanes of at most four operands and a result.
        unsafe { function(&input, &mut output) };
        for lane in 0..LANES {
            if form.result == Kind::Predicate {
                results.push(u64::from(output[lane / 8] >> (lane % 8) & 1));
                continue;
            }
            let bytes = &output[lane * width(form.result)..][..width(form.result)];
            let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            results.push(value);
        }
    }
    results
}

fn check(forms: &[Form], features: &[(&str, &str)]) -> Vec<String> {
    let mut module = module(features);
    let parsed: Vec<(ptx::Module, u32)> = forms.iter().map(parse).collect();
    let mut functions = Vec::new();
    let mut missing = Vec::new();
    let all: Vec<Vec<Vec<u64>>> = forms.iter().map(|form| tuples(&form.operands, 1536)).collect();
    for (index, form) in forms.iter().enumerate() {
        let (text, line) = &parsed[index];
        let mut ways = vec![(Given::Varying, None)];
        if form.operands.len() > 1 {
            ways.push((Given::Uniform, None));
            let last = form.operands.len() - 1;
            let constants = all[index].iter().step_by(97).map(|tuple| tuple[last]);
            ways.extend(constants.map(|value| (Given::Constant(value), Some(value))));
        }
        for (given, _) in ways {
            match declare(&mut module, form, &text.functions[0], *line, given) {
                Some(id) => functions.push((index, given, id)),
                None => missing.push(format!("{} {given:?}", form.opcode)),
            }
        }
    }
    module.finalize_definitions().expect("the code can be linked");
    for (index, given, id) in functions {
        let form = &forms[index];
        let last = form.operands.len() - 1;
        let mut tuples = all[index].clone();
        for warp in tuples.chunks_exact_mut(LANES) {
            let first = warp[0][last];
            for tuple in warp {
                match given {
                    Given::Varying => {}
                    Given::Uniform => tuple[last] = first,
                    Given::Constant(value) => tuple[last] = value,
                }
            }
        }
        let code = module.get_finalized_function(id);
        // SAFETY: all functions are compiled with the signature of `Compiled`.
        let function = unsafe { std::mem::transmute::<*const u8, Compiled>(code) };
        for (tuple, got) in tuples.iter().zip(run(form, function, &tuples)) {
            let expected = form.expected(tuple);
            let both_nan = form.result == Kind::F64
                && f64::from_bits(got).is_nan()
                && f64::from_bits(expected).is_nan();
            assert!(
                got == expected || both_nan,
                "{} {given:?} {tuple:x?}: {got:#x} instead of {expected:#x}",
                form.opcode,
            );
        }
    }
    // SAFETY: none of the functions is called any more.
    unsafe { module.free_memory() };
    missing
}

/// A form's kernel, and the line of the instruction in it.
fn parse(form: &Form) -> (ptx::Module, u32) {
    let text = forms::module(std::slice::from_ref(form));
    // Some forms are for newer targets than the tests of kernels ask for.
    let text = text.replace("sm_75", "sm_90");
    let start = format!("{} %d_", form.opcode);
    let line = text.lines().position(|line| line.starts_with(&start));
    let line = line.expect("the instruction has a line of its own") as u32 + 1;
    (ptx::parse(&text).unwrap_or_else(|error| panic!("{error}")), line)
}

fn module(features: &[(&str, &str)]) -> JITModule {
    if features.is_empty() {
        return crate::codegen::native::new_module().expect("the host is supported");
    }
    let mut flags = settings::builder();
    for (name, value) in [("use_colocated_libcalls", "false"), ("is_pic", "false")] {
        flags.set(name, value).expect("the flag exists");
    }
    let mut isa = cranelift_native::builder().expect("the host is supported");
    for (name, value) in features {
        isa.set(name, value).expect("the host has the setting");
    }
    let isa = isa.finish(settings::Flags::new(flags)).expect("the settings agree");
    JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()))
}

#[test]
fn every_form_gives_the_bits_of_one_thread() {
    let missing = check(&forms::all(), &[]);
    assert!(missing.len() < 3000, "{missing:#?}");
}
