//! What is simplified against what is not: every primitive as it stands, by the reference.

use proptest::prelude::*;

use super::Draft;
use crate::constant::f64_of;
use crate::expression::{ValueDef, ValueId};
use crate::{ComputeType, Constant, Primitive, reference};

const NUMBERS: [f64; 10] =
    [0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];

/// Functions whose results the reference and the identities agree on to the last bit.
const PRIMITIVES: [Primitive; 25] = {
    use Primitive::*;
    [
        Neg, Neg, Neg, Not, Not, Abs, Add, Sub, Mul, Mul, Div, FloorDiv, Max, Min, Fmax, And, Or,
        Xor, Eq, Ne, Le, Gt, Select, Copysign, Shl,
    ]
};

/// A draft and what each of its values should be for some inputs.
struct Pair {
    draft: Draft,
    values: Vec<(ValueId, ComputeType, u64)>,
    inputs: Vec<(ComputeType, u64)>,
}

fn bits(of: ComputeType, number: f64) -> u64 {
    let whole = if number.is_finite() { number.trunc() } else { 5.0 };
    let number = match of {
        ComputeType::Bool => f64::from(u8::from(number > 0.0)),
        _ if of.is_float() => number,
        _ => whole,
    };
    Constant::Float(number).bits(of).expect("a number of the type")
}

impl Pair {
    fn new(numbers: &[usize; 4]) -> Pair {
        let mut pair = Pair { draft: Draft::default(), values: Vec::new(), inputs: Vec::new() };
        for of in ComputeType::ALL {
            for number in numbers {
                let bits = bits(of, NUMBERS[*number]);
                let id = pair.draft.push(of, ValueDef::Input(pair.inputs.len() as u32));
                pair.values.push((id, of, bits));
                pair.inputs.push((of, bits));
            }
            for number in NUMBERS {
                let bits = bits(of, number);
                let id = pair.draft.push(of, ValueDef::Constant(bits));
                pair.values.push((id, of, bits));
            }
        }
        pair
    }

    /// Applies a primitive to values of one type, which are counted from the latest of that type.
    fn apply(&mut self, primitive: Primitive, of: ComputeType, back: [usize; 3]) {
        // Of two zeros these may give either.
        if of.is_float() && matches!(primitive, Primitive::Max | Primitive::Min) {
            return;
        }
        let pick = |of: ComputeType, back: usize| {
            let all: Vec<_> = self.values.iter().filter(|value| value.1 == of).collect();
            *all[all.len() - 1 - back % all.len()]
        };
        let operands: Vec<_> = match primitive.arity() {
            3 => vec![pick(ComputeType::Bool, back[0]), pick(of, back[1]), pick(of, back[2])],
            arity => back[..arity].iter().map(|&back| pick(of, back)).collect(),
        };
        let ids: Vec<_> = operands.iter().map(|operand| operand.0).collect();
        if let Some(id) = self.draft.apply(primitive, &ids) {
            let bits: Vec<_> = operands.iter().map(|operand| operand.2).collect();
            let result = reference::apply(primitive, of, &bits);
            self.values.push((id, self.draft.type_of(id), result));
        }
    }
}

fn primitives() -> impl Strategy<Value = Primitive> {
    let conversions = prop::sample::select(ComputeType::ALL.to_vec()).prop_map(Primitive::Convert);
    prop_oneof![4 => prop::sample::select(PRIMITIVES.to_vec()), 1 => conversions]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn identities_change_no_bit_of_any_value_but_a_nan(
        numbers in prop::array::uniform4(0..NUMBERS.len()),
        program in prop::collection::vec(
            (primitives(), 0..5_usize, prop::array::uniform3(0..14_usize)),
            1..30,
        ),
    ) {
        let mut pair = Pair::new(&numbers);
        for (primitive, of, back) in program {
            pair.apply(primitive, ComputeType::ALL[of], back);
        }
        let types: Vec<_> = pair.inputs.iter().map(|input| input.0).collect();
        let inputs: Vec<_> = pair.inputs.iter().map(|input| input.1).collect();
        let ids: Vec<_> = pair.values.iter().map(|value| value.0).collect();
        let expression = pair.draft.finish(&types, &[], &ids);
        for (actual, (_, of, expected)) in expression.evaluate(&inputs, &[]).iter().zip(&pair.values) {
            let is_nan = |bits| of.is_float() && f64_of(bits, *of).is_nan();
            prop_assert!(
                actual == expected || (is_nan(*actual) && is_nan(*expected)),
                "{actual:x} instead of {expected:x}, {of}\n{expression}"
            );
        }
    }
}
