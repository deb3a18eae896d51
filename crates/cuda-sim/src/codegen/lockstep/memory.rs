//! Loads and stores of a warp whose lanes lie next to each other in memory: as vectors, after one
//! check of the whole range.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use smallvec::SmallVec;

use super::{Lanes, WarpLowering, vector};
use crate::codegen::value::machine_type;
use crate::exec::CheckLevel;
use crate::exec::state::Context;
use crate::ir::{Kind, Strides};
use crate::ptx::{
    Address, AddressBase, Guard, Instruction, MemoryForm, Operand, Operation, Order, StateSpace,
};

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
        // Where others may write between, a vector must not overwrite what its lanes do not write.
        if stores && guard.is_some() && form.space != StateSpace::Shared {
            return false;
        }
        let mut values: SmallVec<[Lanes; 4]> = SmallVec::new();
        for &source in &instruction.sources[1..] {
            match self.operand_lanes(source, form.ty) {
                Some(lanes) => values.push(lanes),
                None => return false,
            }
        }
        let place = self.one.effective_address(address);
        let inside = self.range_is_inside(place, strides, form);
        let [vectors, each, after] = [(); 3].map(|()| self.builder().create_block());
        self.builder().set_cold_block(each);
        self.builder().ins().brif(inside, vectors, &[], each, &[]);

        self.builder().switch_to_block(vectors);
        let host = match self.one.window(form.space) {
            Some(window) => {
                let base = self.one.window_base(window);
                self.builder().ins().iadd(base, place)
            }
            None => place,
        };
        if stores {
            self.store_rows(host, strides, form, values, guard);
        } else {
            let loaded = match pattern {
                Pattern::Rows => self.load_rows(host, strides, form),
                Pattern::Shared => self.load_shared(host, strides, form),
            };
            for (&register, lanes) in instruction.destinations.iter().zip(loaded) {
                if let Some(register) = register {
                    self.write_lanes(register, &lanes, form.ty, guard);
                }
            }
        }
        self.builder().ins().jump(after, &[]);

        self.builder().switch_to_block(each);
        self.by_lanes(instruction);
        self.builder().ins().jump(after, &[]);
        self.builder().switch_to_block(after);
        true
    }

    /// How the places of an access lie, if there are vectors for it.
    fn pattern(
        &self,
        form: MemoryForm,
        address: Address,
        stores: bool,
    ) -> Option<(Strides, Pattern)> {
        let AddressBase::Register(register) = address.base else {
            return None;
        };
        let Kind::Affine(strides) = self.kind(register) else {
            return None;
        };
        let plain = form.order == Order::Weak && self.one.unit.check == CheckLevel::Window;
        let bytes = bytes(form);
        let near = strides.across.abs() < 1 << 24;
        if !plain || !near || strides.across % i64::from(bytes) != 0 {
            return None;
        }
        let fits = self.plan.kinds.shape().width() * bytes >= 16;
        match strides.along {
            along if along == i64::from(bytes) && fits => Some((strides, Pattern::Rows)),
            0 if !stores => Some((strides, Pattern::Shared)),
            _ => None,
        }
    }

    /// Whether all lanes may make an access, the first of them at `place`.
    fn range_is_inside(&mut self, place: Value, strides: Strides, form: MemoryForm) -> Value {
        let log = bytes(form).trailing_zeros();
        let (least, greatest) = strides.range(self.plan.kinds.shape());
        let (distance, slots) = match self.one.window(form.space) {
            Some(window) => (place, self.one.window_slots(window, log as usize)),
            None => {
                let start = self.one.context_pointer(offset_of!(Context, window_start));
                let distance = self.builder().ins().isub(place, start);
                let slots = offset_of!(Context, window_slots) + 8 * log as usize;
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

    /// The places of the vectors of 16 bytes in which the lanes lie, from the first lane's.
    fn places(&self, strides: Strides, form: MemoryForm) -> impl Iterator<Item = i32> + use<> {
        let row = i64::from(self.plan.kinds.shape().width() * bytes(form));
        let vectors = vector::raw_vectors(form.ty, usize::from(form.count)) as i64;
        (0..vectors).map(move |vector| {
            let place = 16 * vector;
            (place / row * strides.across + place % row) as i32
        })
    }

    fn load_rows(&mut self, host: Value, strides: Strides, form: MemoryForm) -> Vec<Lanes> {
        let flags = MemFlagsData::new().with_notrap();
        let raw: Vec<Value> = self
            .places(strides, form)
            .map(|place| self.builder().ins().load(vector::RAW, flags, host, place))
            .collect();
        vector::from_memory(self.builder(), &raw, form.ty, usize::from(form.count))
    }

    /// One load for each row.
    fn load_shared(&mut self, host: Value, strides: Strides, form: MemoryForm) -> Vec<Lanes> {
        let flags = MemFlagsData::new().with_notrap();
        let (shape, machine) = (self.plan.kinds.shape(), machine_type(form.ty));
        let load = |part: u8| {
            let offset = i64::from(u32::from(part) * form.ty.bytes());
            let rows = (0..32).step_by(shape.width() as usize);
            let values = rows.flat_map(|lane| {
                let place = (strides.at(lane, shape) + offset) as i32;
                let value = self.builder().ins().load(machine, flags, host, place);
                let lanes = vector::splat(self.builder(), value, form.ty).values;
                let count = lanes.len() * shape.width() as usize / vector::LANES;
                lanes.into_iter().take(count)
            });
            Lanes { values: values.collect() }
        };
        (0..form.count).map(load).collect()
    }

    fn store_rows(
        &mut self,
        host: Value,
        strides: Strides,
        form: MemoryForm,
        mut values: SmallVec<[Lanes; 4]>,
        guard: Option<Guard>,
    ) {
        let flags = MemFlagsData::new().with_notrap();
        if let Some(guard) = guard {
            let old = self.load_rows(host, strides, form);
            let mask = self.mask(guard);
            for (value, old) in values.iter_mut().zip(&old) {
                *value = vector::select(self.builder(), &mask, value, old, form.ty);
            }
        }
        let raw = vector::to_memory(self.builder(), &values, form.ty);
        let places: Vec<i32> = self.places(strides, form).collect();
        for (value, place) in raw.into_iter().zip(places) {
            self.builder().ins().store(flags, value, host, place);
        }
    }
}

/// What a lane accesses.
fn bytes(form: MemoryForm) -> u32 {
    form.ty.bytes() * u32::from(form.count)
}
