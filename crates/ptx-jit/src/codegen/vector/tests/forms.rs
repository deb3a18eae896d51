//! Every form of the arithmetic instructions on 32 lanes at once, against plain Rust.
//!
//! Each form is compiled with operands that vary, and with the last ones the same in all lanes,
//! known when compiling or not.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData};
use cranelift_frontend::FunctionBuilder;
use ptx::{Instruction, RegisterType};

use super::*;
use crate::codegen::signature::source_types;
use crate::codegen::types::register_type;
use crate::exec::tests::forms::{self, Form, Kind, tuples};

/// How the operands from one on are given.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Given {
    Varying,
    /// In all lanes as in lane 0.
    Uniform(usize),
    /// As these, in all lanes.
    Constant(usize, Vec<u64>),
}

impl Given {
    /// All that are tried with a form.
    fn all(form: &Form, tuples: &[Vec<u64>]) -> Vec<Given> {
        let mut all = vec![Given::Varying];
        for first in 1..form.operands.len() {
            all.push(Given::Uniform(first));
            let constants = tuples.iter().step_by(97);
            all.extend(constants.map(|tuple| Given::Constant(first, tuple[first..].to_vec())));
            // Fields that lie within a register are rare among random ones.
            if form.operands.len() - first == 2 {
                let fields = [[0, 8], [5, 11], [8, 24], [31, 1], [0, 32], [4, 0]];
                all.extend(fields.map(|field| Given::Constant(first, field.to_vec())));
            }
            if form.opcode == "prmt.b32" && first == 2 {
                let selectors = [0x3210, 0x5410, 0x7632, 0x4567, 0x0000, 0x8765];
                all.extend(selectors.map(|selector| Given::Constant(first, vec![selector])));
            }
        }
        all
    }

    /// The operands of a warp as they are given.
    fn apply(&self, warp: &mut [Vec<u64>]) {
        let (from, values) = match self {
            Given::Varying => return,
            Given::Uniform(first) => (*first, warp[0][*first..].to_vec()),
            Given::Constant(first, values) => (*first, values.clone()),
        };
        for tuple in warp {
            tuple[from..].copy_from_slice(&values);
        }
    }
}

fn lower(
    b: &mut FunctionBuilder<'_>,
    places: &Places,
    form: &Form,
    instruction: &Instruction,
    function: &ptx::Function,
    given: &Given,
) -> Option<()> {
    let types = source_types(instruction.operation, form.operands.len())?;
    let mut operands = Vec::new();
    for (index, &ty) in types.iter().enumerate() {
        let register = register(form.operands[index]);
        let own = register.scalar();
        operands.push(match given {
            Given::Constant(first, values) if index >= *first => {
                constant(b, values[index - first], ty)
            }
            Given::Uniform(first) if index >= *first => {
                let place = (index * PLACE) as i32;
                let scalar = register_type(register);
                let scalar = b.ins().load(scalar, MemFlagsData::trusted(), places.input, place);
                let lanes = splat(b, scalar, own);
                read(b, &lanes, register, ty)
            }
            _ => {
                let lanes = places.load(b, index, own);
                read(b, &lanes, register, ty)
            }
        });
    }
    let results = operation(b, instruction.operation, &operands, true)?;
    let (lanes, ty) = &results[0];
    if form.result == Kind::Predicate {
        let word = bits(b, lanes);
        b.ins().store(MemFlagsData::trusted(), word, places.output, 0);
        return Some(());
    }
    let destination = instruction.destinations[0].expect("the form has a result");
    let lanes = write(b, lanes, *ty, function.registers[destination.index()]);
    places.store(b, 0, &lanes.values);
    Some(())
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

/// Applies a function to the tuples of a warp.
fn results(form: &Form, function: Compiled, warp: &[Vec<u64>]) -> Vec<u64> {
    let width = |kind: Kind| kind.bits() as usize / 8;
    let mut input = [0; 4 * PLACE];
    for (lane, tuple) in warp.iter().enumerate() {
        for (index, (&value, &kind)) in tuple.iter().zip(&form.operands).enumerate() {
            let at = index * PLACE + lane * width(kind);
            input[at..at + width(kind)].copy_from_slice(&value.to_le_bytes()[..width(kind)]);
        }
    }
    let output = call(function, &input);
    if form.result == Kind::Predicate {
        return (0..LANES).map(|lane| u64::from(output[lane / 8] >> (lane % 8) & 1)).collect();
    }
    lanes_of(&output, 0, width(form.result))
}

fn check(forms: &[Form]) {
    let mut module =
        new_module(helpers::address, &[], CodeSettings::SHORT).expect("the host is supported");
    let operands: Vec<Vec<Vec<u64>>> =
        forms.iter().map(|form| tuples(&form.operands, 1536)).collect();
    let mut functions = Vec::new();
    for (form, tuples) in forms.iter().zip(&operands) {
        let (text, line) = parse(form);
        let function = &text.functions[0];
        let instruction = function.body.iter().find(|instruction| instruction.line == line);
        let instruction = instruction.expect("the kernel has the instruction on its line");
        for given in Given::all(form, tuples) {
            let id = define(&mut module, |b, places| {
                lower(b, places, form, instruction, function, &given)
            });
            let id = id.unwrap_or_else(|| panic!("{} has no vector form", form.opcode));
            functions.push((form, tuples, given, id));
        }
    }
    module.finalize_definitions().expect("the code can be linked");
    for (form, tuples, given, id) in functions {
        let function = defined(&module, id);
        for warp in tuples.chunks_exact(LANES) {
            let mut warp = warp.to_vec();
            given.apply(&mut warp);
            for (tuple, got) in warp.iter().zip(results(form, function, &warp)) {
                let expected = form.expected(tuple);
                // Which NaN a 64-bit operation gives is left open.
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
    }
    // SAFETY: none of the functions is called any more.
    unsafe { module.free_memory() };
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

#[test]
fn every_form_gives_the_bits_of_one_thread() {
    check(&forms::all());
}
