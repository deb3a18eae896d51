//! Each primitive, in each type.

use cpu_kernels::{InstructionSet, Program};
use expression::{ComputeType, DType, Expression, Primitive, trace};
use smallvec::smallvec;

use crate::numbers::Random;
use crate::tensors::{Call, StridedTensor};

/// The types of a primitive's operands.
fn operand_types(primitive: Primitive, of: ComputeType) -> Vec<ComputeType> {
    let mut types = vec![of; primitive.arity()];
    if primitive == Primitive::Select {
        types[0] = ComputeType::Bool;
    }
    types
}

/// A primitive of its operands, and nothing else.
pub(crate) fn of_one(primitive: Primitive, types: &[ComputeType]) -> Expression {
    trace(types, &[], |tracer, tensors, _| smallvec![tracer.apply(primitive, tensors)])
}

fn exact_primitives() -> impl Iterator<Item = (Primitive, Vec<ComputeType>, ComputeType)> {
    let all = Primitive::ALL.iter().flat_map(|&p| ComputeType::ALL.map(|of| (p, of)));
    all.filter_map(|(primitive, of)| {
        let types = operand_types(primitive, of);
        let result = primitive.result_type(&types)?;
        primitive.is_exact(of).then_some((primitive, types, result))
    })
}

fn check(primitive: Primitive, types: &[ComputeType], result: ComputeType, length: usize) {
    let expression = of_one(primitive, types);
    let mut random = Random(length as u64);
    for &set in InstructionSet::supported() {
        let input =
            |of: &ComputeType| StridedTensor::random(&mut random, of.dtype(), &[length], &[1]);
        let inputs: Vec<StridedTensor> = types.iter().map(input).collect();
        Call {
            expression: &expression,
            sizes: &[length],
            inputs,
            outputs: vec![StridedTensor::zeros(result.dtype(), &[length], &[1])],
            in_place: vec![None],
            scalars: vec![],
        }
        .check(set);
    }
}

#[test]
fn every_primitive_is_the_references_for_special_and_random_numbers() {
    for (primitive, types, result) in exact_primitives() {
        check(primitive, &types, result, 3000);
    }
}

#[test]
fn every_number_of_elements_is_computed_and_nothing_beyond() {
    for (primitive, types, result) in exact_primitives() {
        for length in (0..=70).chain([127, 128, 129, 1023, 1024, 1025]) {
            check(primitive, &types, result, length);
        }
    }
}

#[test]
fn every_half_is_converted_as_it_should_be() {
    let identity = trace(&[ComputeType::F32], &[], |_, tensors, _| smallvec![tensors[0]]);
    for &set in InstructionSet::supported() {
        for from in [DType::F16, DType::BF16] {
            for to in [DType::F16, DType::BF16, DType::F32] {
                let mut input = StridedTensor::zeros(from, &[1 << 16], &[1]);
                input.fill_with(|index| index as u64);
                Call {
                    expression: &identity,
                    sizes: &[1 << 16],
                    inputs: vec![input],
                    outputs: vec![StridedTensor::zeros(to, &[1 << 16], &[1])],
                    in_place: vec![None],
                    scalars: vec![],
                }
                .check(set);
            }
        }
    }
}

#[test]
fn conversions_of_halves_have_the_same_bits_in_every_instruction_set() {
    // Every half there and back; and singles of every exponent, with mantissas around those where
    // rounding changes, NaN of all kinds among them.
    let lows = [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x3fff];
    let singles: Vec<u32> =
        (0..1 << 16).flat_map(|high: u32| lows.map(|low| high << 16 | low)).step_by(7).collect();
    let bits_of = |set: InstructionSet, from: DType, to: DType, bits: &[u32]| -> Vec<u64> {
        let identity = trace(&[ComputeType::F32], &[], |_, tensors, _| smallvec![tensors[0]]);
        let program = Program::for_instruction_set(set, &identity, &[from], &[to]);
        let sizes = [bits.len()];
        let mut input = StridedTensor::zeros(from, &sizes, &[1]);
        input.fill_with(|index| bits[index].into());
        let output = StridedTensor::zeros(to, &sizes, &[1]);
        // SAFETY: both tensors have these sizes.
        unsafe { program.run(&sizes, &[output.pointer()], &[input.pointer()], &[]) };
        (0..bits.len()).map(|at| output.bits(&[at])).collect()
    };
    let halves: Vec<u32> = (0..1 << 16).collect();
    for (from, to, bits) in [
        (DType::F16, DType::F32, &halves),
        (DType::F32, DType::F16, &singles),
        (DType::F32, DType::BF16, &singles),
    ] {
        let expected = bits_of(InstructionSet::Baseline, from, to, bits);
        for &set in InstructionSet::supported() {
            assert!(bits_of(set, from, to, bits) == expected, "{from} to {to}: {}", set.name());
        }
    }
}
