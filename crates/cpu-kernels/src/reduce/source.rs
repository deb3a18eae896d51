//! The operand of a reduction: which elements make up each output, and their values in dense
//! blocks.

use std::marker::PhantomData;
use std::ops::Range;

use expression::DType;

use crate::convert::{Load, LoadArguments, Loaded, count_from};
use crate::instruction_set::InstructionSet;
use crate::pool;
use crate::runs::Axes;
use crate::shared_pointer::SharedPointer;

/// The operand of a reduction: an element for each index of the kept dimensions (the outputs) and
/// each one of the reduced dimensions.
#[derive(Clone, Copy, Debug)]
pub struct ReducedInput<'a> {
    /// The address of the first element.
    pub start: *const u8,
    /// The dtype of the elements.
    pub dtype: DType,
    /// The dimensions of the output, which is dense in their order.
    pub kept: Axes<'a>,
    /// The dimensions that are reduced, in the order in which indices count them.
    pub reduced: Axes<'a>,
}

/// Rows of up to so many elements are worked on side by side.
const SHORT: usize = 16;

/// With fewer outputs than so many per thread, the elements of each are split.
const OUTPUTS_PER_THREAD: usize = 16;

/// An operand whose elements are read as values of `V`.
pub(super) struct ReducedSource<'a, V> {
    start: SharedPointer<u8>,
    size: usize,
    load: Load,
    /// Whether the elements lie in memory as values.
    is_plain: bool,
    pub(super) kept: Axes<'a>,
    pub(super) reduced: Axes<'a>,
    values: PhantomData<V>,
}

impl<'a, V: Loaded> ReducedSource<'a, V> {
    /// The source, or `None` if the dtype is not read as `V`.
    pub(super) fn new(
        input: &ReducedInput<'a>,
        set: InstructionSet,
    ) -> Option<ReducedSource<'a, V>> {
        Some(ReducedSource {
            start: SharedPointer::of_const(input.start),
            size: input.dtype.size(),
            load: V::load_from(input.dtype, set)?,
            // A truth value in memory may be any byte.
            is_plain: input.dtype == V::DTYPE && input.dtype != DType::Bool,
            kept: input.kept,
            reduced: input.reduced,
            values: PhantomData,
        })
    }

    /// The source whose values are 1 where elements differ from zero, else 0.
    pub(super) fn counting(
        input: &ReducedInput<'a>,
        set: InstructionSet,
    ) -> ReducedSource<'a, i64> {
        ReducedSource {
            start: SharedPointer::of_const(input.start),
            size: input.dtype.size(),
            load: count_from(input.dtype, set),
            is_plain: false,
            kept: input.kept,
            reduced: input.reduced,
            values: PhantomData,
        }
    }

    /// The number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.kept.count()
    }

    /// The number of elements that make up an output.
    pub(super) fn count(&self) -> usize {
        self.reduced.count()
    }

    /// Whether outputs are worked on side by side: they lie closer than the elements of one, or are
    /// short.
    pub(super) fn is_by_columns(&self) -> bool {
        let (kept, reduced) = (self.kept, self.reduced);
        let closer = kept.innermost().1.abs() < reduced.innermost().1.abs();
        let is_matrix = !kept.sizes.is_empty() && !reduced.sizes.is_empty();
        is_matrix && (closer || self.count() <= SHORT)
    }

    /// Whether there are too few outputs to keep all threads busy.
    pub(super) fn has_few_outputs(&self) -> bool {
        let threads = pool::threads();
        threads > 1 && self.outputs() < threads * OUTPUTS_PER_THREAD
    }

    /// Bytes per element in memory.
    pub(super) fn element_size(&self) -> usize {
        self.size
    }

    /// Whether elements along a dimension of this stride can be used where they lie.
    pub(super) fn is_dense(&self, stride: isize) -> bool {
        self.is_plain && stride == 1
    }

    /// The address of the element at an offset.
    pub(super) fn at(&self, offset: isize) -> *const u8 {
        self.start.get().wrapping_offset(offset * self.size as isize)
    }

    /// Writes the values of `len` elements that lie `stride` apart.
    ///
    /// # Safety
    /// The elements are valid for reads, `to` for writes of as many values.
    pub(super) unsafe fn load(&self, from: *const u8, stride: isize, len: usize, to: *mut V) {
        // SAFETY: the conditions of a `Load` are this function's; the instruction set was chosen by
        // who made the source.
        unsafe { (self.load)(LoadArguments { from, stride, len, to: to.cast() }) }
    }

    /// The address of the values of the elements `range` of the output whose first element is at
    /// `row`, if they lie beside each other.
    pub(super) fn dense(&self, row: *const u8, range: &Range<usize>) -> Option<*const V> {
        let (size, stride) = self.reduced.innermost();
        let is_one_run = self.reduced.sizes.len() < 2 || range.start % size + range.len() <= size;
        if !self.is_dense(stride) || !is_one_run {
            return None;
        }
        let mut start = 0;
        self.reduced.for_each_run(range.clone(), |_, offset, _| start = offset);
        Some(row.wrapping_offset(start * self.size as isize).cast())
    }

    /// The values of the elements `range` of the output whose first element is at `row`: where they
    /// lie, or in `block`.
    ///
    /// # Safety
    /// The elements are valid for reads, `block` for writes of as many values.
    pub(super) unsafe fn block(
        &self,
        row: *const u8,
        range: Range<usize>,
        block: *mut V,
    ) -> *const V {
        if let Some(values) = self.dense(row, &range) {
            return values;
        }
        let stride = self.reduced.innermost().1;
        let bytes = |offset: isize| row.wrapping_offset(offset * self.size as isize);
        let first = range.start;
        self.reduced.for_each_run(range, |at, offset, len| {
            // SAFETY: the run is a part of the elements, and its place a part of the block
            // (conditions of this function).
            unsafe { self.load(bytes(offset), stride, len, block.add(at - first)) };
        });
        block
    }
}
