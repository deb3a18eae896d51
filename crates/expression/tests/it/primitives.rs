//! Every primitive and type, and every dtype, on the software driver beside the reference.

use expression::ptx::{KernelSpec, LayoutClass, print};
use expression::{ComputeType, DType, Expression, Primitive, trace};

use crate::device::Call;
use crate::elements::{are_close, are_same, encode, special};
use crate::memory::{HostOperand, expected};

use Primitive::*;

/// Units in the last place by which a function may differ from the reference: 0 for those that are
/// instructions rounded to nearest. CUDA's programming guide lists the errors of the others, which
/// are at most 6; here are those that the reference has as well, and the cancellation of `lgamma`
/// and `digamma` near their zeros.
fn units(primitive: Primitive, of: ComputeType) -> u64 {
    match primitive {
        // Which of two zeros is the larger is left open, and they are neighbours.
        Max | Min | Fmax | Fmin => 0,
        // It is rounded twice.
        Rsqrt => 1,
        Neg | Abs | Not | Sqrt | Floor | Ceil | Round | Trunc | Convert(_) | Select => 0,
        Add | Sub | Mul | Div | FloorDiv | Remainder | Fmod | Copysign | Nextafter => 0,
        And | Or | Xor | Shl | Shr | Eq | Ne | Lt | Le | Gt | Ge | Gcd => 0,
        Pow if !of.is_float() => 0,
        Lgamma | Digamma => 64,
        // An exponential of large exponents.
        Igamma | Igammac if of == ComputeType::F64 => 1 << 13,
        _ => 4,
    }
}

/// A primitive of inputs of these types.
pub(crate) fn expression_of(primitive: Primitive, types: &[ComputeType]) -> Expression {
    trace(types, &[], |trace, inputs, _| [trace.apply(primitive, inputs)].into_iter().collect())
}

/// Runs an expression over dense operands, and compares each element.
fn compare(
    expression: &Expression,
    output: DType,
    inputs: &[HostOperand],
    start: usize,
    is_right: impl Fn(&[u8], &[u8]) -> bool,
) {
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
            is_right(got, wanted),
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

/// Compares a primitive with the reference, if there is one for these types.
fn check(primitive: Primitive, types: &[ComputeType]) {
    let Some(result) = primitive.result_type(types) else { return };
    let inputs: Vec<HostOperand> = types
        .iter()
        .zip(combinations(types))
        .map(|(of, values)| {
            let dtype = of.dtype();
            let elements: Vec<_> = values.iter().map(|&bits| encode(dtype, bits)).collect();
            HostOperand::dense(dtype, 0, &elements)
        })
        .collect();
    let (dtype, units) = (result.dtype(), units(primitive, types[0]));
    compare(&expression_of(primitive, types), dtype, &inputs, 0, |got, wanted| {
        are_close(dtype, got, wanted, units)
    });
}

#[test]
fn functions_of_one_value_are_those_of_the_reference() {
    for primitive in Primitive::ALL.into_iter().filter(|primitive| primitive.arity() == 1) {
        for of in ComputeType::ALL {
            check(primitive, &[of]);
        }
    }
}

#[test]
fn functions_of_two_values_are_those_of_the_reference() {
    for primitive in Primitive::ALL.into_iter().filter(|primitive| primitive.arity() == 2) {
        for of in ComputeType::ALL {
            check(primitive, &[of, of]);
        }
    }
}

#[test]
fn functions_that_a_long_expression_calls_are_those_of_the_reference() {
    for (of, primitive) in
        [(ComputeType::F32, Sin), (ComputeType::F64, Lgamma), (ComputeType::F64, Pow)]
    {
        // The largest of the function's values at x, x + 1, x + 2 and so on.
        let expression = trace(&[of], &[], |trace, inputs, _| {
            let at = |k: i32| {
                let x = inputs[0] + f64::from(k);
                let operands = [x, inputs[0]];
                let count = if primitive == Pow { 2 } else { 1 };
                trace.apply(primitive, &operands[..count])
            };
            let largest = |a, b| trace.apply(Max, &[a, b]);
            [(1..60).map(at).fold(at(0), largest)].into_iter().collect()
        });
        let dtype = of.dtype();
        let spec = KernelSpec {
            name: None,
            expression: &expression,
            inputs: &[dtype],
            outputs: &[dtype],
            layout: LayoutClass::Dense,
        };
        let text = print(&spec).expect("it can be printed").text;
        assert_eq!(
            text.matches("call.uni (result)").count() % 60,
            0,
            "each element calls it 60 times"
        );
        assert!(text.contains("call.uni (result)"), "{primitive:?} is called");
        let elements: Vec<_> = special(of).iter().map(|&bits| encode(dtype, bits)).collect();
        let inputs = [HostOperand::dense(dtype, 0, &elements)];
        let units = units(primitive, of);
        compare(&expression, dtype, &inputs, 0, |got, wanted| are_close(dtype, got, wanted, units));
    }
}

#[test]
fn a_choice_takes_either_operand_of_any_type() {
    for of in ComputeType::ALL {
        check(Select, &[ComputeType::Bool, of, of]);
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
                compare(&expression, to, &[input], 1 - start, |a, b| are_same(to, a, b));
                let input = HostOperand::dense(from, start, &elements);
                compare(&expression, to, &[input], start, |a, b| are_same(to, a, b));
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
        let input = HostOperand::dense(DType::F32, 0, &elements);
        compare(&expression, to, &[input], 0, |a, b| are_same(to, a, b));
    }
}
