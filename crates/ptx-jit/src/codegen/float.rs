//! Floating-point arithmetic of 32 and 64 bits, and what all floating-point types share.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Clamp, FloatForm, FloatOp, Instruction, MinMax, Rounding, ScalarType};

use super::function::Lowering;
use super::value::{integer_type, machine_type};
use crate::abi::Helper;
use crate::runtime::RoundedOp;

impl Lowering<'_, '_> {
    pub(super) fn float(&mut self, instruction: &Instruction, form: FloatForm) {
        if form.ty.is_half_pair() {
            return self.half_pairs(instruction, form);
        }
        let mut operands = Vec::with_capacity(instruction.sources.len());
        for index in 0..instruction.sources.len() {
            let value = self.source(instruction, index, form.ty);
            operands.push(if form.ftz { self.flush(value, form.ty) } else { value });
        }
        let value = self.float_value(form, &operands);
        let value = if self.needs_canonical_nan(instruction, form) {
            self.canonical_nan(value, form.ty)
        } else {
            value
        };
        self.define(instruction, 0, value, form.ty);
    }

    /// The result of an operation on single numbers that are flushed already.
    pub(super) fn float_value(&mut self, form: FloatForm, operands: &[Value]) -> Value {
        let ty = form.ty;
        let value = match form.op {
            FloatOp::Negate => return self.flip_sign(operands[0], ty),
            FloatOp::Absolute => return self.clear_sign(operands[0], ty),
            FloatOp::CopySign => return self.builder.ins().fcopysign(operands[1], operands[0]),
            FloatOp::Minimum(variant) => return self.min_max(operands, ty, variant, true),
            FloatOp::Maximum(variant) => return self.min_max(operands, ty, variant, false),
            _ if ty.is_half() => return self.half_arithmetic(form, operands),
            _ if form.rounding != Rounding::Nearest => self.rounded(form, operands),
            _ => self.nearest(form.op, ty, operands),
        };
        let value = if form.ftz { self.flush(value, ty) } else { value };
        match form.clamp {
            Clamp::Saturate => self.saturate(value),
            Clamp::Relu | Clamp::None => value,
        }
    }

    fn nearest(&mut self, op: FloatOp, ty: ScalarType, operands: &[Value]) -> Value {
        let a = operands[0];
        match op {
            FloatOp::Add => self.builder.ins().fadd(a, operands[1]),
            FloatOp::Sub => self.builder.ins().fsub(a, operands[1]),
            FloatOp::Multiply => self.builder.ins().fmul(a, operands[1]),
            FloatOp::FusedMultiplyAdd => self.builder.ins().fma(a, operands[1], operands[2]),
            FloatOp::Divide => self.builder.ins().fdiv(a, operands[1]),
            FloatOp::SquareRoot => self.builder.ins().sqrt(a),
            FloatOp::Reciprocal => self.reciprocal(a, ty),
            FloatOp::ReciprocalSquareRoot => self.reciprocal_square_root(a, ty),
            FloatOp::GrossReciprocal => self.gross(a, false),
            FloatOp::GrossReciprocalSquareRoot => self.gross(a, true),
            FloatOp::Sine => self.helper(Helper::Sine, &[a]),
            FloatOp::Cosine => self.helper(Helper::Cosine, &[a]),
            FloatOp::Log2 => self.helper(Helper::Log2, &[a]),
            FloatOp::Exp2 => self.helper(Helper::Exp2, &[a]),
            FloatOp::Tanh => self.helper(Helper::Tanh, &[a]),
            FloatOp::Minimum(_) | FloatOp::Maximum(_) => unreachable!("lowered as choices"),
            FloatOp::Negate | FloatOp::Absolute | FloatOp::CopySign => {
                unreachable!("lowered as operations on the sign")
            }
        }
    }

    fn reciprocal(&mut self, a: Value, ty: ScalarType) -> Value {
        let one = if ty == ScalarType::F32 { self.f32(1.0) } else { self.f64(1.0) };
        self.builder.ins().fdiv(one, a)
    }

    fn reciprocal_square_root(&mut self, a: Value, ty: ScalarType) -> Value {
        let one = self.f64(1.0);
        if ty == ScalarType::F64 {
            let root = self.builder.ins().sqrt(a);
            return self.builder.ins().fdiv(one, root);
        }
        let wide = self.builder.ins().fpromote(types::F64, a);
        let root = self.builder.ins().sqrt(wide);
        let inverse = self.builder.ins().fdiv(one, root);
        self.builder.ins().fdemote(types::F32, inverse)
    }

    /// A reciprocal (of the root) of which only the upper half is given, for only the upper half of
    /// the operand.
    fn gross(&mut self, a: Value, root: bool) -> Value {
        let high = self.upper_half(a);
        let mut divisor = self.flush(high, ScalarType::F64);
        if root {
            divisor = self.builder.ins().sqrt(divisor);
        }
        let one = self.f64(1.0);
        let inverse = self.builder.ins().fdiv(one, divisor);
        let inverse = self.flush(inverse, ScalarType::F64);
        // Rounding to nearest makes the result a better start for what follows; infinities have no
        // lower half.
        let bits = self.cast(inverse, types::I64);
        let rounded = self.builder.ins().iadd_imm_s(bits, 1 << 31);
        self.upper_half(rounded)
    }

    fn upper_half(&mut self, value: Value) -> Value {
        let bits = self.cast(value, types::I64);
        let mask = self.int(types::I64, !0 << 32);
        let high = self.builder.ins().band(bits, mask);
        self.cast(high, types::F64)
    }

    /// An operation with one of the other rounding modes, which the host's instructions do not
    /// offer one by one.
    fn rounded(&mut self, form: FloatForm, operands: &[Value]) -> Value {
        let op = rounded_op(form.op);
        let (integer, helper) = match form.ty {
            ScalarType::F32 => (types::I32, Helper::RoundedF32),
            _ => (types::I64, Helper::RoundedF64),
        };
        let zero = self.int(integer, 0);
        let mut bits = [zero; 3];
        for (bits, &operand) in bits.iter_mut().zip(operands) {
            *bits = self.cast(operand, integer);
        }
        let op = self.int(types::I32, op as i64);
        let mode = self.int(types::I32, form.rounding as i64);
        let result = self.helper(helper, &[bits[0], bits[1], bits[2], op, mode]);
        self.cast(result, machine_type(form.ty))
    }

    /// To [0, 1], and NaN to 0.
    pub(super) fn saturate(&mut self, value: Value) -> Value {
        let (zero, one) = match self.builder.func.dfg.value_type(value) {
            types::F32 => (self.f32(0.0), self.f32(1.0)),
            _ => (self.f64(0.0), self.f64(1.0)),
        };
        let positive = self.builder.ins().fcmp(FloatCC::GreaterThan, value, zero);
        let value = self.builder.ins().select(positive, value, zero);
        let small = self.builder.ins().fcmp(FloatCC::LessThan, value, one);
        self.builder.ins().select(small, value, one)
    }

    /// Subnormal numbers as zeros of their sign.
    pub(super) fn flush(&mut self, value: Value, ty: ScalarType) -> Value {
        let (integer, exponent) = (integer_type(ty.bits()), infinity(ty));
        let bits = self.cast(value, integer);
        let exponent = self.int(integer, exponent as i64);
        let exponent = self.builder.ins().band(bits, exponent);
        let small = self.builder.ins().icmp_imm_u(IntCC::Equal, exponent, 0);
        let sign = self.int(integer, sign_bit(ty) as i64);
        let zero = self.builder.ins().band(bits, sign);
        let flushed = self.builder.ins().select(small, zero, bits);
        self.cast(flushed, machine_type(ty))
    }

    fn flip_sign(&mut self, value: Value, ty: ScalarType) -> Value {
        if !ty.is_half() {
            return self.builder.ins().fneg(value);
        }
        let sign = self.int(types::I16, sign_bit(ty) as i64);
        self.builder.ins().bxor(value, sign)
    }

    fn clear_sign(&mut self, value: Value, ty: ScalarType) -> Value {
        if !ty.is_half() {
            return self.builder.ins().fabs(value);
        }
        let magnitude = self.int(types::I16, !sign_bit(ty) as i64);
        self.builder.ins().band(value, magnitude)
    }

    /// Minimum or maximum. Zeros are ordered by their signs; NaN loses, or wins where the variant
    /// says so.
    fn min_max(
        &mut self,
        operands: &[Value],
        ty: ScalarType,
        variant: MinMax,
        minimum: bool,
    ) -> Value {
        let integer = integer_type(ty.bits());
        let sign = self.int(integer, sign_bit(ty) as i64);
        let original = [operands[0], operands[1]].map(|value| self.cast(value, integer));
        let bits = match variant.xor_sign {
            true => original.map(|value| self.builder.ins().band_not(value, sign)),
            false => original,
        };
        let [a, b] = bits;
        let [x, y] = bits.map(|value| match ty.is_half() {
            true => self.widen_half(value, ty),
            false => self.cast(value, machine_type(ty)),
        });
        let (first, second) = match minimum {
            true => (FloatCC::LessThan, FloatCC::GreaterThan),
            false => (FloatCC::GreaterThan, FloatCC::LessThan),
        };
        let takes_a = self.builder.ins().fcmp(first, x, y);
        let takes_b = self.builder.ins().fcmp(second, x, y);
        let ordered = self.builder.ins().fcmp(FloatCC::Ordered, x, y);
        // Equal numbers differ in the signs of zeros only.
        let equal = match minimum {
            true => self.builder.ins().bor(a, b),
            false => self.builder.ins().band(a, b),
        };
        let canonical = self.int(integer, canonical_nan(ty) as i64);
        let unordered = if variant.nan {
            canonical
        } else {
            let a_is_number = self.builder.ins().fcmp(FloatCC::Ordered, x, x);
            let b_is_number = self.builder.ins().fcmp(FloatCC::Ordered, y, y);
            let b_or_nan = self.builder.ins().select(b_is_number, b, canonical);
            self.builder.ins().select(a_is_number, a, b_or_nan)
        };
        let rest = self.builder.ins().select(ordered, equal, unordered);
        let rest = self.builder.ins().select(takes_b, b, rest);
        let mut result = self.builder.ins().select(takes_a, a, rest);
        if variant.xor_sign {
            let signs = self.builder.ins().bxor(original[0], original[1]);
            let signs = self.builder.ins().band(signs, sign);
            result = self.builder.ins().bor(result, signs);
        }
        self.cast(result, machine_type(ty))
    }

    /// Whether the result may be a NaN whose bits somebody sees. Only 32-bit arithmetic has one NaN
    /// for all.
    fn needs_canonical_nan(&self, instruction: &Instruction, form: FloatForm) -> bool {
        let arithmetic = !matches!(
            form.op,
            FloatOp::Negate
                | FloatOp::Absolute
                | FloatOp::CopySign
                | FloatOp::Minimum(_)
                | FloatOp::Maximum(_)
        );
        let observed = self.destination(instruction).is_some_and(|at| self.observed.contains(at));
        form.ty == ScalarType::F32 && arithmetic && form.clamp == Clamp::None && observed
    }

    /// NaN as the one that the hardware gives.
    pub(super) fn canonical_nan(&mut self, value: Value, ty: ScalarType) -> Value {
        let nan = self.constant(ty, canonical_nan(ty));
        let is_number = self.builder.ins().fcmp(FloatCC::Ordered, value, value);
        self.builder.ins().select(is_number, value, nan)
    }
}

/// The operation as the runtime's functions for rounding modes know it.
pub(super) fn rounded_op(op: FloatOp) -> RoundedOp {
    match op {
        FloatOp::Add => RoundedOp::Add,
        FloatOp::Sub => RoundedOp::Sub,
        FloatOp::Multiply => RoundedOp::Multiply,
        FloatOp::FusedMultiplyAdd => RoundedOp::FusedMultiplyAdd,
        FloatOp::Divide => RoundedOp::Divide,
        FloatOp::SquareRoot => RoundedOp::SquareRoot,
        FloatOp::Reciprocal => RoundedOp::Reciprocal,
        _ => unreachable!("the opcode table gives other operations no rounding mode"),
    }
}

/// The bits of the NaN that operations of a type give.
pub(super) fn canonical_nan(ty: ScalarType) -> u64 {
    match ty {
        ScalarType::F64 => 0xfff8_0000_0000_0000,
        ScalarType::F32 => 0x7fff_ffff,
        _ => 0x7fff,
    }
}

pub(super) fn sign_bit(ty: ScalarType) -> u64 {
    1 << (ty.bits() - 1)
}

/// The bits of positive infinity, which are those of the exponent.
pub(super) fn infinity(ty: ScalarType) -> u64 {
    match ty {
        ScalarType::F64 => 0x7ff0_0000_0000_0000,
        ScalarType::F32 => 0x7f80_0000,
        ScalarType::BF16 => 0x7f80,
        _ => 0x7c00,
    }
}
