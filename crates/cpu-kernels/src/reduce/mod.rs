//! Reductions: sums, means, products, extremes and their places, variances.
//!
//! Elements are computed with in the type that PyTorch accumulates in: halves in `f32` and rounded
//! once, integers in `i64`, variances in `f64`.

mod columns;
mod extreme;
mod fold;
mod moments;
mod rows;
mod source;
mod variance;

use std::mem::MaybeUninit;
use std::ops::Range;

use expression::{ComputeType, DType};

use self::columns::{CHUNK_ROWS, ColumnFolder, combine};
pub use self::extreme::{Extreme, ExtremeKernel};
pub(crate) use self::fold::{Added, DenseRows, FoldRows, LANES, fold_lanes, for_each_lanes};
use self::fold::{AllTrue, AnyTrue, Averaged, Largest, Multiplied, ReductionFold, Smallest};
pub(crate) use self::moments::{BlockMoments, DenseValues, MomentsOfValues};
pub(crate) use self::rows::pairwise;
use self::rows::{CHUNK, LEAF, RowFolder, merged};
pub use self::source::ReducedInput;
use self::source::ReducedSource;
pub use self::variance::{VarianceKernel, VarianceResults};
use crate::convert::{Loaded, Store};
use crate::instruction_set::InstructionSet;
use crate::pool;
use crate::shared_pointer::SharedPointer;

/// A function by which the elements of each output are reduced to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reducer {
    /// The sum of floats, in pairs, or of integers, which wraps around.
    Sum,
    /// The mean of floats; NaN for no elements.
    Mean,
    /// The product of floats, or of integers, which wraps around.
    Prod,
    /// The largest element, or NaN if there is one.
    Amax,
    /// The smallest element, or NaN if there is one.
    Amin,
    /// Whether an element differs from zero.
    Any,
    /// Whether all elements differ from zero.
    All,
    /// The number of elements that differ from zero.
    CountNonzero,
}

/// A reduction for one dtype of elements and one of results.
///
/// ```
/// use cpu_kernels::Axes;
/// use cpu_kernels::reduce::{ReducedInput, ReductionKernel, Reducer};
/// use expression::DType;
///
/// let (x, mut sums) = ([[1.0f32, 2.0], [3.0, 4.0]], [0.0f32; 2]);
/// let kernel = ReductionKernel::new(Reducer::Sum, DType::F32, DType::F32).expect("it is there");
/// let input = ReducedInput {
///     start: x.as_ptr().cast(),
///     dtype: DType::F32,
///     kept: Axes { sizes: &[2], strides: &[1] },
///     reduced: Axes { sizes: &[2], strides: &[2] },
/// };
/// // SAFETY: the strides are those of the borrowed array, and there is a sum for each column.
/// unsafe { kernel.run(&input, sums.as_mut_ptr().cast()) };
/// assert_eq!(sums, [4.0, 6.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ReductionKernel {
    input: DType,
    output: DType,
    set: InstructionSet,
    run: unsafe fn(&ReducedInput<'_>, *mut u8, Store, InstructionSet),
    store: Store,
}

impl ReductionKernel {
    /// The kernel for elements of `input` and results of `output`, in the current instruction set;
    /// `None` if there is none. Sums and products of integers and truth values have integers as
    /// results, extremes the dtype of the elements.
    pub fn new(reducer: Reducer, input: DType, output: DType) -> Option<ReductionKernel> {
        ReductionKernel::in_set(reducer, input, output, InstructionSet::current())
    }

    /// [`ReductionKernel::new`] in a set that the processor has.
    pub fn in_set(
        reducer: Reducer,
        input: DType,
        output: DType,
        set: InstructionSet,
    ) -> Option<ReductionKernel> {
        use ComputeType as C;
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        let wide = output == DType::F64;
        let is_float = input.is_float() && output.is_float();
        let same = input == output;
        let (run, store): (unsafe fn(&ReducedInput<'_>, _, _, _), _) =
            match (reducer, input.compute_type()) {
                (Reducer::Any, _) => reduction::<AnyTrue>(output, set)?,
                (Reducer::All, _) => reduction::<AllTrue>(output, set)?,
                (Reducer::CountNonzero, _) => (count_nonzero as _, i64::store_to(output, set)?),
                (Reducer::Sum, C::F32) if is_float && !wide => {
                    reduction::<Added<f32>>(output, set)?
                }
                (Reducer::Sum, _) if is_float => reduction::<Added<f64>>(output, set)?,
                (Reducer::Sum, _) if !input.is_float() => reduction::<Added<i64>>(output, set)?,
                (Reducer::Mean, C::F32) if is_float && !wide => {
                    reduction::<Averaged<f32>>(output, set)?
                }
                (Reducer::Mean, _) if is_float => reduction::<Averaged<f64>>(output, set)?,
                (Reducer::Prod, C::F32) if is_float && !wide => {
                    reduction::<Multiplied<f32>>(output, set)?
                }
                (Reducer::Prod, _) if is_float => reduction::<Multiplied<f64>>(output, set)?,
                (Reducer::Prod, _) if !input.is_float() => {
                    reduction::<Multiplied<i64>>(output, set)?
                }
                (Reducer::Amax, C::F64) if same => reduction::<Largest<f64>>(output, set)?,
                (Reducer::Amax, C::F32) if same => reduction::<Largest<f32>>(output, set)?,
                (Reducer::Amax, C::I64) if same => reduction::<Largest<i64>>(output, set)?,
                (Reducer::Amax, C::I32) if same => reduction::<Largest<i32>>(output, set)?,
                (Reducer::Amax, C::Bool) if same => reduction::<AnyTrue>(output, set)?,
                (Reducer::Amin, C::F64) if same => reduction::<Smallest<f64>>(output, set)?,
                (Reducer::Amin, C::F32) if same => reduction::<Smallest<f32>>(output, set)?,
                (Reducer::Amin, C::I64) if same => reduction::<Smallest<i64>>(output, set)?,
                (Reducer::Amin, C::I32) if same => reduction::<Smallest<i32>>(output, set)?,
                (Reducer::Amin, C::Bool) if same => reduction::<AllTrue>(output, set)?,
                _ => return None,
            };
        Some(ReductionKernel { input, output, set, run, store })
    }

    /// The dtype of the results.
    pub fn output_dtype(&self) -> DType {
        self.output
    }

    /// Reduces the operand, in the threads of the pool if it is large. The result does not depend
    /// on the number of threads.
    ///
    /// # Panics
    /// The elements are of another dtype than the kernel's.
    ///
    /// # Safety
    /// The elements of the input are valid for reads, and nobody writes them; `output` is valid for
    /// writes of an element of the kernel's dtype for each output, and nobody else uses it.
    pub unsafe fn run(&self, input: &ReducedInput<'_>, output: *mut u8) {
        assert_eq!(input.dtype, self.input, "a reduction of {}", self.input);
        // SAFETY: the function is the one for the two dtypes, and the addresses are valid for them
        // (conditions of this function).
        unsafe { (self.run)(input, output, self.store, self.set) }
    }
}

/// The function that reduces by `F`, and the conversion of its results; `None` if they cannot be of
/// the dtype.
#[expect(clippy::type_complexity, reason = "the pair is taken apart at once")]
fn reduction<F: ReductionFold>(
    output: DType,
    set: InstructionSet,
) -> Option<(unsafe fn(&ReducedInput<'_>, *mut u8, Store, InstructionSet), Store)> {
    Some((fold_input::<F>, F::Value::store_to(output, set)?))
}

/// # Safety
/// The conditions of [`ReductionKernel::run`].
unsafe fn fold_input<F: ReductionFold>(
    input: &ReducedInput<'_>,
    output: *mut u8,
    store: Store,
    set: InstructionSet,
) {
    let source = ReducedSource::<F::Value>::new(input, set).expect("the kernel is for this dtype");
    // SAFETY: they are this function's, too.
    unsafe { fold_all::<F>(&source, output, store, set) }
}

/// # Safety
/// The conditions of [`ReductionKernel::run`].
unsafe fn count_nonzero(
    input: &ReducedInput<'_>,
    output: *mut u8,
    store: Store,
    set: InstructionSet,
) {
    let source = ReducedSource::<i64>::counting(input, set);
    // SAFETY: they are this function's, too.
    unsafe { fold_all::<Added<i64>>(&source, output, store, set) }
}

/// The number of outputs that a thread folds before it stores them.
const OUTPUTS: usize = 512;

/// Folds all outputs: the outputs split between threads, or if there are few of many elements, the
/// elements.
///
/// # Safety
/// The source's elements are valid for reads; `output` is valid for writes of an element for each
/// output, of the dtype that `store` converts to.
unsafe fn fold_all<F: ReductionFold>(
    source: &ReducedSource<'_, F::Value>,
    output: *mut u8,
    store: Store,
    set: InstructionSet,
) {
    let (outputs, count) = (source.outputs(), source.count());
    let by_columns = source.is_by_columns();
    let chunk = if by_columns { CHUNK_ROWS } else { CHUNK };
    let chunks = count.div_ceil(chunk);
    let finished = Finished { output: SharedPointer::new(output), store, count };
    let is_split = chunks > 1 && source.has_few_outputs();
    if is_split {
        // SAFETY: the conditions of this function.
        let states = unsafe { fold_in_parts::<F>(source, by_columns, chunks, set) };
        // SAFETY: `output` has a place for each state.
        return unsafe { finished.write::<F>(0, &mut { states }) };
    }
    let bytes = count.max(1) * source.element_size();
    pool::split(outputs, bytes, |range| {
        let mut states = [F::START; OUTPUTS];
        for start in range.clone().step_by(OUTPUTS) {
            let part = start..range.end.min(start + OUTPUTS);
            let states = &mut states[..part.len()];
            // SAFETY: the outputs are the source's, whose elements are valid, and `output` has a
            // place for each of them that no other thread uses (conditions of this function).
            unsafe {
                if by_columns {
                    ColumnFolder::<F>::new(source, set).fold(part, 0..count, states);
                } else {
                    RowFolder::<F>::new(source, set).fold(part, states);
                }
                finished.write::<F>(start, states);
            }
        }
    });
}

/// The states of all outputs, of which each chunk of elements is folded by a thread.
///
/// # Safety
/// The source's elements are valid for reads.
unsafe fn fold_in_parts<F: ReductionFold>(
    source: &ReducedSource<'_, F::Value>,
    by_columns: bool,
    chunks: usize,
    set: InstructionSet,
) -> Vec<F::Value> {
    let (outputs, count) = (source.outputs(), source.count());
    let mut partial = vec![F::START; outputs * chunks];
    let place = SharedPointer::new(partial.as_mut_ptr());
    if by_columns {
        pool::split(chunks, CHUNK_ROWS * outputs * source.element_size(), |range| {
            for chunk in range {
                let rows = chunk * CHUNK_ROWS..count.min((chunk + 1) * CHUNK_ROWS);
                // SAFETY: a chunk's states are used by one thread; the elements are valid (a
                // condition of this function).
                unsafe {
                    let start = place.get().add(chunk * outputs);
                    let states = std::slice::from_raw_parts_mut(start, outputs);
                    ColumnFolder::<F>::new(source, set).fold(0..outputs, rows, states);
                }
            }
        });
        return merged_columns::<F>(&partial, outputs, 0..chunks);
    }
    pool::split(outputs * chunks, CHUNK * source.element_size(), |range| {
        let mut block = MaybeUninit::<[F::Value; LEAF]>::uninit();
        let folder = RowFolder::<F>::new(source, set);
        for part in range {
            let (output, chunk) = (part / chunks, part % chunks);
            let mut offset = 0;
            source.kept.for_each_run(output..output + 1, |_, at, _| offset = at);
            // SAFETY: a part's state is used by one thread; the elements are valid (a condition of
            // this function).
            unsafe {
                let state = folder.fold_chunk(source.at(offset), chunk, block.as_mut_ptr().cast());
                place.get().add(part).write(state);
            }
        }
    });
    let merge = |states: &[F::Value]| merged::<F>(0..chunks, &mut |chunk| states[chunk]);
    partial.chunks(chunks).map(merge).collect()
}

/// The states of all chunks together, combined as [`ColumnFolder`] combines them.
fn merged_columns<F: ReductionFold>(
    partial: &[F::Value],
    outputs: usize,
    chunks: Range<usize>,
) -> Vec<F::Value> {
    if chunks.len() == 1 {
        return partial[chunks.start * outputs..chunks.end * outputs].to_vec();
    }
    let middle = chunks.start + chunks.len() / 2;
    let mut first = merged_columns::<F>(partial, outputs, chunks.start..middle);
    let second = merged_columns::<F>(partial, outputs, middle..chunks.end);
    combine::<F>(&mut first, &second);
    first
}

/// The place of the results, and how states become results.
struct Finished {
    output: SharedPointer<u8>,
    store: Store,
    count: usize,
}

impl Finished {
    /// Writes the results of the outputs from `first` on.
    ///
    /// # Safety
    /// The output has a place for each of them, which nobody else uses.
    unsafe fn write<F: ReductionFold>(&self, first: usize, states: &mut [F::Value]) {
        for state in states.iter_mut() {
            *state = F::finish(*state, self.count);
        }
        // SAFETY: the places from `first` on are valid (a condition of this function).
        unsafe { self.store.store(states, self.output.get(), first) };
    }
}
