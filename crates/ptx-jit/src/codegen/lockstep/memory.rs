//! Loads and stores of a warp whose lanes lie next to each other in memory: as vectors, after one
//! check of the whole range.
//!
//! Where the check refuses, some lane's address may still be allowed, or all may. The runtime then
//! accesses them one by one (`exec::lockstep::access`), and the vectors are those of an area in the
//! block's context.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value, types};
use ptx::{
    AddressBase, Guard, Instruction, MemoryForm, MemoryOperand, Operand, Operation, StateSpace,
};
use smallvec::{SmallVec, smallvec};

use super::access_groups::checked_place;
use super::code::WarpCode;
use crate::abi::{CheckLevel, Helper, KernelContext};
use crate::codegen::records::LaneAccess;
use crate::codegen::thread::effective_address;
use crate::codegen::types::machine_type;
use crate::codegen::vector::{self, Lanes};
use crate::ir::{LaneStrides, Uniformity};

/// The pattern of the addresses of an access. Lanes are taken as rows, as the warp's shape says.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// The lanes of a row next to each other.
    Contiguous,
    /// The lanes of a row at one address.
    Broadcast,
}

/// A load or store as one of vectors; whether it is one.
pub(super) fn access(
    w: &mut WarpCode<'_>,
    instruction: &Instruction,
    guard: Option<Guard>,
) -> bool {
    let (form, stores) = match instruction.operation {
        Operation::Load(form) => (form, false),
        Operation::Store(form) => (form, true),
        _ => return false,
    };
    let Operand::Memory(address) = instruction.sources[0] else {
        return false;
    };
    let Some((strides, pattern)) = pattern(w, form, address, stores) else {
        return false;
    };
    let mut values: SmallVec<[Lanes; 4]> = SmallVec::new();
    for &source in &instruction.sources[1..] {
        match w.registers.operand(&mut w.t, source, form.ty) {
            Some(lanes) => values.push(lanes),
            None => return false,
        }
    }
    let mut members = None;
    let place = match checked_place(w) {
        Some(place) => FirstPlace::Checked(place),
        None => {
            let first = effective_address(&mut w.t, address);
            let mut direct = are_inside(w, [first; 2], strides, (form.space, bytes(form)));
            if let Some(guard) = guard {
                let mask = w.registers.mask(&mut w.t, guard);
                // Where others may write at the same time, a vector must not put back what it has read
                // of lanes that do not write. Of shared memory nobody else is at work: a block runs on
                // one thread.
                if stores && form.space != StateSpace::Shared {
                    let all = vector::all(w.t.e.builder(), &mask);
                    direct = w.t.e.ins().band(direct, all);
                }
                members = Some(mask);
            }
            let number = w.records.add_access(LaneAccess {
                bytes: bytes(form),
                window: w.t.spaces.window(form.space),
                shape: w.plan.uniformity.shape(),
                strides,
                shares_rows: pattern == Pattern::Broadcast,
                line: w.t.line,
            });
            FirstPlace::Unchecked { first, direct, number }
        }
    };
    let access = WarpAccess { form, strides, pattern, place, members };
    if stores {
        store_lanes_to(w, &access, values);
        return true;
    }
    let loaded = load_lanes_from(w, &access);
    for (&register, lanes) in instruction.destinations.iter().zip(loaded) {
        if let Some(register) = register {
            w.registers.write(&mut w.t, register, &lanes, form.ty, guard);
        }
    }
    true
}

/// The strides and the pattern of an access's addresses, if there are vectors for it.
pub(super) fn pattern(
    w: &WarpCode<'_>,
    form: MemoryForm,
    address: MemoryOperand,
    stores: bool,
) -> Option<(LaneStrides, Pattern)> {
    let AddressBase::Register(register) = address.base else {
        return None;
    };
    let Uniformity::Affine(strides) = w.registers.uniformity(register) else {
        return None;
    };
    let plain = !form.order.is_strong() && w.t.spaces.check() == CheckLevel::Window;
    let bytes = bytes(form);
    // The check looks at the ends only, and relies on the sums not to wrap.
    let near = strides.across.abs() < 1 << 24;
    if !plain || !near || strides.across % i64::from(bytes) != 0 {
        return None;
    }
    let fits = w.plan.uniformity.shape().width() * bytes >= 16;
    match strides.along {
        along if along == i64::from(bytes) && fits => Some((strides, Pattern::Contiguous)),
        0 if !stores => Some((strides, Pattern::Broadcast)),
        _ => None,
    }
}

/// Whether all lanes may make two accesses of a size, the first of them at these addresses, and all
/// that lie between.
pub(super) fn are_inside(
    w: &mut WarpCode<'_>,
    [nearest, farthest]: [Value; 2],
    strides: LaneStrides,
    (space, bytes): (StateSpace, u32),
) -> Value {
    let log = bytes.trailing_zeros();
    let (least, greatest) = strides.range(w.plan.uniformity.shape());
    let (start, slots) = match w.t.spaces.window(space) {
        Some(window) => (None, w.t.pointers.window_slots(&mut w.t.e, window, log as usize)),
        None => {
            let start =
                w.t.pointers.context_pointer(&mut w.t.e, offset_of!(KernelContext, window_start));
            let slots = offset_of!(KernelContext, window_slots) + 8 * log as usize;
            (Some(start), w.t.pointers.context_pointer(&mut w.t.e, slots))
        }
    };
    let [low, high] = [(nearest, least), (farthest, greatest)].map(|(first, offset)| {
        let distance = start.map_or(first, |start| w.t.e.ins().isub(first, start));
        let end = w.t.e.ins().iadd_imm_s(distance, offset);
        let slot = w.t.e.ins().rotr_imm_u(end, i64::from(log));
        w.t.e.ins().icmp(IntCC::UnsignedLessThan, slot, slots)
    });
    w.t.e.ins().band(low, high)
}

/// The values that the lanes load; where their addresses are not all known to be allowed, by way
/// of the context, one by one.
fn load_lanes_from(w: &mut WarpCode<'_>, access: &WarpAccess) -> Vec<Lanes> {
    let near = ends(w, access);
    let rows = match access.place {
        FirstPlace::Checked(_) => rows(w, near),
        FirstPlace::Unchecked { direct, .. } => {
            let far = gathered_ends(w, access);
            let [each, load] = [(); 2].map(|()| w.t.e.create_block());
            let parameters = begin_rows(w, load);
            w.t.e.set_cold_block(each);
            w.t.e.ins().brif(direct, load, &arguments(near), each, &[]);
            w.t.e.switch_to_block(each);
            one_by_one(w, Helper::GatherLanes, access, load, &arguments(far));
            w.t.e.switch_to_block(load);
            rows(w, parameters)
        }
    };
    match access.pattern {
        Pattern::Contiguous => load_rows(w, &rows, access.form),
        Pattern::Broadcast => load_shared(w, &rows, access.form),
    }
}

/// Stores what the lanes store, in the same way.
fn store_lanes_to(w: &mut WarpCode<'_>, access: &WarpAccess, values: SmallVec<[Lanes; 4]>) {
    let near = ends(w, access);
    let FirstPlace::Unchecked { direct, .. } = access.place else {
        let rows = rows(w, near);
        return store_rows(w, access, &rows, values);
    };
    let far = gathered_ends(w, access);
    let [store, each, after] = [(); 3].map(|()| w.t.e.create_block());
    let parameters = begin_rows(w, store);
    w.t.e.set_cold_block(each);
    w.t.e.ins().brif(direct, store, &arguments(near), store, &arguments(far));
    w.t.e.switch_to_block(store);
    let rows = rows(w, parameters);
    store_rows(w, access, &rows, values);
    w.t.e.branch(direct, after, each);
    w.t.e.switch_to_block(each);
    one_by_one(w, Helper::ScatterLanes, access, after, &[]);
    w.t.e.switch_to_block(after);
}

/// Stores values in rows of memory; lanes that take no part keep what is there.
fn store_rows(
    w: &mut WarpCode<'_>,
    access: &WarpAccess,
    rows: &RowAddresses,
    mut values: SmallVec<[Lanes; 4]>,
) {
    if let (Some(mask), StateSpace::Shared) = (&access.members, access.form.space) {
        let old = load_rows(w, rows, access.form);
        for (value, old) in values.iter_mut().zip(&old) {
            *value = vector::select(w.t.e.builder(), mask, value, old, access.form.ty);
        }
    }
    let raw = vector::to_memory(w.t.e.builder(), &values, access.form.ty);
    for (index, value) in raw.into_iter().enumerate() {
        let (row, offset) = place_in(w, rows, access.form, index);
        let flags = MemFlagsData::new().with_notrap();
        w.t.e.ins().store(flags, value, row, offset);
    }
}

/// Lets the runtime access memory for each lane, and goes on unless one of them may not.
fn one_by_one(
    w: &mut WarpCode<'_>,
    helper: Helper,
    access: &WarpAccess,
    next: clif::Block,
    arguments: &[clif::BlockArg],
) {
    let FirstPlace::Unchecked { first, number, .. } = access.place else {
        return w.t.e.jump(next);
    };
    let members = match &access.members {
        Some(mask) => vector::bits(w.t.e.builder(), mask),
        None => w.t.e.int(types::I32, -1),
    };
    let site = w.t.e.int(types::I32, number);
    let fault = w.t.exits.fault();
    let values = [w.t.pointers.context(), w.frame().record(), first, site, members];
    let refused = w.t.e.cold_helper(helper, &values);
    w.t.e.ins().brif(refused, fault, &[], next, arguments);
}

/// The address of the first row in the memory that is accessed, and the distance of the next one
/// from it, if there is one.
fn ends(w: &mut WarpCode<'_>, access: &WarpAccess) -> RowEnds {
    let near = match (access.place, w.t.spaces.window(access.form.space)) {
        (FirstPlace::Checked(place), _) => place,
        (FirstPlace::Unchecked { first, .. }, Some(window)) => {
            let base = w.t.pointers.window_base(&mut w.t.e, window);
            w.t.e.ins().iadd(base, first)
        }
        (FirstPlace::Unchecked { first, .. }, None) => first,
    };
    with_distance(w, near, access.strides.across)
}

/// The same in the context's buffer.
fn gathered_ends(w: &mut WarpCode<'_>, access: &WarpAccess) -> RowEnds {
    let context = w.t.pointers.context();
    let area = offset_of!(KernelContext, lanes) as i64;
    let far = w.t.e.ins().iadd_imm_s(context, area);
    let together = row_bytes(w, access);
    with_distance(w, far, together)
}

fn with_distance(w: &mut WarpCode<'_>, first: Value, distance: i64) -> RowEnds {
    let mut ends: RowEnds = smallvec![first];
    if row_count(w) > 1 {
        ends.push(w.t.e.int(types::I64, distance));
    }
    ends
}

fn arguments(ends: RowEnds) -> SmallVec<[clif::BlockArg; 2]> {
    ends.into_iter().map(Into::into).collect()
}

/// Gives a block the parameters that [`ends`] are for.
fn begin_rows(w: &mut WarpCode<'_>, block: clif::Block) -> RowEnds {
    let count = if row_count(w) > 1 { 2 } else { 1 };
    (0..count).map(|_| w.t.e.builder().append_block_param(block, types::I64)).collect()
}

/// The address of each row.
fn rows(w: &mut WarpCode<'_>, ends: RowEnds) -> RowAddresses {
    let mut rows: RowAddresses = smallvec![ends[0]];
    while rows.len() < row_count(w) {
        let next = w.t.e.ins().iadd(rows[rows.len() - 1], ends[1]);
        rows.push(next);
    }
    rows
}

fn row_count(w: &WarpCode<'_>) -> usize {
    vector::LANES / w.plan.uniformity.shape().width() as usize
}

/// The bytes of a row where it has been gathered.
fn row_bytes(w: &WarpCode<'_>, access: &WarpAccess) -> i64 {
    let lanes = match access.pattern {
        Pattern::Contiguous => w.plan.uniformity.shape().width(),
        Pattern::Broadcast => 1,
    };
    i64::from(lanes * bytes(access.form))
}

/// The address of a vector of 16 bytes: its row, and the distance from there.
fn place_in(
    w: &WarpCode<'_>,
    rows: &RowAddresses,
    form: MemoryForm,
    vector: usize,
) -> (Value, i32) {
    let row = (w.plan.uniformity.shape().width() * bytes(form)) as usize;
    (rows[16 * vector / row], (16 * vector % row) as i32)
}

fn load_rows(w: &mut WarpCode<'_>, rows: &RowAddresses, form: MemoryForm) -> Vec<Lanes> {
    let flags = MemFlagsData::new().with_notrap();
    let count = usize::from(form.count);
    let raw = (0..vector::raw_vectors(form.ty, count)).map(|index| {
        let (row, offset) = place_in(w, rows, form, index);
        w.t.e.ins().load(vector::raw_type(form.ty, count), flags, row, offset)
    });
    let raw: Vec<Value> = raw.collect();
    vector::from_memory(w.t.e.builder(), &raw, form.ty, count)
}

/// One load for each row.
fn load_shared(w: &mut WarpCode<'_>, rows: &RowAddresses, form: MemoryForm) -> Vec<Lanes> {
    let flags = MemFlagsData::new().with_notrap();
    let machine = machine_type(form.ty);
    let load = |part: u8| {
        let offset = (u32::from(part) * form.ty.bytes()) as i32;
        let values = rows.iter().flat_map(|&row| {
            let value = w.t.e.ins().load(machine, flags, row, offset);
            let lanes = vector::splat(w.t.e.builder(), value, form.ty).values;
            let count = lanes.len() / rows.len();
            lanes.into_iter().take(count)
        });
        Lanes { values: values.collect() }
    };
    (0..form.count).map(load).collect()
}

/// An access of all lanes.
struct WarpAccess {
    form: MemoryForm,
    strides: LaneStrides,
    pattern: Pattern,
    place: FirstPlace,
    /// The lanes that make it, if not all.
    members: Option<Lanes>,
}

/// The memory that the first lane accesses, from which that of the others follows.
#[derive(Clone, Copy)]
enum FirstPlace {
    /// The host address. All lanes may make the access.
    Checked(Value),
    Unchecked {
        /// The address in its own space.
        first: Value,
        /// Whether all lanes' memory may be accessed as vectors.
        direct: Value,
        /// The number among the kernel's [`LaneAccess`]es.
        number: i64,
    },
}

/// The addresses of the rows of an access.
type RowAddresses = SmallVec<[Value; 8]>;

/// The address of the first row, and the distance of the next one if there is one.
type RowEnds = SmallVec<[Value; 2]>;

/// The bytes that a lane accesses.
pub(super) fn bytes(form: MemoryForm) -> u32 {
    form.ty.bytes() * u32::from(form.count)
}
