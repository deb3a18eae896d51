//! Conversion between number types.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Clamp, ConvertForm, Instruction, Rounding, ScalarType};

use super::function::Lowering;
use super::value::{integer_type, machine_type};
use crate::abi::Helper;
use crate::runtime::Format;

impl Lowering<'_, '_> {
    pub(super) fn convert(&mut self, instruction: &Instruction, form: ConvertForm) {
        if form.to.is_half_pair() {
            // The first source goes to the upper half.
            let element = ConvertForm { to: form.to.element(), ..form };
            let [high, low] = [0, 1].map(|index| {
                let value = self.source(instruction, index, form.from);
                self.float_to_float(element, value)
            });
            let pair = self.join_halves(low, high);
            return self.define(instruction, 0, pair, form.to);
        }
        let value = self.source(instruction, 0, form.from);
        let value = match (form.from.is_float(), form.to.is_float()) {
            (false, false) => self.integer_to_integer(form, value),
            (false, true) => self.integer_to_float(form, value),
            (true, false) => self.float_to_integer(form, value),
            (true, true) => self.float_to_float(form, value),
        };
        self.define(instruction, 0, value, form.to);
    }

    fn integer_to_integer(&mut self, form: ConvertForm, value: Value) -> Value {
        let ConvertForm { to, from, .. } = form;
        let mut value = self.resize(value, types::I64, from.is_signed());
        if form.clamp == Clamp::Saturate {
            value = self.clamp_integer(value, from.is_signed(), to);
        }
        self.resize(value, integer_type(to.bits()), to.is_signed())
    }

    /// A 64-bit integer, clamped to the range of a type.
    fn clamp_integer(&mut self, value: Value, signed: bool, to: ScalarType) -> Value {
        let unused = 64 - to.bits();
        let highest = match to.is_signed() {
            true => i64::MAX >> unused,
            false => (u64::MAX >> unused) as i64,
        };
        let lowest = if to.is_signed() { i64::MIN >> unused } else { 0 };
        let (highest, lowest) = (self.int(types::I64, highest), self.int(types::I64, lowest));
        if !signed {
            return self.choose_integer(IntCC::UnsignedLessThan, value, highest);
        }
        let raised = self.choose_integer(IntCC::SignedGreaterThan, value, lowest);
        match to {
            // No signed number is above the range.
            ScalarType::U64 => raised,
            _ => self.choose_integer(IntCC::SignedLessThan, raised, highest),
        }
    }

    fn integer_to_float(&mut self, form: ConvertForm, value: Value) -> Value {
        let ConvertForm { to, from, .. } = form;
        let signed = from.is_signed();
        // For f16, all integers that are not too large for it are exact in between.
        let direct = if to == ScalarType::F16 { ScalarType::F32 } else { to };
        let value = if form.rounding == Rounding::Nearest && to != ScalarType::BF16 {
            let width = if from.bits() == 64 { types::I64 } else { types::I32 };
            let value = self.resize(value, width, signed);
            let number = match signed {
                true => self.builder.ins().fcvt_from_sint(machine_type(direct), value),
                false => self.builder.ins().fcvt_from_uint(machine_type(direct), value),
            };
            if direct == to { number } else { self.narrow_to_half(number, to) }
        } else {
            let value = self.resize(value, types::I64, signed);
            let signed = self.int(types::I32, i64::from(signed));
            let arguments = [value, signed];
            self.converted(Helper::IntegerToFloat, &arguments, to, form.rounding)
        };
        self.saturated(form, value)
    }

    fn float_to_integer(&mut self, form: ConvertForm, value: Value) -> Value {
        let ConvertForm { to, from, .. } = form;
        let mut value = value;
        if form.ftz && from == ScalarType::F32 {
            value = self.flush(value, from);
        }
        if from.is_half() {
            value = self.widen_half(value, from);
        }
        let whole = self.round_to_integral(value, form.rounding);
        let width = if to.bits() == 64 { types::I64 } else { types::I32 };
        let mut integer = match to.is_signed() {
            true => self.builder.ins().fcvt_to_sint_sat(width, whole),
            false => self.builder.ins().fcvt_to_uint_sat(width, whole),
        };
        if to.bits() < 32 {
            let wide = self.resize(integer, types::I64, to.is_signed());
            let clamped = self.clamp_integer(wide, to.is_signed(), to);
            integer = self.resize(clamped, integer_type(to.bits()), false);
        }
        if from != ScalarType::F64 && to.bits() < 64 {
            return integer;
        }
        // NaN gives 0 between narrow types, and the highest bit alone else (PTX ISA, `cvt`).
        let is_nan = self.builder.ins().fcmp(FloatCC::Unordered, whole, whole);
        let highest_bit = self.int(integer_type(to.bits()), (1_u64 << (to.bits() - 1)) as i64);
        self.builder.ins().select(is_nan, highest_bit, integer)
    }

    fn float_to_float(&mut self, form: ConvertForm, value: Value) -> Value {
        let ConvertForm { to, from, .. } = form;
        let mut value = value;
        if form.ftz && from == ScalarType::F32 {
            value = self.flush(value, from);
        }
        if from == to && !form.integral && form.clamp == Clamp::None && !form.finite {
            return value;
        }
        let mut value = match (from, to) {
            _ if from == to => self.same_type(form, value),
            (ScalarType::F32, ScalarType::F64) => self.builder.ins().fpromote(types::F64, value),
            (ScalarType::F16 | ScalarType::BF16, _) => self.half_to_float(form, value),
            (_, ScalarType::F16 | ScalarType::BF16) => return self.float_to_half(form, value),
            _ if form.rounding == Rounding::Nearest => {
                self.builder.ins().fdemote(types::F32, value)
            }
            _ => self.converted_float(form, value),
        };
        if form.ftz && to == ScalarType::F32 {
            value = self.flush(value, to);
        }
        // A bf16 is the upper half of a 32-bit number, a NaN too.
        if to == ScalarType::F32 && from != ScalarType::BF16 {
            value = self.canonical_nan(value, to);
        }
        self.saturated(form, value)
    }

    /// Rounding to a whole number without a change of type; halves pass through 32 bits.
    fn same_type(&mut self, form: ConvertForm, value: Value) -> Value {
        if !form.integral {
            return value;
        }
        if !form.from.is_half() {
            return self.round_to_integral(value, form.rounding);
        }
        let wide = self.widen_half(value, form.from);
        let whole = self.round_to_integral(wide, form.rounding);
        self.narrow_to_half(whole, form.to)
    }

    fn half_to_float(&mut self, form: ConvertForm, value: Value) -> Value {
        let wide = self.widen_half(value, form.from);
        match form.to {
            ScalarType::F32 => wide,
            ScalarType::F64 => self.builder.ins().fpromote(types::F64, wide),
            _ => self.float_to_half(ConvertForm { from: ScalarType::F32, ..form }, wide),
        }
    }

    fn float_to_half(&mut self, form: ConvertForm, value: Value) -> Value {
        let nearest = form.rounding == Rounding::Nearest && form.from == ScalarType::F32;
        let value = if form.clamp == Clamp::Relu { self.clamp(value, Clamp::Relu) } else { value };
        let half = match nearest {
            true => self.narrow_to_half(value, form.to),
            false => self.converted_float(form, value),
        };
        let half = if form.finite { self.largest_finite(half, form.to) } else { half };
        self.saturated(form, half)
    }

    /// Infinity as the largest finite half of its sign.
    fn largest_finite(&mut self, half: Value, ty: ScalarType) -> Value {
        let infinity = if ty == ScalarType::F16 { 0x7c00 } else { 0x7f80 };
        let magnitude = self.builder.ins().band_imm_u(half, 0x7fff);
        let infinite = self.builder.ins().icmp_imm_u(IntCC::Equal, magnitude, infinity);
        let largest = self.builder.ins().iadd_imm_s(half, -1);
        self.builder.ins().select(infinite, largest, half)
    }

    /// The value of a result type, clamped to [0, 1] if the form says so.
    fn saturated(&mut self, form: ConvertForm, value: Value) -> Value {
        if form.clamp != Clamp::Saturate {
            return value;
        }
        if !form.to.is_half() {
            return self.saturate(value);
        }
        let wide = self.widen_half(value, form.to);
        let clamped = self.saturate(wide);
        self.narrow_to_half(clamped, form.to)
    }

    fn round_to_integral(&mut self, value: Value, rounding: Rounding) -> Value {
        match rounding {
            Rounding::Nearest => self.builder.ins().nearest(value),
            Rounding::TowardZero => self.builder.ins().trunc(value),
            Rounding::Down => self.builder.ins().floor(value),
            Rounding::Up => self.builder.ins().ceil(value),
        }
    }

    fn converted_float(&mut self, form: ConvertForm, value: Value) -> Value {
        let bits = self.cast(value, integer_type(form.from.bits()));
        let bits = self.resize(bits, types::I64, false);
        let from = self.int(types::I32, Format::of(form.from) as i64);
        self.converted(Helper::FloatToFloat, &[bits, from], form.to, form.rounding)
    }

    /// The result of one of the runtime's conversions, which give the bits of a number of a format.
    fn converted(
        &mut self,
        helper: Helper,
        arguments: &[Value; 2],
        to: ScalarType,
        rounding: Rounding,
    ) -> Value {
        let format = self.int(types::I32, Format::of(to) as i64);
        let mode = self.int(types::I32, rounding as i64);
        let bits = self.helper(helper, &[arguments[0], arguments[1], format, mode]);
        let bits = self.resize(bits, integer_type(to.bits()), false);
        self.cast(bits, machine_type(to))
    }
}
