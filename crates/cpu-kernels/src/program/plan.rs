//! Where each block of a run is.

use smallvec::SmallVec;

use super::dense::FAR;
use super::layout::{Refresh, is_box_dense, is_box_of_one, refresh};
use super::scratch::ALIGNMENT;
use super::walk::BlockWalk;
use super::{Program, StridedPointer};
use crate::loops::REPEATS;

/// The most elements of a block: few enough for the first-level cache, and so many that a call for
/// them costs nothing.
const MAX_LENGTH: usize = 1024;

/// The fewest, unless there are no more elements.
const MIN_LENGTH: usize = 64;

/// Bytes of the first-level cache that the blocks may fill; it has 32 KiB or more.
const CACHE: usize = 24 << 10;

/// The places of a program's blocks for certain operands.
pub(super) struct Plan<'a> {
    pub(super) walk: BlockWalk<'a>,
    pub(super) inputs: SmallVec<[OperandPlace<'a>; 6]>,
    pub(super) outputs: SmallVec<[OperandPlace<'a>; 2]>,
    /// Whether blocks of an output are copied past the caches.
    pub(super) is_any_streamed: bool,
    /// Whether operands are taken to lie in memory, and not in a cache.
    pub(super) is_far: bool,
    /// Whether a block is one value that is repeated.
    pub(super) is_repeated: SmallVec<[bool; 16]>,
    /// The bits of the values that are the same for all elements, of those that are filled.
    pub(super) uniforms: SmallVec<[u64; 8]>,
    /// The places of the blocks that are filled, and of the slots.
    pub(super) places: SmallVec<[usize; 8]>,
    /// Room for elements on their way between a layout and a conversion.
    pub(super) transit: usize,
    /// Bytes of scratch memory.
    pub(super) scratch: usize,
}

/// The place of an operand's blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperandPlace<'a> {
    pub(super) operand: StridedPointer<'a>,
    /// Bytes per element in memory.
    pub(super) size: usize,
    /// Whether blocks are dense in memory.
    pub(super) is_dense: bool,
    /// The place in scratch memory, unless blocks are used where they lie in memory.
    pub(super) scratch: Option<usize>,
    pub(super) refresh: Refresh,
    /// Whether blocks are copied from scratch memory past the caches.
    pub(super) is_streamed: bool,
    /// The bytes from a block to the next one, see [`BlockWalk::moves`].
    pub(super) moves: [isize; 2],
}

impl<'a> Plan<'a> {
    /// The plan for operands of at least one dimension and one element.
    pub(super) fn new(
        program: &Program,
        walk: BlockWalk<'a>,
        outputs: &[StridedPointer<'a>],
        inputs: &[StridedPointer<'a>],
        uniforms: SmallVec<[u64; 8]>,
    ) -> Plan<'a> {
        let place = |operand: &StridedPointer<'a>, size: usize| OperandPlace {
            operand: *operand,
            size,
            is_dense: is_box_dense(&walk, operand.strides),
            scratch: None,
            refresh: refresh(&walk, operand.strides),
            is_streamed: false,
            moves: walk.moves(operand.strides).map(|elements| elements * size as isize),
        };
        let dtypes = (program.inputs.iter(), program.outputs.iter());
        let mut plan = Plan {
            inputs: inputs.iter().zip(dtypes.0).map(|(at, of)| place(at, of.size())).collect(),
            outputs: outputs.iter().zip(dtypes.1).map(|(at, of)| place(at, of.size())).collect(),
            walk,
            is_any_streamed: false,
            is_far: false,
            is_repeated: program.is_repeated.clone(),
            uniforms,
            places: SmallVec::new(),
            transit: 0,
            scratch: 0,
        };
        plan.find_repeated(program);
        plan.find_streamed(program, inputs);
        plan.is_far = plan.moved() >= FAR;
        plan.assign(program, outputs);
        plan
    }

    /// Finds the inputs of which each block is one element. They are only brought as often as loops
    /// ask for, unless they are results, too.
    fn find_repeated(&mut self, program: &Program) {
        for (input, place) in self.inputs.iter().enumerate() {
            let is_one = is_box_of_one(&self.walk, place.operand.strides);
            self.is_repeated[input] = is_one && !program.stores.contains(&input);
        }
    }

    /// Finds the outputs that are copied past the caches, of those whose blocks are dense.
    fn find_streamed(&mut self, program: &Program, inputs: &[StridedPointer<'_>]) {
        let count = self.walk.sizes().iter().product();
        for (output, place) in self.outputs.iter_mut().enumerate() {
            let start = place.operand.start;
            place.is_streamed = place.is_dense && program.is_streamed(output, count, start, inputs);
            self.is_any_streamed |= place.is_streamed;
        }
    }

    /// Bytes of the operands that are not the same in many blocks.
    fn moved(&self) -> usize {
        let operands = self.inputs.iter().chain(&self.outputs);
        let moved = operands.filter(|place| place.refresh == Refresh::EachBlock);
        self.walk.sizes().iter().product::<usize>() * moved.map(|place| place.size).sum::<usize>()
    }

    /// Assigns scratch memory to what is not used where it lies.
    fn assign(&mut self, program: &Program, outputs: &[StridedPointer<'_>]) {
        let length = self.walk.largest();
        let mut end = 0;
        let mut next = |size: usize| {
            let start = end;
            end += size.next_multiple_of(ALIGNMENT);
            start
        };
        self.transit = next(2 * length);
        for (output, place) in self.outputs.iter_mut().enumerate() {
            let is_own = program.stores[output] == program.output_block(output);
            let is_there = program.is_stored_plain(output) && place.is_dense;
            if is_own && (!is_there || place.is_streamed) {
                place.scratch = Some(next(program.outputs[output].compute_type().size() * length));
            }
        }
        for (input, place) in self.inputs.iter_mut().enumerate() {
            let is_converted =
                program.inputs[input].compute_type().dtype() != program.inputs[input];
            let is_overwritten = program.is_overwritten(input, place.operand.start, outputs);
            if is_converted || is_overwritten || !place.is_dense || self.is_repeated[input] {
                let length = if self.is_repeated[input] { REPEATS.min(length) } else { length };
                place.scratch = Some(next(program.inputs[input].compute_type().size() * length));
            }
        }
        self.places = program.scratch_sizes(length).map(next).collect();
        self.scratch = end;
    }
}

impl Program {
    /// Whether an output is a block of its own, of the type that is computed in.
    pub(super) fn is_stored_plain(&self, output: usize) -> bool {
        let dtype = self.outputs[output];
        self.stores[output] == self.output_block(output) && dtype.compute_type().dtype() == dtype
    }

    /// The elements of a block, so that all blocks are in the first-level cache at once.
    pub(super) fn block_length(&self) -> usize {
        let fitting = CACHE / self.value_bytes.max(1);
        (fitting / MIN_LENGTH * MIN_LENGTH).clamp(MIN_LENGTH, MAX_LENGTH)
    }

    /// Bytes of the blocks of so many elements that are neither inputs nor outputs.
    pub(super) fn scratch_sizes(&self, length: usize) -> impl Iterator<Item = usize> + '_ {
        let operands = self.inputs.len() + self.outputs.len();
        let is_repeated = self.is_repeated[operands..].iter();
        let sizes = self.filled.iter().map(|(_, of)| of.size()).chain(self.slots.iter().copied());
        sizes.zip(is_repeated).map(move |(size, &is_repeated)| {
            size * if is_repeated { REPEATS.min(length) } else { length }
        })
    }
}
