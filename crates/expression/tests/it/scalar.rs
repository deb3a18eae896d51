//! Expressions at single elements, written as plainly as they can be.

use expression::{ComputeType, Expression, Primitive, ValueDef};

/// The results, by their bits.
pub(crate) fn evaluate(expression: &Expression, inputs: &[u64], scalars: &[u64]) -> Vec<u64> {
    let mut values: Vec<u64> = Vec::new();
    for (_, def) in expression.values() {
        let value = match def {
            ValueDef::Input(number) => inputs[*number as usize],
            ValueDef::Scalar(number) => scalars[*number as usize],
            ValueDef::Constant(bits) => *bits,
            ValueDef::Apply(primitive, operands) => {
                let first = operands[usize::from(*primitive == Primitive::Select)];
                let bits: Vec<u64> = operands.iter().map(|id| values[id.0 as usize]).collect();
                apply(*primitive, expression.type_of(first), &bits)
            }
        };
        values.push(value);
    }
    expression.outputs().iter().map(|id| values[id.0 as usize]).collect()
}

fn apply(primitive: Primitive, of: ComputeType, operands: &[u64]) -> u64 {
    match (primitive, operands, of) {
        (Primitive::Select, &[condition, a, b], _) => [b, a][usize::from(condition != 0)],
        (Primitive::Convert(to), &[a], _) => convert(a, of, to),
        (_, _, ComputeType::Bool) => truth(primitive, operands),
        (_, _, ComputeType::F64) => {
            let numbers: Vec<f64> = operands.iter().map(|&bits| f64::from_bits(bits)).collect();
            comparison(primitive, &numbers).unwrap_or_else(|| double(primitive, &numbers).to_bits())
        }
        (_, _, ComputeType::F32) => {
            let numbers: Vec<f32> =
                operands.iter().map(|&bits| f32::from_bits(bits as u32)).collect();
            comparison(primitive, &numbers)
                .unwrap_or_else(|| u64::from(single(primitive, &numbers).to_bits()))
        }
        (_, _, ComputeType::I64) => {
            let numbers: Vec<i64> = operands.iter().map(|&bits| bits as i64).collect();
            comparison(primitive, &numbers)
                .unwrap_or_else(|| integer(primitive, &numbers, 64) as u64)
        }
        (_, _, ComputeType::I32) => {
            let numbers: Vec<i64> = operands.iter().map(|&bits| i64::from(bits as i32)).collect();
            comparison(primitive, &numbers)
                .unwrap_or_else(|| u64::from(integer(primitive, &numbers, 32) as u32))
        }
    }
}

fn comparison<T: PartialOrd>(primitive: Primitive, operands: &[T]) -> Option<u64> {
    let [a, b] = operands else { return None };
    Some(u64::from(match primitive {
        Primitive::Eq => a == b,
        Primitive::Ne => a != b,
        Primitive::Lt => a < b,
        Primitive::Le => a <= b,
        Primitive::Gt => a > b,
        Primitive::Ge => a >= b,
        _ => return None,
    }))
}

fn truth(primitive: Primitive, operands: &[u64]) -> u64 {
    comparison(primitive, operands).unwrap_or_else(|| match (primitive, operands) {
        (Primitive::Not, &[a]) => a ^ 1,
        (Primitive::And, &[a, b]) => a & b,
        (Primitive::Or, &[a, b]) => a | b,
        (Primitive::Xor, &[a, b]) => a ^ b,
        _ => unreachable!("{primitive:?}"),
    })
}

macro_rules! floats {
    ($name:ident, $float:ident) => {
        fn $name(primitive: Primitive, operands: &[$float]) -> $float {
            let a = operands[0];
            let b = operands.get(1).copied().unwrap_or_default();
            let is_nan = a.is_nan() || b.is_nan();
            match primitive {
                Primitive::Neg => -a,
                Primitive::Abs => a.abs(),
                Primitive::Sqrt => a.sqrt(),
                Primitive::Rsqrt => 1.0 / a.sqrt(),
                Primitive::Floor => a.floor(),
                Primitive::Ceil => a.ceil(),
                Primitive::Round => a.round_ties_even(),
                Primitive::Trunc => a.trunc(),
                Primitive::Add => a + b,
                Primitive::Sub => a - b,
                Primitive::Mul => a * b,
                Primitive::Div => a / b,
                Primitive::Copysign => a.copysign(b),
                Primitive::Max | Primitive::Min if is_nan => $float::NAN,
                // Of two zeros, the positive one is the larger.
                Primitive::Max | Primitive::Fmax if a == b => {
                    if a.is_sign_positive() {
                        a
                    } else {
                        b
                    }
                }
                Primitive::Min | Primitive::Fmin if a == b => {
                    if a.is_sign_negative() {
                        a
                    } else {
                        b
                    }
                }
                Primitive::Max | Primitive::Fmax => a.max(b),
                Primitive::Min | Primitive::Fmin => a.min(b),
                _ => unreachable!("{primitive:?}"),
            }
        }
    };
}

floats!(double, f64);
floats!(single, f32);

/// In 128 bits, of which the caller takes the low ones.
fn integer(primitive: Primitive, operands: &[i64], bits: u32) -> i128 {
    let a = i128::from(operands[0]);
    let b = operands.get(1).copied().map_or(0, i128::from);
    let is_shift = (0..i128::from(bits)).contains(&b);
    match primitive {
        Primitive::Neg => -a,
        Primitive::Abs => a.abs(),
        Primitive::Not => !a,
        Primitive::Add => a + b,
        Primitive::Sub => a - b,
        Primitive::Mul => a * b,
        Primitive::Div | Primitive::FloorDiv | Primitive::Remainder | Primitive::Fmod if b == 0 => {
            match primitive {
                // The sign of the divisor is moot, so the remainder may be anything: it is 0.
                Primitive::Remainder | Primitive::Fmod => 0,
                _ => 0,
            }
        }
        Primitive::Div => a / b,
        Primitive::Fmod => a % b,
        Primitive::FloorDiv => a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0),
        Primitive::Remainder => (a % b + b) % b,
        Primitive::Max => a.max(b),
        Primitive::Min => a.min(b),
        Primitive::And => a & b,
        Primitive::Or => a | b,
        Primitive::Xor => a ^ b,
        Primitive::Shl => {
            if is_shift {
                a << b
            } else {
                0
            }
        }
        Primitive::Shr => {
            if is_shift {
                a >> b
            } else {
                a >> 127
            }
        }
        _ => unreachable!("{primitive:?}"),
    }
}

fn convert(bits: u64, from: ComputeType, to: ComputeType) -> u64 {
    use ComputeType::*;
    let integer = match from {
        F64 => f64::from_bits(bits) as i64,
        F32 => f32::from_bits(bits as u32) as i64,
        I64 => bits as i64,
        I32 => i64::from(bits as i32),
        Bool => bits as i64,
    };
    match (from, to) {
        _ if from == to => bits,
        (F64, F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
        (F32, F64) => f64::from(f32::from_bits(bits as u32)).to_bits(),
        (F64, Bool) => u64::from(f64::from_bits(bits) != 0.0),
        (F32, Bool) => u64::from(f32::from_bits(bits as u32) != 0.0),
        (F64, I32) => u64::from(f64::from_bits(bits) as i32 as u32),
        (F32, I32) => u64::from(f32::from_bits(bits as u32) as i32 as u32),
        (_, Bool) => u64::from(integer != 0),
        (_, I64) => integer as u64,
        (_, I32) => u64::from(integer as u32),
        (_, F64) => (integer as f64).to_bits(),
        (_, F32) => u64::from((integer as f32).to_bits()),
    }
}
