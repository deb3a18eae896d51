//! Every primitive and type, and every dtype, on the software driver beside plain code.

use expression::ptx::{KernelSpec, LayoutClass, PrintError, print};
use expression::{ComputeType, DType, Expression, Primitive, trace};

use crate::device::Call;
use crate::elements::{are_same, encode, special};
use crate::memory::{HostOperand, expected};

use Primitive::*;

const UNARY: [Primitive; 9] = [Neg, Abs, Not, Sqrt, Rsqrt, Floor, Ceil, Round, Trunc];
const BINARY: [Primitive; 23] = [
    Add, Sub, Mul, Div, FloorDiv, Remainder, Fmod, Copysign, Max, Min, Fmax, Fmin, And, Or, Xor,
    Shl, Shr, Eq, Ne, Lt, Le, Gt, Ge,
];

/// A primitive of inputs of these types.
pub(crate) fn expression_of(primitive: Primitive, types: &[ComputeType]) -> Expression {
    trace(types, &[], |trace, inputs, _| [trace.apply(primitive, inputs)].into_iter().collect())
}

/// Whether there is code for a primitive that exists for these types.
fn is_printable(primitive: Primitive, types: &[ComputeType]) -> bool {
    let Some(result) = primitive.result_type(types) else { return false };
    let inputs: Vec<DType> = types.iter().map(|of| of.dtype()).collect();
    let printed = print(&KernelSpec {
        name: None,
        expression: &expression_of(primitive, types),
        inputs: &inputs,
        outputs: &[result.dtype()],
        layout: LayoutClass::Dense,
    });
    !matches!(printed, Err(PrintError::Unsupported { .. }))
}

/// Runs an expression over dense operands, and compares each element.
fn compare(expression: &Expression, output: DType, inputs: &[HostOperand], start: usize) {
    let numel = inputs[0].bytes.len() / inputs[0].dtype.size() - inputs[0].start;
    let outputs = [HostOperand::dense(output, start, &vec![vec![0; output.size()]; numel])];
    let call = Call {
        expression,
        layout: LayoutClass::Dense,
        sizes: &[numel],
        outputs: &outputs,
        inputs,
        scalars: &[],
        in_place: &[],
    };
    let got = call.run();
    let wanted = expected(expression, &[numel], &outputs, inputs, &[]);
    for element in 0..numel {
        let (got, wanted) = (got[0].at(&[element]), wanted[0].at(&[element]));
        let operands: Vec<&[u8]> = inputs.iter().map(|input| input.at(&[element])).collect();
        assert!(
            are_same(output, got, wanted),
            "{:?} of {operands:X?} is {got:X?} and not {wanted:X?} as {output}",
            expression.values().last(),
        );
    }
}

/// All combinations of special values of these types, a list for each operand.
fn combinations(types: &[ComputeType]) -> Vec<Vec<u64>> {
    let mut lists: Vec<Vec<u64>> = vec![vec![]; types.len()];
    let all: Vec<Vec<u64>> = types.iter().map(|&of| special(of)).collect();
    let numel: usize = all.iter().map(Vec::len).product();
    for number in 0..numel {
        let mut rest = number;
        for (list, values) in lists.iter_mut().zip(&all) {
            list.push(values[rest % values.len()]);
            rest /= values.len();
        }
    }
    lists
}

fn check(primitive: Primitive, types: &[ComputeType]) {
    if !is_printable(primitive, types) {
        return;
    }
    let result = primitive.result_type(types).expect("it is printable");
    let inputs: Vec<HostOperand> = types
        .iter()
        .zip(combinations(types))
        .map(|(of, values)| {
            let dtype = of.dtype();
            let elements: Vec<_> = values.iter().map(|&bits| encode(dtype, bits)).collect();
            HostOperand::dense(dtype, 0, &elements)
        })
        .collect();
    compare(&expression_of(primitive, types), result.dtype(), &inputs, 0);
}

#[test]
fn functions_of_one_value_are_those_of_plain_code_to_the_bit() {
    for of in ComputeType::ALL {
        for primitive in UNARY {
            check(primitive, &[of]);
        }
    }
}

#[test]
fn functions_of_two_values_are_those_of_plain_code_to_the_bit() {
    for of in ComputeType::ALL {
        for primitive in BINARY {
            check(primitive, &[of, of]);
        }
    }
}

#[test]
fn a_choice_takes_either_operand_of_any_type() {
    for of in ComputeType::ALL {
        check(Select, &[ComputeType::Bool, of, of]);
    }
}

#[test]
fn any_type_converts_to_any_other() {
    for from in ComputeType::ALL {
        for to in ComputeType::ALL {
            check(Convert(to), &[from]);
        }
    }
}

/// Elements of a dtype: all of those of one or two bytes, else special ones.
fn elements_of(dtype: DType) -> Vec<Vec<u8>> {
    match dtype.size() {
        1 => (0..=u8::MAX).map(|byte| vec![byte]).collect(),
        2 => (0..=u16::MAX).map(|word| word.to_le_bytes().to_vec()).collect(),
        _ => special(dtype.compute_type()).iter().map(|&bits| encode(dtype, bits)).collect(),
    }
}

#[test]
fn any_dtype_is_loaded_and_stored_as_any_other_aligned_or_not() {
    for from in DType::ALL {
        for to in DType::ALL {
            let primitive = Convert(to.compute_type());
            let expression = expression_of(primitive, &[from.compute_type()]);
            let mut elements = elements_of(from);
            if from.size() == 2 && to.size() != 4 {
                elements = elements.into_iter().step_by(37).collect();
            }
            for start in [0, 1] {
                let input = HostOperand::dense(from, start, &elements);
                compare(&expression, to, &[input], 1 - start);
                let input = HostOperand::dense(from, start, &elements);
                compare(&expression, to, &[input], start);
            }
        }
    }
}

#[test]
fn floats_are_rounded_to_halves_to_nearest_and_halves_of_steps_to_even() {
    let expression = expression_of(Abs, &[ComputeType::F32]);
    let mut elements = Vec::new();
    // Around each of some halves, the numbers at and beside the middle to the next one.
    for upper in (0..0x7FFF_u32).step_by(97) {
        for lower in [0, 1, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF] {
            elements.push((upper << 16 | lower).to_le_bytes().to_vec());
        }
    }
    for to in [DType::F16, DType::BF16] {
        compare(&expression, to, &[HostOperand::dense(DType::F32, 0, &elements)], 0);
    }
}
