//! Runs on dense operands of the types that are computed with: the way of few steps.

use std::array;
use std::mem::MaybeUninit;
use std::ops::Range;

use smallvec::SmallVec;

use super::scratch::{ALIGNMENT, with_scratch};
use super::{BlockStep, DensePointer, Program, StridedPointer};
use crate::blocks::BlockArguments;
use crate::loops::REPEATS;
use crate::movers::{end_of_streams, fill, stream};
use crate::pool;
use crate::shared_pointer::SharedPointer;

/// Bytes of an output from which on it is copied past the caches: what comes next would not find it
/// there anyway, or it would find nothing else there. Smaller ones stay in the last cache of a server's
/// processor.
const STREAMED: usize = 32 << 20;

/// Bytes of all operands from which on they are taken to lie in memory, and not in a cache.
pub(super) const FAR: usize = 24 << 20;

/// The most elements of a block where an output is streamed: so few that the lines which are on their
/// way to memory at once, and those of the next block, which are on their way from there, are about as
/// many as a processor keeps track of.
pub(super) const STREAMED_LENGTH: usize = 512;

/// The addresses of blocks, by their numbers.
pub(super) type BlockAddresses = SmallVec<[*mut u8; 16]>;

impl Program {
    /// [`Program::run`] on outputs whose `count` elements lie one after the other, and inputs whose
    /// elements do so, too, or are one.
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
        inputs: &[DensePointer],
        scalars: &[u64],
    ) {
        assert_eq!((outputs.len(), inputs.len()), (self.outputs.len(), self.inputs.len()));
        // More elements than these may be streamed, whatever their type.
        if (1..STREAMED / size_of::<u64>()).contains(&count) {
            if let Some(step) = self.only_step() {
                // SAFETY: the conditions are the same.
                return unsafe { self.run_step(step, count, outputs[0], |input| inputs[input]) };
            }
            if let Some(size) = self.only_fills() {
                // SAFETY: the conditions are the same.
                return unsafe { self.run_fill(size, count, outputs[0], scalars) };
            }
        }
        let outputs: SmallVec<[_; 2]> =
            outputs.iter().map(|&start| DensePointer::new(start).strided()).collect();
        let is_any_repeated = inputs.iter().any(|input| input.is_repeated);
        let inputs: SmallVec<[_; 4]> = inputs.iter().map(DensePointer::strided).collect();
        let is_dense = self.is_plain && count > 0 && !is_any_repeated;
        // SAFETY: the conditions are the same.
        unsafe {
            match is_dense && !self.overwrites_any(&inputs, &outputs) {
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

    /// Runs all steps on operands that are used where they lie, but for outputs that are streamed.
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
        let is_streamed: SmallVec<[bool; 2]> = (0..outputs.len())
            .map(|output| self.is_streamed(output, count, outputs[output].start, inputs))
            .collect();
        let is_any_streamed = is_streamed.contains(&true);
        let is_one = self.steps.len() == 1 && !is_any_streamed;
        if is_one && let Some(step) = self.only_step() {
            let input = |input: usize| DensePointer::new(inputs[input].start);
            // SAFETY: the conditions are the same.
            return unsafe { self.run_step(step, count, outputs[0].start, input) };
        }
        let most = if is_any_streamed { STREAMED_LENGTH } else { self.block_length() };
        let run = DenseRun {
            program: self,
            starts: inputs.iter().chain(outputs).map(|at| at.start).collect(),
            is_streamed,
            is_any_streamed,
            is_far: self.is_far(count),
            // SAFETY: the set is supported.
            uniforms: unsafe { self.uniforms(scalars) },
            most: if is_one { count } else { most.min(count) },
        };
        let shared = SharedRun(&run);
        pool::split(count, self.cost, |range| {
            let run = shared.run();
            with_scratch(run.scratch(), |scratch| {
                // SAFETY: the operands have the range's elements, and the scratch memory is this
                // thread's own.
                unsafe { run.run_range(range.clone(), scratch) };
            });
        });
    }

    /// The step of a program that has one and nothing else. It has no values in between, so it needs
    /// no blocks: what it reads and writes are operands, and it reads each element before it writes
    /// there.
    fn only_step(&self) -> Option<&BlockStep<usize>> {
        match &self.steps[..] {
            [step] if self.is_plain && self.filled.is_empty() => Some(step),
            _ => None,
        }
    }

    /// Bytes per element of the output of a program that sets all elements to one value and does
    /// nothing else.
    fn only_fills(&self) -> Option<usize> {
        let does = self.inputs.is_empty() && self.steps.is_empty() && self.outputs.len() == 1;
        let value = *self.stores.first()?;
        let is_value = does && (1..1 + self.filled.len()).contains(&value);
        let dtype = self.outputs[0];
        (is_value && dtype.compute_type().dtype() == dtype).then_some(dtype.size())
    }

    /// Sets the elements of the output of such a program.
    ///
    /// # Safety
    /// The conditions of [`Program::run_dense`].
    unsafe fn run_fill(&self, size: usize, count: usize, out: *mut u8, scalars: &[u64]) {
        // SAFETY: the set is supported.
        let bits = unsafe { self.uniforms(scalars) }[self.stores[0] - 1];
        let (out, fill) = (SharedPointer::new(out), fill(size, self.set));
        pool::split(count, self.cost, |range| {
            // SAFETY: the output has the elements up to the end of the range; the set is supported.
            unsafe { fill((out.get().add(range.start * size), range.len(), bits)) };
        });
    }

    /// Runs the only step on the whole operands: `input` gives an input.
    ///
    /// # Safety
    /// The conditions of [`Program::run_dense`], but that inputs may be repeated.
    unsafe fn run_step(
        &self,
        step: &BlockStep<usize>,
        count: usize,
        out: *mut u8,
        input: impl Fn(usize) -> DensePointer,
    ) {
        let out_size = self.outputs[0].size();
        let sizes = step.operands.map(|input| self.inputs[input].size());
        let inputs = step.operands.map(input);
        let is_repeated = inputs.map(|input| input.is_repeated);
        // Most calls have none, and clearing this would cost as much as a small call.
        let mut copies = [const { MaybeUninit::<[u64; REPEATS]>::uninit() }; 3];
        let operands = array::from_fn::<_, 3, _>(|operand| {
            let input = inputs[operand];
            if !input.is_repeated {
                return SharedPointer::new(input.start);
            }
            let copies = copies[operand].as_mut_ptr().cast();
            // SAFETY: an element has at most eight bytes, and there is room for so many.
            unsafe { self.repeat_value(input.start, sizes[operand], copies, count.min(REPEATS)) };
            SharedPointer::new(copies)
        });
        let out = SharedPointer::new(out);
        let is_far = self.is_far(count);
        pool::split(count, self.cost, |range| {
            let at = |operand: usize| {
                let start: *const u8 = operands[operand].get();
                let offset = if is_repeated[operand] { 0 } else { range.start * sizes[operand] };
                // SAFETY: the operand has the elements up to the end of the range.
                unsafe { start.add(offset) }
            };
            // SAFETY: the output has the elements up to the end of the range.
            let out = unsafe { out.get().add(range.start * out_size) };
            let operands = [at(0), at(1), at(2)];
            let length = range.len();
            let block = BlockArguments { out, operands, is_repeated, length, is_far };
            // SAFETY: the operands are valid, and the same as the output or apart from it; the set
            // is supported.
            unsafe { (step.kernel)(block) };
        });
    }

    /// Writes copies of an element, one after the other.
    ///
    /// # Safety
    /// The element is valid, and there is room for so many.
    pub(super) unsafe fn repeat_value(
        &self,
        from: *const u8,
        size: usize,
        to: *mut u8,
        count: usize,
    ) {
        let mut bits = 0_u64;
        // SAFETY: an element has at most eight bytes; the set is supported.
        unsafe {
            (&raw mut bits).cast::<u8>().copy_from_nonoverlapping(from, size);
            fill(size, self.set)((to, count, bits));
        }
    }

    /// Whether so many elements of each operand are taken to lie in memory, and not in a cache.
    fn is_far(&self, count: usize) -> bool {
        count * self.moved() >= FAR
    }

    /// Bytes of an element of each operand.
    fn moved(&self) -> usize {
        self.inputs.iter().chain(&self.outputs).map(|of| of.size()).sum()
    }

    /// Whether an output is so large that it is copied past the caches. A single step, which needs no
    /// blocks otherwise, has to be one whose time is spent on moving elements. What is written where an
    /// input lies was read from there, so its lines are in the caches already.
    pub(super) fn is_streamed(
        &self,
        output: usize,
        count: usize,
        start: *mut u8,
        inputs: &[StridedPointer<'_>],
    ) -> bool {
        count * self.outputs[output].size() >= STREAMED
            && (self.steps.len() > 1 || self.cost < 2 * self.moved())
            && self.is_stored_plain(output)
            && inputs.iter().all(|input| input.start != start)
    }

    /// Runs all steps. What they read may be far away, see [`BlockArguments`].
    ///
    /// # Safety
    /// The blocks are valid for so many elements, or as many as repeated operands have.
    pub(super) unsafe fn compute(
        &self,
        addresses: &[*mut u8],
        is_repeated: &[bool],
        length: usize,
        is_far: bool,
    ) {
        for step in &self.steps {
            let block = BlockArguments {
                out: addresses[step.out],
                operands: step.operands.map(|operand| addresses[operand].cast_const()),
                is_repeated: step.operands.map(|operand| is_repeated[operand]),
                length,
                is_far,
            };
            // SAFETY: blocks are the same or apart, and hold values of the kernel's types.
            unsafe { (step.kernel)(block) };
        }
    }
}

/// A run on dense operands.
struct DenseRun<'p> {
    program: &'p Program,
    /// The addresses of the inputs and the outputs.
    starts: BlockAddresses,
    /// Whether an output is computed into a block, and copied past the caches.
    is_streamed: SmallVec<[bool; 2]>,
    is_any_streamed: bool,
    /// Whether operands are taken to lie in memory, and not in a cache.
    is_far: bool,
    uniforms: SmallVec<[u64; 8]>,
    /// The most elements of a block.
    most: usize,
}

impl DenseRun<'_> {
    /// Bytes of scratch memory for the blocks that are neither inputs nor outputs, and for outputs
    /// that are streamed.
    fn scratch_sizes(&self) -> impl Iterator<Item = usize> + '_ {
        let streamed = self.program.outputs.iter().zip(&self.is_streamed);
        let streamed = streamed.map(|(of, &is)| if is { of.size() * self.most } else { 0 });
        let sizes = self.program.scratch_sizes(self.most).chain(streamed);
        sizes.map(|size| size.next_multiple_of(ALIGNMENT))
    }

    fn scratch(&self) -> usize {
        self.scratch_sizes().sum()
    }

    /// Runs all steps on some elements, so many at a time.
    ///
    /// # Safety
    /// The operands have these elements, of which nobody else uses those of the outputs; `scratch`
    /// is as large as [`DenseRun::scratch`].
    unsafe fn run_range(&self, range: Range<usize>, scratch: *mut u8) {
        let program = self.program;
        let mut next = scratch;
        let of_scratch = self.scratch_sizes().map(|size| {
            let start = next;
            // SAFETY: the scratch memory is as large as all sizes.
            next = unsafe { next.add(size) };
            start
        });
        let mut addresses: BlockAddresses = self.starts.iter().copied().chain(of_scratch).collect();
        let first_streamed = addresses.len() - self.is_streamed.len();
        let of_streamed: BlockAddresses = addresses.drain(first_streamed..).collect();
        let sizes = program.inputs.iter().chain(&program.outputs).map(|of| of.size());
        // SAFETY: blocks that are filled have room for so many elements.
        unsafe { program.fill(&addresses, &self.uniforms, self.most.min(range.len())) };
        let mut operands: BlockAddresses = addresses
            .iter()
            .zip(sizes.clone())
            // SAFETY: the range is within the operand.
            .map(|(address, size)| unsafe { address.add(range.start * size) })
            .collect();
        let mut left = range.len();
        while left > 0 {
            let length = left.min(self.most);
            addresses[..operands.len()].copy_from_slice(&operands);
            let outputs = &mut addresses[program.inputs.len()..operands.len()];
            for ((output, &block), &is) in
                outputs.iter_mut().zip(&of_streamed).zip(&self.is_streamed)
            {
                *output = if is { block } else { *output };
            }
            // SAFETY: all blocks have so many elements, and there are as many in the operands.
            unsafe {
                program.compute(&addresses, &program.is_repeated, length, self.is_far);
                self.stream(&operands[program.inputs.len()..], &of_streamed, length);
            }
            left -= length;
            for (address, size) in operands.iter_mut().zip(sizes.clone()) {
                // SAFETY: the range goes up to there.
                *address = unsafe { address.add(length * size) };
            }
        }
        if self.is_any_streamed {
            end_of_streams();
        }
    }

    /// Copies the blocks of outputs that are streamed to where they belong.
    ///
    /// # Safety
    /// Both have so many elements.
    unsafe fn stream(&self, outputs: &[*mut u8], blocks: &[*mut u8], length: usize) {
        let copy = stream(self.program.set);
        for (output, of) in self.program.outputs.iter().enumerate() {
            if self.is_streamed[output] {
                // SAFETY: blocks are apart from operands; the set is supported.
                unsafe { copy((outputs[output], blocks[output], length * of.size())) };
            }
        }
    }
}

/// A run that several threads take part in.
struct SharedRun<'r, 'p>(&'r DenseRun<'p>);

// SAFETY: what keeps a run from being shared are the addresses of operands, of which threads use
// elements of their own.
unsafe impl Sync for SharedRun<'_, '_> {}

impl<'r, 'p> SharedRun<'r, 'p> {
    fn run(&self) -> &'r DenseRun<'p> {
        self.0
    }
}
