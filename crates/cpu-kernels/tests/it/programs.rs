//! Random programs, over random dtypes and layouts.

use cpu_kernels::InstructionSet;
use expression::{ComputeType, DType, Expression, Primitive, Value, trace};
use proptest::prelude::*;
use smallvec::SmallVec;

use crate::layouts::{random_sizes, random_strides};
use crate::numbers::Random;
use crate::tensors::{Call, StridedTensor, dense};

/// A primitive whose results are determined to the bit, and which fits into what is there.
fn random_step<'t>(random: &mut Random, known: &[Value<'t>]) -> Option<Value<'t>> {
    let primitive = random.choose(&Primitive::ALL);
    let last = random.choose(known);
    let of = last.compute_type();
    let mut pick = |of: ComputeType| {
        let fitting: Vec<Value<'t>> =
            known.iter().copied().filter(|value| value.compute_type() == of).collect();
        (!fitting.is_empty()).then(|| random.choose(&fitting))
    };
    let operands: Vec<Value<'t>> = match primitive {
        Primitive::Select => vec![pick(ComputeType::Bool)?, pick(of)?, last],
        _ => (0..primitive.arity()).map(|_| pick(of)).collect::<Option<_>>()?,
    };
    let types: Vec<ComputeType> = operands.iter().map(|value| value.compute_type()).collect();
    // The sign of a NaN that was computed may be either, and `copysign` would show it.
    let is_determined = primitive.is_exact(of) && primitive != Primitive::Copysign;
    let exists = primitive.result_type(&types).is_some() && is_determined;
    exists.then(|| last.trace().apply(primitive, &operands))
}

fn random_types(random: &mut Random, most: usize) -> Vec<ComputeType> {
    (0..random.below(most + 1)).map(|_| random.choose(&ComputeType::ALL)).collect()
}

fn random_expression(random: &mut Random) -> Expression {
    let mut inputs = random_types(random, 4);
    inputs.push(ComputeType::F32);
    let scalars = random_types(random, 2);
    let steps = random.below(40);
    let results = 1 + random.below(3);
    trace(&inputs, &scalars, |_, tensors, numbers| {
        let mut known: Vec<Value<'_>> = tensors.iter().chain(numbers).copied().collect();
        for _ in 0..steps {
            known.extend(random_step(random, &known));
        }
        (0..results).map(|_| random.choose(&known)).collect::<SmallVec<_>>()
    })
}

fn random_dtype(random: &mut Random, of: ComputeType) -> DType {
    let fitting: Vec<DType> =
        DType::ALL.into_iter().filter(|dtype| dtype.compute_type() == of).collect();
    random.choose(&fitting)
}

/// A random call, where some outputs may be inputs.
fn random_call<'a>(
    random: &mut Random,
    expression: &'a Expression,
    sizes: &'a [usize],
) -> Call<'a> {
    let inputs: Vec<StridedTensor> = expression
        .inputs()
        .iter()
        .map(|&of| {
            let (dtype, strides) = (random_dtype(random, of), random_strides(random, sizes, true));
            StridedTensor::random(random, dtype, sizes, &strides)
        })
        .collect();
    let (mut outputs, mut in_place) = (Vec::new(), Vec::new());
    for &result in expression.outputs() {
        let dtype = random_dtype(random, expression.type_of(result));
        let strides = random_strides(random, sizes, false);
        let fitting: Vec<usize> = (0..inputs.len())
            .filter(|&input| {
                // No element twice, and no other output there.
                let is_unique = inputs[input].strides == dense(sizes);
                is_unique && inputs[input].dtype == dtype && !in_place.contains(&Some(input))
            })
            .collect();
        let own = (!fitting.is_empty() && random.below(2) == 0).then(|| random.choose(&fitting));
        in_place.push(own);
        outputs.push(StridedTensor::zeros(dtype, sizes, &strides));
    }
    let scalars = expression.scalars().iter().map(|&of| random.value(of)).collect();
    Call { expression, sizes, inputs, outputs, in_place, scalars }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn random_programs_are_what_the_reference_says(seed: u64) {
        let mut random = Random(seed);
        let expression = random_expression(&mut random);
        let sizes = random_sizes(&mut random, 3000);
        let set = random.choose(InstructionSet::supported());
        random_call(&mut random, &expression, &sizes).check(set);
    }
}
