//! Comparisons and choices.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Combine, CompareForm, FloatClass, ScalarType};
use smallvec::smallvec;

use super::ScalarResults;
use super::float::flush;
use super::half::{half_at, join_halves, widen_half};
use crate::codegen::emitter::Emitter;
use crate::codegen::operators::{float_condition, integer_condition};
use crate::codegen::types::machine_type;

/// `setp`, `set`. With `both`, the second result is that of the opposite comparison.
pub(super) fn compare(
    e: &mut Emitter<'_>,
    form: CompareForm,
    operands: &[Value],
    both: bool,
) -> ScalarResults {
    if form.ty.is_half_pair() {
        return compare_pairs(e, form, operands);
    }
    let holds = comparison(e, form, operands[0], operands[1]);
    let holds_not = e.ins().bxor_imm_u(holds, 1);
    let result = combined(e, operands, form, holds);
    let result = match form.result {
        ScalarType::Pred => result,
        ty => truth_value(e, result, ty),
    };
    let mut results: ScalarResults = smallvec![(result, form.result)];
    if both {
        let opposite = combined(e, operands, form, holds_not);
        results.push((opposite, ScalarType::Pred));
    }
    results
}

fn compare_pairs(e: &mut Emitter<'_>, form: CompareForm, operands: &[Value]) -> ScalarResults {
    let element = CompareForm { ty: form.ty.element(), ..form };
    let [a, b] = [operands[0], operands[1]];
    let truths = [0, 16].map(|shift| {
        let (a, b) = (half_at(e, a, shift), half_at(e, b, shift));
        let holds = comparison(e, element, a, b);
        combined(e, operands, form, holds)
    });
    if form.result == ScalarType::Pred {
        return truths.map(|truth| (truth, ScalarType::Pred)).into_iter().collect();
    }
    let value = match form.result {
        ScalarType::F16x2 | ScalarType::BF16x2 => form.result.element(),
        // A mask of 16 bits for each half.
        _ => ScalarType::U16,
    };
    let [low, high] = truths.map(|truth| truth_value(e, truth, value));
    let pair = join_halves(e, low, high);
    smallvec![(pair, ScalarType::B32)]
}

/// Whether a comparison holds, as 0 or 1.
fn comparison(e: &mut Emitter<'_>, form: CompareForm, a: Value, b: Value) -> Value {
    if !form.ty.is_float() {
        let condition = integer_condition(form.comparison, form.ty.is_signed());
        return e.ins().icmp(condition, a, b);
    }
    let [mut a, mut b] = [a, b];
    if form.ftz {
        [a, b] = [a, b].map(|value| flush(e, value, form.ty));
    }
    if form.ty.is_half() {
        [a, b] = [a, b].map(|value| widen_half(e, value, form.ty));
    }
    e.ins().fcmp(float_condition(form.comparison), a, b)
}

fn combined(e: &mut Emitter<'_>, operands: &[Value], form: CompareForm, holds: Value) -> Value {
    let Some(combine) = form.combine else {
        return holds;
    };
    let other = operands[2];
    match combine {
        Combine::And => e.ins().band(holds, other),
        Combine::Or => e.ins().bor(holds, other),
        Combine::Xor => e.ins().bxor(holds, other),
    }
}

/// All ones or 1.0 where true, 0 elsewhere.
fn truth_value(e: &mut Emitter<'_>, truth: Value, ty: ScalarType) -> Value {
    let yes = match ty {
        ScalarType::F32 => e.f32(1.0),
        ScalarType::F16 => e.int(types::I16, 0x3c00),
        ScalarType::BF16 => e.int(types::I16, 0x3f80),
        _ => e.int(machine_type(ty), -1),
    };
    let no = e.zero(machine_type(ty));
    e.ins().select(truth, yes, no)
}

/// `slct`.
pub(super) fn select_by_sign(
    e: &mut Emitter<'_>,
    tested: ScalarType,
    ftz: bool,
    operands: &[Value],
) -> Value {
    let [a, b, mut c] = [operands[0], operands[1], operands[2]];
    let condition = if tested == ScalarType::F32 {
        if ftz {
            c = flush(e, c, tested);
        }
        let zero = e.f32(0.0);
        e.ins().fcmp(FloatCC::GreaterThanOrEqual, c, zero)
    } else {
        e.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, c, 0)
    };
    e.ins().select(condition, a, b)
}

/// `testp`: whether the number whose bits are given is of a class.
pub(super) fn test(e: &mut Emitter<'_>, class: FloatClass, ty: ScalarType, bits: Value) -> Value {
    let (infinity, least_normal) = match ty {
        ScalarType::F32 => (0x7f80_0000, 0x0080_0000),
        _ => (0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000),
    };
    let magnitude = e.ins().ishl_imm_u(bits, 1);
    let magnitude = e.ins().ushr_imm_u(magnitude, 1);
    let mut is = |condition, limit| e.ins().icmp_imm_u(condition, magnitude, limit);
    match class {
        FloatClass::Finite => is(IntCC::UnsignedLessThan, infinity),
        FloatClass::Infinite => is(IntCC::Equal, infinity),
        FloatClass::Number => is(IntCC::UnsignedLessThanOrEqual, infinity),
        FloatClass::NotANumber => is(IntCC::UnsignedGreaterThan, infinity),
        FloatClass::Normal => {
            let finite = is(IntCC::UnsignedLessThan, infinity);
            let normal = is(IntCC::UnsignedGreaterThanOrEqual, least_normal);
            e.ins().band(finite, normal)
        }
        FloatClass::Subnormal => {
            let small = is(IntCC::UnsignedLessThan, least_normal);
            let nonzero = is(IntCC::NotEqual, 0);
            e.ins().band(small, nonzero)
        }
    }
}
