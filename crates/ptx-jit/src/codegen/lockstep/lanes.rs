//! Loops over the lanes of a warp, for what each does by itself.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind, Value, types,
};
use ptx::control_flow::reads;
use ptx::{Instruction, Register, RegisterType};
use smallvec::SmallVec;

use super::{WarpLowering, vector};
use crate::abi::{LANES, ThreadRecord};
use crate::ir::{LaneStrides, Uniformity};

/// Lanes that do something.
#[derive(Clone, Copy)]
pub(super) enum Among {
    All,
    /// Those whose bits are set, of which there is at least one.
    Bits(Value),
    One(u32),
}

impl WarpLowering<'_, '_> {
    /// An instruction in one lane after the other, with its guard.
    pub(super) fn by_lanes(&mut self, instruction: &Instruction) {
        let written: SmallVec<[Register; 2]> =
            instruction.destinations.iter().flatten().copied().collect();
        let mut read = reads(instruction);
        if instruction.guard.is_some() {
            // Lanes whose guard does not hold keep the old value.
            read.extend(written.iter().copied());
        }
        read.sort_unstable();
        read.dedup();
        self.run_in_lanes(&read, &written, Among::All, |this| this.one.guarded(instruction));
    }

    /// Something that lanes do one after the other. They find in the registers in `read` what each
    /// has in them, and each keeps what it leaves in those in `written`. What only some lanes may
    /// write is to be among `read` too, so that the others keep their old values.
    pub(super) fn run_in_lanes(
        &mut self,
        read: &[Register],
        written: &[Register],
        among: Among,
        body: impl FnOnce(&mut Self),
    ) {
        let affine = |register: &Register| match self.kind(*register) {
            Uniformity::Affine(strides) => Some((*register, strides)),
            _ => None,
        };
        let affine: SmallVec<[(Register, LaneStrides); 8]> =
            read.iter().filter_map(affine).collect();
        let kept: SmallVec<[Value; 8]> =
            affine.iter().map(|&(register, _)| self.shared(register)).collect();
        match among {
            Among::One(lane) => self.run_in_lane(read, written, lane as usize, &affine, body),
            _ => self.run_in_loop(read, written, among, &affine, body),
        }
        for (&(register, _), first) in affine.iter().zip(kept) {
            self.set_shared(register, first);
        }
    }

    fn run_in_lane(
        &mut self,
        read: &[Register],
        written: &[Register],
        lane: usize,
        affine: &[(Register, LaneStrides)],
        body: impl FnOnce(&mut Self),
    ) {
        let class =
            |this: &Self, register: Register| this.function().registers[register.index()].scalar();
        for &register in read {
            if self.kind(register) != Uniformity::Varying {
                continue;
            }
            let (lanes, ty) = (self.lanes(register), class(self, register));
            let value = vector::lane(self.builder(), &lanes, lane, ty);
            self.set_shared(register, value);
        }
        for &(register, strides) in affine {
            let distance = strides.at(lane as i64, self.plan.uniformity.shape());
            let first = self.shared(register);
            let value = self.builder().ins().iadd_imm_s(first, distance);
            self.set_shared(register, value);
        }
        let first = (self.one.thread, self.one.indices);
        let distance = (lane * size_of::<ThreadRecord>()) as i64;
        let thread = self.builder().ins().iadd_imm_s(first.0, distance);
        self.one.at_thread(thread);
        body(self);
        (self.one.thread, self.one.indices) = first;
        for &register in written {
            if self.kind(register) != Uniformity::Varying {
                continue;
            }
            let (lanes, ty) = (self.lanes(register), class(self, register));
            let value = self.shared(register);
            let lanes = vector::with_lane(self.builder(), &lanes, lane, value, ty);
            self.set_lanes(register, &lanes);
        }
    }

    /// The lanes' registers are in memory meanwhile.
    fn run_in_loop(
        &mut self,
        read: &[Register],
        written: &[Register],
        among: Among,
        affine: &[(Register, LaneStrides)],
        body: impl FnOnce(&mut Self),
    ) {
        let firsts: SmallVec<[Value; 8]> =
            affine.iter().map(|&(register, _)| self.shared(register)).collect();
        let mut cells: SmallVec<[(Register, StackSlot); 8]> = SmallVec::new();
        for &register in read.iter().chain(written) {
            let varies = self.kind(register) == Uniformity::Varying;
            if varies && !cells.iter().any(|&(known, _)| known == register) {
                let slot = self.scratch(cells.len());
                cells.push((register, slot));
                if read.contains(&register) {
                    let lanes = self.lanes(register);
                    let place = self.builder().ins().stack_addr(types::I64, slot, 0);
                    self.store_vectors(&lanes, place, 0);
                }
            }
        }

        let in_lane = |this: &mut Self, lane| {
            for (&(register, strides), &first) in affine.iter().zip(&firsts) {
                let value = this.in_lane(first, strides, lane);
                this.set_shared(register, value);
            }
            for &(register, slot) in cells.iter().filter(|(register, _)| read.contains(register)) {
                let class = this.function().registers[register.index()];
                let place = this.scratch_cell(slot, lane, class);
                let value = this.load_cell(class, place, 0);
                this.set_shared(register, value);
            }
            body(this);
            for &(register, slot) in cells.iter().filter(|(register, _)| written.contains(register))
            {
                let class = this.function().registers[register.index()];
                let mut value = this.shared(register);
                if class == RegisterType::Predicate {
                    value = this.builder().ins().bmask(types::I32, value);
                }
                let place = this.scratch_cell(slot, lane, class);
                this.builder().ins().store(MemFlagsData::trusted(), value, place, 0);
            }
        };
        match among {
            Among::Bits(bits) => self.for_lanes(bits, in_lane),
            _ => self.for_each_lane(in_lane),
        }
        for &(register, slot) in cells.iter().filter(|(register, _)| written.contains(register)) {
            let class = self.function().registers[register.index()];
            let place = self.builder().ins().stack_addr(types::I64, slot, 0);
            let lanes = self.load_vectors(class, place, 0);
            self.set_lanes(register, &lanes);
        }
    }

    /// A loop over all lanes, in each of which the thread is that of the lane.
    fn for_each_lane(&mut self, body: impl FnOnce(&mut Self, Value)) {
        let head = self.builder().create_block();
        let after = self.builder().create_block();
        self.builder().append_block_param(head, types::I64);
        let zero = self.builder().ins().iconst(types::I64, 0);
        self.builder().ins().jump(head, &[zero.into()]);

        self.builder().switch_to_block(head);
        let lane = self.builder().block_params(head)[0];
        let first = (self.one.thread, self.one.indices);
        let thread = self.thread_of(lane);
        self.one.at_thread(thread);
        body(self, lane);
        (self.one.thread, self.one.indices) = first;
        let next = self.builder().ins().iadd_imm_s(lane, 1);
        let done = self.builder().ins().icmp_imm_u(IntCC::Equal, next, 32);
        self.builder().ins().brif(done, after, &[], head, &[next.into()]);

        self.builder().switch_to_block(after);
    }

    /// A loop over the lanes in `bits`, of which there is at least one.
    fn for_lanes(&mut self, bits: Value, body: impl FnOnce(&mut Self, Value)) {
        let (head, after) = (self.builder().create_block(), self.builder().create_block());
        self.builder().append_block_param(head, types::I32);
        self.builder().ins().jump(head, &[bits.into()]);

        self.builder().switch_to_block(head);
        let bits = self.builder().block_params(head)[0];
        let lane = self.builder().ins().ctz(bits);
        let lane = self.builder().ins().uextend(types::I64, lane);
        let first = (self.one.thread, self.one.indices);
        let thread = self.thread_of(lane);
        self.one.at_thread(thread);
        body(self, lane);
        (self.one.thread, self.one.indices) = first;
        let below = self.builder().ins().iadd_imm_s(bits, -1);
        let rest = self.builder().ins().band(bits, below);
        let done = self.builder().ins().icmp_imm_u(IntCC::Equal, rest, 0);
        self.builder().ins().brif(done, after, &[], head, &[rest.into()]);

        self.builder().switch_to_block(after);
    }

    /// The thread of a lane; `one` is set to the first lane's.
    pub(super) fn thread_of(&mut self, lane: Value) -> Value {
        let distance = self.builder().ins().imul_imm_s(lane, size_of::<ThreadRecord>() as i64);
        let first = self.one.thread;
        self.builder().ins().iadd(first, distance)
    }

    /// A lane's value of an affine register.
    pub(super) fn in_lane(&mut self, first: Value, strides: LaneStrides, lane: Value) -> Value {
        let width = i64::from(self.plan.uniformity.shape().width());
        let distance = if width == LANES as i64 {
            self.builder().ins().imul_imm_s(lane, strides.along)
        } else {
            let column = self.builder().ins().band_imm_u(lane, width - 1);
            let along = self.builder().ins().imul_imm_s(column, strides.along);
            let row = self.builder().ins().ushr_imm_u(lane, i64::from(width.trailing_zeros()));
            let across = self.builder().ins().imul_imm_s(row, strides.across);
            self.builder().ins().iadd(along, across)
        };
        let ty = self.builder().func.dfg.value_type(first);
        let distance = self.one.resize(distance, ty, false);
        self.builder().ins().iadd(first, distance)
    }

    pub(super) fn scratch(&mut self, index: usize) -> StackSlot {
        while self.scratch.len() <= index {
            // 32 cells of 8 bytes, at a multiple of 16.
            let data = StackSlotData::new(StackSlotKind::ExplicitSlot, 256, 4);
            let slot = self.builder().create_sized_stack_slot(data);
            self.scratch.push(slot);
        }
        self.scratch[index]
    }

    pub(super) fn scratch_cell(
        &mut self,
        slot: StackSlot,
        lane: Value,
        class: RegisterType,
    ) -> Value {
        let place = self.builder().ins().stack_addr(types::I64, slot, 0);
        let distance = self.cell_distance(lane, class);
        self.builder().ins().iadd(place, distance)
    }
}
