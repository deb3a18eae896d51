//! Barriers in shared memory (`mbarrier`).
//!
//! What changes one is an operation on its word. A thread that waits looks at it first, as at any memory,
//! and then waits for the phase ([`Suspension::Phase`]).

use super::expander::Expander;
use super::writer::ExpansionWriter;
use crate::ast::{MemoryOperand, Operand};
use crate::error::{Error, ErrorKind};
use crate::operation::{BitsOp, MbarrierForm, MbarrierOp, Operation};
use crate::suspension::Suspension;
use crate::types::ScalarType::{B32, B64, Pred, U32};
use crate::types::{RegisterType, StateSpace};

/// Everything that begins with `mbarrier.`.
pub(super) fn read(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    if modifiers == "pending_count.b64" {
        return pending_count(expander);
    }
    let Some(MbarrierModifiers { name, detail, space }) = MbarrierModifiers::of(modifiers) else {
        return Err(expander.refusal(ErrorKind::UnsupportedInstruction));
    };
    let op = match (name, detail) {
        ("init", None) => MbarrierOp::Initialize,
        ("inval", None) => MbarrierOp::Invalidate,
        ("expect_tx", None) => MbarrierOp::ExpectBytes,
        ("complete_tx", None) => MbarrierOp::CompleteBytes,
        ("arrive", None | Some("noComplete" | "expect_tx")) => MbarrierOp::Arrive,
        ("arrive_drop", None | Some("noComplete" | "expect_tx")) => MbarrierOp::ArriveAndDrop,
        ("test_wait" | "try_wait", None | Some("parity")) => {
            let parity = detail.is_some();
            return wait(expander, space, (parity, name == "try_wait"));
        }
        _ => return Err(expander.refusal(ErrorKind::UnsupportedInstruction)),
    };
    match op {
        MbarrierOp::Arrive | MbarrierOp::ArriveAndDrop => {
            arrive(expander, MbarrierForm { op, space }, detail == Some("expect_tx"))
        }
        _ => change(expander, MbarrierForm { op, space }),
    }
}

/// `cp.async.mbarrier.arrive{.noinc}{.shared}.b64 [addr]`.
pub(super) fn copies_arrive(expander: &mut Expander<'_, '_>, modifiers: &str) -> Result<(), Error> {
    let Some(MbarrierModifiers { name: "arrive", detail: None | Some("noinc"), space }) =
        MbarrierModifiers::of(modifiers)
    else {
        return Err(expander.refusal(ErrorKind::UnsupportedInstruction));
    };
    let counted = modifiers.contains(".noinc");
    change(expander, MbarrierForm { op: MbarrierOp::CopiesArrive { counted }, space })
}

/// The modifiers of an operation.
struct MbarrierModifiers<'s> {
    name: &'s str,
    detail: Option<&'s str>,
    space: StateSpace,
}

impl<'s> MbarrierModifiers<'s> {
    /// The words, without the ordering and the scope: operations on barriers order all threads here.
    fn of(modifiers: &'s str) -> Option<MbarrierModifiers<'s>> {
        let ordering = ["acquire", "release", "relaxed", "cta", "cluster"];
        let mut words = modifiers.split('.').filter(|word| !ordering.contains(word)).peekable();
        let name = words.next()?;
        let details = ["noComplete", "expect_tx", "parity", "noinc"];
        let detail = words.next_if(|word| details.contains(word));
        let space = words.next_if(|word| word.starts_with("shared"));
        let space = space.map_or(Some(StateSpace::Generic), StateSpace::from_name)?;
        (words.next() == Some("b64") && words.next().is_none()).then_some(MbarrierModifiers {
            name,
            detail,
            space,
        })
    }
}

/// An operation with at most a number, and without a result.
fn change(expander: &mut Expander<'_, '_>, form: MbarrierForm) -> Result<(), Error> {
    let mut operands = expander.operands();
    let barrier = Operand::Memory(operands.memory(form.space)?);
    let number = match form.op {
        MbarrierOp::Invalidate => Operand::Immediate(0),
        MbarrierOp::CopiesArrive { .. } => Operand::Immediate(1),
        _ => {
            operands.comma()?;
            operands.value(U32)?
        }
    };
    expander.code().emit(Operation::Mbarrier(form), &[], &[barrier, number]);
    Ok(())
}

/// `mbarrier.arrive state, [addr] {, count}`, `mbarrier.arrive.expect_tx state, [addr], bytes`.
fn arrive(expander: &mut Expander<'_, '_>, form: MbarrierForm, expects: bool) -> Result<(), Error> {
    let mut operands = expander.operands();
    let mut state = None;
    // Who arrives at another block's barrier gets no state.
    if !operands.cursor().at(b'[') {
        state = operands.result(B64)?;
        operands.comma()?;
    }
    let barrier = Operand::Memory(operands.memory(form.space)?);
    let number = match operands.cursor().accept(b',') {
        true => operands.value(U32)?,
        false if expects => return Err(operands.cursor().error(ErrorKind::Expected("`,`"))),
        false => Operand::Immediate(1),
    };
    let mut code = expander.code();
    let mut count = number;
    if expects {
        let form = MbarrierForm { op: MbarrierOp::ExpectBytes, ..form };
        code.emit(Operation::Mbarrier(form), &[], &[barrier, number]);
        count = Operand::Immediate(1);
    }
    code.emit(Operation::Mbarrier(form), &[state], &[barrier, count]);
    Ok(())
}

/// `mbarrier.{test,try}_wait{.parity} complete, [addr], state or parity {, time}`.
fn wait(
    expander: &mut Expander<'_, '_>,
    space: StateSpace,
    (parity, blocks): (bool, bool),
) -> Result<(), Error> {
    let mut operands = expander.operands();
    let complete = operands.result(Pred)?;
    operands.comma()?;
    let barrier = operands.memory(space)?;
    operands.comma()?;
    let phase = operands.value(if parity { U32 } else { B64 })?;
    if blocks && operands.cursor().accept(b',') {
        // How long a thread waits is left to the machine.
        operands.value(U32)?;
    }
    let mut code = expander.code();
    let look = MbarrierForm { op: MbarrierOp::Look, space };
    let sources = [Operand::Memory(barrier), Operand::Immediate(0)];
    code.emit(Operation::Mbarrier(look), &[], &sources);
    let place = place_in_shared(&mut code, barrier, space);
    let phase = match parity {
        true => phase,
        false => {
            let bit = code.bits(BitsOp::ShiftRight, B64, &[phase, Operand::Immediate(63)]);
            low_word(&mut code, bit)
        }
    };
    let wait = Operation::Suspend(Suspension::Phase { blocks });
    code.emit(wait, &[complete], &[place, phase]);
    Ok(())
}

/// The distance of a barrier from the start of shared memory.
fn place_in_shared(
    code: &mut ExpansionWriter<'_, '_>,
    barrier: MemoryOperand,
    space: StateSpace,
) -> Operand {
    let (address, ty) = code.address(barrier);
    let mut place = Operand::Register(address);
    if space == StateSpace::Generic {
        let inside = code.temporary(RegisterType::Bits64);
        let convert = Operation::FromGeneric { space: StateSpace::Shared, bits: 64 };
        code.emit(convert, &[Some(inside)], &[place]);
        place = Operand::Register(inside);
    }
    match ty.bits() {
        64 => low_word(code, place),
        _ => place,
    }
}

/// The low half of a value of 64 bits.
fn low_word(code: &mut ExpansionWriter<'_, '_>, wide: Operand) -> Operand {
    let [low, high] = [(); 2].map(|()| code.temporary(RegisterType::Bits32));
    code.emit(Operation::Unpack, &[Some(low), Some(high)], &[wide]);
    Operand::Register(low)
}

/// `mbarrier.pending_count.b64 count, state`: the arrivals that the phase still waited for.
fn pending_count(expander: &mut Expander<'_, '_>) -> Result<(), Error> {
    let mut operands = expander.operands();
    let count = operands.result(U32)?;
    operands.comma()?;
    let state = operands.value(B64)?;
    let mut code = expander.code();
    let low = low_word(&mut code, state);
    let pending = code.bits(BitsOp::And, B32, &[low, Operand::Immediate(0xf_ffff)]);
    code.copy(U32, count, pending);
    Ok(())
}
