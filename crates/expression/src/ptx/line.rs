//! Loops over elements that lie side by side.

use super::body::{StoredExpression, ValueRegisters};
use super::error::PrintError;
use super::writer::{BranchLabel, InstructionWriter, VirtualRegister};
use crate::DType;

/// Addresses of operands; none for those whose elements are known.
pub(super) type Addresses = [Option<VirtualRegister>];

/// Elements of dense operands, which the threads of the grid, or of one of its dimensions, share.
pub(super) struct Line<'a> {
    pub(super) operands: &'a StoredExpression<'a>,
    /// The number of elements.
    pub(super) length: VirtualRegister,
    /// The number of elements that a thread computes at once.
    pub(super) group: usize,
    pub(super) threads: GridThreads,
}

/// Threads that share a line.
#[derive(Clone, Copy)]
pub(super) struct GridThreads {
    /// The number of this one.
    pub(super) number: VirtualRegister,
    /// Their number.
    pub(super) count: VirtualRegister,
}

impl GridThreads {
    /// The threads along a dimension of the grid, `x` or `y`.
    pub(super) fn along(w: &mut InstructionWriter, dimension: char) -> GridThreads {
        let mut special =
            |register: &str| w.b32("mov.u32", &[&format_args!("%{register}.{dimension}")]);
        let (block, size) = (special("ctaid"), special("ntid"));
        let (blocks, in_block) = (special("nctaid"), special("tid"));
        let first = w.b64("mul.wide.u32", &[&block, &size]);
        let wide = w.b64("cvt.u64.u32", &[&in_block]);
        let number = w.b64("add.s64", &[&first, &wide]);
        GridThreads { number, count: w.b64("mul.wide.u32", &[&blocks, &size]) }
    }

    /// A counter that begins with the number of the thread.
    pub(super) fn counter(self, w: &mut InstructionWriter) -> VirtualRegister {
        w.b64("mov.u64", &[&self.number])
    }

    /// The end of a loop over what the threads share, up to `end`.
    pub(super) fn step(
        self,
        w: &mut InstructionWriter,
        counter: VirtualRegister,
        end: VirtualRegister,
        start: BranchLabel,
    ) {
        w.assign(counter, "add.s64", &[&counter, &self.count]);
        let goes_on = w.predicate("setp.lt.u64", &[&counter, &end]);
        w.branch_if(goes_on, start);
    }
}

impl Line<'_> {
    /// Writes a loop over groups of elements, each of which is one access of every operand, unless
    /// `is_unaligned`; then a loop over single elements, for those that are left or for all.
    pub(super) fn write(
        &self,
        w: &mut InstructionWriter,
        known: &ValueRegisters,
        bases: &Addresses,
        is_unaligned: Option<VirtualRegister>,
    ) -> Result<(), PrintError> {
        let Line { operands, length, group, threads } = *self;
        let rest = threads.counter(w);
        if let Some(is_unaligned) = is_unaligned {
            let (start, done) = (w.label("groups"), w.label("groups_done"));
            let singles = w.label("singles");
            w.branch_if(is_unaligned, singles);
            let shift = group.trailing_zeros();
            let groups = w.b64("shr.u64", &[&length, &shift]);
            let index = threads.counter(w);
            let is_past = w.predicate("setp.ge.u64", &[&index, &groups]);
            w.branch_if(is_past, done);
            w.place(start);
            let addresses = self.addresses_at(w, bases, index, group);
            operands.elements(w, known, &addresses, group)?;
            threads.step(w, index, groups, start);
            w.place(done);
            let covered = w.b64("shl.b64", &[&groups, &shift]);
            w.assign(rest, "add.s64", &[&covered, &threads.number]);
            w.place(singles);
        }
        let (start, end) = (w.label("elements"), w.label("elements_done"));
        let is_past = w.predicate("setp.ge.u64", &[&rest, &length]);
        w.branch_if(is_past, end);
        w.place(start);
        let addresses = self.addresses_at(w, bases, rest, 1);
        operands.elements(w, known, &addresses, 1)?;
        threads.step(w, rest, length, start);
        w.place(end);
        Ok(())
    }

    /// Writes whether a number that has to be a multiple of the size of a group of an operand's
    /// elements is none, for some operands; nothing if there are no groups.
    pub(super) fn is_unaligned(
        &self,
        w: &mut InstructionWriter,
        numbers: &[(usize, VirtualRegister)],
    ) -> Option<VirtualRegister> {
        if self.group == 1 {
            return None;
        }
        let dtypes: Vec<DType> = self.operands.dtypes().collect();
        let mut all: Option<VirtualRegister> = None;
        for (operand, number) in numbers {
            let low = w.b64("and.b64", &[number, &(self.group * dtypes[*operand].size() - 1)]);
            all = Some(all.map_or(low, |all| w.b64("or.b64", &[&all, &low])));
        }
        all.map(|all| w.predicate("setp.ne.s64", &[&all, &0]))
    }

    /// The address of each operand's group of elements with a number.
    fn addresses_at(
        &self,
        w: &mut InstructionWriter,
        bases: &Addresses,
        index: VirtualRegister,
        group: usize,
    ) -> Vec<Option<VirtualRegister>> {
        // Operands with elements of one size share the distance from their beginning.
        let mut distances = [None; 4];
        let of_operand = |(base, dtype): (&Option<VirtualRegister>, DType)| {
            base.map(|base| {
                let shift = (group * dtype.size()).trailing_zeros();
                let known = &mut distances[dtype.size().trailing_zeros() as usize];
                let distance = *known.get_or_insert_with(|| w.b64("shl.b64", &[&index, &shift]));
                w.b64("add.s64", &[&base, &distance])
            })
        };
        bases.iter().zip(self.operands.dtypes()).map(of_operand).collect()
    }
}
