//! Copies from global to shared memory that a program waits for later (`cp.async`).
//!
//! They are made at once, as a load and a store. Checked mode is told that a store belongs to a copy
//! ([`MemoryOrder::Asynchronous`]), and where threads wait for copies, so that it finds what reads too
//! early.

use super::expander::Expander;
use super::writer::ExpansionWriter;
use crate::ast::{AddressBase, Guard, MemoryOperand, Operand, Register};
use crate::error::{Error, ErrorKind};
use crate::operation::{
    BitsOp, Comparison, CopyGroup, IntegerOp, MemoryForm, MemoryOrder, Operation,
};
use crate::parser::operand::OperandReader;
use crate::types::ScalarType::{self, B32, B64, Pred, U8, U16, U32};
use crate::types::{RegisterType, StateSpace};

/// `cp.async.{ca,cg}.shared.global [to], [from], bytes {, source bytes}`, `cp.async.commit_group`,
/// `cp.async.wait_group n`, `cp.async.wait_all`.
pub(super) fn asynchronous(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let mut words: Vec<&str> = modifiers.split('.').collect();
    match words[..] {
        ["commit_group"] => group(expander, &[CopyGroup::Commit]),
        ["wait_all"] => group(expander, &[CopyGroup::Commit, CopyGroup::Wait { pending: 0 }]),
        ["wait_group"] => {
            let pending = expander.cursor().integer(u64::from(u32::MAX))? as u32;
            group(expander, &[CopyGroup::Wait { pending }]);
        }
        _ => {
            let policy = words.contains(&"L2::cache_hint");
            words.retain(|word| !word.starts_with("L2::"));
            let ["ca" | "cg", "shared" | "shared::cta", "global"] = words[..] else {
                return Err(expander.refusal(ErrorKind::UnsupportedInstruction));
            };
            copy(expander, policy, words[0] == "cg")?;
        }
    }
    Ok(())
}

fn group(expander: &mut Expander<'_, '_>, steps: &[CopyGroup]) {
    for &step in steps {
        expander.code().emit(Operation::CopyGroup(step), &[], &[]);
    }
}

fn copy(expander: &mut Expander<'_, '_>, policy: bool, whole_lines: bool) -> Result<(), Error> {
    let mut operands = expander.operands();
    let to = Operand::Memory(operands.memory(StateSpace::Shared)?);
    operands.comma()?;
    let from = operands.memory(StateSpace::Global)?;
    operands.comma()?;
    let bytes = operands.cursor().integer(16)?;
    let count = match bytes {
        16 => 4,
        4 | 8 if !whole_lines => bytes as u8 / 4,
        _ => return Err(operands.cursor().last_error(ErrorKind::InvalidNumber)),
    };
    let part = source_part(&mut operands, policy)?;
    if policy {
        operands.comma()?;
        operands.value(B64)?;
    }
    let mut code = expander.code();
    let words: Vec<_> = (0..count).map(|_| code.temporary(RegisterType::Bits32)).collect();
    match part {
        SourcePart::All => code.emit(load(B32, count), &all(&words), &[Operand::Memory(from)]),
        // nvcc writes all bytes out, too.
        SourcePart::Bytes(Operand::Immediate(size)) if size >= bytes => {
            code.emit(load(B32, count), &all(&words), &[Operand::Memory(from)]);
        }
        SourcePart::Bytes(size) => load_part(&mut code, from, &words, size),
        SourcePart::Unless(ignored) => {
            clear(&mut code, &words);
            let guard = guard_unless(&mut code, ignored);
            code.emit_guarded(
                Some(guard),
                load(B32, count),
                &all(&words),
                &[Operand::Memory(from)],
            );
        }
    }
    let mut sources = vec![to];
    sources.extend(words.into_iter().map(Operand::Register));
    let (space, order) = (StateSpace::Shared, MemoryOrder::Asynchronous);
    code.emit(Operation::Store(MemoryForm { space, ty: B32, count, order }), &[], &sources);
    Ok(())
}

/// The part of the source that is read; zeros are written for the rest.
enum SourcePart {
    All,
    /// So many bytes.
    Bytes(Operand),
    /// All, unless the predicate holds.
    Unless(Operand),
}

/// Reads the number of bytes of the source, or the predicate for ignoring it, if one follows.
fn source_part(operands: &mut OperandReader<'_, '_>, policy: bool) -> Result<SourcePart, Error> {
    if operands.optional_follows() {
        // A policy, which is the last operand, has a register of 64 bits.
        if policy && operands.next_bits() == Some(64) {
            return Ok(SourcePart::All);
        }
        operands.comma()?;
        return Ok(SourcePart::Bytes(operands.value(U32)?));
    }
    if !operands.cursor().at(b',') {
        return Ok(SourcePart::All);
    }
    operands.comma()?;
    Ok(SourcePart::Unless(operands.condition()?))
}

/// Loads the first bytes of words; the others are zero.
fn load_part(
    code: &mut ExpansionWriter<'_, '_>,
    from: MemoryOperand,
    words: &[Register],
    size: Operand,
) {
    clear(code, words);
    if let Operand::Immediate(size) = size
        && size.is_multiple_of(4)
    {
        for (index, &word) in words.iter().enumerate().take(size as usize / 4) {
            let location = [Operand::Memory(word_at(from, index))];
            code.emit(load(B32, 1), &[Some(word)], &location);
        }
        return;
    }
    let tail = tail(code, from, size);
    let whole = code.bits(BitsOp::ShiftRight, U32, &[size, Operand::Immediate(2)]);
    for (index, &word) in words.iter().enumerate() {
        let location = word_at(from, index);
        let index = index as u64;
        let guard = code.guard_where(whole, Comparison::Greater, Operand::Immediate(index));
        let location = [Operand::Memory(location)];
        code.emit_guarded(Some(guard), load(B32, 1), &[Some(word)], &location);
        let guard = code.guard_where(whole, Comparison::Equal, Operand::Immediate(index));
        code.emit_guarded(Some(guard), Operation::Move(B32), &[Some(word)], &[tail]);
    }
}

/// The location of a word, counted from the first one.
fn word_at(first: MemoryOperand, index: usize) -> MemoryOperand {
    MemoryOperand { offset: first.offset.wrapping_add(4 * index as i64), ..first }
}

/// The bytes behind the last whole word, of which there are three at most.
fn tail(code: &mut ExpansionWriter<'_, '_>, from: MemoryOperand, size: Operand) -> Operand {
    let (base, ty) = code.address(from);
    let mut piece = |bits: u64, mask: u64, ty_of_piece: ScalarType| {
        let register = code.temporary(RegisterType::Bits32);
        clear(code, &[register]);
        let before = code.bits(BitsOp::And, B32, &[size, Operand::Immediate(mask)]);
        let before = code.product(ty, &[before, Operand::Immediate(1)]);
        let sum = IntegerOp::Add { saturate: false };
        let Operand::Register(at) = code.integer(sum, ty, &[Operand::Register(base), before])
        else {
            unreachable!("sums are in registers")
        };
        let has = code.bits(BitsOp::And, B32, &[size, Operand::Immediate(bits)]);
        let guard = code.guard_where(has, Comparison::NotEqual, Operand::Immediate(0));
        let location = MemoryOperand { base: AddressBase::Register(at), offset: 0 };
        let location = [Operand::Memory(location)];
        code.emit_guarded(Some(guard), load(ty_of_piece, 1), &[Some(register)], &location);
        Operand::Register(register)
    };
    let pair = piece(2, 0xffff_fffc, U16);
    let last = piece(1, 0xffff_fffe, U8);
    let shift = code.bits(BitsOp::And, B32, &[size, Operand::Immediate(2)]);
    let shift = code.bits(BitsOp::ShiftLeft, B32, &[shift, Operand::Immediate(3)]);
    let last = code.bits(BitsOp::ShiftLeft, B32, &[last, shift]);
    code.bits(BitsOp::Or, B32, &[pair, last])
}

/// A guard for where a condition does not hold, and the instruction's own guard does.
fn guard_unless(code: &mut ExpansionWriter<'_, '_>, condition: Operand) -> Guard {
    let register = code.temporary(RegisterType::Predicate);
    code.emit_guarded(None, Operation::Move(Pred), &[Some(register)], &[Operand::Immediate(1)]);
    code.copy(Pred, Some(register), condition);
    Guard { register, negated: true }
}

fn clear(code: &mut ExpansionWriter<'_, '_>, words: &[Register]) {
    for &word in words {
        code.copy(B32, Some(word), Operand::Immediate(0));
    }
}

fn all(words: &[Register]) -> Vec<Option<Register>> {
    words.iter().copied().map(Some).collect()
}

fn load(ty: ScalarType, count: u8) -> Operation {
    let (space, order) = (StateSpace::Global, MemoryOrder::Weak);
    Operation::Load(MemoryForm { space, ty, count, order })
}
