//! Accesses of shared memory that are checked together: those at fixed distances from one register, in
//! code that runs to its end without a jump. Unrolled loops consist of them.
//!
//! One check of the nearest and the farthest takes the place of one for each. Where it refuses, one of
//! the accesses is sure to fault, so the runtime may look for the first that does, and nothing goes on
//! behind it: the accesses themselves need no branches.

use std::collections::HashMap;
use std::ops::Range;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{
    AddressBase, Instruction, MemoryForm, MemoryOperand, MemoryOrder, Operand, Operation, Register,
    StateSpace,
};

use super::code::WarpCode;
use super::memory::{are_inside, bytes, pattern};
use crate::abi::{AccessKind, CheckLevel, Helper};
use crate::codegen::records::{AccessGroup, GroupedAccess};
use crate::codegen::thread::{SpaceWindow, effective_address};
use crate::ir::{LaneStrides, is_for_each_lane};

/// The groups of a block of the control flow graph.
#[derive(Default)]
pub(super) struct AccessGroups {
    groups: Vec<FoundGroup>,
    /// The group of each instruction that is in one.
    of: HashMap<usize, usize>,
}

struct FoundGroup {
    key: GroupKey,
    accesses: Vec<GroupedAccess>,
    /// The nearest access, once all are checked.
    nearest: Option<CheckedPlace>,
}

/// An access that may be made.
#[derive(Clone, Copy)]
struct CheckedPlace {
    /// The distance from the register.
    offset: i64,
    /// The host address. From one access of a group to another, addresses do not wrap.
    place: Value,
}

/// The facts that the accesses of a group have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
struct GroupKey {
    base: Register,
    /// The bytes that each lane accesses.
    bytes: u32,
    /// The distance from the register, modulo these bytes.
    remainder: i64,
    strides: LaneStrides,
}

impl AccessGroups {
    /// The groups of some instructions.
    pub(super) fn find(w: &WarpCode<'_>, instructions: Range<usize>) -> AccessGroups {
        let mut found = AccessGroups::default();
        if w.t.spaces.check() != CheckLevel::Window {
            return found;
        }
        let mut open: Vec<usize> = Vec::new();
        for at in instructions {
            let instruction = &w.registers.function().body[at];
            match candidate(w, instruction) {
                Some((key, access)) => found.add(&mut open, at, key, access),
                None if may_fault(instruction) => open.clear(),
                None => {}
            }
            let written = || instruction.destinations.iter().flatten();
            open.retain(|&group| written().all(|&to| to != found.groups[group].key.base));
        }
        let groups = &found.groups;
        found.of.retain(|_, group| groups[*group].accesses.len() > 1);
        found
    }

    fn add(&mut self, open: &mut Vec<usize>, at: usize, key: GroupKey, access: GroupedAccess) {
        /// Between the first and the last of a group: their addresses do not wrap unless one of them
        /// is outside of all memory.
        const MAX_DISTANCE: u64 = 1 << 24;
        let fits = |&group: &usize| {
            let group = &self.groups[group];
            let first = group.accesses[0].offset;
            group.key == key && first.abs_diff(access.offset) < MAX_DISTANCE / 2
        };
        let group = open.iter().copied().find(fits).unwrap_or_else(|| {
            open.push(self.groups.len());
            self.groups.push(FoundGroup { key, accesses: Vec::new(), nearest: None });
            self.groups.len() - 1
        });
        self.groups[group].accesses.push(access);
        self.of.insert(at, group);
    }
}

/// The host address of the access that is lowered, of the first lane, if it is in a group: it needs no
/// check of its own.
pub(super) fn checked_place(w: &mut WarpCode<'_>) -> Option<Value> {
    let index = *w.groups.of.get(&w.flow.at())?;
    let group = &mut w.groups.groups[index];
    let nearest = match group.nearest {
        Some(nearest) => nearest,
        None => {
            let (key, accesses) = (group.key, std::mem::take(&mut group.accesses));
            let nearest = check(w, key, accesses);
            *w.groups.groups[index].nearest.insert(nearest)
        }
    };
    let Operand::Memory(address) = w.registers.function().body[w.flow.at()].sources[0] else {
        return None;
    };
    Some(w.t.e.ins().iadd_imm_s(nearest.place, address.offset - nearest.offset))
}

/// Checks all accesses of a group; what is lowered next is executed if they may be made.
fn check(w: &mut WarpCode<'_>, key: GroupKey, accesses: Vec<GroupedAccess>) -> CheckedPlace {
    let GroupKey { base, bytes, strides, .. } = key;
    let offsets = || accesses.iter().map(|access| access.offset);
    let [least, greatest] = [offsets().min(), offsets().max()].map(Option::unwrap_or_default);
    let [start, nearest, farthest] = [0, least, greatest].map(|offset| {
        let base = AddressBase::Register(base);
        effective_address(&mut w.t, MemoryOperand { base, offset })
    });
    let inside = are_inside(w, [nearest, farthest], strides, (StateSpace::Shared, bytes));
    let is_wide = w.registers.class(base).bits() == 64;
    let shape = w.plan.uniformity.shape();
    let number = w.records.add_group(AccessGroup { bytes, shape, strides, is_wide, accesses });
    deny_unless(w, inside, Helper::DenyGroup, |w| {
        let number = w.t.e.int(types::I32, number);
        vec![start, number]
    });
    let window = w.t.pointers.window_base(&mut w.t.e, SpaceWindow::Shared);
    CheckedPlace { offset: least, place: w.t.e.ins().iadd(window, nearest) }
}

/// Goes on if accesses may be made. Otherwise a helper finds the first that may not, and stops the warp; it
/// gets the context, the record, and those arguments.
pub(super) fn deny_unless(
    w: &mut WarpCode<'_>,
    are_inside: Value,
    helper: Helper,
    arguments: impl FnOnce(&mut WarpCode<'_>) -> Vec<Value>,
) {
    let [good, bad] = w.t.e.create_blocks();
    w.t.e.set_cold_block(bad);
    w.t.e.branch(are_inside, good, bad);
    w.t.e.switch_to_block(bad);
    let mut values = vec![w.t.pointers.context(), w.frame().record()];
    values.extend(arguments(w));
    w.t.e.call_cold_helper(helper, &values);
    w.t.e.jump(w.t.exits.fault());
    w.t.e.switch_to_block(good);
}

/// An instruction's access, and the group that it belongs to, if it can be in one.
fn candidate(w: &WarpCode<'_>, instruction: &Instruction) -> Option<(GroupKey, GroupedAccess)> {
    let (form, kind) = plain_access(instruction)?;
    let Operand::Memory(MemoryOperand { base: AddressBase::Register(base), offset }) =
        instruction.sources[0]
    else {
        return None;
    };
    if w.t.spaces.window(form.space) != Some(SpaceWindow::Shared)
        || instruction.guard.is_some()
        || is_for_each_lane(w.registers.function(), instruction)
    {
        return None;
    }
    let strides = match instruction.sources.iter().all(|&source| w.registers.is_uniform(source)) {
        true => LaneStrides::default(),
        false => {
            let address = MemoryOperand { base: AddressBase::Register(base), offset };
            pattern(w, form, address, kind == AccessKind::Write)?.0
        }
    };
    let bytes = bytes(form);
    let remainder = offset.rem_euclid(i64::from(bytes));
    let access = GroupedAccess { offset, kind, line: instruction.line };
    Some((GroupKey { base, bytes, remainder, strides }, access))
}

/// The form of a load or store that nobody else is told of.
fn plain_access(instruction: &Instruction) -> Option<(MemoryForm, AccessKind)> {
    let (form, kind) = match instruction.operation {
        Operation::Load(form) => (form, AccessKind::Read),
        Operation::Store(form) => (form, AccessKind::Write),
        _ => return None,
    };
    (form.order == MemoryOrder::Weak).then_some((form, kind))
}

/// Whether an instruction may end the launch before a later access does, or lead elsewhere.
fn may_fault(instruction: &Instruction) -> bool {
    !matches!(
        instruction.operation,
        Operation::Move(_)
            | Operation::Pack
            | Operation::Unpack
            | Operation::Integer(_)
            | Operation::Bits(_)
            | Operation::Float(_)
            | Operation::Compare(_)
            | Operation::Test(..)
            | Operation::Select(_)
            | Operation::SelectBySign { .. }
            | Operation::Convert(_)
            | Operation::ConvertBytes(_)
            | Operation::ToGeneric { .. }
            | Operation::FromGeneric { .. }
            | Operation::Nothing
    )
}
