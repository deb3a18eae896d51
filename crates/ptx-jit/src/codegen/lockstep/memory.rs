//! Loads and stores of a warp whose lanes lie next to each other in memory: as vectors, after one
//! check of the whole range.
//!
//! Where the check refuses, some lane's place may still be allowed, or all may. The runtime then
//! accesses them one by one (`exec::lockstep::access`), and the vectors are those of an area in the
//! block's context.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self as clif, InstBuilder, MemFlagsData, Value, types};
use ptx::{
    AddressBase, Guard, Instruction, MemoryForm, MemoryOperand, MemoryOrder, Operand, Operation,
    StateSpace,
};
use smallvec::{SmallVec, smallvec};

use super::{Lanes, WarpLowering, vector};
use crate::abi::{CheckLevel, Helper, KernelContext};
use crate::codegen::native::LaneAccess;
use crate::codegen::value::machine_type;
use crate::ir::{LaneStrides, Uniformity};

/// How the lanes' places lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pattern {
    /// The lanes of a row next to each other.
    Rows,
    /// The lanes of a row at one place.
    Shared,
}

impl WarpLowering<'_, '_> {
    /// A load or store as one of vectors; whether it is one.
    pub(super) fn access(&mut self, instruction: &Instruction, guard: Option<Guard>) -> bool {
        let (form, stores) = match instruction.operation {
            Operation::Load(form) => (form, false),
            Operation::Store(form) => (form, true),
            _ => return false,
        };
        let Operand::Memory(address) = instruction.sources[0] else {
            return false;
        };
        let Some((strides, pattern)) = self.pattern(form, address, stores) else {
            return false;
        };
        let mut values: SmallVec<[Lanes; 4]> = SmallVec::new();
        for &source in &instruction.sources[1..] {
            match self.operand_lanes(source, form.ty) {
                Some(lanes) => values.push(lanes),
                None => return false,
            }
        }
        let place = self.one.effective_address(address);
        let mut direct = self.range_is_inside(place, strides, form);
        let mut members = None;
        if let Some(guard) = guard {
            let mask = self.mask(guard);
            // Where others may write between, a vector must not overwrite what its lanes do not
            // write.
            if stores && form.space != StateSpace::Shared {
                let all = vector::all(self.builder(), &mask);
                direct = self.builder().ins().band(direct, all);
            }
            members = Some(mask);
        }
        let site = self.access_site(LaneAccess {
            bytes: bytes(form),
            window: self.one.window(form.space),
            shape: self.plan.uniformity.shape(),
            strides,
            shares_rows: pattern == Pattern::Shared,
            line: self.one.line,
        });
        let access = WarpAccess { form, strides, pattern, place, direct, members, site };
        if stores {
            self.store_lanes_to(&access, values);
            return true;
        }
        let loaded = self.load_lanes_from(&access);
        for (&register, lanes) in instruction.destinations.iter().zip(loaded) {
            if let Some(register) = register {
                self.write_lanes(register, &lanes, form.ty, guard);
            }
        }
        true
    }

    /// How the places of an access lie, if there are vectors for it.
    fn pattern(
        &self,
        form: MemoryForm,
        address: MemoryOperand,
        stores: bool,
    ) -> Option<(LaneStrides, Pattern)> {
        let AddressBase::Register(register) = address.base else {
            return None;
        };
        let Uniformity::Affine(strides) = self.kind(register) else {
            return None;
        };
        let plain = form.order == MemoryOrder::Weak && self.one.unit.check == CheckLevel::Window;
        let bytes = bytes(form);
        let near = strides.across.abs() < 1 << 24;
        if !plain || !near || strides.across % i64::from(bytes) != 0 {
            return None;
        }
        let fits = self.plan.uniformity.shape().width() * bytes >= 16;
        match strides.along {
            along if along == i64::from(bytes) && fits => Some((strides, Pattern::Rows)),
            0 if !stores => Some((strides, Pattern::Shared)),
            _ => None,
        }
    }

    /// Whether all lanes may make an access, the first of them at `place`.
    fn range_is_inside(&mut self, place: Value, strides: LaneStrides, form: MemoryForm) -> Value {
        let log = bytes(form).trailing_zeros();
        let (least, greatest) = strides.range(self.plan.uniformity.shape());
        let (distance, slots) = match self.one.window(form.space) {
            Some(window) => (place, self.one.window_slots(window, log as usize)),
            None => {
                let start = self.one.context_pointer(offset_of!(KernelContext, window_start));
                let distance = self.builder().ins().isub(place, start);
                let slots = offset_of!(KernelContext, window_slots) + 8 * log as usize;
                (distance, self.one.context_pointer(slots))
            }
        };
        let [first, last] = [least, greatest].map(|offset| {
            let end = self.builder().ins().iadd_imm_s(distance, offset);
            let slot = self.builder().ins().rotr_imm_u(end, i64::from(log));
            self.builder().ins().icmp(IntCC::UnsignedLessThan, slot, slots)
        });
        self.builder().ins().band(first, last)
    }

    /// The values that the lanes load; where their places are not all known to be allowed, by way
    /// of the context, one by one.
    fn load_lanes_from(&mut self, access: &WarpAccess) -> Vec<Lanes> {
        let (near, far) = self.ends(access);
        let [each, load] = [(); 2].map(|()| self.builder().create_block());
        self.begin_rows(load);
        self.builder().set_cold_block(each);
        self.builder().ins().brif(access.direct, load, &near, each, &[]);
        self.builder().switch_to_block(each);
        self.one_by_one(Helper::GatherLanes, access, load, &far);
        self.builder().switch_to_block(load);
        let rows = self.rows(load);
        match access.pattern {
            Pattern::Rows => self.load_rows(&rows, access.form),
            Pattern::Shared => self.load_shared(&rows, access.form),
        }
    }

    /// Stores what the lanes store, in the same way.
    fn store_lanes_to(&mut self, access: &WarpAccess, mut values: SmallVec<[Lanes; 4]>) {
        let (near, far) = self.ends(access);
        let [store, each, after] = [(); 3].map(|()| self.builder().create_block());
        self.begin_rows(store);
        self.builder().set_cold_block(each);
        self.builder().ins().brif(access.direct, store, &near, store, &far);
        self.builder().switch_to_block(store);
        let rows = self.rows(store);
        if let (Some(mask), StateSpace::Shared) = (&access.members, access.form.space) {
            let old = self.load_rows(&rows, access.form);
            for (value, old) in values.iter_mut().zip(&old) {
                *value = vector::select(self.builder(), mask, value, old, access.form.ty);
            }
        }
        let raw = vector::to_memory(self.builder(), &values, access.form.ty);
        for (index, value) in raw.into_iter().enumerate() {
            let (row, offset) = self.place_in(&rows, access.form, index);
            let flags = MemFlagsData::new().with_notrap();
            self.builder().ins().store(flags, value, row, offset);
        }
        self.builder().ins().brif(access.direct, after, &[], each, &[]);
        self.builder().switch_to_block(each);
        self.one_by_one(Helper::ScatterLanes, access, after, &[]);
        self.builder().switch_to_block(after);
    }

    /// Lets the runtime access memory for each lane, and goes on unless one of them may not.
    fn one_by_one(
        &mut self,
        helper: Helper,
        access: &WarpAccess,
        next: clif::Block,
        arguments: &[clif::BlockArg],
    ) {
        let members = match &access.members {
            Some(mask) => vector::bits(self.builder(), mask),
            None => self.one.int(types::I32, -1),
        };
        let site = self.one.int(types::I32, i64::from(access.site));
        let fault = self.one.fault;
        let values = [self.one.context, self.record, access.place, site, members];
        let refused = self.one.cold_helper(helper, &values);
        self.builder().ins().brif(refused, fault, &[], next, arguments);
    }

    /// Where the first row lies, and how far the next one is from it: in the memory that is
    /// accessed, and in the context.
    fn ends(&mut self, access: &WarpAccess) -> (RowArguments, RowArguments) {
        let near = match self.one.window(access.form.space) {
            Some(window) => {
                let base = self.one.window_base(window);
                self.builder().ins().iadd(base, access.place)
            }
            None => access.place,
        };
        let context = self.one.context;
        let area = offset_of!(KernelContext, lanes) as i64;
        let far = self.builder().ins().iadd_imm_s(context, area);
        let (mut near, mut far) = (smallvec![near.into()], smallvec![far.into()]);
        if self.row_count() > 1 {
            let apart = self.one.int(types::I64, access.strides.across);
            let together = self.one.int(types::I64, self.row_bytes(access));
            near.push(apart.into());
            far.push(together.into());
        }
        (near, far)
    }

    /// Gives a block the parameters that [`Self::ends`] are for.
    fn begin_rows(&mut self, block: clif::Block) {
        let count = if self.row_count() > 1 { 2 } else { 1 };
        for _ in 0..count {
            self.builder().append_block_param(block, types::I64);
        }
    }

    /// Where each row lies, by the parameters of the current block.
    fn rows(&mut self, block: clif::Block) -> Rows {
        let parameters: SmallVec<[Value; 2]> = self.builder().block_params(block).into();
        let mut rows: Rows = smallvec![parameters[0]];
        while rows.len() < self.row_count() {
            let next = self.builder().ins().iadd(rows[rows.len() - 1], parameters[1]);
            rows.push(next);
        }
        rows
    }

    fn row_count(&self) -> usize {
        vector::LANES / self.plan.uniformity.shape().width() as usize
    }

    /// The bytes of a row where it has been gathered.
    fn row_bytes(&self, access: &WarpAccess) -> i64 {
        let lanes = match access.pattern {
            Pattern::Rows => self.plan.uniformity.shape().width(),
            Pattern::Shared => 1,
        };
        i64::from(lanes * bytes(access.form))
    }

    /// The place of a vector of 16 bytes: its row, and the distance from there.
    fn place_in(&self, rows: &Rows, form: MemoryForm, vector: usize) -> (Value, i32) {
        let row = (self.plan.uniformity.shape().width() * bytes(form)) as usize;
        (rows[16 * vector / row], (16 * vector % row) as i32)
    }

    fn load_rows(&mut self, rows: &Rows, form: MemoryForm) -> Vec<Lanes> {
        let flags = MemFlagsData::new().with_notrap();
        let count = usize::from(form.count);
        let raw = (0..vector::raw_vectors(form.ty, count)).map(|index| {
            let (row, offset) = self.place_in(rows, form, index);
            self.builder().ins().load(vector::RAW, flags, row, offset)
        });
        let raw: Vec<Value> = raw.collect();
        vector::from_memory(self.builder(), &raw, form.ty, count)
    }

    /// One load for each row.
    fn load_shared(&mut self, rows: &Rows, form: MemoryForm) -> Vec<Lanes> {
        let flags = MemFlagsData::new().with_notrap();
        let machine = machine_type(form.ty);
        let load = |part: u8| {
            let offset = (u32::from(part) * form.ty.bytes()) as i32;
            let values = rows.iter().flat_map(|&row| {
                let value = self.builder().ins().load(machine, flags, row, offset);
                let lanes = vector::splat(self.builder(), value, form.ty).values;
                let count = lanes.len() / rows.len();
                lanes.into_iter().take(count)
            });
            Lanes { values: values.collect() }
        };
        (0..form.count).map(load).collect()
    }

    fn access_site(&mut self, access: LaneAccess) -> u32 {
        let accesses = &mut self.one.unit.accesses;
        accesses.push(access);
        accesses.len() as u32 - 1
    }
}

/// An access of all lanes.
struct WarpAccess {
    form: MemoryForm,
    strides: LaneStrides,
    pattern: Pattern,
    /// The first lane's place.
    place: Value,
    /// Whether all lanes' places may be accessed as vectors.
    direct: Value,
    /// The lanes that make it, if not all.
    members: Option<Lanes>,
    /// Its number among the kernel's [`LaneAccess`]es.
    site: u32,
}

/// Where the rows of an access lie.
type Rows = SmallVec<[Value; 8]>;

type RowArguments = SmallVec<[clif::BlockArg; 2]>;

/// What a lane accesses.
fn bytes(form: MemoryForm) -> u32 {
    form.ty.bytes() * u32::from(form.count)
}
