//! Layouts of operands: random expressions over random dtypes and strides.

use expression::ptx::{LayoutClass, RepeatedOperands, StridedArguments};
use expression::{ComputeType, DType, Expression, Primitive, Value, trace};
use proptest::prelude::*;

use crate::device::Call;
use crate::elements::{are_same, encode, special};
use crate::memory::{HostOperand, expected, for_each};

/// A pseudorandom sequence, which is the same on every machine.
struct Sequence(u64);

impl Sequence {
    /// A number below `end`. (Steele, Lea, Flood: SplitMix, OOPSLA 2014.)
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    fn choose<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn value(&mut self, of: ComputeType) -> u64 {
        let list = special(of);
        match (self.below(3), of) {
            (0, _) | (_, ComputeType::Bool) => self.choose(&list),
            (_, ComputeType::F64) => ((self.below(2001) as f64 - 1000.0) / 64.0).to_bits(),
            (_, ComputeType::F32) => {
                u64::from(((self.below(2001) as f32 - 1000.0) / 64.0).to_bits())
            }
            (_, ComputeType::I64) => (self.below(2001) as i64 - 1000) as u64,
            (_, ComputeType::I32) => u64::from((self.below(2001) as i32 - 1000) as u32),
        }
    }
}

const PRIMITIVES: [Primitive; 22] = {
    use Primitive::*;
    [
        Neg, Abs, Not, Sqrt, Floor, Round, Add, Sub, Mul, Div, Eq, Max, Min, FloorDiv, And, Or,
        Xor, Shl, Shr, Lt, Ne, Select,
    ]
};

/// A random expression over inputs of these types, with as many results as there are types.
fn random_expression(
    sequence: &mut Sequence,
    inputs: &[ComputeType],
    scalars: &[ComputeType],
    outputs: &[ComputeType],
) -> Expression {
    trace(inputs, scalars, |trace, inputs, scalars| {
        let mut values: Vec<Value<'_>> = inputs.iter().chain(scalars).copied().collect();
        for _ in 0..12 {
            let primitive = sequence.choose(&PRIMITIVES);
            let operands: Vec<Value<'_>> =
                (0..primitive.arity()).map(|_| sequence.choose(&values)).collect();
            // Operands of other types are converted to the first one's, or that of a choice.
            let of = operands[usize::from(primitive == Primitive::Select)].compute_type();
            let operands: Vec<Value<'_>> = operands
                .iter()
                .enumerate()
                .map(|(number, &operand)| {
                    let is_condition = primitive == Primitive::Select && number == 0;
                    let to = if is_condition { ComputeType::Bool } else { of };
                    trace.apply(Primitive::Convert(to), &[operand])
                })
                .collect();
            let types: Vec<ComputeType> = operands.iter().map(|v| v.compute_type()).collect();
            // Which of two zeros is the larger is left open, and may decide what follows.
            let is_open = of.is_float() && matches!(primitive, Primitive::Max | Primitive::Min);
            if primitive.result_type(&types).is_some() && !is_open {
                values.push(trace.apply(primitive, &operands));
            }
        }
        let last = values.len();
        let results = outputs.iter().enumerate().map(|(number, &of)| {
            let value = values[last.saturating_sub(1 + number)];
            trace.apply(Primitive::Convert(of), &[value])
        });
        results.collect()
    })
}

/// An operand of random elements with a random layout. Outputs have no two elements in one place.
fn random_operand(
    sequence: &mut Sequence,
    dtype: DType,
    sizes: &[usize],
    is_output: bool,
) -> HostOperand {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    for at in (1..order.len()).rev() {
        let with = sequence.below(at + 1);
        order.swap(at, with);
    }
    let (mut strides, mut step, mut start) = (vec![0isize; sizes.len()], 1, sequence.below(3));
    for dim in order {
        if !is_output && sequence.below(4) == 0 {
            continue;
        }
        strides[dim] = step as isize;
        if sequence.below(4) == 0 {
            strides[dim] = -(step as isize);
            start += step * sizes[dim].saturating_sub(1);
        }
        step *= sizes[dim].max(1) + sequence.below(2);
    }
    let elements = start + step + 3;
    let bytes = (0..elements).flat_map(|_| encode(dtype, sequence.value(dtype.compute_type())));
    HostOperand { dtype, bytes: bytes.collect(), start, strides }
}

fn random_types(sequence: &mut Sequence, count: usize) -> (Vec<DType>, Vec<ComputeType>) {
    let dtypes: Vec<DType> = (0..count).map(|_| sequence.choose(&DType::ALL)).collect();
    let types = dtypes.iter().map(|dtype| dtype.compute_type()).collect();
    (dtypes, types)
}

/// Runs a call, and compares each element with the reference.
fn compare(call: &Call<'_>) {
    let got = call.run();
    let wanted = expected(call.expression, call.sizes, call.outputs, call.inputs, call.scalars);
    for (got, wanted) in got.iter().zip(&wanted) {
        for_each(call.sizes, |at| {
            assert!(
                are_same(got.dtype, got.at(at), wanted.at(at)),
                "at {at:?} of {:?}: {:X?} and not {:X?}\n{:?}",
                call.sizes,
                got.at(at),
                wanted.at(at),
                call.expression
            );
        });
    }
}

fn run_strided(seed: u64, sizes: &[usize], in_place: bool, wide: bool) {
    let sequence = &mut Sequence(seed);
    let (input_count, output_count) = (1 + sequence.below(4), 1 + sequence.below(3));
    let (mut input_dtypes, mut input_types) = random_types(sequence, input_count);
    let (output_dtypes, output_types) = random_types(sequence, output_count);
    if in_place {
        (input_dtypes[0], input_types[0]) = (output_dtypes[0], output_types[0]);
    }
    let (_, scalar_types) = random_types(sequence, 2);
    let expression = random_expression(sequence, &input_types, &scalar_types, &output_types);
    let scalars: Vec<u64> = scalar_types.iter().map(|&of| sequence.value(of)).collect();
    let outputs: Vec<HostOperand> =
        output_dtypes.iter().map(|&dtype| random_operand(sequence, dtype, sizes, true)).collect();
    let mut inputs: Vec<HostOperand> =
        input_dtypes.iter().map(|&dtype| random_operand(sequence, dtype, sizes, false)).collect();
    if in_place {
        inputs[0] = outputs[0].clone();
    }
    let strides: Vec<&[isize]> =
        outputs.iter().chain(&inputs).map(|operand| &operand.strides[..]).collect();
    assert!(StridedArguments::fits_32_bits(sizes, &strides));
    let shared = [in_place.then_some(0)];
    compare(&Call {
        expression: &expression,
        layout: LayoutClass::Strided { dims: sizes.len(), wide },
        sizes,
        outputs: &outputs,
        inputs: &inputs,
        scalars: &scalars,
        in_place: &shared,
    });
}

/// An operand of random elements in rows, which are dense or repeat one element.
fn random_rows(
    sequence: &mut Sequence,
    dtype: DType,
    sizes: [usize; 2],
    is_output: bool,
) -> HostOperand {
    let [rows, columns] = sizes;
    let is_repeated = !is_output && sequence.below(3) == 0;
    let width = if is_repeated { 1 } else { columns };
    let step = match sequence.below(3) {
        0 if !is_output => 0,
        1 => width.next_multiple_of(16),
        _ => width + sequence.below(2),
    };
    let start = sequence.choose(&[0, 0, 16, 1]);
    let elements = start + step * rows + width + 1;
    let bytes = (0..elements).flat_map(|_| encode(dtype, sequence.value(dtype.compute_type())));
    let strides = vec![step as isize, isize::from(!is_repeated)];
    HostOperand { dtype, bytes: bytes.collect(), start, strides }
}

fn run_rows(seed: u64, sizes: [usize; 2], in_place: bool) {
    let sequence = &mut Sequence(seed);
    let (input_count, output_count) = (1 + sequence.below(4), 1 + sequence.below(3));
    let (mut input_dtypes, mut input_types) = random_types(sequence, input_count);
    let (output_dtypes, output_types) = random_types(sequence, output_count);
    if in_place {
        (input_dtypes[0], input_types[0]) = (output_dtypes[0], output_types[0]);
    }
    let expression = random_expression(sequence, &input_types, &[], &output_types);
    let mut rows = |dtypes: &[DType], is_output: bool| -> Vec<HostOperand> {
        dtypes.iter().map(|&dtype| random_rows(sequence, dtype, sizes, is_output)).collect()
    };
    let (outputs, mut inputs) = (rows(&output_dtypes, true), rows(&input_dtypes, false));
    if in_place {
        inputs[0] = outputs[0].clone();
    }
    let repeated = outputs.iter().chain(&inputs).enumerate().fold(
        RepeatedOperands::default(),
        |repeated, (number, operand)| match operand.strides[1] {
            0 => repeated.with(number),
            _ => repeated,
        },
    );
    let shared = [in_place.then_some(0)];
    compare(&Call {
        expression: &expression,
        layout: LayoutClass::Broadcast2d { repeated },
        sizes: &sizes,
        outputs: &outputs,
        inputs: &inputs,
        scalars: &[],
        in_place: &shared,
    });
}

fn run_dense(seed: u64, numel: usize, in_place: bool, start: usize) {
    let sequence = &mut Sequence(seed);
    let (input_count, output_count) = (1 + sequence.below(4), 1 + sequence.below(3));
    let (mut input_dtypes, mut input_types) = random_types(sequence, input_count);
    let (output_dtypes, output_types) = random_types(sequence, output_count);
    if in_place {
        (input_dtypes[0], input_types[0]) = (output_dtypes[0], output_types[0]);
    }
    let expression = random_expression(sequence, &input_types, &[], &output_types);
    let mut dense = |dtype: DType, start: usize| {
        let elements: Vec<Vec<u8>> =
            (0..numel).map(|_| encode(dtype, sequence.value(dtype.compute_type()))).collect();
        HostOperand::dense(dtype, start, &elements)
    };
    let outputs: Vec<HostOperand> = output_dtypes.iter().map(|&dtype| dense(dtype, 0)).collect();
    let mut inputs: Vec<HostOperand> =
        input_dtypes.iter().map(|&dtype| dense(dtype, start)).collect();
    if in_place {
        inputs[0] = outputs[0].clone();
    }
    let shared = [in_place.then_some(0)];
    compare(&Call {
        expression: &expression,
        layout: LayoutClass::Dense,
        sizes: &[numel],
        outputs: &outputs,
        inputs: &inputs,
        scalars: &[],
        in_place: &shared,
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    #[test]
    fn random_expressions_over_random_strides_are_those_of_the_reference(
        seed: u64,
        sizes in prop::collection::vec(0..7usize, 1..5),
        in_place: bool,
        wide: bool,
    ) {
        run_strided(seed, &sizes, in_place, wide);
    }

    #[test]
    fn random_expressions_over_rows_are_those_of_the_reference(
        seed: u64,
        rows in 0..12usize,
        columns in prop_oneof![0..20usize, 300..700usize],
        in_place: bool,
    ) {
        run_rows(seed, [rows, columns], in_place);
    }

    #[test]
    fn random_expressions_over_dense_operands_are_those_of_the_reference(
        seed: u64,
        numel in prop_oneof![0..70usize, 1000..3000usize],
        in_place: bool,
        start in 0..2usize,
    ) {
        run_dense(seed, numel, in_place, start);
    }
}

#[test]
fn eight_dimensions_are_walked() {
    for wide in [false, true] {
        run_strided(7, &[2, 3, 1, 2, 2, 3, 2, 5], true, wide);
    }
}
