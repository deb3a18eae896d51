//! Minimum and maximum of floating-point numbers.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::FunctionBuilder;
use ptx::{MinMax, ScalarType};

use super::float::less_select;
use super::lanes::Lanes;
use super::make::vector;
use super::mask::pick;
use super::shape::bitcast;
use crate::codegen::float_bits::{canonical_nan_bits, sign_bit};

/// Minimum or maximum. Zeros are ordered by their signs; NaN loses, or wins where the variant says
/// so.
pub(super) fn min_max(
    b: &mut FunctionBuilder<'_>,
    operands: &[Lanes],
    ty: ScalarType,
    variant: MinMax,
    minimum: bool,
) -> Lanes {
    operands[0].zip(&operands[1], |x, y| match variant.xor_sign {
        true => by_magnitude(b, [x, y], ty, variant, minimum),
        false => choice(b, [x, y], ty, variant, minimum),
    })
}

/// The choice between magnitudes, with the exclusive-or of the signs.
fn by_magnitude(
    b: &mut FunctionBuilder<'_>,
    operands: [Value; 2],
    ty: ScalarType,
    variant: MinMax,
    minimum: bool,
) -> Value {
    let have = b.func.dfg.value_type(operands[0]);
    let integer = have.as_int();
    let sign = vector(b, integer, sign_bit(ty));
    let bits = operands.map(|value| bitcast(b, value, integer));
    let magnitudes = bits.map(|bits| {
        let magnitude = b.ins().band_not(bits, sign);
        bitcast(b, magnitude, have)
    });
    let chosen = choice(b, magnitudes, ty, variant, minimum);
    let signs = b.ins().bxor(bits[0], bits[1]);
    let signs = b.ins().band(signs, sign);
    let chosen = bitcast(b, chosen, integer);
    let signed = b.ins().bor(chosen, signs);
    bitcast(b, signed, have)
}

fn choice(
    b: &mut FunctionBuilder<'_>,
    [x, y]: [Value; 2],
    ty: ScalarType,
    variant: MinMax,
    minimum: bool,
) -> Value {
    let have = b.func.dfg.value_type(x);
    // Where the numbers are equal, zeros perhaps, either order gives the second one; together they
    // have the right sign.
    let ordered = match minimum {
        true => {
            let (one, other) = (less_select(b, x, y, x, y), less_select(b, y, x, y, x));
            b.ins().bor(one, other)
        }
        false => {
            let (one, other) = (less_select(b, y, x, x, y), less_select(b, x, y, y, x));
            b.ins().band(one, other)
        }
    };
    let nan = vector(b, have, canonical_nan_bits(ty));
    if variant.nan {
        let both = b.ins().fcmp(FloatCC::Ordered, x, y);
        return pick(b, both, ordered, nan);
    }
    let x_is_number = b.ins().fcmp(FloatCC::Ordered, x, x);
    let y_is_number = b.ins().fcmp(FloatCC::Ordered, y, y);
    let y_or_nan = pick(b, y_is_number, y, nan);
    let x_or_rest = pick(b, y_is_number, ordered, x);
    pick(b, x_is_number, x_or_rest, y_or_nan)
}
