//! Integer arithmetic.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use cranelift_frontend::FuncInstBuilder;
use ptx::{Instruction, IntegerForm, IntegerOp, ProductPart, ScalarType};

use super::function::Lowering;
use super::value::integer_type;

impl Lowering<'_, '_> {
    pub(super) fn integer(&mut self, instruction: &Instruction, form: IntegerForm) {
        let IntegerForm { op, ty } = form;
        let signed = ty.is_signed();
        let a = self.source(instruction, 0, ty);
        let value = match op {
            IntegerOp::Negate => self.builder.ins().ineg(a),
            IntegerOp::Absolute => self.builder.ins().iabs(a),
            IntegerOp::AddCarry(_)
            | IntegerOp::SubCarry(_)
            | IntegerOp::MultiplyAddCarry { .. } => {
                return self.with_carry(instruction, form);
            }
            IntegerOp::DotProduct4 { .. } | IntegerOp::DotProduct2 { .. } => {
                return self.dot_product(instruction, op);
            }
            _ => {
                let b = self.source(instruction, 1, ty);
                match op {
                    IntegerOp::Add { saturate: false } => self.builder.ins().iadd(a, b),
                    IntegerOp::Sub { saturate: false } => self.builder.ins().isub(a, b),
                    IntegerOp::Add { .. } => self.saturating(a, b, |ins, a, b| ins.iadd(a, b)),
                    IntegerOp::Sub { .. } => self.saturating(a, b, |ins, a, b| ins.isub(a, b)),
                    IntegerOp::Multiply(part) => self.product(part, a, b, signed),
                    IntegerOp::Multiply24(part) => self.product24(part, a, b, signed),
                    IntegerOp::Divide => self.divide(a, b, signed, true),
                    IntegerOp::Remainder => self.divide(a, b, signed, false),
                    IntegerOp::Minimum => self.choose_integer(less(signed), a, b),
                    IntegerOp::Maximum => self.choose_integer(less(signed).swap_args(), a, b),
                    _ => self.ternary(instruction, form, a, b),
                }
            }
        };
        let result = match op {
            IntegerOp::Multiply(ProductPart::Wide)
            | IntegerOp::MultiplyAdd { part: ProductPart::Wide, .. } => double(ty),
            _ => ty,
        };
        self.define(instruction, 0, value, result);
    }

    fn ternary(
        &mut self,
        instruction: &Instruction,
        form: IntegerForm,
        a: Value,
        b: Value,
    ) -> Value {
        let signed = form.ty.is_signed();
        let (product, saturate) = match form.op {
            IntegerOp::MultiplyAdd { part, saturate } => {
                (self.product(part, a, b, signed), saturate)
            }
            IntegerOp::MultiplyAdd24 { part, saturate } => {
                (self.product24(part, a, b, signed), saturate)
            }
            // The sum of absolute differences.
            _ => {
                let smaller = self.choose_integer(less(signed), a, b);
                let larger = self.choose_integer(less(signed).swap_args(), a, b);
                (self.builder.ins().isub(larger, smaller), false)
            }
        };
        let ty = ScalarType::untyped(self.builder.func.dfg.value_type(product).bits());
        let c = self.source(instruction, 2, ty);
        if saturate {
            return self.saturating(product, c, |ins, a, b| ins.iadd(a, b));
        }
        self.builder.ins().iadd(product, c)
    }

    /// A part of a product.
    pub(super) fn product(&mut self, part: ProductPart, a: Value, b: Value, signed: bool) -> Value {
        let ty = self.builder.func.dfg.value_type(a);
        match part {
            ProductPart::Low => self.builder.ins().imul(a, b),
            ProductPart::High if ty == types::I64 && signed => self.builder.ins().smulhi(a, b),
            ProductPart::High if ty == types::I64 => self.builder.ins().umulhi(a, b),
            ProductPart::High => {
                let wide = self.wide_product(a, b, signed);
                self.high_half(wide, ty)
            }
            ProductPart::Wide => self.wide_product(a, b, signed),
        }
    }

    fn wide_product(&mut self, a: Value, b: Value, signed: bool) -> Value {
        let ty = integer_type(2 * self.builder.func.dfg.value_type(a).bits());
        let (a, b) = (self.resize(a, ty, signed), self.resize(b, ty, signed));
        self.builder.ins().imul(a, b)
    }

    fn high_half(&mut self, wide: Value, ty: Type) -> Value {
        let high = self.builder.ins().ushr_imm_u(wide, i64::from(ty.bits()));
        self.builder.ins().ireduce(ty, high)
    }

    /// A product of the low 24 bits: its low 32 bits, or its bits 16 to 47.
    fn product24(&mut self, part: ProductPart, a: Value, b: Value, signed: bool) -> Value {
        let [a, b] = [a, b].map(|value| {
            let top = self.builder.ins().ishl_imm_u(value, 8);
            match signed {
                true => self.builder.ins().sshr_imm_u(top, 8),
                false => self.builder.ins().ushr_imm_u(top, 8),
            }
        });
        let wide = self.wide_product(a, b, signed);
        let shift = if part == ProductPart::High { 16 } else { 0 };
        let shifted = self.builder.ins().ushr_imm_u(wide, shift);
        self.builder.ins().ireduce(types::I32, shifted)
    }

    /// An operation on 32-bit signed integers whose result is clamped.
    fn saturating(
        &mut self,
        a: Value,
        b: Value,
        operation: impl Fn(FuncInstBuilder<'_, '_>, Value, Value) -> Value,
    ) -> Value {
        let (a, b) = (self.resize(a, types::I64, true), self.resize(b, types::I64, true));
        let exact = operation(self.builder.ins(), a, b);
        let lowest = self.int(types::I64, i64::from(i32::MIN));
        let highest = self.int(types::I64, i64::from(i32::MAX));
        let raised = self.choose_integer(IntCC::SignedGreaterThan, exact, lowest);
        let clamped = self.choose_integer(IntCC::SignedLessThan, raised, highest);
        self.builder.ins().ireduce(types::I32, clamped)
    }

    /// Quotient or remainder. The host traps where the manual leaves the result open: a division by
    /// 0 gives all ones and the dividend here, the lowest number divided by -1 gives itself and 0.
    fn divide(&mut self, a: Value, b: Value, signed: bool, quotient: bool) -> Value {
        let ty = self.builder.func.dfg.value_type(b);
        let is_zero = self.builder.ins().icmp_imm_u(IntCC::Equal, b, 0);
        let one = self.int(ty, 1);
        let ones = self.int(ty, -1);
        let mut special = is_zero;
        if signed {
            let is_ones = self.builder.ins().icmp(IntCC::Equal, b, ones);
            special = self.builder.ins().bor(is_zero, is_ones);
        }
        let safe = self.builder.ins().select(special, one, b);
        // With a divisor of 1 instead, the quotient is the dividend and the remainder 0.
        let plain = match (quotient, signed) {
            (true, true) => self.builder.ins().sdiv(a, safe),
            (true, false) => self.builder.ins().udiv(a, safe),
            (false, true) => self.builder.ins().srem(a, safe),
            (false, false) => self.builder.ins().urem(a, safe),
        };
        let mut result = plain;
        if quotient && signed {
            let is_ones = self.builder.ins().icmp(IntCC::Equal, b, ones);
            let negated = self.builder.ins().ineg(a);
            result = self.builder.ins().select(is_ones, negated, plain);
        }
        let by_zero = if quotient { ones } else { a };
        self.builder.ins().select(is_zero, by_zero, result)
    }
}

fn less(signed: bool) -> IntCC {
    if signed { IntCC::SignedLessThan } else { IntCC::UnsignedLessThan }
}

fn double(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        _ => ScalarType::S64,
    }
}
