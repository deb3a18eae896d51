//! Comparisons and choices.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::FunctionBuilder;
use ptx::{Combine, CompareForm, FloatClass, ScalarType};
use smallvec::smallvec;

use super::float::flush;
use super::half;
use super::lanes::{Lanes, Results};
use super::make::{constant, vector};
use super::mask::{choose, fit, predicates};
use super::shape::{cast, vector_type};
use crate::codegen::operators::{float_condition, integer_condition};

/// `setp`, `set`.
pub(super) fn compare(
    b: &mut FunctionBuilder<'_>,
    form: CompareForm,
    operands: &[Lanes],
) -> Results {
    if form.ty.is_half_pair() {
        return compare_pairs(b, form, operands);
    }
    let mask = comparison(b, form, &operands[0], &operands[1]);
    let holds = predicates(b, &mask);
    let result = combined(b, form, &holds, operands);
    if form.result != ScalarType::Pred {
        return smallvec![(truth(b, &result, form.result), form.result)];
    }
    let holds_not = holds.map(|holds| b.ins().bnot(holds));
    let opposite = combined(b, form, &holds_not, operands);
    smallvec![(result, ScalarType::Pred), (opposite, ScalarType::Pred)]
}

fn compare_pairs(b: &mut FunctionBuilder<'_>, form: CompareForm, operands: &[Lanes]) -> Results {
    let mask = half::comparison(b, form, &operands[0], &operands[1]);
    let words = cast(b, &mask, types::I32X4);
    let low = words.map(|value| {
        let raised = b.ins().ishl_imm_u(value, 16);
        b.ins().sshr_imm_u(raised, 16)
    });
    let high = words.map(|value| b.ins().sshr_imm_u(value, 16));
    let [low, high] = [low, high].map(|holds| combined(b, form, &holds, operands));
    if form.result == ScalarType::Pred {
        return smallvec![(low, ScalarType::Pred), (high, ScalarType::Pred)];
    }
    // Of each half's mask, the bits of 1.0 or all of them.
    let one = match form.result {
        ScalarType::F16x2 => 0x3c00,
        ScalarType::BF16x2 => 0x3f80,
        _ => 0xffff,
    };
    let (lower, upper) = (vector(b, types::I32X4, one), vector(b, types::I32X4, one << 16));
    let pair = low.zip(&high, |low, high| {
        let (low, high) = (b.ins().band(low, lower), b.ins().band(high, upper));
        b.ins().bor(low, high)
    });
    smallvec![(pair, ScalarType::B32)]
}

/// Whether a comparison holds, as masks of the operands' width.
fn comparison(b: &mut FunctionBuilder<'_>, form: CompareForm, x: &Lanes, y: &Lanes) -> Lanes {
    if !form.ty.is_float() {
        let condition = integer_condition(form.comparison, form.ty.is_signed());
        return x.zip(y, |x, y| b.ins().icmp(condition, x, y));
    }
    if form.ty.is_half() {
        return half::comparison(b, form, x, y);
    }
    let condition = float_condition(form.comparison);
    let [x, y] = [x, y].map(|lanes| match form.ftz {
        true => lanes.map(|value| flush(b, value, form.ty)),
        false => lanes.clone(),
    });
    x.zip(&y, |x, y| float_comparison(b, condition, x, y))
}

fn float_comparison(b: &mut FunctionBuilder<'_>, condition: FloatCC, x: Value, y: Value) -> Value {
    match condition {
        FloatCC::OrderedNotEqual => {
            let (ordered, different) =
                (b.ins().fcmp(FloatCC::Ordered, x, y), b.ins().fcmp(FloatCC::NotEqual, x, y));
            b.ins().band(ordered, different)
        }
        FloatCC::UnorderedOrEqual => {
            let (unordered, equal) =
                (b.ins().fcmp(FloatCC::Unordered, x, y), b.ins().fcmp(FloatCC::Equal, x, y));
            b.ins().bor(unordered, equal)
        }
        condition => b.ins().fcmp(condition, x, y),
    }
}

fn combined(
    b: &mut FunctionBuilder<'_>,
    form: CompareForm,
    holds: &Lanes,
    operands: &[Lanes],
) -> Lanes {
    let Some(combine) = form.combine else {
        return holds.clone();
    };
    holds.zip(&operands[2], |holds, other| match combine {
        Combine::And => b.ins().band(holds, other),
        Combine::Or => b.ins().bor(holds, other),
        Combine::Xor => b.ins().bxor(holds, other),
    })
}

/// All ones or 1.0 where a predicate holds, 0 elsewhere.
fn truth(b: &mut FunctionBuilder<'_>, mask: &Lanes, ty: ScalarType) -> Lanes {
    let vector_ty = vector_type(ty);
    let mask = fit(b, mask, vector_ty);
    let one = match ty {
        ScalarType::F32 => 1f32.to_bits().into(),
        ScalarType::F16 => 0x3c00,
        ScalarType::BF16 => 0x3f80,
        _ => return cast(b, &mask, vector_ty),
    };
    let one = vector(b, vector_ty.as_int(), one);
    let bits = mask.map(|mask| b.ins().band(mask, one));
    cast(b, &bits, vector_ty)
}

/// `slct`.
pub(super) fn select_by_sign(
    b: &mut FunctionBuilder<'_>,
    ty: ScalarType,
    tested: ScalarType,
    ftz: bool,
    operands: &[Lanes],
) -> Option<Lanes> {
    let zero = vector(b, vector_type(tested), 0);
    let mask = operands[2].map(|value| {
        if tested != ScalarType::F32 {
            return b.ins().icmp(IntCC::SignedGreaterThanOrEqual, value, zero);
        }
        let value = if ftz { flush(b, value, tested) } else { value };
        b.ins().fcmp(FloatCC::GreaterThanOrEqual, value, zero)
    });
    let mask = fit(b, &mask, vector_type(ty));
    Some(choose(b, &mask, &operands[0], &operands[1]))
}

/// `testp`.
pub(super) fn test(
    b: &mut FunctionBuilder<'_>,
    class: FloatClass,
    ty: ScalarType,
    operand: &Lanes,
) -> Lanes {
    let (infinity, least_normal) = match ty {
        ScalarType::F32 => (0x7f80_0000, 0x0080_0000),
        _ => (0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000),
    };
    let integer = ScalarType::untyped(ty.bits());
    let wide = integer == ScalarType::B64;
    let vector_ty = if wide { types::I64X2 } else { types::I32X4 };
    let sign = constant(b, 1 << (ty.bits() - 1), integer);
    let magnitude = operand.zip(&sign, |value, sign| b.ins().band_not(value, sign));
    // Magnitudes are not negative as integers, so either order will do.
    let mut is = |condition: IntCC, limit: u64| {
        let limit = vector(b, vector_ty, limit);
        magnitude.map(|value| b.ins().icmp(condition, value, limit))
    };
    let mask = match class {
        FloatClass::Finite => is(IntCC::SignedLessThan, infinity),
        FloatClass::Infinite => is(IntCC::Equal, infinity),
        FloatClass::Number => is(IntCC::SignedLessThanOrEqual, infinity),
        FloatClass::NotANumber => is(IntCC::SignedGreaterThan, infinity),
        FloatClass::Normal => {
            let finite = is(IntCC::SignedLessThan, infinity);
            let normal = is(IntCC::SignedGreaterThanOrEqual, least_normal);
            finite.zip(&normal, |x, y| b.ins().band(x, y))
        }
        FloatClass::Subnormal => {
            let small = is(IntCC::SignedLessThan, least_normal);
            let nonzero = is(IntCC::NotEqual, 0);
            small.zip(&nonzero, |x, y| b.ins().band(x, y))
        }
    };
    predicates(b, &mask)
}
