//! Runs on dense operands of the types that are computed with: the way of few steps.

use std::ops::Range;

use smallvec::SmallVec;

use super::scratch::{ALIGNMENT, with_scratch};
use super::{BlockStep, Program, StridedPointer};
use crate::blocks::BlockArguments;
use crate::pool;
use crate::shared_pointer::SharedPointer;

/// The addresses of blocks, by their numbers.
pub(super) type BlockAddresses = SmallVec<[*mut u8; 16]>;

impl Program {
    /// [`Program::run`] on operands whose `count` elements lie one after the other.
    ///
    /// # Safety
    /// As [`Program::run`].
    ///
    /// # Panics
    /// As [`Program::run`].
    pub unsafe fn run_contiguous(
        &self,
        count: usize,
        outputs: &[*mut u8],
        inputs: &[*mut u8],
        scalars: &[u64],
    ) {
        assert_eq!((outputs.len(), inputs.len()), (self.outputs.len(), self.inputs.len()));
        let dense = |&start: &*mut u8| StridedPointer::new(start, &[1]);
        let outputs: SmallVec<[_; 2]> = outputs.iter().map(dense).collect();
        let inputs: SmallVec<[_; 4]> = inputs.iter().map(dense).collect();
        // SAFETY: the conditions are the same.
        unsafe {
            match self.is_plain && count > 0 && !self.overwrites_any(&inputs, &outputs) {
                true => self.run_dense(count, &outputs, &inputs, scalars),
                false => self.run(&[count], &outputs, &inputs, scalars),
            }
        }
    }

    /// Whether an input is overwritten before it is read for the last time.
    pub(super) fn overwrites_any(
        &self,
        inputs: &[StridedPointer<'_>],
        outputs: &[StridedPointer<'_>],
    ) -> bool {
        (0..inputs.len()).any(|input| self.is_overwritten(input, inputs[input].start, outputs))
    }

    /// Whether a later step reads an operand that an earlier one writes as an output.
    pub(super) fn is_overwritten(
        &self,
        input: usize,
        start: *mut u8,
        outputs: &[StridedPointer<'_>],
    ) -> bool {
        outputs
            .iter()
            .zip(&self.writes)
            .any(|(output, &write)| output.start == start && Some(write) < self.last_reads[input])
    }

    /// Runs all steps on operands that are used where they lie.
    ///
    /// # Safety
    /// The conditions of [`Program::run`], for dense operands that are neither converted nor
    /// overwritten before they are read.
    pub(super) unsafe fn run_dense(
        &self,
        count: usize,
        outputs: &[StridedPointer<'_>],
        inputs: &[StridedPointer<'_>],
        scalars: &[u64],
    ) {
        if let [step] = &self.steps[..]
            && self.filled.is_empty()
        {
            // SAFETY: the step's blocks are operands, since there is nothing else.
            return unsafe { self.run_step(step, count, outputs, inputs) };
        }
        // SAFETY: the set is supported.
        let uniforms = unsafe { self.uniforms(scalars) };
        let starts = SharedStarts(inputs.iter().chain(outputs).map(|at| at.start).collect());
        let most = self.block_length().min(count);
        let sizes = || self.scratch_sizes().map(|size| (size * most).next_multiple_of(ALIGNMENT));
        let scratch: usize = sizes().sum();
        pool::split(count, self.cost, |range| {
            with_scratch(scratch, |scratch| {
                let mut addresses = BlockAddresses::from_slice(starts.addresses());
                let mut next = scratch;
                for size in sizes() {
                    addresses.push(next);
                    // SAFETY: the scratch memory is as large as all sizes.
                    next = unsafe { next.add(size) };
                }
                // SAFETY: the operands have the range's elements; the other blocks are this
                // thread's own, with room for the longest one.
                unsafe { self.run_dense_range(addresses, &uniforms, range.clone(), most) };
            });
        });
    }

    /// Runs all steps on some elements, so many at a time.
    ///
    /// # Safety
    /// The conditions of [`Program::run_dense`]; the addresses are those of the whole operands, and
    /// of scratch blocks of the length.
    unsafe fn run_dense_range(
        &self,
        mut addresses: BlockAddresses,
        uniforms: &[u64],
        range: Range<usize>,
        most: usize,
    ) {
        // SAFETY: these blocks have room for so many elements.
        unsafe { self.fill(&addresses, uniforms, most.min(range.len())) };
        let sizes = self.inputs.iter().chain(&self.outputs).map(|of| of.size());
        for (address, size) in addresses.iter_mut().zip(sizes.clone()) {
            // SAFETY: the range is within the operand.
            *address = unsafe { address.add(range.start * size) };
        }
        let mut left = range.len();
        loop {
            let length = left.min(most);
            // SAFETY: all blocks have so many elements.
            unsafe { self.compute(&addresses, length) };
            left -= length;
            if left == 0 {
                break;
            }
            for (address, size) in addresses.iter_mut().zip(sizes.clone()) {
                // SAFETY: there are more elements in the operand.
                *address = unsafe { address.add(length * size) };
            }
        }
    }

    /// Runs all steps.
    ///
    /// # Safety
    /// The blocks are valid for so many elements.
    pub(super) unsafe fn compute(&self, addresses: &[*mut u8], length: usize) {
        for step in &self.steps {
            let operands = step.operands.map(|operand| addresses[operand].cast_const());
            // SAFETY: blocks are the same or apart, and hold values of the kernel's types.
            unsafe { (step.kernel)(BlockArguments { out: addresses[step.out], operands, length }) };
        }
    }

    /// Runs the one step on the whole operands.
    ///
    /// # Safety
    /// The conditions of [`Program::run_dense`]; the step's blocks are operands.
    unsafe fn run_step(
        &self,
        step: &BlockStep<usize>,
        count: usize,
        outputs: &[StridedPointer<'_>],
        inputs: &[StridedPointer<'_>],
    ) {
        let out = SharedPointer::new(outputs[0].start);
        let operands = step.operands.map(|input| SharedPointer::new(inputs[input].start));
        let out_size = self.outputs[0].size();
        let sizes = step.operands.map(|input| self.inputs[input].size());
        pool::split(count, self.cost, |range| {
            let at = |index: usize| {
                let start: *const u8 = operands[index].get();
                // SAFETY: the operand has the elements up to the end of the range.
                unsafe { start.add(range.start * sizes[index]) }
            };
            // SAFETY: the output has the elements up to the end of the range.
            let out = unsafe { out.get().add(range.start * out_size) };
            let block =
                BlockArguments { out, operands: [at(0), at(1), at(2)], length: range.len() };
            // SAFETY: the operands are valid, and the same as the output or apart from it; the set
            // is supported.
            unsafe { (step.kernel)(block) };
        });
    }
}

/// Addresses that several threads know.
struct SharedStarts(BlockAddresses);

// SAFETY: threads use elements of their own of what lies there.
unsafe impl Sync for SharedStarts {}

impl SharedStarts {
    fn addresses(&self) -> &BlockAddresses {
        &self.0
    }
}
