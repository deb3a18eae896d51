//! Places of values in sorted rows, by binary search.

use std::ops::Range;

use expression::DType;

use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, HalfBits, StoredValue, TruthByte, stored_as};

/// Dense sorted rows, and the values that are looked for in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchShape {
    /// The number of rows.
    pub rows: usize,
    /// The number of sorted elements in a row.
    pub size: usize,
    /// The number of values that are looked for in each row.
    pub count: usize,
}

/// The memory of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchOperands {
    /// The places that are found, `[rows, count]`.
    pub out: *mut i64,
    /// The sorted elements, `[rows, size]`.
    pub sorted: *const u8,
    /// The values, `[rows, count]`.
    pub values: *const u8,
    /// The order in which the elements are sorted, `[rows, size]`; null if they lie in it.
    pub sorter: *const i64,
}

/// A binary search for one dtype: the number of elements of a row that come before a value, which are
/// those that are less, or with `right` those that are not greater. NaN comes after all numbers.
///
/// ```
/// use cpu_kernels::search::{SearchKernel, SearchOperands, SearchShape};
/// use expression::DType;
///
/// let (sorted, values, mut places) = ([1.0f32, 3.0, 5.0], [3.0f32, 6.0], [0i64; 2]);
/// let operands = SearchOperands {
///     out: places.as_mut_ptr(),
///     sorted: sorted.as_ptr().cast(),
///     values: values.as_ptr().cast(),
///     sorter: std::ptr::null(),
/// };
/// // SAFETY: the arrays have these sizes.
/// unsafe {
///     let shape = SearchShape { rows: 1, size: 3, count: 2 };
///     SearchKernel::new(DType::F32, false).run(shape, operands);
/// }
/// assert_eq!(places, [1, 3]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SearchKernel {
    right: bool,
    run: unsafe fn(SearchWork, Range<usize>),
}

/// A call, of which threads do ranges of the values.
#[derive(Clone, Copy)]
struct SearchWork {
    shape: SearchShape,
    right: bool,
    out: SharedPointer<i64>,
    sorted: SharedPointer<u8>,
    values: SharedPointer<u8>,
    sorter: SharedPointer<i64>,
}

/// Bytes that could be moved in the time that a step of a search takes.
const COST: usize = 64;

impl SearchKernel {
    /// The kernel for a dtype.
    pub fn new(dtype: DType, right: bool) -> SearchKernel {
        macro_rules! by_dtype {
            ($($name:ident)+) => {
                match dtype { $(DType::$name => search::<stored_as!($name)>,)+ }
            };
        }
        let run: unsafe fn(SearchWork, Range<usize>) =
            by_dtype!(F64 F32 F16 BF16 I64 I32 I16 I8 U8 Bool);
        SearchKernel { right, run }
    }

    /// Writes the place of each value in its row, in the threads of the pool if there are many.
    ///
    /// # Safety
    /// The operands are valid for reads of as many elements as the shape says, which nobody writes,
    /// and `out` for writes that nobody else sees; the entries of a sorter are at least 0 and less
    /// than `size`.
    pub unsafe fn run(&self, shape: SearchShape, operands: SearchOperands) {
        let work = SearchWork {
            shape,
            right: self.right,
            out: SharedPointer::new(operands.out),
            sorted: SharedPointer::of_const(operands.sorted),
            values: SharedPointer::of_const(operands.values),
            sorter: SharedPointer::of_const(operands.sorter),
        };
        let steps = shape.size.checked_ilog2().map_or(1, |steps| steps as usize + 1);
        pool::split(shape.rows * shape.count, steps * COST, |range| {
            // SAFETY: the function is the one for the dtype, each thread has other values, and the
            // rest are conditions of this function.
            unsafe { (self.run)(work, range) }
        });
    }
}

/// # Safety
/// The conditions of [`SearchKernel::run`] for the values of a range, which no other thread has.
unsafe fn search<S: StoredValue>(work: SearchWork, range: Range<usize>) {
    let SearchShape { size, count, .. } = work.shape;
    for at in range {
        let first = at / count * size;
        // SAFETY: place `at` is one of `[rows, count]`, and `first + place` one of `[rows, size]`
        // (conditions of this function).
        unsafe {
            let value = work.values.get().cast::<S>().add(at).read().load();
            let element = |place: usize| {
                let place = match work.sorter.get() {
                    sorter if sorter.is_null() => place,
                    sorter => sorter.add(first + place).read() as usize,
                };
                work.sorted.get().cast::<S>().add(first + place).read().load()
            };
            // As in PyTorch, whatever cannot be compared comes before the place.
            let stops = |place: usize| match work.right {
                true => element(place) > value,
                false => element(place) >= value,
            };
            let (mut low, mut high) = (0, size);
            while low < high {
                let middle = low + (high - low) / 2;
                if stops(middle) { high = middle } else { low = middle + 1 }
            }
            work.out.get().add(at).write(low as i64);
        }
    }
}
