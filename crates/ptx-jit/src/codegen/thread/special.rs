//! Special registers.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use ptx::{Axis, LaneRelation, SpecialRegister, WordHalf};

use super::pointers::BasePointers;
use crate::abi::{Helper, KernelContext};
use crate::codegen::emitter::Emitter;
use crate::ir::KernelIr;

/// The value of a special register, 32 or 64 bits wide.
pub(super) fn special(
    e: &mut Emitter<'_>,
    p: &BasePointers,
    kernel: &KernelIr,
    special: SpecialRegister,
) -> Value {
    use SpecialRegister::*;
    match special {
        ThreadIndex(axis) => p.thread_index(e, axis as usize),
        BlockExtent(axis) => extent(e, p, offset_of!(KernelContext, block), axis),
        BlockIndex(axis) => extent(e, p, offset_of!(KernelContext, block_index), axis),
        GridExtent(axis) => extent(e, p, offset_of!(KernelContext, grid), axis),
        Lane => lane(e, p),
        Warp => {
            let linear = p.linear_index(e);
            e.ins().ushr_imm_u(linear, 5)
        }
        WarpCount => warp_count(e, p),
        LaneMask(relation) => lane_mask(e, p, relation),
        Clock => clock(e, 0),
        ClockHigh => clock(e, 32),
        Clock64 => e.helper(Helper::Clock, &[]),
        GlobalTimer => e.helper(Helper::GlobalTimer, &[]),
        GlobalTimerLow => timer(e, 0),
        GlobalTimerHigh => timer(e, 32),
        Multiprocessor | Grid => e.int(types::I32, 0),
        MultiprocessorCount => e.int(types::I32, 1),
        DynamicSharedBytes => p.context_word(e, offset_of!(KernelContext, dynamic_shared_bytes)),
        Workspace(half) => workspace(e, p, kernel, half),
        TotalSharedBytes => p.context_word(e, offset_of!(KernelContext, total_shared_bytes)),
    }
}

/// A half of what the driver puts behind the kernel's parameters.
fn workspace(e: &mut Emitter<'_>, p: &BasePointers, kernel: &KernelIr, half: WordHalf) -> Value {
    let Some(offset) = kernel.workspace else {
        unreachable!("a kernel that asks for the workspace has a place for its address");
    };
    let parameters = p.context_pointer(e, offset_of!(KernelContext, parameters));
    let offset = offset + if half == WordHalf::High { 4 } else { 0 };
    e.load_constant(types::I32, parameters, offset)
}

fn extent(e: &mut Emitter<'_>, p: &BasePointers, offset: usize, axis: Axis) -> Value {
    p.context_word(e, offset + 4 * axis as usize)
}

fn lane(e: &mut Emitter<'_>, p: &BasePointers) -> Value {
    let linear = p.linear_index(e);
    e.ins().band_imm_u(linear, 31)
}

fn warp_count(e: &mut Emitter<'_>, p: &BasePointers) -> Value {
    let [x, y, z] = [Axis::X, Axis::Y, Axis::Z]
        .map(|axis| extent(e, p, offset_of!(KernelContext, block), axis));
    let plane = e.ins().imul(x, y);
    let threads = e.ins().imul(plane, z);
    let rounded = e.ins().iadd_imm_s(threads, 31);
    e.ins().ushr_imm_u(rounded, 5)
}

fn lane_mask(e: &mut Emitter<'_>, p: &BasePointers, relation: LaneRelation) -> Value {
    let lane = lane(e, p);
    let ones = e.int(types::I32, -1);
    let one = e.int(types::I32, 1);
    match relation {
        LaneRelation::Equal => e.ins().ishl(one, lane),
        LaneRelation::GreaterEqual => e.ins().ishl(ones, lane),
        LaneRelation::Greater => {
            let from = e.ins().ishl(ones, lane);
            e.ins().ishl_imm_u(from, 1)
        }
        LaneRelation::Less => {
            let from = e.ins().ishl(ones, lane);
            e.ins().bnot(from)
        }
        LaneRelation::LessEqual => {
            let from = e.ins().ishl(ones, lane);
            let above = e.ins().ishl_imm_u(from, 1);
            e.ins().bnot(above)
        }
    }
}

fn clock(e: &mut Emitter<'_>, shift: i64) -> Value {
    let clock = e.helper(Helper::Clock, &[]);
    let part = e.ins().ushr_imm_u(clock, shift);
    e.ins().ireduce(types::I32, part)
}

fn timer(e: &mut Emitter<'_>, shift: i64) -> Value {
    let timer = e.helper(Helper::GlobalTimer, &[]);
    let part = e.ins().ushr_imm_u(timer, shift);
    e.ins().ireduce(types::I32, part)
}
