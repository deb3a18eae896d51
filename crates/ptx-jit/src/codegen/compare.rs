//! Comparisons and choices.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Combine, CompareForm, Comparison, FloatClass, Instruction, ScalarType};

use super::function::Lowering;
use super::value::machine_type;

impl Lowering<'_, '_> {
    /// `setp`, `set`.
    pub(super) fn compare(&mut self, instruction: &Instruction, form: CompareForm) {
        if form.ty.is_half_pair() {
            return self.compare_pairs(instruction, form);
        }
        let a = self.source(instruction, 0, form.ty);
        let b = self.source(instruction, 1, form.ty);
        let holds = self.comparison(form, a, b);
        let holds_not = self.builder.ins().bxor_imm_u(holds, 1);
        let result = self.combined(instruction, form, holds);
        self.define_truth(instruction, 0, result, form.result);
        if instruction.destinations.get(1).copied().flatten().is_some() {
            let opposite = self.combined(instruction, form, holds_not);
            self.define(instruction, 1, opposite, ScalarType::Pred);
        }
    }

    fn compare_pairs(&mut self, instruction: &Instruction, form: CompareForm) {
        let element = CompareForm { ty: form.ty.element(), ..form };
        let a = self.source(instruction, 0, form.ty);
        let b = self.source(instruction, 1, form.ty);
        let truths = [0, 16].map(|shift| {
            let (a, b) = (self.half_at(a, shift), self.half_at(b, shift));
            let holds = self.comparison(element, a, b);
            self.combined(instruction, form, holds)
        });
        if form.result == ScalarType::Pred {
            self.define(instruction, 0, truths[0], ScalarType::Pred);
            return self.define(instruction, 1, truths[1], ScalarType::Pred);
        }
        let value = match form.result {
            ScalarType::F16x2 | ScalarType::BF16x2 => form.result.element(),
            // A mask of 16 bits for each half.
            _ => ScalarType::U16,
        };
        let [low, high] = truths.map(|truth| self.truth_value(truth, value));
        let pair = self.join_halves(low, high);
        self.define(instruction, 0, pair, ScalarType::B32);
    }

    /// Whether a comparison holds, as 0 or 1.
    fn comparison(&mut self, form: CompareForm, a: Value, b: Value) -> Value {
        if !form.ty.is_float() {
            let condition = integer_condition(form.comparison, form.ty.is_signed());
            return self.builder.ins().icmp(condition, a, b);
        }
        let [mut a, mut b] = [a, b];
        if form.ftz {
            [a, b] = [a, b].map(|value| self.flush(value, form.ty));
        }
        if form.ty.is_half() {
            [a, b] = [a, b].map(|value| self.widen_half(value, form.ty));
        }
        self.builder.ins().fcmp(float_condition(form.comparison), a, b)
    }

    fn combined(&mut self, instruction: &Instruction, form: CompareForm, holds: Value) -> Value {
        let Some(combine) = form.combine else {
            return holds;
        };
        let other = self.source(instruction, 2, ScalarType::Pred);
        match combine {
            Combine::And => self.builder.ins().band(holds, other),
            Combine::Or => self.builder.ins().bor(holds, other),
            Combine::Xor => self.builder.ins().bxor(holds, other),
        }
    }

    fn define_truth(
        &mut self,
        instruction: &Instruction,
        index: usize,
        truth: Value,
        ty: ScalarType,
    ) {
        let value = match ty {
            ScalarType::Pred => truth,
            _ => self.truth_value(truth, ty),
        };
        self.define(instruction, index, value, ty);
    }

    /// All ones or 1.0 where true, 0 elsewhere.
    fn truth_value(&mut self, truth: Value, ty: ScalarType) -> Value {
        let yes = match ty {
            ScalarType::F32 => self.f32(1.0),
            ScalarType::F16 => self.int(types::I16, 0x3c00),
            ScalarType::BF16 => self.int(types::I16, 0x3f80),
            _ => self.int(machine_type(ty), -1),
        };
        let no = self.zero(machine_type(ty));
        self.builder.ins().select(truth, yes, no)
    }

    /// `selp`.
    pub(super) fn select(&mut self, instruction: &Instruction, ty: ScalarType) {
        let a = self.source(instruction, 0, ty);
        let b = self.source(instruction, 1, ty);
        let condition = self.source(instruction, 2, ScalarType::Pred);
        let value = self.builder.ins().select(condition, a, b);
        self.define(instruction, 0, value, ty);
    }

    /// `slct`.
    pub(super) fn select_by_sign(
        &mut self,
        instruction: &Instruction,
        ty: ScalarType,
        tested: ScalarType,
        ftz: bool,
    ) {
        let a = self.source(instruction, 0, ty);
        let b = self.source(instruction, 1, ty);
        let mut c = self.source(instruction, 2, tested);
        let condition = if tested == ScalarType::F32 {
            if ftz {
                c = self.flush(c, tested);
            }
            let zero = self.f32(0.0);
            self.builder.ins().fcmp(FloatCC::GreaterThanOrEqual, c, zero)
        } else {
            self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, c, 0)
        };
        let value = self.builder.ins().select(condition, a, b);
        self.define(instruction, 0, value, ty);
    }

    /// `testp`.
    pub(super) fn test(&mut self, instruction: &Instruction, class: FloatClass, ty: ScalarType) {
        let (integer, infinity, least_normal) = match ty {
            ScalarType::F32 => (ScalarType::B32, 0x7f80_0000, 0x0080_0000),
            _ => (ScalarType::B64, 0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000),
        };
        let bits = self.source(instruction, 0, integer);
        let magnitude = self.builder.ins().ishl_imm_u(bits, 1);
        let magnitude = self.builder.ins().ushr_imm_u(magnitude, 1);
        let mut is = |condition, limit| self.builder.ins().icmp_imm_u(condition, magnitude, limit);
        let holds = match class {
            FloatClass::Finite => is(IntCC::UnsignedLessThan, infinity),
            FloatClass::Infinite => is(IntCC::Equal, infinity),
            FloatClass::Number => is(IntCC::UnsignedLessThanOrEqual, infinity),
            FloatClass::NotANumber => is(IntCC::UnsignedGreaterThan, infinity),
            FloatClass::Normal => {
                let finite = is(IntCC::UnsignedLessThan, infinity);
                let normal = is(IntCC::UnsignedGreaterThanOrEqual, least_normal);
                self.builder.ins().band(finite, normal)
            }
            FloatClass::Subnormal => {
                let small = is(IntCC::UnsignedLessThan, least_normal);
                let nonzero = is(IntCC::NotEqual, 0);
                self.builder.ins().band(small, nonzero)
            }
        };
        self.define(instruction, 0, holds, ScalarType::Pred);
    }
}

pub(super) fn integer_condition(comparison: Comparison, signed: bool) -> IntCC {
    match comparison {
        Comparison::Equal => IntCC::Equal,
        Comparison::NotEqual => IntCC::NotEqual,
        Comparison::Less if signed => IntCC::SignedLessThan,
        Comparison::LessEqual if signed => IntCC::SignedLessThanOrEqual,
        Comparison::Greater if signed => IntCC::SignedGreaterThan,
        Comparison::GreaterEqual if signed => IntCC::SignedGreaterThanOrEqual,
        Comparison::Less | Comparison::Lower => IntCC::UnsignedLessThan,
        Comparison::LessEqual | Comparison::LowerSame => IntCC::UnsignedLessThanOrEqual,
        Comparison::Greater | Comparison::Higher => IntCC::UnsignedGreaterThan,
        Comparison::GreaterEqual | Comparison::HigherSame => IntCC::UnsignedGreaterThanOrEqual,
        _ => unreachable!("the opcode table keeps unordered comparisons to floating-point types"),
    }
}

pub(super) fn float_condition(comparison: Comparison) -> FloatCC {
    match comparison {
        Comparison::Equal => FloatCC::Equal,
        Comparison::NotEqual => FloatCC::OrderedNotEqual,
        Comparison::Less => FloatCC::LessThan,
        Comparison::LessEqual => FloatCC::LessThanOrEqual,
        Comparison::Greater => FloatCC::GreaterThan,
        Comparison::GreaterEqual => FloatCC::GreaterThanOrEqual,
        Comparison::EqualUnordered => FloatCC::UnorderedOrEqual,
        Comparison::NotEqualUnordered => FloatCC::NotEqual,
        Comparison::LessUnordered => FloatCC::UnorderedOrLessThan,
        Comparison::LessEqualUnordered => FloatCC::UnorderedOrLessThanOrEqual,
        Comparison::GreaterUnordered => FloatCC::UnorderedOrGreaterThan,
        Comparison::GreaterEqualUnordered => FloatCC::UnorderedOrGreaterThanOrEqual,
        Comparison::Ordered => FloatCC::Ordered,
        Comparison::Unordered => FloatCC::Unordered,
        _ => unreachable!("the opcode table keeps unsigned comparisons to integer types"),
    }
}
