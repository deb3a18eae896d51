//! Runs of programs.

use std::ops::Range;

use smallvec::SmallVec;

use super::copying::COPIED_LENGTH;
use super::dense::{BlockAddresses, STREAMED_LENGTH};
use super::layout::{Refresh, Strided, gather, is_constant, is_dense, scatter};
use super::plan::{OperandPlace, Plan};
use super::scratch::with_scratch;
use super::tiles::{OperandList, Tiling, transposed_dim};
use super::walk::{BlockBox, BlockMove, BlockWalk, Position};
use super::{Program, StridedPointer, UniformValue};
use crate::blocks::BlockArguments;
use crate::loops::REPEATS;
use crate::movers::{copy, end_of_streams, fill, load, store, stream};
use crate::pool;

/// The fewest elements of a row that is a block by itself, if an operand has one value for it: a block
/// costs about as much as it takes to write that value so many times.
const MIN_SPLAT_ROW: usize = 256;

impl Program {
    /// Computes all elements, on the threads of the [`pool`] if there are enough.
    ///
    /// `sizes` are those of all operands, outermost first, any number of them; an input that is
    /// broadcast has strides of 0. The fewer dimensions, and the smaller the innermost strides, the
    /// faster: who calls orders and merges them. `scalars` are the bits of values of the
    /// expression's scalar types, in the low bytes.
    ///
    /// # Safety
    /// Every element that sizes and strides lead to lies in memory that is valid: for reads if it is
    /// an input's, for writes if it is an output's; elements of `Bool` are 0 or 1. No element of an
    /// output is another one of the outputs'. An output is exactly an input, with the same address
    /// and strides and the same size of elements, or overlaps none. Nobody else writes any of this
    /// memory meanwhile, or reads the outputs.
    ///
    /// # Panics
    /// There are fewer operands or scalars than the expression has, or fewer strides than sizes.
    pub unsafe fn run(
        &self,
        sizes: &[usize],
        outputs: &[StridedPointer<'_>],
        inputs: &[StridedPointer<'_>],
        scalars: &[u64],
    ) {
        assert_eq!((outputs.len(), inputs.len()), (self.outputs.len(), self.inputs.len()));
        let mut operands = outputs.iter().chain(inputs);
        assert!(operands.all(|operand| operand.strides.len() == sizes.len()));
        let count: usize = sizes.iter().product();
        if count == 0 {
            return;
        }
        if self.is_plain && self.are_dense(sizes, outputs, inputs) {
            // SAFETY: all operands are dense, and used where they lie.
            return unsafe { self.run_dense(count, outputs, inputs, scalars) };
        }
        if let Some(size) = self.copied
            && self.are_dense(sizes, outputs, inputs)
        {
            // SAFETY: both are dense.
            return unsafe { self.copy_dense(size, count, outputs[0], inputs[0]) };
        }
        if sizes.is_empty() {
            let one = |operand: &StridedPointer<'_>| StridedPointer::new(operand.start, &[1]);
            let outputs: OperandList<'_> = outputs.iter().map(one).collect();
            let inputs: OperandList<'_> = inputs.iter().map(one).collect();
            // SAFETY: it is the same element, as one of one dimension.
            return unsafe {
                self.run_walk(self.walk(&[1], &outputs, &inputs), &outputs, &inputs, scalars)
            };
        }
        let Some(dim) = transposed_dim(sizes, outputs.iter().chain(inputs)) else {
            // SAFETY: the conditions are the same, and there is a dimension.
            return unsafe {
                self.run_walk(self.walk(sizes, outputs, inputs), outputs, inputs, scalars)
            };
        };
        let tiling = Tiling { sizes, dim, outputs, inputs };
        if let Some(tiles) = tiling.tiles() {
            let (outputs, inputs) = tiles.operands();
            let walk = BlockWalk::across(&tiles.sizes, self.walk_length());
            // SAFETY: they are the same elements, but for those beyond the last tile.
            unsafe { self.run_walk(walk, &outputs, &inputs, scalars) };
        }
        if let Some(rest) = tiling.rest(self.outputs.iter().chain(&self.inputs).map(|of| of.size()))
        {
            let (outputs, inputs) = rest.operands();
            let walk = self.walk(&rest.sizes, &outputs, &inputs);
            // SAFETY: they are the elements beyond the last tile.
            unsafe { self.run_walk(walk, &outputs, &inputs, scalars) };
        }
    }

    /// The most elements in a block.
    fn walk_length(&self) -> usize {
        if self.copied.is_some() { COPIED_LENGTH } else { self.block_length() }
    }

    /// The walk through at least one dimension.
    fn walk<'a>(
        &self,
        sizes: &'a [usize],
        outputs: &[StridedPointer<'_>],
        inputs: &[StridedPointer<'_>],
    ) -> BlockWalk<'a> {
        let (row, count) = (sizes[sizes.len() - 1], sizes.iter().product());
        let is_streamed = outputs.iter().enumerate().any(|(number, output)| {
            is_dense(sizes, output.strides) && self.is_streamed(number, count, output.start, inputs)
        });
        let is_column = |input: &StridedPointer<'_>| {
            input.strides.last() == Some(&0) && !is_constant(sizes, input.strides)
        };
        let most = if is_streamed { STREAMED_LENGTH } else { usize::MAX };
        let most = self.walk_length().min(most);
        // A block that is a row has one value of a column, which loops repeat by themselves.
        let is_by_rows =
            self.copied.is_none() && row >= MIN_SPLAT_ROW && inputs.iter().any(is_column);
        BlockWalk::new(sizes, if is_by_rows { most.min(row) } else { most })
    }

    /// Whether all operands are dense, and none is overwritten before it is read.
    fn are_dense(
        &self,
        sizes: &[usize],
        outputs: &[StridedPointer<'_>],
        inputs: &[StridedPointer<'_>],
    ) -> bool {
        outputs.iter().chain(inputs).all(|operand| is_dense(sizes, operand.strides))
            && !self.overwrites_any(inputs, outputs)
    }

    /// Runs all steps on the blocks of a walk.
    ///
    /// # Safety
    /// The conditions of [`Program::run`].
    unsafe fn run_walk(
        &self,
        walk: BlockWalk<'_>,
        outputs: &[StridedPointer<'_>],
        inputs: &[StridedPointer<'_>],
        scalars: &[u64],
    ) {
        if let Some(size) = self.copied {
            // SAFETY: the conditions are the same.
            return unsafe { self.copy_walk(size, walk, outputs[0], inputs[0]) };
        }
        // SAFETY: the set is supported.
        let uniforms = unsafe { self.uniforms(scalars) };
        let plan = Plan::new(self, walk, outputs, inputs, uniforms);
        let cost = plan.walk.largest().saturating_mul(self.cost);
        let shared = SharedPlan(&plan);
        pool::split(plan.walk.blocks(), cost, |range| {
            let plan = shared.plan();
            with_scratch(plan.scratch, |scratch| {
                // SAFETY: the scratch memory is as large as the plan says, and this thread's own;
                // ranges have no block in common.
                unsafe { self.run_range(plan, scratch, range.clone()) };
            });
        });
    }

    /// The bits of the values that are filled into blocks.
    ///
    /// # Safety
    /// The processor has the program's instruction set.
    pub(super) unsafe fn uniforms(&self, scalars: &[u64]) -> SmallVec<[u64; 8]> {
        let mut bits: SmallVec<[u64; 16]> = SmallVec::new();
        for uniform in &self.uniforms {
            let value = match uniform {
                UniformValue::Scalar(number) => scalars[*number],
                UniformValue::Constant(bits) => *bits,
                UniformValue::Apply(kernel, operands) => {
                    let mut value = 0_u64;
                    let out = (&raw mut value).cast();
                    let operands = operands.map(|number| (&raw const bits[number]).cast());
                    // SAFETY: the bits of a value are its first bytes; the blocks are of one value.
                    unsafe { kernel(BlockArguments::dense(out, operands, 1)) };
                    value
                }
            };
            bits.push(value);
        }
        self.filled.iter().map(|&(number, _)| bits[number]).collect()
    }

    /// Fills the blocks of uniform values.
    ///
    /// # Safety
    /// They have room for so many values, or for as many as repeated operands have.
    pub(super) unsafe fn fill(&self, addresses: &[*mut u8], uniforms: &[u64], length: usize) {
        let first = self.inputs.len() + self.outputs.len();
        for (number, (&(_, of), &bits)) in self.filled.iter().zip(uniforms).enumerate() {
            let block = first + number;
            let count = if self.is_repeated[block] { REPEATS.min(length) } else { length };
            // SAFETY: the block has room for so many values; the set is supported.
            unsafe { fill(of.size(), self.set)((addresses[block], count, bits)) };
        }
    }

    /// Computes some of the blocks.
    ///
    /// # Safety
    /// The conditions of [`Program::run`]; `scratch` is valid for as many bytes as the plan says.
    unsafe fn run_range(&self, plan: &Plan<'_>, scratch: *mut u8, range: Range<usize>) {
        // SAFETY: all places of the plan are within the scratch memory.
        let at = |place: usize| unsafe { scratch.add(place) };
        let operands = plan.inputs.iter().chain(&plan.outputs);
        let operands = operands.map(|place| place.scratch.map_or(scratch, at));
        let mut addresses: BlockAddresses =
            operands.chain(plan.places.iter().map(|&place| at(place))).collect();
        // SAFETY: a block has room for the largest one.
        unsafe { self.fill(&addresses, &plan.uniforms, plan.walk.largest()) };
        let mut position = plan.walk.position(range.start);
        let mut firsts = plan.firsts(&position);
        for number in range.clone() {
            let block = position.block();
            // SAFETY: the block's elements are valid, and nobody else computes them.
            unsafe {
                let is_first = number == range.start;
                self.load(plan, &mut addresses, (&position, &firsts), (is_first, at(plan.transit)));
                self.compute(&addresses, &plan.is_repeated, block.length(), plan.is_far);
                self.store(plan, &addresses, (&block, &firsts), at(plan.transit));
            }
            match position.advance() {
                BlockMove::Along => plan.advance(&mut firsts, 0),
                BlockMove::ToNextRow => plan.advance(&mut firsts, 1),
                BlockMove::Elsewhere => firsts = plan.firsts(&position),
            }
        }
        if plan.is_any_streamed {
            end_of_streams();
        }
    }

    /// Brings the inputs of a block, and finds the places of its outputs.
    ///
    /// # Safety
    /// The conditions of [`Program::run_range`].
    unsafe fn load(
        &self,
        plan: &Plan<'_>,
        addresses: &mut BlockAddresses,
        (position, firsts): (&Position<'_>, &[*mut u8]),
        (is_first, transit): (bool, *mut u8),
    ) {
        for (input, place) in plan.inputs.iter().enumerate() {
            if self.last_reads[input].is_none() {
                continue;
            }
            let from = firsts[input];
            if place.scratch.is_none() {
                addresses[input] = from;
                continue;
            }
            let is_old = match place.refresh {
                Refresh::Never => true,
                Refresh::EachRow => !position.begins_row(),
                Refresh::EachBlock => false,
            };
            if is_old && !is_first {
                continue;
            }
            // What later blocks share may be longer there.
            let block = match place.refresh {
                Refresh::EachBlock => position.block(),
                _ => plan.walk.block_box(plan.walk.chunk()),
            };
            // SAFETY: the elements of the block are valid, and so are those of a longer one along
            // a dimension that repeats.
            unsafe {
                if plan.is_repeated[input] {
                    let count = REPEATS.min(block.length());
                    self.repeat((input, place), addresses[input], from, count, transit);
                } else {
                    self.bring(
                        (input, place),
                        addresses[input],
                        from,
                        &block,
                        (transit, plan.is_far),
                    );
                }
            }
        }
        for (output, place) in plan.outputs.iter().enumerate() {
            if place.scratch.is_none() {
                let block = self.output_block(output);
                addresses[block] = firsts[block];
            }
        }
    }

    /// Brings one element of an input into its scratch memory, so many times.
    ///
    /// # Safety
    /// The element is valid, and there is room for so many.
    unsafe fn repeat(
        &self,
        (input, place): (usize, &OperandPlace<'_>),
        to: *mut u8,
        from: *const u8,
        count: usize,
        transit: *mut u8,
    ) {
        // SAFETY: there is room for so many elements, in `transit` for as many that are converted, and
        // the set is supported.
        unsafe {
            let Some(convert) = load(self.inputs[input], self.set) else {
                return self.repeat_value(from, place.size, to, count);
            };
            self.repeat_value(from, place.size, transit, count);
            convert(BlockArguments::dense(to, [transit.cast_const(); 3], count));
        }
    }

    /// Brings an input's block into its scratch memory, maybe from far away.
    ///
    /// # Safety
    /// The block's elements from `from` on are valid.
    unsafe fn bring(
        &self,
        (input, place): (usize, &OperandPlace<'_>),
        to: *mut u8,
        from: *mut u8,
        block: &BlockBox<'_>,
        (transit, is_far): (*mut u8, bool),
    ) {
        let mover = (copy(place.size, self.set), place.size);
        let strided = Strided { start: from, strides: place.operand.strides };
        // SAFETY: scratch blocks have room for the largest block, and overlap no operand.
        unsafe {
            let Some(convert) = load(self.inputs[input], self.set) else {
                return gather(mover, to, strided, block);
            };
            let mut dense = from.cast_const();
            if !place.is_dense {
                gather(mover, transit, strided, block);
                dense = transit;
            }
            let is_far = is_far && place.is_dense;
            convert(BlockArguments {
                is_far,
                ..BlockArguments::dense(to, [dense; 3], block.length())
            });
        }
    }

    /// Brings the outputs of a block to where they belong, if they are not there.
    ///
    /// # Safety
    /// The conditions of [`Program::run_range`].
    unsafe fn store(
        &self,
        plan: &Plan<'_>,
        addresses: &[*mut u8],
        (block, firsts): (&BlockBox<'_>, &[*mut u8]),
        transit: *mut u8,
    ) {
        for (output, place) in plan.outputs.iter().enumerate() {
            let source = self.stores[output];
            if source == self.output_block(output) && place.scratch.is_none() {
                continue;
            }
            let from = addresses[source].cast_const();
            let mover = (copy(place.size, self.set), place.size);
            let to = firsts[self.output_block(output)];
            // SAFETY: it is the address of the block's first element; the block's elements are
            // valid, and what is brought there does not overlap them.
            unsafe {
                if place.is_streamed {
                    stream(self.set)((to, from, block.length() * place.size));
                    continue;
                }
                let strided = Strided { start: to, strides: place.operand.strides };
                let Some(convert) = store(self.outputs[output], self.set) else {
                    scatter(mover, strided, from, block);
                    continue;
                };
                if place.is_dense {
                    convert(BlockArguments::dense(to, [from; 3], block.length()));
                } else {
                    convert(BlockArguments::dense(transit, [from; 3], block.length()));
                    scatter(mover, strided, transit, block);
                }
            }
        }
    }
}

impl Plan<'_> {
    /// The addresses of a block's first elements in memory, of the inputs and then the outputs.
    fn firsts(&self, position: &Position<'_>) -> BlockAddresses {
        let operands = self.inputs.iter().chain(&self.outputs);
        let first = |place: &OperandPlace<'_>| {
            let elements = position.offset(place.operand.strides);
            place.operand.start.wrapping_offset(elements * place.size as isize)
        };
        operands.map(first).collect()
    }

    /// Goes on to the next block by one of the moves.
    fn advance(&self, firsts: &mut BlockAddresses, by: usize) {
        for (first, place) in firsts.iter_mut().zip(self.inputs.iter().chain(&self.outputs)) {
            *first = first.wrapping_offset(place.moves[by]);
        }
    }
}

/// A plan that several threads follow.
struct SharedPlan<'p, 'a>(&'p Plan<'a>);

// SAFETY: what keeps a plan from being shared are the addresses of operands, of which threads use
// elements of their own.
unsafe impl Sync for SharedPlan<'_, '_> {}

impl<'p, 'a> SharedPlan<'p, 'a> {
    fn plan(&self) -> &'p Plan<'a> {
        self.0
    }
}
