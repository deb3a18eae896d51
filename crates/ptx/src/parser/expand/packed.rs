//! Integer instructions on several small numbers in one register, and those that end in `.relu`.

use super::{Draft, Parser, Site};
use crate::ast::{Operand, Register};
use crate::error::Error;
use crate::operation::{BitsForm, BitsOp, IntegerOp, Operation};
use crate::types::RegisterType;
use crate::types::ScalarType::{self, B32, S16, S32, U16, U32};

impl<'s> Parser<'s> {
    /// `add`, `min` and `max` on pairs of 16 bits, and `min.relu`, `max.relu` on words; `false` for
    /// all others.
    pub(super) fn packed(
        &mut self,
        draft: &mut Draft<'s>,
        text: &str,
        site: Site,
    ) -> Result<bool, Error> {
        let (name, modifiers) = text.split_once('.').unwrap_or((text, ""));
        let op = match name {
            "add" => IntegerOp::Add { saturate: false },
            "min" => IntegerOp::Minimum,
            _ => IntegerOp::Maximum,
        };
        let (ty, relu) = match modifiers {
            "u16x2" => (U16, false),
            "s16x2" => (S16, false),
            "s16x2.relu" | "relu.s16x2" if name != "add" => (S16, true),
            "s32.relu" | "relu.s32" if name != "add" => (S32, true),
            _ => return Ok(false),
        };
        let result = self.result(draft, B32, false)?;
        self.cursor.expect(b',', "`,`")?;
        let a = self.value(draft, B32, false)?;
        self.cursor.expect(b',', "`,`")?;
        let b = self.value(draft, B32, false)?;
        let (a, b) = match ty {
            S32 => (vec![a], vec![b]),
            _ => (draft.halves(site, a), draft.halves(site, b)),
        };
        let mut parts = Vec::new();
        for (&a, &b) in a.iter().zip(&b) {
            let mut part = draft.compute(site, op, ty, &[a, b]);
            if relu {
                let zero = Operand::Immediate(0);
                part = draft.compute(site, IntegerOp::Maximum, ty, &[part, zero]);
            }
            parts.push(part);
        }
        match parts[..] {
            [whole] => draft.copy(site, B32, result, whole),
            _ => draft.emit(site, Operation::Pack, &[result], &parts),
        }
        Ok(true)
    }

    /// `vabsdiff2`, `vabsdiff4` of unsigned numbers: the difference of each pair, or their sum
    /// added to c. `false` for other types.
    pub(super) fn packed_differences(
        &mut self,
        draft: &mut Draft<'s>,
        text: &str,
        site: Site,
    ) -> Result<bool, Error> {
        let (name, modifiers) = text.split_once('.').unwrap_or((text, ""));
        let sum = match modifiers {
            "u32.u32.u32" => false,
            "u32.u32.u32.add" => true,
            _ => return Ok(false),
        };
        let bits = if name == "vabsdiff2" { 16 } else { 8 };
        let result = self.result(draft, U32, false)?;
        let mut sources = Vec::new();
        for _ in 0..3 {
            self.cursor.expect(b',', "`,`")?;
            sources.push(self.value(draft, U32, false)?);
        }
        // Without a mask, every part is computed, and c matters as the start of the sum only.
        let mut total = if sum { sources[2] } else { Operand::Immediate(0) };
        for at in (0..32).step_by(bits) {
            let [a, b] = [0, 1].map(|index| draft.field(site, sources[index], at, bits));
            let start = if sum { total } else { Operand::Immediate(0) };
            let part = draft.compute(site, IntegerOp::SumOfDifferences, U32, &[a, b, start]);
            total = match sum {
                true => part,
                false => draft.with_field(site, part, total, at, bits),
            };
        }
        draft.copy(site, U32, result, total);
        Ok(true)
    }
}

impl Draft<'_> {
    /// Both halves of a word, the lower one first.
    fn halves(&mut self, site: Site, word: Operand) -> Vec<Operand> {
        if let Operand::Immediate(bits) = word {
            return vec![Operand::Immediate(bits & 0xffff), Operand::Immediate(bits >> 16)];
        }
        let parts = [(); 2].map(|()| self.temporary(RegisterType::Bits16));
        self.emit(site, Operation::Unpack, &parts.map(Some), &[word]);
        parts.map(Operand::Register).into()
    }

    fn field(&mut self, site: Site, word: Operand, at: usize, bits: usize) -> Operand {
        let field = [at, bits].map(|number| Operand::Immediate(number as u64));
        self.bits(site, BitsOp::Extract, U32, &[word, field[0], field[1]])
    }

    fn with_field(
        &mut self,
        site: Site,
        part: Operand,
        word: Operand,
        at: usize,
        bits: usize,
    ) -> Operand {
        let field = [at, bits].map(|number| Operand::Immediate(number as u64));
        self.bits(site, BitsOp::Insert, B32, &[part, word, field[0], field[1]])
    }

    fn bits(&mut self, site: Site, op: BitsOp, ty: ScalarType, sources: &[Operand]) -> Operand {
        let register: Register = self.temporary(RegisterType::Bits32);
        let operation = Operation::Bits(BitsForm { op, ty });
        self.emit(site, operation, &[Some(register)], sources);
        Operand::Register(register)
    }
}
