//! Collective operations of all lanes of a warp (votes, shuffles, matches, reductions), in registers.
//!
//! Nearly all of them name all 32 lanes, and in lockstep all have come. Where the mask of members is not
//! a constant it is compared with that, and operations of fewer lanes are left to the runtime.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{
    Instruction, MatrixForm, Operand, ReduxOp, Register, RegisterType, RowExchange, ScalarType,
    ShuffleMode, Suspension, VoteMode,
};

use super::code::WarpCode;
use super::divergence::leave_lockstep;
use super::frame::{cell_address, load_cell, store_vectors};
use crate::codegen::thread::operand_types;
use crate::codegen::vector::{self, FramePlace, Lanes, MatrixOperand};
use crate::ir::Uniformity;

/// An operation whose members are all lanes; whether there is a form for it.
pub(super) fn collective(
    w: &mut WarpCode<'_>,
    instruction: &Instruction,
    suspension: Suspension,
) -> bool {
    match suspension {
        Suspension::Multiply(form) => return multiply(w, instruction, form),
        Suspension::ExchangeRows(exchange) => return exchange_rows(w, instruction, exchange),
        _ => {}
    }
    let member_mask = match suspension {
        Suspension::WarpBarrier => 0,
        Suspension::Vote(_) | Suspension::Match { all: false, .. } | Suspension::Reduce(_) => 1,
        Suspension::Shuffle(mode) if has_form(w, instruction, mode) => 3,
        _ => return false,
    };
    if !names_all_lanes(w, instruction, member_mask) {
        return false;
    }
    match suspension {
        Suspension::Vote(mode) => vote(w, instruction, mode),
        Suspension::Match { bits, .. } => match_any(w, instruction, bits),
        Suspension::Reduce(op) => reduce(w, instruction, op),
        Suspension::Shuffle(mode) => shuffle(w, instruction, mode),
        _ => true,
    }
}

/// Makes sure that the members that an operation names are all lanes; whether they can be.
fn names_all_lanes(w: &mut WarpCode<'_>, instruction: &Instruction, index: usize) -> bool {
    let operand = instruction.sources[index];
    match w.plan.uniformity.constant(operand) {
        Some(mask) => return mask as u32 == u32::MAX,
        None if !w.registers.is_uniform(operand) => return false,
        None => {}
    }
    let mask = w.t.source(instruction, index, ScalarType::B32);
    let all = w.t.e.ins().icmp_imm_s(IntCC::Equal, mask, -1);
    let [some, together] = w.t.e.create_blocks();
    w.t.e.set_cold_block(some);
    w.t.e.branch(all, together, some);
    w.t.e.switch_to_block(some);
    leave_lockstep(w);
    w.t.e.switch_to_block(together);
    true
}

fn vote(w: &mut WarpCode<'_>, instruction: &Instruction, mode: VoteMode) -> bool {
    let Some(mask) = w.registers.operand(&mut w.t, instruction.sources[0], ScalarType::Pred) else {
        return false;
    };
    let ballot = vector::bits(w.t.e.builder(), &mask);
    let mut is = |condition, bits| {
        let holds = w.t.e.ins().icmp_imm_s(condition, ballot, bits);
        w.t.e.resize(holds, types::I32, false)
    };
    let result = match mode {
        VoteMode::Ballot => ballot,
        VoteMode::All => is(IntCC::Equal, -1),
        VoteMode::Any => is(IntCC::NotEqual, 0),
        VoteMode::Uniform => {
            let (all, none) = (is(IntCC::Equal, -1), is(IntCC::Equal, 0));
            w.t.e.ins().bor(all, none)
        }
    };
    give_all(w, instruction, &[result]);
    true
}

fn match_any(w: &mut WarpCode<'_>, instruction: &Instruction, bits: u32) -> bool {
    let ty = ScalarType::untyped(bits);
    let Some(lanes) = w.registers.operand(&mut w.t, instruction.sources[0], ty) else {
        return false;
    };
    let matches = vector::match_any(w.t.e.builder(), &lanes, ty);
    if let Some(register) = instruction.destinations[0] {
        w.registers.write(&mut w.t, register, &matches, ScalarType::B32, None);
    }
    true
}

fn reduce(w: &mut WarpCode<'_>, instruction: &Instruction, op: ReduxOp) -> bool {
    let Some(lanes) = w.registers.operand(&mut w.t, instruction.sources[0], ScalarType::B32) else {
        return false;
    };
    let result = vector::reduce(w.t.e.builder(), &lanes, ScalarType::B32, |b, x, y| match op {
        ReduxOp::Add => b.ins().iadd(x, y),
        ReduxOp::Minimum { signed: true } => b.ins().smin(x, y),
        ReduxOp::Minimum { signed: false } => b.ins().umin(x, y),
        ReduxOp::Maximum { signed: true } => b.ins().smax(x, y),
        ReduxOp::Maximum { signed: false } => b.ins().umax(x, y),
        ReduxOp::And => b.ins().band(x, y),
        ReduxOp::Or => b.ins().bor(x, y),
        ReduxOp::Xor => b.ins().bxor(x, y),
    });
    give_all(w, instruction, &[result]);
    true
}

/// A product of matrices.
fn multiply(w: &mut WarpCode<'_>, instruction: &Instruction, form: MatrixForm) -> bool {
    let types = operand_types(Suspension::Multiply(form));
    let Some(operands) = operands(w, instruction, &types) else {
        return false;
    };
    let homes = homes(w, instruction, form.sum_register());
    let results = vector::multiply(w.t.e.builder(), form, &operands, &homes);
    write_all(w, instruction, &results, form.sum_register());
    true
}

/// The exchange between rows of matrices and lanes.
fn exchange_rows(w: &mut WarpCode<'_>, instruction: &Instruction, exchange: RowExchange) -> bool {
    let Some(operands) = operands(w, instruction, &[ScalarType::B32; 4]) else {
        return false;
    };
    let homes = homes(w, instruction, ScalarType::B32);
    let results = vector::exchange_rows(w.t.e.builder(), exchange, &operands, &homes);
    write_all(w, instruction, &results, ScalarType::B32);
    true
}

/// The operands of an operation on matrices: where they lie, or their values.
fn operands(
    w: &mut WarpCode<'_>,
    instruction: &Instruction,
    types: &[ScalarType],
) -> Option<Vec<MatrixOperand>> {
    let operand = |(&source, &ty): (&Operand, &ScalarType)| {
        let home = match source {
            Operand::Register(register) => home(w, register, ty),
            _ => None,
        };
        match home {
            Some(home) => Some(MatrixOperand::Memory(home)),
            None => w.registers.operand(&mut w.t, source, ty).map(MatrixOperand::Lanes),
        }
    };
    instruction.sources.iter().zip(types).map(operand).collect()
}

/// The memory of the results that have some.
pub(super) fn homes(
    w: &WarpCode<'_>,
    instruction: &Instruction,
    ty: ScalarType,
) -> Vec<Option<FramePlace>> {
    let registers = instruction.destinations.iter();
    registers.map(|register| register.and_then(|register| home(w, register, ty))).collect()
}

/// The memory of a register, if its bits are those of the type.
fn home(w: &WarpCode<'_>, register: Register, ty: ScalarType) -> Option<FramePlace> {
    let fits = w.registers.class(register).bits() == ty.bits();
    fits.then(|| w.registers.home(register)).flatten()
}

/// Writes the results that are not in their memory yet.
pub(super) fn write_all(
    w: &mut WarpCode<'_>,
    instruction: &Instruction,
    results: &[Option<Lanes>],
    ty: ScalarType,
) {
    for (register, lanes) in instruction.destinations.iter().zip(results) {
        if let (&Some(register), Some(lanes)) = (register, lanes) {
            w.registers.write(&mut w.t, register, lanes, ty, None);
        }
    }
}

/// Whether it is known where each lane's value comes from, or all come from anywhere in the
/// warp.
fn has_form(w: &WarpCode<'_>, instruction: &Instruction, mode: ShuffleMode) -> bool {
    let constant = |index: usize| w.plan.uniformity.constant(instruction.sources[index]);
    match (constant(1), constant(2)) {
        (Some(_), Some(_)) => true,
        (None, Some(clamp)) => {
            matches!(mode, ShuffleMode::Index | ShuffleMode::Butterfly) && clamp & 0x1f1f == 31
        }
        _ => false,
    }
}

fn shuffle(w: &mut WarpCode<'_>, instruction: &Instruction, mode: ShuffleMode) -> bool {
    let constant = |index: usize| w.plan.uniformity.constant(instruction.sources[index]);
    let (offset, clamp) = (constant(1), constant(2));
    let Some(lanes) = w.registers.operand(&mut w.t, instruction.sources[0], ScalarType::B32) else {
        return false;
    };
    let known: Option<[(usize, bool); 32]> = offset.zip(clamp).map(|(offset, clamp)| {
        std::array::from_fn(|lane| mode.source(lane, offset as usize, clamp as usize))
    });
    let inside = match known {
        Some(known) => known.iter().enumerate().map(|(lane, at)| u32::from(at.1) << lane).sum(),
        None => u32::MAX,
    };
    let result = moved(w, instruction, &lanes, (mode, known));
    if let Some(register) = instruction.destinations[0] {
        match result {
            Moved::Lanes(lanes) => {
                w.registers.write(&mut w.t, register, &lanes, ScalarType::B32, None)
            }
            Moved::Value(value) => give_all(w, instruction, &[value]),
        }
    }
    if let Some(&Some(register)) = instruction.destinations.get(1) {
        let bits = w.t.e.int(types::I32, i64::from(inside));
        if w.registers.is_varying(register) {
            let mask = vector::from_bits(w.t.e.builder(), bits);
            w.registers.set(&mut w.t.e, register, &mask);
        } else {
            let holds = w.t.e.int(types::I8, i64::from(inside & 1));
            w.t.set(register, holds);
        }
    }
    true
}

/// The lanes' values where a shuffle takes them.
fn moved(
    w: &mut WarpCode<'_>,
    instruction: &Instruction,
    lanes: &Lanes,
    (mode, known): (ShuffleMode, Option<[(usize, bool); 32]>),
) -> Moved {
    let shared = instruction.destinations[0].is_some_and(|_| {
        w.plan.uniformity.result(w.registers.function(), instruction) == Uniformity::Uniform
    });
    if let Some(known) = known {
        let sources = known.map(|(source, _)| source);
        if shared {
            return Moved::Value(vector::lane(w.t.e.builder(), lanes, sources[0], ScalarType::B32));
        }
        return Moved::Lanes(vector::permute(w.t.e.builder(), lanes, ScalarType::B32, &sources));
    }
    if shared {
        let slot = w.slots.slot(&mut w.t.e, 0);
        let start = w.t.e.ins().stack_addr(types::I64, slot, 0);
        store_vectors(&mut w.t.e, lanes, start, 0);
        let source = w.t.source(instruction, 1, ScalarType::B32);
        let source = w.t.e.ins().band_imm_u(source, 31);
        let source = w.t.e.ins().uextend(types::I64, source);
        let cell = cell_address(&mut w.t.e, slot, source, RegisterType::Bits32);
        return Moved::Value(load_cell(&mut w.t.e, RegisterType::Bits32, cell, 0));
    }
    let sources = w.registers.operand(&mut w.t, instruction.sources[1], ScalarType::B32);
    let mut sources = sources.expect("the offset of a shuffle is in a register or a constant");
    if mode == ShuffleMode::Butterfly {
        let numbers = vector::constants(w.t.e.builder(), types::I32X4, |lane| lane);
        let pairs = sources.values.iter().zip(&numbers.values);
        sources.values = pairs.map(|(&offset, &lane)| w.t.e.ins().bxor(offset, lane)).collect();
    }
    Moved::Lanes(vector::permute_by(w.t.e.builder(), lanes, &sources, ScalarType::B32))
}

/// The same results for all lanes.
pub(super) fn give_all(w: &mut WarpCode<'_>, instruction: &Instruction, results: &[Value]) {
    for (&register, &result) in instruction.destinations.iter().zip(results) {
        let Some(register) = register else {
            continue;
        };
        let class = w.registers.class(register);
        let value = match class {
            RegisterType::Predicate => w.t.e.resize(result, types::I8, false),
            _ => result,
        };
        w.t.registers.write(&mut w.t.e, register, value, false);
        if w.registers.is_varying(register) {
            let value = w.t.get(register);
            let lanes = w.registers.spread(&mut w.t.e, value, Uniformity::Uniform, class);
            w.registers.set(&mut w.t.e, register, &lanes);
        }
    }
}

/// The result of a shuffle.
enum Moved {
    Lanes(Lanes),
    /// The same for all lanes.
    Value(Value),
}
