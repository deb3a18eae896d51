//! Where each block of a run is.

use smallvec::SmallVec;

use super::layout::{Refresh, is_box_dense, refresh};
use super::scratch::ALIGNMENT;
use super::walk::BlockWalk;
use super::{Program, StridedPointer};

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
    /// Whether each block is one element, repeated.
    pub(super) is_one: bool,
    /// The place in scratch memory, unless blocks are used where they lie in memory.
    pub(super) scratch: Option<usize>,
    pub(super) refresh: Refresh,
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
        let place = |operand: &StridedPointer<'a>, size| OperandPlace {
            operand: *operand,
            size,
            is_dense: is_box_dense(&walk, operand.strides),
            is_one: operand.strides[walk.dim()..].iter().all(|&stride| stride == 0),
            scratch: None,
            refresh: refresh(&walk, operand.strides),
        };
        let dtypes = (program.inputs.iter(), program.outputs.iter());
        let mut plan = Plan {
            inputs: inputs.iter().zip(dtypes.0).map(|(at, of)| place(at, of.size())).collect(),
            outputs: outputs.iter().zip(dtypes.1).map(|(at, of)| place(at, of.size())).collect(),
            walk,
            uniforms,
            places: SmallVec::new(),
            transit: 0,
            scratch: 0,
        };
        plan.assign(program, outputs);
        plan
    }

    /// Assigns scratch memory to what is not used where it lies.
    fn assign(&mut self, program: &Program, outputs: &[StridedPointer<'_>]) {
        let length = self.walk.largest();
        let mut end = 0;
        let mut next = |size: usize| {
            let start = end;
            end += (size * length).next_multiple_of(ALIGNMENT);
            start
        };
        self.transit = next(2);
        for (output, place) in self.outputs.iter_mut().enumerate() {
            let is_own = program.stores[output] == program.output_block(output);
            let is_converted =
                program.outputs[output].compute_type().dtype() != program.outputs[output];
            if is_own && (is_converted || !place.is_dense) {
                place.scratch = Some(next(program.outputs[output].compute_type().size()));
            }
        }
        for (input, place) in self.inputs.iter_mut().enumerate() {
            let is_converted =
                program.inputs[input].compute_type().dtype() != program.inputs[input];
            let is_overwritten = program.is_overwritten(input, place.operand.start, outputs);
            if is_converted || is_overwritten || !place.is_dense {
                place.scratch = Some(next(program.inputs[input].compute_type().size()));
            }
        }
        self.places = program.scratch_sizes().map(next).collect();
        self.scratch = end;
    }
}

impl Program {
    /// The elements of a block, so that all blocks are in the first-level cache at once.
    pub(super) fn block_length(&self) -> usize {
        let fitting = CACHE / self.value_bytes.max(1);
        (fitting / MIN_LENGTH * MIN_LENGTH).clamp(MIN_LENGTH, MAX_LENGTH)
    }

    /// Bytes per value of the blocks that are neither inputs nor outputs.
    pub(super) fn scratch_sizes(&self) -> impl Iterator<Item = usize> + '_ {
        self.filled.iter().map(|(_, of)| of.size()).chain(self.slots.iter().copied())
    }
}
