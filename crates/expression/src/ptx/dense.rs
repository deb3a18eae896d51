//! Kernels over dense operands.

use std::mem::offset_of;

use super::arguments::DenseArguments;
use super::body::{ARGUMENT, Operands, base_addresses};
use super::error::PrintError;
use super::memory::elements_per_access;
use super::writer::{InstructionWriter, VirtualRegister};

/// Writes a kernel over dense operands: a loop over groups of elements, each of which is one access
/// of every operand, if all addresses are aligned for that; then a loop over single elements, for
/// those that are left or for all.
pub(super) fn write(w: &mut InstructionWriter, operands: &Operands<'_>) -> Result<(), PrintError> {
    let known = operands.invariants(w, offset_of!(DenseArguments, scalars))?;
    let numel =
        w.b64("ld.param.u64", &[&format!("[{ARGUMENT}+{}]", offset_of!(DenseArguments, numel))]);
    let bases = base_addresses(w, operands, offset_of!(DenseArguments, addresses));
    let (thread, threads) = grid_position(w);
    let group = elements_per_access(operands.dtypes());

    let rest = thread_register(w, thread);
    if group > 1 {
        let (done, singles) = (w.label("groups_done"), w.label("singles"));
        let is_unaligned = is_unaligned(w, operands, &bases, group);
        w.branch_if(is_unaligned, singles);
        let groups = w.b64("shr.u64", &[&numel, &group.trailing_zeros()]);
        let index = thread_register(w, thread);
        let is_past = w.predicate("setp.ge.u64", &[&index, &groups]);
        w.branch_if(is_past, done);
        let start = w.label("groups");
        w.place(start);
        let addresses = addresses_at(w, operands, &bases, index, group);
        operands.elements(w, &known, &addresses, group)?;
        step(w, index, threads, groups, start);
        w.place(done);
        let covered = w.b64("shl.b64", &[&groups, &group.trailing_zeros()]);
        w.assign(rest, "add.s64", &[&covered, &thread]);
        w.place(singles);
    }
    let (start, end) = (w.label("elements"), w.label("end"));
    let is_past = w.predicate("setp.ge.u64", &[&rest, &numel]);
    w.branch_if(is_past, end);
    w.place(start);
    let addresses = addresses_at(w, operands, &bases, rest, 1);
    operands.elements(w, &known, &addresses, 1)?;
    step(w, rest, threads, numel, start);
    w.place(end);
    w.line("ret");
    Ok(())
}

/// The number of the thread in the grid, and the number of threads in the grid.
fn grid_position(w: &mut InstructionWriter) -> (VirtualRegister, VirtualRegister) {
    let block = w.b32("mov.u32", &[&"%ctaid.x"]);
    let size = w.b32("mov.u32", &[&"%ntid.x"]);
    let blocks = w.b32("mov.u32", &[&"%nctaid.x"]);
    let in_block = w.b32("mov.u32", &[&"%tid.x"]);
    let first = w.b64("mul.wide.u32", &[&block, &size]);
    let wide = w.b64("cvt.u64.u32", &[&in_block]);
    let thread = w.b64("add.s64", &[&first, &wide]);
    let threads = w.b64("mul.wide.u32", &[&blocks, &size]);
    (thread, threads)
}

/// A counter that begins with the number of the thread.
fn thread_register(w: &mut InstructionWriter, thread: VirtualRegister) -> VirtualRegister {
    w.b64("mov.u64", &[&thread])
}

/// The end of a loop over the grid.
fn step(
    w: &mut InstructionWriter,
    index: VirtualRegister,
    threads: VirtualRegister,
    end: VirtualRegister,
    start: super::writer::Label,
) {
    w.assign(index, "add.s64", &[&index, &threads]);
    let goes_on = w.predicate("setp.lt.u64", &[&index, &end]);
    w.branch_if(goes_on, start);
}

/// Whether an operand's address is no multiple of the size of a group of its elements.
fn is_unaligned(
    w: &mut InstructionWriter,
    operands: &Operands<'_>,
    bases: &[Option<VirtualRegister>],
    group: usize,
) -> VirtualRegister {
    let mut all: Option<VirtualRegister> = None;
    for (base, dtype) in bases.iter().zip(operands.dtypes()) {
        let Some(base) = base else { continue };
        let low = w.b64("and.b64", &[base, &(group * dtype.size() - 1)]);
        all = Some(all.map_or(low, |all| w.b64("or.b64", &[&all, &low])));
    }
    let all = all.expect("there is an output");
    w.predicate("setp.ne.s64", &[&all, &0])
}

/// The address of each operand's group of elements with a number.
fn addresses_at(
    w: &mut InstructionWriter,
    operands: &Operands<'_>,
    bases: &[Option<VirtualRegister>],
    index: VirtualRegister,
    group: usize,
) -> Vec<Option<VirtualRegister>> {
    // Operands with elements of one size share the distance from their beginning.
    let mut distances = [None; 4];
    let of_operand = |(base, dtype): (&Option<VirtualRegister>, crate::DType)| {
        base.map(|base| {
            let shift = (group * dtype.size()).trailing_zeros();
            let distance = distances[dtype.size().trailing_zeros() as usize]
                .get_or_insert_with(|| w.b64("shl.b64", &[&index, &shift]));
            let distance = *distance;
            w.b64("add.s64", &[&base, &distance])
        })
    };
    bases.iter().zip(operands.dtypes()).map(of_operand).collect()
}
