//! Integer instructions on several small numbers in one register, and those that end in `.relu`.

use super::expander::Expander;
use super::writer::ExpansionWriter;
use crate::ast::Operand;
use crate::error::Error;
use crate::operation::{BitsOp, IntegerOp, Operation};
use crate::types::RegisterType;
use crate::types::ScalarType::{B32, S16, S32, U16, U32};

/// `add`, `min` and `max` on pairs of 16 bits, and `min.relu`, `max.relu` on words; `false` for
/// all others.
pub(super) fn arithmetic(expander: &mut Expander<'_, '_>, text: &str) -> Result<bool, Error> {
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
    let mut operands = expander.operands();
    let result = operands.result(B32)?;
    operands.comma()?;
    let a = operands.value(B32)?;
    operands.comma()?;
    let b = operands.value(B32)?;
    let mut code = expander.code();
    let (a, b) = match ty {
        S32 => (vec![a], vec![b]),
        _ => (halves(&mut code, a), halves(&mut code, b)),
    };
    let mut parts = Vec::new();
    for (&a, &b) in a.iter().zip(&b) {
        let mut part = code.integer(op, ty, &[a, b]);
        if relu {
            part = code.integer(IntegerOp::Maximum, ty, &[part, Operand::Immediate(0)]);
        }
        parts.push(part);
    }
    match parts[..] {
        [word] => code.copy(B32, result, word),
        _ => code.emit(Operation::Pack, &[result], &parts),
    }
    Ok(true)
}

/// `vabsdiff2`, `vabsdiff4` of unsigned numbers: the difference of each pair, or their sum
/// added to c. `false` for other types.
pub(super) fn differences(expander: &mut Expander<'_, '_>, text: &str) -> Result<bool, Error> {
    let (name, modifiers) = text.split_once('.').unwrap_or((text, ""));
    let sum = match modifiers {
        "u32.u32.u32" => false,
        "u32.u32.u32.add" => true,
        _ => return Ok(false),
    };
    let bits = if name == "vabsdiff2" { 16 } else { 8 };
    let mut operands = expander.operands();
    let result = operands.result(U32)?;
    let mut sources = Vec::new();
    for _ in 0..3 {
        operands.comma()?;
        sources.push(operands.value(U32)?);
    }
    let mut code = expander.code();
    // Without a mask, every part is computed, and c matters as the start of the sum only.
    let mut total = if sum { sources[2] } else { Operand::Immediate(0) };
    for at in (0..32).step_by(bits) {
        let field = [at, bits].map(|number| Operand::Immediate(number as u64));
        let [a, b] = [0, 1]
            .map(|index| code.bits(BitsOp::Extract, U32, &[sources[index], field[0], field[1]]));
        let start = if sum { total } else { Operand::Immediate(0) };
        let part = code.integer(IntegerOp::SumOfDifferences, U32, &[a, b, start]);
        total = match sum {
            true => part,
            false => code.bits(BitsOp::Insert, B32, &[part, total, field[0], field[1]]),
        };
    }
    code.copy(U32, result, total);
    Ok(true)
}

/// Both halves of a word, the lower one first.
fn halves(code: &mut ExpansionWriter<'_, '_>, word: Operand) -> Vec<Operand> {
    if let Operand::Immediate(bits) = word {
        return vec![Operand::Immediate(bits & 0xffff), Operand::Immediate(bits >> 16)];
    }
    let parts = [(); 2].map(|()| code.temporary(RegisterType::Bits16));
    code.emit(Operation::Unpack, &parts.map(Some), &[word]);
    parts.map(Operand::Register).into()
}
