//! Elements that indices choose along a dimension: copies of them, and copies and sums into them.
//!
//! Several values that go to one element come in the order of their indices, whatever the number of
//! threads: threads have different elements to write, and each goes through all indices.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use expression::DType;

use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, ComputeValue, HalfBits, StoredValue, TruthByte, stored_as};

/// An index that is not one of the dimension, and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOutOfRange {
    /// The number of the index among the indices.
    pub position: usize,
    /// The index.
    pub index: i64,
    /// The size of the dimension.
    pub size: usize,
}

impl fmt::Display for IndexOutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IndexOutOfRange { position, index, size } = self;
        write!(f, "index {index} at position {position} is not in a dimension of size {size}")
    }
}

impl std::error::Error for IndexOutOfRange {}

/// Checks that all indices are at least 0 and less than `size`.
///
/// # Errors
/// The first one that is not.
///
/// ```
/// use cpu_kernels::index::check_indices;
///
/// assert!(check_indices(&[0, 2, 1], 3).is_ok());
/// assert_eq!(check_indices(&[0, -1], 3).unwrap_err().position, 1);
/// ```
pub fn check_indices(indices: &[i64], size: usize) -> Result<(), IndexOutOfRange> {
    // As unsigned numbers, negative ones are too large. Blocks have no early end, so that they
    // become vectors.
    let is_wrong = |&index: &i64| index as u64 >= size as u64;
    let block = |part: &[i64]| part.iter().fold(false, |any, index| any | is_wrong(index));
    if !indices.chunks(1024).any(block) {
        return Ok(());
    }
    match indices.iter().position(is_wrong) {
        Some(position) => Err(IndexOutOfRange { position, index: indices[position], size }),
        None => Ok(()),
    }
}

/// Dense arrays seen as `[outer, size, inner]` (the side that indices choose from) and
/// `[outer, count, inner]` (the side that is chosen).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexShape {
    /// The product of the sizes before the dimension.
    pub outer: usize,
    /// The size of the dimension that the indices choose from.
    pub size: usize,
    /// The number of indices along the dimension.
    pub count: usize,
    /// The product of the sizes after the dimension.
    pub inner: usize,
}

/// The memory of an indexed operation.
#[derive(Clone, Copy, Debug)]
pub struct IndexOperands {
    /// The array that is written.
    pub out: *mut u8,
    /// The array that is read.
    pub source: *const u8,
    /// The indices: `count` of them where each stands for a slice, else one for each element of
    /// `[outer, count, inner]`.
    pub index: *const i64,
}

/// The operation on the chosen elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexOperation {
    /// The output's slices are those of the source that the indices choose (`index_select`).
    Select,
    /// Each element of the output is the one of the source that its index chooses (`gather`).
    Gather,
    /// The slices of the output that the indices choose become those of the source (`index_copy`);
    /// of several for one slice the last one stays.
    CopySlices,
    /// The elements of the output that the indices choose become those of the source (`scatter`);
    /// of several for one element the last one stays.
    Scatter,
    /// The source's slices are added to those of the output that the indices choose (`index_add`).
    AddSlices,
    /// The source's elements are added to those of the output that the indices choose
    /// (`scatter_add`).
    ScatterAdd,
    /// The elements of the output that the indices choose are multiplied by the source's.
    ScatterProd,
    /// The elements of the output that the indices choose become the larger of them and the
    /// source's; NaN is larger than all numbers.
    ScatterMax,
    /// The elements of the output that the indices choose become the smaller of them and the
    /// source's; NaN is smaller than all numbers.
    ScatterMin,
}

impl IndexOperation {
    /// Whether there is an index for each element, and not for each slice.
    pub const fn is_per_element(self) -> bool {
        !matches!(
            self,
            IndexOperation::Select | IndexOperation::CopySlices | IndexOperation::AddSlices
        )
    }
}

/// The write of a dtype that leaves a function of the old and the new element.
macro_rules! folding {
    ($function:ident, $per_element:literal, $dtype:expr, $set:expr) => {
        folding!(@ $function, $per_element, $dtype, $set, F64 F32 F16 BF16 I64 I32 I16 I8 U8 Bool)
    };
    (@ $function:ident, $per_element:literal, $dtype:expr, $set:expr, $($name:ident)+) => {
        match $dtype {
            $(DType::$name => {
                $set.version::<Write<$function<stored_as!($name)>, $per_element>>()
            })+
        }
    };
}

/// An indexed operation for one dtype. Truth values are added with "or".
///
/// ```
/// use cpu_kernels::index::{IndexKernel, IndexOperands, IndexOperation, IndexShape};
/// use expression::DType;
///
/// let (table, indices, mut rows) = ([[1.0f32, 2.0], [3.0, 4.0]], [1i64, 1, 0], [[0.0f32; 2]; 3]);
/// let kernel = IndexKernel::new(IndexOperation::Select, DType::F32);
/// let shape = IndexShape { outer: 1, size: 2, count: 3, inner: 2 };
/// let operands = IndexOperands {
///     out: rows.as_mut_ptr().cast(),
///     source: table.as_ptr().cast(),
///     index: indices.as_ptr(),
/// };
/// // SAFETY: the arrays have these shapes, and the indices are less than 2.
/// unsafe { kernel.run(shape, operands) };
/// assert_eq!(rows, [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct IndexKernel {
    operation: IndexOperation,
    size: usize,
    run: unsafe fn(IndexWork),
}

/// A part of an indexed operation: some rows of the chosen side for those that read, or some outer
/// indices and the range of slices that is written.
#[derive(Clone)]
struct IndexWork {
    shape: IndexShape,
    out: SharedPointer<u8>,
    source: SharedPointer<u8>,
    index: SharedPointer<i64>,
    /// For reading operations a range of `outer * count`, else of `outer`.
    rows: Range<usize>,
    /// The part of the dimension that is written, for writing operations.
    targets: Range<usize>,
}

impl IndexKernel {
    /// The kernel for a dtype, in the current instruction set.
    pub fn new(operation: IndexOperation, dtype: DType) -> IndexKernel {
        IndexKernel::in_set(operation, dtype, InstructionSet::current())
    }

    /// [`IndexKernel::new`] in a set that the processor has.
    pub fn in_set(operation: IndexOperation, dtype: DType, set: InstructionSet) -> IndexKernel {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        let run = match operation {
            IndexOperation::AddSlices => folding!(Summed, false, dtype, set),
            IndexOperation::ScatterAdd => folding!(Summed, true, dtype, set),
            IndexOperation::ScatterProd => folding!(Multiplied, true, dtype, set),
            IndexOperation::ScatterMax => folding!(Larger, true, dtype, set),
            IndexOperation::ScatterMin => folding!(Smaller, true, dtype, set),
            _ => match dtype.size() {
                1 => moving::<u8>(operation, set),
                2 => moving::<u16>(operation, set),
                4 => moving::<u32>(operation, set),
                _ => moving::<u64>(operation, set),
            },
        };
        IndexKernel { operation, size: dtype.size(), run }
    }

    /// Runs the operation, in the threads of the pool if it is large.
    ///
    /// # Safety
    /// The source and the indices are valid for reads of as many elements as the shape says, and
    /// nobody writes them; `out` is valid for reads and writes, and nobody else uses it; it
    /// overlaps neither. All indices are at least 0 and less than `size` ([`check_indices`]).
    pub unsafe fn run(&self, shape: IndexShape, operands: IndexOperands) {
        let out = SharedPointer::new(operands.out);
        let source = SharedPointer::of_const(operands.source);
        let index = SharedPointer::of_const(operands.index);
        let work = |rows, targets| IndexWork { shape, out, source, index, rows, targets };
        let IndexShape { outer, size, count, inner } = shape;
        let index_bytes = if self.operation.is_per_element() { inner * 8 } else { 8 };
        let cost = 2 * inner * self.size + index_bytes;
        match self.operation {
            IndexOperation::Select | IndexOperation::Gather => {
                pool::split(outer * count, cost, |rows| {
                    // SAFETY: the conditions of this function; the rows of the output differ
                    // between threads.
                    unsafe { (self.run)(work(rows, 0..size)) }
                });
            }
            _ => {
                // Where there are few outer indices, threads have parts of the dimension.
                let parts = if outer < pool::threads() { pool::threads().min(size) } else { 1 };
                let part = size.div_ceil(parts.max(1)).max(1);
                let parts = size.div_ceil(part);
                pool::split(outer * parts, count * cost / parts.max(1), |range| {
                    for unit in range {
                        let (row, at) = (unit / parts, unit % parts * part);
                        // SAFETY: the conditions of this function; the elements that are written
                        // differ between threads.
                        unsafe { (self.run)(work(row..row + 1, at..size.min(at + part))) }
                    }
                });
            }
        }
    }
}

fn moving<T: Copy + 'static>(operation: IndexOperation, set: InstructionSet) -> Version<Select<T>> {
    match operation {
        IndexOperation::Select => set.version::<Select<T>>(),
        IndexOperation::Gather => set.version::<GatherElements<T>>(),
        IndexOperation::CopySlices => set.version::<Write<Replaced<T>, false>>(),
        _ => set.version::<Write<Replaced<T>, true>>(),
    }
}

/// [`IndexOperation::Select`], of elements of a size.
struct Select<T>(PhantomData<T>);

impl<T: Copy> Multiversioned for Select<T> {
    type Arguments = IndexWork;
    type Output = ();

    /// # Safety
    /// The conditions of [`IndexKernel::run`], for these rows.
    #[inline(always)]
    unsafe fn run<I: Isa>(work: IndexWork) {
        let IndexShape { size, count, inner, .. } = work.shape;
        let (out, source) = (work.out.get().cast::<T>(), work.source.get().cast::<T>());
        for row in work.rows {
            let (outer, slice) = (row / count, row % count);
            // SAFETY: there is an index for each slice, and it is one of the dimension (conditions
            // of this function).
            unsafe {
                let chosen = *work.index.get().add(slice) as usize;
                let from = source.add((outer * size + chosen) * inner);
                let to = out.add(row * inner);
                match inner {
                    1 => to.write(from.read()),
                    _ => to.copy_from_nonoverlapping(from, inner),
                }
            }
        }
    }
}

/// [`IndexOperation::Gather`], of elements of a size.
struct GatherElements<T>(PhantomData<T>);

impl<T: Copy> Multiversioned for GatherElements<T> {
    type Arguments = IndexWork;
    type Output = ();

    /// # Safety
    /// The conditions of [`IndexKernel::run`], for these rows.
    #[inline(always)]
    unsafe fn run<I: Isa>(work: IndexWork) {
        let IndexShape { size, count, inner, .. } = work.shape;
        let (out, source) = (work.out.get().cast::<T>(), work.source.get().cast::<T>());
        let mut row = work.rows.start;
        while row < work.rows.end {
            // The rows of one outer index have a common start in the source.
            let (outer, slice) = (row / count, row % count);
            let rows = (count - slice).min(work.rows.end - row);
            // SAFETY: there is an index for each element, and it is one of the dimension
            // (conditions of this function).
            unsafe {
                let from = source.add(outer * size * inner);
                let (to, index) = (out.add(row * inner), work.index.get().add(row * inner));
                if inner == 1 {
                    for at in 0..rows {
                        to.add(at).write(from.add(*index.add(at) as usize).read());
                    }
                } else {
                    for slice in 0..rows {
                        for at in 0..inner {
                            let place = slice * inner + at;
                            let chosen = *index.add(place) as usize * inner + at;
                            to.add(place).write(from.add(chosen).read());
                        }
                    }
                }
            }
            row += rows;
        }
    }
}

/// The element that a write leaves.
trait Written: 'static {
    type Element: Copy;
    fn of(old: Self::Element, new: Self::Element) -> Self::Element;
}

/// The new one.
struct Replaced<T>(PhantomData<T>);

impl<T: Copy + 'static> Written for Replaced<T> {
    type Element = T;

    #[inline(always)]
    fn of(_old: T, new: T) -> T {
        new
    }
}

macro_rules! folded {
    ($($(#[$attr:meta])* $name:ident: $function:ident;)+) => {$(
        $(#[$attr])*
        struct $name<S>(PhantomData<S>);

        impl<S: StoredValue> Written for $name<S> {
            type Element = S;

            #[inline(always)]
            fn of(old: S, new: S) -> S {
                S::store(old.load().$function(new.load()))
            }
        }
    )+};
}

folded! {
    /// The sum of the two.
    Summed: plus;
    /// The product of the two.
    Multiplied: times;
    /// The larger of the two.
    Larger: larger;
    /// The smaller of the two.
    Smaller: smaller;
}

/// The operations that write the elements which indices choose.
struct Write<W, const PER_ELEMENT: bool>(PhantomData<W>);

impl<W: Written, const PER_ELEMENT: bool> Multiversioned for Write<W, PER_ELEMENT> {
    type Arguments = IndexWork;
    type Output = ();

    /// # Safety
    /// The conditions of [`IndexKernel::run`], for these outer indices and targets.
    #[inline(always)]
    unsafe fn run<I: Isa>(work: IndexWork) {
        let IndexShape { size, count, inner, .. } = work.shape;
        let (out, source) =
            (work.out.get().cast::<W::Element>(), work.source.get().cast::<W::Element>());
        for outer in work.rows {
            // SAFETY: there is an index for each slice or element, and it is one of the dimension
            // (conditions of this function).
            unsafe {
                let to = out.add(outer * size * inner);
                let from = source.add(outer * count * inner);
                let index = match PER_ELEMENT {
                    true => work.index.get().add(outer * count * inner),
                    false => work.index.get(),
                };
                // Each thread that writes a part of the dimension goes through all indices.
                let writes_all = work.targets == (0..size);
                let is_own = |chosen: usize| writes_all || work.targets.contains(&chosen);
                if PER_ELEMENT {
                    let mut at = 0;
                    for element in 0..count * inner {
                        let chosen = *index.add(element) as usize;
                        if is_own(chosen) {
                            let place = to.add(chosen * inner + at);
                            place.write(W::of(place.read(), from.add(element).read()));
                        }
                        at = if at + 1 == inner { 0 } else { at + 1 };
                    }
                    continue;
                }
                for slice in 0..count {
                    let chosen = *index.add(slice) as usize;
                    if !is_own(chosen) {
                        continue;
                    }
                    let (to, from) = (to.add(chosen * inner), from.add(slice * inner));
                    for at in 0..inner {
                        to.add(at).write(W::of(to.add(at).read(), from.add(at).read()));
                    }
                }
            }
        }
    }
}
