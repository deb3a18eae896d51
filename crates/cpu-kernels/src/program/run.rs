//! Runs of programs.

use std::ops::Range;

use smallvec::SmallVec;

use super::layout::{Refresh, Strided, gather, is_dense, scatter};
use super::plan::{Place, Plan};
use super::scratch::with_scratch;
use super::walk::{BlockBox, Position};
use super::{Location, Program, Shared, Step, StridedPointer, Uniform};
use crate::blocks::Block;
use crate::movers::{copy, fill, load, store};
use crate::pool;

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
        if let Some(step) = &self.single
            && outputs.iter().chain(inputs).all(|operand| is_dense(sizes, operand.strides))
        {
            // SAFETY: all operands are dense, of the types that are computed with.
            return unsafe { self.run_dense(step, count, outputs[0].start, inputs) };
        }
        if let Some(size) = self.copied {
            // SAFETY: the conditions are the same.
            return unsafe { self.copy_all(size, sizes, outputs[0], inputs[0]) };
        }
        if sizes.is_empty() {
            let one = |operand: &StridedPointer<'_>| StridedPointer::new(operand.start, &[1]);
            let outputs: SmallVec<[StridedPointer<'_>; 2]> = outputs.iter().map(one).collect();
            let inputs: SmallVec<[StridedPointer<'_>; 6]> = inputs.iter().map(one).collect();
            // SAFETY: it is the same element, as one of one dimension.
            return unsafe { self.run_blocks(&[1], &outputs, &inputs, scalars) };
        }
        // SAFETY: the conditions are the same, and there is a dimension.
        unsafe { self.run_blocks(sizes, outputs, inputs, scalars) };
    }

    /// Runs the one step on operands that are used where they lie.
    ///
    /// # Safety
    /// The conditions of [`Program::run`], for dense operands that are not converted.
    unsafe fn run_dense(
        &self,
        step: &Step<usize>,
        count: usize,
        out: *mut u8,
        inputs: &[StridedPointer<'_>],
    ) {
        let out = Shared(out);
        let operands = step.operands.map(|input| Shared(inputs[input].start));
        let out_size = self.outputs[0].size();
        let sizes = step.operands.map(|input| self.inputs[input].size());
        pool::split(count, self.cost_per_element(), |range| {
            let at = |index: usize| {
                let start: *const u8 = operands[index].address();
                // SAFETY: the operand has the elements up to the end of the range.
                unsafe { start.add(range.start * sizes[index]) }
            };
            // SAFETY: the output has the elements up to the end of the range.
            let out = unsafe { out.address().add(range.start * out_size) };
            let block = Block { out, operands: [at(0), at(1), at(2)], length: range.len() };
            // SAFETY: the operands are valid, and the same as the output or apart from it; the set
            // is supported.
            unsafe { (step.kernel)(block) };
        });
    }

    /// The bytes that are read and written for an element, and those that could be while it is
    /// computed.
    fn cost_per_element(&self) -> usize {
        let bytes: usize = self.inputs.iter().chain(&self.outputs).map(|of| of.size()).sum();
        bytes + self.cost
    }

    /// # Safety
    /// The conditions of [`Program::run`]; there are a dimension and an element.
    unsafe fn run_blocks(
        &self,
        sizes: &[usize],
        outputs: &[StridedPointer<'_>],
        inputs: &[StridedPointer<'_>],
        scalars: &[u64],
    ) {
        // SAFETY: the set is supported.
        let uniforms = unsafe { self.uniforms(scalars) };
        let plan = Plan::new(self, sizes, outputs, inputs, uniforms);
        let cost = plan.walk.largest().saturating_mul(self.cost_per_element());
        let shared = SharedPlan(plan);
        pool::split(shared.plan().walk.blocks(), cost, |range| {
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
    unsafe fn uniforms(&self, scalars: &[u64]) -> SmallVec<[u64; 8]> {
        let mut bits: SmallVec<[u64; 16]> = SmallVec::new();
        for uniform in &self.uniforms {
            let value = match uniform {
                Uniform::Scalar(number) => scalars[*number],
                Uniform::Constant(bits) => *bits,
                Uniform::Apply(kernel, operands) => {
                    let mut value = 0_u64;
                    let out = (&raw mut value).cast();
                    let operands = operands.map(|number| (&raw const bits[number]).cast());
                    // SAFETY: the bits of a value are its first bytes; the blocks are of one value.
                    unsafe { kernel(Block { out, operands, length: 1 }) };
                    value
                }
            };
            bits.push(value);
        }
        self.filled.iter().map(|&(number, _)| bits[number]).collect()
    }

    /// Computes some of the blocks.
    ///
    /// # Safety
    /// The conditions of [`Program::run`]; `scratch` is valid for as many bytes as the plan says.
    unsafe fn run_range(&self, plan: &Plan<'_>, scratch: *mut u8, range: Range<usize>) {
        // SAFETY: all places of the plan are within the scratch memory.
        let at = |place: usize| unsafe { scratch.add(place) };
        let mut blocks = Blocks {
            inputs: plan.inputs.iter().map(|place| place.scratch.map_or(scratch, at)).collect(),
            outputs: plan.outputs.iter().map(|place| place.scratch.map_or(scratch, at)).collect(),
            uniforms: plan.uniform_places.iter().map(|&place| at(place)).collect(),
            slots: plan.slots.iter().map(|&place| at(place)).collect(),
            transit: at(plan.transit),
        };
        let largest = plan.walk.largest();
        for ((&(_, of), &bits), &to) in self.filled.iter().zip(&plan.uniforms).zip(&blocks.uniforms)
        {
            // SAFETY: a block has room for the largest one.
            unsafe { fill(of.size(), self.set)((to, largest, bits)) };
        }
        let mut position = plan.walk.position(range.start);
        for number in range.clone() {
            let block = position.block();
            // SAFETY: the block's elements are valid, and nobody else computes them.
            unsafe {
                self.load(plan, &mut blocks, &position, number == range.start);
                self.compute(&blocks, block.length());
                self.store(plan, &blocks, &position);
            }
            position.advance();
        }
    }

    /// Brings the inputs of a block, and finds the places of its outputs.
    ///
    /// # Safety
    /// The conditions of [`Program::run_range`].
    unsafe fn load(
        &self,
        plan: &Plan<'_>,
        blocks: &mut Blocks,
        position: &Position<'_>,
        is_first: bool,
    ) {
        for (input, place) in plan.inputs.iter().enumerate() {
            if self.last_reads[input].is_none() {
                continue;
            }
            // SAFETY: it is the address of the block's first element.
            let from = unsafe { place.first(position) };
            if place.scratch.is_none() {
                blocks.inputs[input] = from;
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
            unsafe { self.bring(input, place, from, &block, blocks) };
        }
        for (place, out) in plan.outputs.iter().zip(&mut blocks.outputs) {
            if place.scratch.is_none() {
                // SAFETY: it is the address of the block's first element.
                *out = unsafe { place.first(position) };
            }
        }
    }

    /// Brings an input's block into its scratch memory.
    ///
    /// # Safety
    /// The block's elements from `from` on are valid.
    unsafe fn bring(
        &self,
        input: usize,
        place: &Place<'_>,
        from: *mut u8,
        block: &BlockBox<'_>,
        blocks: &Blocks,
    ) {
        let to = blocks.inputs[input];
        let mover = (copy(place.size, self.set), place.size);
        let strided = Strided { start: from, strides: place.operand.strides };
        // SAFETY: scratch blocks have room for the largest block, and overlap no operand.
        unsafe {
            let Some(convert) = load(self.inputs[input], self.set) else {
                return gather(mover, to, strided, block);
            };
            let mut dense = from.cast_const();
            if !place.is_dense {
                gather(mover, blocks.transit, strided, block);
                dense = blocks.transit;
            }
            convert(Block { out: to, operands: [dense; 3], length: block.length() });
        }
    }

    /// Runs all steps.
    ///
    /// # Safety
    /// The blocks are valid for so many elements.
    unsafe fn compute(&self, blocks: &Blocks, length: usize) {
        for step in &self.steps {
            let operands = step.operands.map(|operand| blocks.at(operand).cast_const());
            // SAFETY: blocks are the same or apart, and hold values of the kernel's types.
            unsafe { (step.kernel)(Block { out: blocks.at(step.out), operands, length }) };
        }
    }

    /// Brings the outputs of a block to where they belong, if they are not there.
    ///
    /// # Safety
    /// The conditions of [`Program::run_range`].
    unsafe fn store(&self, plan: &Plan<'_>, blocks: &Blocks, position: &Position<'_>) {
        let block = position.block();
        for (output, place) in plan.outputs.iter().enumerate() {
            let source = self.stores[output];
            if source == Location::Output(output) && place.scratch.is_none() {
                continue;
            }
            let from = blocks.at(source).cast_const();
            let mover = (copy(place.size, self.set), place.size);
            // SAFETY: it is the address of the block's first element; the block's elements are
            // valid, and what is brought there does not overlap them.
            unsafe {
                let to = place.first(position);
                let strided = Strided { start: to, strides: place.operand.strides };
                let Some(convert) = store(self.outputs[output], self.set) else {
                    scatter(mover, strided, from, &block);
                    continue;
                };
                let length = block.length();
                if place.is_dense {
                    convert(Block { out: to, operands: [from; 3], length });
                } else {
                    convert(Block { out: blocks.transit, operands: [from; 3], length });
                    scatter(mover, strided, blocks.transit, &block);
                }
            }
        }
    }
}

impl Place<'_> {
    /// The address of a block's first element in memory.
    ///
    /// # Safety
    /// The operand has the block.
    unsafe fn first(&self, position: &Position<'_>) -> *mut u8 {
        let elements = position.offset(self.operand.strides);
        // SAFETY: the block is within the operand.
        unsafe { self.operand.start.offset(elements * self.size as isize) }
    }
}

/// The addresses of a thread's blocks.
struct Blocks {
    inputs: SmallVec<[*mut u8; 6]>,
    outputs: SmallVec<[*mut u8; 2]>,
    uniforms: SmallVec<[*mut u8; 8]>,
    slots: SmallVec<[*mut u8; 8]>,
    transit: *mut u8,
}

impl Blocks {
    fn at(&self, location: Location) -> *mut u8 {
        match location {
            Location::Input(input) => self.inputs[input],
            Location::Output(output) => self.outputs[output],
            Location::Uniform(uniform) => self.uniforms[uniform],
            Location::Slot(slot) => self.slots[slot],
        }
    }
}

/// A plan that several threads follow.
struct SharedPlan<'a>(Plan<'a>);

// SAFETY: what keeps a plan from being shared are the addresses of operands, of which threads use
// elements of their own.
unsafe impl Sync for SharedPlan<'_> {}

impl<'a> SharedPlan<'a> {
    fn plan(&self) -> &Plan<'a> {
        &self.0
    }
}
