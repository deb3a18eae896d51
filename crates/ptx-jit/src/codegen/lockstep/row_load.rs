//! `ldmatrix` from shared memory, at once: the load of a row by each lane, and the exchange behind it by
//! which lanes get their elements.
//!
//! The parser makes two instructions of it, since a lane that runs by itself has to wait for the others
//! between them. A warp in lockstep does not: one function loads the rows where the elements belong.

use cranelift_codegen::ir::{InstBuilder, types};
use ptx::{
    AddressBase, Instruction, MemoryForm, MemoryOperand, MemoryOrder, Operand, Operation,
    RowExchange, ScalarType, Suspension,
};

use super::access_groups::deny_unless;
use super::code::WarpCode;
use super::collective::{homes, write_all};
use crate::abi::{CheckLevel, Helper};
use crate::codegen::thread::SpaceWindow;
use crate::codegen::vector::{self, Lanes, LoadedRows};
use crate::runtime::RowLoad;

/// A load of rows that is lowered together with the exchange behind it; whether it was, and control has
/// gone on behind both.
pub(super) fn load_rows(w: &mut WarpCode<'_>, load: &Instruction) -> bool {
    let body: &[Instruction] = &w.registers.function().body;
    let Some(instruction) = body.get(w.flow.at() + 1) else { return false };
    // An exchange is a block by itself.
    let next = w.flow.current() + 2;
    let Some(exchange) = exchange_of(w, load, instruction).filter(|_| next < w.flow.block_count())
    else {
        return false;
    };
    let Some(addresses) = addresses(w, load) else { return false };

    let memory = w.t.pointers.window_base(&mut w.t.e, SpaceWindow::Shared);
    let log = RowLoad::ROW_BYTES.ilog2() as usize;
    let slots = w.t.pointers.window_slots(&mut w.t.e, SpaceWindow::Shared, log);
    let homes = homes(w, instruction, ScalarType::B32);
    let LoadedRows { words, are_inside, addresses } =
        vector::load_rows(w.t.e.builder(), exchange, &addresses, [memory, slots], &homes);
    deny_unless(w, are_inside, Helper::DenyRows, |w| {
        let [rows, line] = [8 * u32::from(exchange.count), load.line]
            .map(|number| w.t.e.int(types::I32, i64::from(number)));
        vec![addresses, rows, line]
    });
    write_all(w, instruction, &words, ScalarType::B32);
    w.t.e.jump(w.flow.block(next));
    true
}

/// The exchange of what a load gives, if both are those of an `ldmatrix` for which there is a function.
fn exchange_of(
    w: &WarpCode<'_>,
    load: &Instruction,
    exchange: &Instruction,
) -> Option<RowExchange> {
    let (Operation::Load(form), Operation::Suspend(Suspension::ExchangeRows(rows))) =
        (load.operation, exchange.operation)
    else {
        return None;
    };
    let MemoryForm { space, ty, count: 4, order: MemoryOrder::Weak } = form else { return None };
    let gives = load.destinations.iter().map(|register| register.map(Operand::Register));
    let is_one = gives.eq(exchange.sources.iter().copied().map(Some))
        && exchange.guard.is_none()
        // Of fewer matrices, the other lanes load nothing.
        && load.guard.is_some() == (rows.count < 4);
    let is_plain = ty == ScalarType::B32
        && w.t.spaces.check() == CheckLevel::Window
        && w.t.spaces.window(space) == Some(SpaceWindow::Shared);
    (is_one && is_plain && !rows.gathers).then_some(rows)
}

/// The lanes' addresses, if they have 32 bits.
fn addresses(w: &mut WarpCode<'_>, load: &Instruction) -> Option<Lanes> {
    let Operand::Memory(MemoryOperand { base: AddressBase::Register(base), offset }) =
        load.sources[0]
    else {
        return None;
    };
    if w.registers.class(base).bits() != 32 {
        return None;
    }
    let mut lanes = w.registers.operand(&mut w.t, Operand::Register(base), ScalarType::B32)?;
    if offset != 0 {
        let distance = vector::constant(w.t.e.builder(), offset as u64, ScalarType::B32);
        let pairs = lanes.values.iter().zip(&distance.values);
        lanes.values = pairs.map(|(&lane, &distance)| w.t.e.ins().iadd(lane, distance)).collect();
    }
    Some(lanes)
}
