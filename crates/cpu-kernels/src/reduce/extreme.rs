//! The places of the largest and the smallest elements.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use expression::{ComputeType, DType};

use super::fold::{Largest, ReductionFold, Smallest};
use super::rows::{CHUNK, LEAF, RowFolder, pairwise};
use super::source::{ReducedInput, ReducedSource};
use crate::convert::{Loaded, Store};
use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{ComputeValue, TruthByte};

/// The kind of element whose place is searched for. A NaN is more extreme than any number; of equal elements
/// the first one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The largest one.
    Max,
    /// The smallest one.
    Min,
}

/// The places of the extreme elements of one dtype, and the elements.
#[derive(Clone, Copy, Debug)]
pub struct ExtremeKernel {
    dtype: DType,
    set: InstructionSet,
    store: Store,
    run: unsafe fn(&ReducedInput<'_>, ExtremeResults),
}

/// The places of the results.
#[derive(Clone, Copy)]
struct ExtremeResults {
    indices: SharedPointer<i64>,
    values: Option<SharedPointer<u8>>,
    store: Store,
    set: InstructionSet,
}

impl ExtremeKernel {
    /// The kernel for a dtype, in the current instruction set.
    pub fn new(extreme: Extreme, dtype: DType) -> ExtremeKernel {
        ExtremeKernel::in_set(extreme, dtype, InstructionSet::current())
    }

    /// [`ExtremeKernel::new`] in a set that the processor has.
    pub fn in_set(extreme: Extreme, dtype: DType, set: InstructionSet) -> ExtremeKernel {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        let (run, store): (unsafe fn(&ReducedInput<'_>, _), _) = match dtype.compute_type() {
            ComputeType::F64 => (by_extreme::<f64>(extreme), f64::store_to(dtype, set)),
            ComputeType::F32 => (by_extreme::<f32>(extreme), f32::store_to(dtype, set)),
            ComputeType::I64 => (by_extreme::<i64>(extreme), i64::store_to(dtype, set)),
            ComputeType::I32 => (by_extreme::<i32>(extreme), i32::store_to(dtype, set)),
            ComputeType::Bool => {
                (by_extreme::<TruthByte>(extreme), TruthByte::store_to(dtype, set))
            }
        };
        let store = store.expect("each type is stored as the dtypes that it is loaded from");
        ExtremeKernel { dtype, set, store, run }
    }

    /// Finds the place of each output's extreme element, counted in the order of the reduced
    /// dimensions, and with `values` the elements themselves.
    ///
    /// # Panics
    /// The elements are of another dtype than the kernel's, or an output has no elements.
    ///
    /// # Safety
    /// The elements of the input are valid for reads, and nobody writes them; `indices` and
    /// `values` are valid for writes of an element for each output, and nobody else uses them.
    pub unsafe fn run(&self, input: &ReducedInput<'_>, indices: *mut i64, values: Option<*mut u8>) {
        assert_eq!(input.dtype, self.dtype, "extremes of {}", self.dtype);
        assert!(input.reduced.count() > 0, "no element of nothing is extreme");
        let results = ExtremeResults {
            indices: SharedPointer::new(indices),
            values: values.map(SharedPointer::new),
            store: self.store,
            set: self.set,
        };
        // SAFETY: the function is the one for the dtype, and the addresses are valid (conditions of
        // this function).
        unsafe { (self.run)(input, results) }
    }
}

/// A fold that keeps one of the two values.
trait ExtremeFold: ReductionFold {
    /// Whether `value` is more extreme than `best`, and not just as extreme.
    fn is_better(value: Self::Value, best: Self::Value) -> bool;
}

impl<V: Loaded> ExtremeFold for Largest<V> {
    #[inline(always)]
    fn is_better(value: V, best: V) -> bool {
        value > best || (value.is_unordered() & !best.is_unordered())
    }
}

impl<V: Loaded> ExtremeFold for Smallest<V> {
    #[inline(always)]
    fn is_better(value: V, best: V) -> bool {
        value < best || (value.is_unordered() & !best.is_unordered())
    }
}

fn by_extreme<V: Loaded>(extreme: Extreme) -> unsafe fn(&ReducedInput<'_>, ExtremeResults) {
    match extreme {
        Extreme::Max => find_all::<Largest<V>>,
        Extreme::Min => find_all::<Smallest<V>>,
    }
}

/// The number of outputs that a thread finds before it stores them.
const OUTPUTS: usize = 256;

/// # Safety
/// The conditions of [`ExtremeKernel::run`].
unsafe fn find_all<F: ExtremeFold>(input: &ReducedInput<'_>, results: ExtremeResults) {
    let set = results.set;
    let source = ReducedSource::<F::Value>::new(input, set).expect("the kernel is for this dtype");
    let (outputs, count) = (source.outputs(), source.count());
    let chunks = count.div_ceil(CHUNK);
    let by_columns = source.is_by_columns() && u32::try_from(count).is_ok();
    if chunks > 1 && !by_columns && source.has_few_outputs() {
        // SAFETY: the conditions of this function.
        return unsafe { find_in_parts::<F>(&source, chunks, results) };
    }
    pool::split(outputs, count * source.element_size(), |range| {
        let mut values = [F::START; OUTPUTS];
        for start in range.clone().step_by(OUTPUTS) {
            let part = start..range.end.min(start + OUTPUTS);
            let values = &mut values[..part.len()];
            // SAFETY: the outputs are the source's, whose elements are valid, and the results have
            // a place for each of them that no other thread uses (conditions of this function).
            unsafe {
                let at = results.indices.get().add(start);
                let indices = std::slice::from_raw_parts_mut(at, part.len());
                if by_columns {
                    find_columns::<F>(&source, part, set, (values, indices));
                } else {
                    find_rows::<F>(&source, part, set, (values, indices));
                }
                if let Some(to) = results.values {
                    results.store.store(values, to.get(), start);
                }
            }
        }
    });
}

/// Finds the results of few outputs of many elements, each chunk of elements in a thread.
///
/// # Safety
/// The conditions of [`ExtremeKernel::run`].
unsafe fn find_in_parts<F: ExtremeFold>(
    source: &ReducedSource<'_, F::Value>,
    chunks: usize,
    results: ExtremeResults,
) {
    let (outputs, count) = (source.outputs(), source.count());
    let mut partial = vec![(F::START, 0i64); outputs * chunks];
    let place = SharedPointer::new(partial.as_mut_ptr());
    pool::split(partial.len(), CHUNK * source.element_size(), |range| {
        let finder = RowFinder::<F>::new(source, results.set);
        for part in range {
            let (output, chunk) = (part / chunks, part % chunks);
            let mut offset = 0;
            source.kept.for_each_run(output..output + 1, |_, at, _| offset = at);
            let elements = chunk * CHUNK..count.min((chunk + 1) * CHUNK);
            // SAFETY: a part's place is used by one thread; the elements are valid (a condition of
            // this function).
            unsafe { place.get().add(part).write(finder.find(source.at(offset), elements)) };
        }
    });
    for (output, parts) in partial.chunks(chunks).enumerate() {
        let best = pairwise(0..chunks, &mut |chunk| parts[chunk], &|a, b| {
            if F::is_better(b.0, a.0) { b } else { a }
        });
        let (value, index) = best.expect("there are chunks");
        // SAFETY: there is a place for each output (a condition of this function).
        unsafe {
            results.indices.get().add(output).write(index);
            if let Some(to) = results.values {
                results.store.store(&[value], to.get(), output);
            }
        }
    }
}

/// # Safety
/// The source's elements are valid for reads; there is a place for each output.
unsafe fn find_rows<F: ExtremeFold>(
    source: &ReducedSource<'_, F::Value>,
    outputs: Range<usize>,
    set: InstructionSet,
    (values, indices): (&mut [F::Value], &mut [i64]),
) {
    let finder = RowFinder::<F>::new(source, set);
    let (first, step, count) = (outputs.start, source.kept.innermost().1, source.count());
    source.kept.for_each_run(outputs, |at, offset, len| {
        for row in 0..len {
            let start = source.at(offset + row as isize * step);
            // SAFETY: it is a row of the source, whose elements are valid (a condition of this
            // function).
            let found = unsafe { finder.find(start, 0..count) };
            (values[at - first + row], indices[at - first + row]) = found;
        }
    });
}

/// Finds the extreme element of a row: first the leaf that has it, then the place in the leaf.
struct RowFinder<'a, F: ExtremeFold> {
    folder: RowFolder<'a, F>,
    first: Version<FirstEqual<F::Value>>,
}

impl<'a, F: ExtremeFold> RowFinder<'a, F> {
    fn new(source: &'a ReducedSource<'a, F::Value>, set: InstructionSet) -> RowFinder<'a, F> {
        RowFinder {
            folder: RowFolder::new(source, set),
            first: set.version::<FirstEqual<F::Value>>(),
        }
    }

    /// The extreme of the elements `range`, and its index.
    ///
    /// # Safety
    /// The elements of the output whose first element is at `row` are valid for reads; the range is
    /// not empty.
    unsafe fn find(&self, row: *const u8, range: Range<usize>) -> (F::Value, i64) {
        let mut space = MaybeUninit::<[F::Value; LEAF]>::uninit();
        let space = space.as_mut_ptr().cast::<F::Value>();
        let mut best = (F::START, usize::MAX);
        for chunk in range.clone().step_by(CHUNK) {
            let elements = chunk..range.end.min(chunk + CHUNK);
            // SAFETY: the chunk is a part of the elements (a condition of this function), and the
            // space has room for a leaf.
            let leaves = unsafe { self.folder.fold_leaves(row, elements.clone(), space) };
            for (value, start) in leaves.into_iter().zip(elements.step_by(LEAF)) {
                if best.1 == usize::MAX || F::is_better(value, best.0) {
                    best = (value, start);
                }
            }
        }
        let (value, start) = best;
        let leaf = start..range.end.min(start + LEAF);
        let len = leaf.len();
        // SAFETY: the leaf is a part of the elements, and the version of a set that the processor has.
        let within =
            unsafe { (self.first)((self.folder.source.block(row, leaf, space), len, value)) };
        (value, (start + within) as i64)
    }
}

/// The first of some elements that equals a value, or is NaN if that is.
struct FirstEqual<V>(PhantomData<V>);

impl<V: ComputeValue> Multiversioned for FirstEqual<V> {
    /// The elements, their number, and the value.
    type Arguments = (*const V, usize, V);
    /// The index; 0 if no element equals the value.
    type Output = usize;

    /// # Safety
    /// The elements are valid for reads.
    #[inline(always)]
    unsafe fn run<I: Isa>((start, len, value): Self::Arguments) -> usize {
        const STEP: usize = 64;
        let is_equal = |x: V| (x == value) | (x.is_unordered() & value.is_unordered());
        let mut at = 0;
        while at + STEP <= len {
            // SAFETY: the elements from `at` on end within `len`.
            let elements = unsafe { start.add(at).cast::<[V; STEP]>().read_unaligned() };
            let mut is_there = false;
            for x in elements {
                is_there |= is_equal(x);
            }
            if is_there {
                break;
            }
            at += STEP;
        }
        // SAFETY: `index` is below `len`.
        let found = (at..len).find(|&index| is_equal(unsafe { start.add(index).read_unaligned() }));
        found.unwrap_or(0)
    }
}

/// The most columns that are searched at a time.
const WIDTH: usize = OUTPUTS;

/// # Safety
/// The source's elements are valid for reads; there is a place for each output.
unsafe fn find_columns<F: ExtremeFold>(
    source: &ReducedSource<'_, F::Value>,
    outputs: Range<usize>,
    set: InstructionSet,
    (values, indices): (&mut [F::Value], &mut [i64]),
) {
    let (first, count) = (outputs.start, source.count());
    let (step, stride) = (source.kept.innermost().1, source.reduced.innermost().1);
    let update = set.version::<UpdateColumns<F>>();
    let mut space = [F::START; WIDTH];
    source.kept.for_each_run(outputs, |output, offset, width| {
        let place = output - first..output - first + width;
        let (values, indices) = (&mut values[place.clone()], &mut indices[place]);
        let mut places = [0u32; WIDTH];
        source.reduced.for_each_run(0..count, |number, inner, len| {
            for row in 0..len {
                let from = source.at(offset + inner + row as isize * stride);
                let start = if source.is_dense(step) {
                    from.cast()
                } else {
                    // SAFETY: these are elements of the source's outputs, which are valid, and the
                    // space has room for as many as there can be in a run.
                    unsafe { source.load(from, step, width, space.as_mut_ptr()) };
                    space.as_ptr()
                };
                let (values, places) = (values.as_mut_ptr(), places.as_mut_ptr());
                // SAFETY: the row was loaded, or lies there; values and places have room for it.
                unsafe { update(RowOfColumns { start, width, row: number + row, values, places }) };
            }
        });
        for (index, &place) in indices.iter_mut().zip(&places) {
            *index = i64::from(place);
        }
    });
}

/// One row, by which the extremes of columns are updated.
#[derive(Clone, Copy)]
struct RowOfColumns<V> {
    start: *const V,
    width: usize,
    /// The row's number. Row 0 begins.
    row: usize,
    values: *mut V,
    places: *mut u32,
}

struct UpdateColumns<F>(PhantomData<F>);

impl<F: ExtremeFold> Multiversioned for UpdateColumns<F> {
    type Arguments = RowOfColumns<F::Value>;
    type Output = ();

    /// # Safety
    /// The row is valid for reads, values and places for reads and writes.
    #[inline(always)]
    unsafe fn run<I: Isa>(row: RowOfColumns<F::Value>) {
        // SAFETY: they are valid for as many elements as the row has (conditions of this function).
        let (elements, values, places) = unsafe {
            (
                std::slice::from_raw_parts(row.start, row.width),
                std::slice::from_raw_parts_mut(row.values, row.width),
                std::slice::from_raw_parts_mut(row.places, row.width),
            )
        };
        let number = row.row as u32;
        for ((&x, best), place) in elements.iter().zip(values).zip(places) {
            let is_better = F::is_better(x, *best) | (number == 0);
            *place = if is_better { number } else { *place };
            *best = if is_better { x } else { *best };
        }
    }
}
