//! Cumulative sums, products, extremes and logarithms of sums along a dimension.
//!
//! Each result follows from the one before, one after the other. Sums and products of floats are
//! gathered in `f64` and those of integers in `i64`, as PyTorch does, so only the results are
//! rounded.

use std::marker::PhantomData;

use expression::{ComputeType, DType};

use crate::convert::{Load, LoadArguments, Loaded, Store};
use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{ComputeValue, TruthByte};

/// A function by which each result follows from the one before and an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scan {
    /// The sums of the elements so far.
    Sum,
    /// The products of the elements so far.
    Prod,
    /// The largest element so far, the last one of equal ones; NaN from the first one on.
    Max,
    /// The smallest element so far, the last one of equal ones; NaN from the first one on.
    Min,
    /// The logarithm of the sum of the exponentials so far, of floats.
    LogSumExp,
}

/// A dense array seen as `[outer, size, inner]`, of which the middle dimension is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanShape {
    /// The product of the sizes before the dimension.
    pub outer: usize,
    /// The size of the dimension.
    pub size: usize,
    /// The product of the sizes after the dimension.
    pub inner: usize,
}

/// A scan for one dtype of elements and one of results.
///
/// ```
/// use cpu_kernels::scan::{Scan, ScanKernel, ScanShape};
/// use expression::DType;
///
/// let (x, mut sums) = ([1.0f32, 2.0, 3.0], [0.0f32; 3]);
/// let kernel = ScanKernel::new(Scan::Sum, DType::F32, DType::F32).expect("it is there");
/// let shape = ScanShape { outer: 1, size: 3, inner: 1 };
/// // SAFETY: both arrays have three elements.
/// unsafe { kernel.run(shape, x.as_ptr().cast(), sums.as_mut_ptr().cast(), None) };
/// assert_eq!(sums, [1.0, 3.0, 6.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ScanKernel {
    input: DType,
    set: InstructionSet,
    store: Store,
    run: unsafe fn(&ScanKernel, ScanShape, ScanMemory),
}

/// The addresses of a scan.
#[derive(Clone, Copy)]
struct ScanMemory {
    input: SharedPointer<u8>,
    out: SharedPointer<u8>,
    indices: Option<SharedPointer<i64>>,
}

impl ScanKernel {
    /// The kernel for elements of `input` and results of `output`, in the current instruction set;
    /// `None` if there is none. Sums and products of integers and truth values are integers,
    /// extremes have the dtype of the elements.
    pub fn new(scan: Scan, input: DType, output: DType) -> Option<ScanKernel> {
        ScanKernel::in_set(scan, input, output, InstructionSet::current())
    }

    /// [`ScanKernel::new`] in a set that the processor has.
    pub fn in_set(
        scan: Scan,
        input: DType,
        output: DType,
        set: InstructionSet,
    ) -> Option<ScanKernel> {
        use ComputeType as C;
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        let (is_float, same) = (input.is_float() && output.is_float(), input == output);
        let run: unsafe fn(&ScanKernel, _, _) = match (scan, input.compute_type()) {
            (Scan::Sum, _) if is_float => scan_all::<SumSoFar<f64>>,
            (Scan::Prod, _) if is_float => scan_all::<ProductSoFar<f64>>,
            (Scan::LogSumExp, _) if is_float => scan_all::<LogSumExpSoFar>,
            (Scan::Sum, _) if !input.is_float() => scan_all::<SumSoFar<i64>>,
            (Scan::Prod, _) if !input.is_float() => scan_all::<ProductSoFar<i64>>,
            (Scan::Max, C::F64) if same => scan_all::<LargestSoFar<f64>>,
            (Scan::Max, C::F32) if same => scan_all::<LargestSoFar<f32>>,
            (Scan::Max, C::I64) if same => scan_all::<LargestSoFar<i64>>,
            (Scan::Max, C::I32) if same => scan_all::<LargestSoFar<i32>>,
            (Scan::Max, C::Bool) if same => scan_all::<LargestSoFar<TruthByte>>,
            (Scan::Min, C::F64) if same => scan_all::<SmallestSoFar<f64>>,
            (Scan::Min, C::F32) if same => scan_all::<SmallestSoFar<f32>>,
            (Scan::Min, C::I64) if same => scan_all::<SmallestSoFar<i64>>,
            (Scan::Min, C::I32) if same => scan_all::<SmallestSoFar<i32>>,
            (Scan::Min, C::Bool) if same => scan_all::<SmallestSoFar<TruthByte>>,
            _ => return None,
        };
        let extreme = matches!(scan, Scan::Max | Scan::Min);
        let store = match input.compute_type() {
            _ if is_float && !extreme => f64::store_to(output, set),
            _ if !extreme => i64::store_to(output, set),
            C::F64 => f64::store_to(output, set),
            C::F32 => f32::store_to(output, set),
            C::I64 => i64::store_to(output, set),
            C::I32 => i32::store_to(output, set),
            C::Bool => TruthByte::store_to(output, set),
        };
        Some(ScanKernel { input, set, store: store?, run })
    }

    /// Scans, and for extremes with `indices` writes their places along the dimension there.
    ///
    /// # Safety
    /// `input` is valid for reads of as many elements as the shape has, and nobody writes them;
    /// `out` and `indices` are valid for writes of as many, nobody else uses them, and they do not
    /// overlap each other or the input.
    pub unsafe fn run(
        &self,
        shape: ScanShape,
        input: *const u8,
        out: *mut u8,
        indices: Option<*mut i64>,
    ) {
        let memory = ScanMemory {
            input: SharedPointer::of_const(input),
            out: SharedPointer::new(out),
            indices: indices.map(SharedPointer::new),
        };
        // SAFETY: the function is the one for the dtypes, and the addresses are valid for them
        // (conditions of this function).
        unsafe { (self.run)(self, shape, memory) }
    }
}

/// The state of a scan.
trait Cumulative: 'static {
    type Value: Loaded;
    const START: Self::Value;

    /// Whether the element itself is the next result, for scans that choose elements.
    #[inline(always)]
    fn chooses(_so_far: Self::Value, _element: Self::Value) -> bool {
        false
    }

    fn next(so_far: Self::Value, element: Self::Value) -> Self::Value;
}

macro_rules! gathered {
    ($($name:ident: $start:ident, $next:ident;)+) => {$(
        struct $name<V>(PhantomData<V>);

        impl<V: Loaded> Cumulative for $name<V> {
            type Value = V;
            const START: V = V::$start;

            #[inline(always)]
            fn next(so_far: V, element: V) -> V {
                so_far.$next(element)
            }
        }
    )+};
}

gathered! {
    SumSoFar: ZERO, plus;
    ProductSoFar: ONE, times;
}

macro_rules! chosen {
    ($($name:ident: $start:ident, |$element:ident, $so_far:ident| $is_chosen:expr;)+) => {$(
        struct $name<V>(PhantomData<V>);

        impl<V: Loaded> Cumulative for $name<V> {
            type Value = V;
            const START: V = V::$start;

            #[inline(always)]
            fn chooses($so_far: V, $element: V) -> bool {
                $element.is_unordered() | (!$so_far.is_unordered() & $is_chosen)
            }

            #[inline(always)]
            fn next(so_far: V, element: V) -> V {
                if Self::chooses(so_far, element) { element } else { so_far }
            }
        }
    )+};
}

chosen! {
    LargestSoFar: LEAST, |element, so_far| (element >= so_far);
    SmallestSoFar: GREATEST, |element, so_far| (element <= so_far);
}

/// `log(exp(so_far) + exp(element))`, computed from the larger one, so that nothing overflows.
struct LogSumExpSoFar;

impl Cumulative for LogSumExpSoFar {
    type Value = f64;
    const START: f64 = f64::NEG_INFINITY;

    #[inline(always)]
    fn next(so_far: f64, element: f64) -> f64 {
        let (larger, smaller) = (so_far.larger(element), so_far.smaller(element));
        // The distance of equal infinities is NaN.
        if larger == smaller && larger.is_infinite() {
            return larger;
        }
        larger + (smaller - larger).exp().ln_1p()
    }
}

/// The most elements that are worked on at a time.
const BLOCK: usize = 512;

/// Bytes that could be moved in the time that an element takes.
const COST: usize = 32;

/// # Safety
/// The conditions of [`ScanKernel::run`].
unsafe fn scan_all<S: Cumulative>(kernel: &ScanKernel, shape: ScanShape, memory: ScanMemory) {
    let ScanShape { outer, size, inner } = shape;
    if size == 0 || inner == 0 {
        return;
    }
    let scan = ScanOfDtype::<S> {
        load: S::Value::load_from(kernel.input, kernel.set).expect("the kernel is for this dtype"),
        columns: kernel.set.version::<ScanColumns<S>>(),
        kernel,
        memory,
    };
    // A block of columns, or the single one there is.
    let width = inner.min(BLOCK);
    let blocks = inner.div_ceil(width);
    pool::split(outer * blocks, size * width * COST, |range| {
        for unit in range {
            let (row, first) = (unit / blocks, unit % blocks * width);
            let start = row * size * inner + first;
            // SAFETY: the columns are parts of the arrays, and no other thread has them (conditions
            // of this function).
            unsafe {
                match inner {
                    1 => scan.row(start, size),
                    _ => scan.columns(start, shape, width.min(inner - first)),
                }
            }
        }
    });
}

/// A scan of one dtype in one instruction set.
struct ScanOfDtype<'a, S: Cumulative> {
    kernel: &'a ScanKernel,
    memory: ScanMemory,
    load: Load,
    columns: Version<ScanColumns<S>>,
}

impl<S: Cumulative> ScanOfDtype<'_, S> {
    /// Scans dense elements from `start` on.
    ///
    /// # Safety
    /// They lie in the arrays, and nobody else uses their results.
    unsafe fn row(&self, start: usize, size: usize) {
        let mut values = [S::START; BLOCK];
        let mut so_far = S::START;
        let mut place = 0;
        for first in (0..size).step_by(BLOCK) {
            let values = &mut values[..BLOCK.min(size - first)];
            // SAFETY: the block is a part of the elements (a condition of this function).
            unsafe { self.load(start + first, values) };
            for (at, value) in values.iter_mut().enumerate() {
                if let Some(indices) = self.memory.indices {
                    place = if S::chooses(so_far, *value) { first + at } else { place };
                    // SAFETY: there is a place for each element.
                    unsafe { indices.get().add(start + first + at).write(place as i64) };
                }
                so_far = S::next(so_far, *value);
                *value = so_far;
            }
            // SAFETY: there is a place for each element.
            unsafe { self.kernel.store.store(values, self.memory.out.get(), start + first) };
        }
    }

    /// Scans `width` neighbouring columns, the first elements of which are from `start` on.
    ///
    /// # Safety
    /// They lie in the arrays, and nobody else uses their results.
    unsafe fn columns(&self, start: usize, shape: ScanShape, width: usize) {
        let [mut values, mut so_far] = [[S::START; BLOCK]; 2];
        let mut places = [0i64; BLOCK];
        for at in 0..shape.size {
            let first = start + at * shape.inner;
            let values = &mut values[..width];
            // SAFETY: the row is a part of the elements (a condition of this function); the arrays
            // are larger than the width; the version is of a set that the processor has.
            unsafe {
                self.load(first, values);
                let (values, so_far) = (values.as_mut_ptr(), so_far.as_mut_ptr());
                let places = self.memory.indices.map(|_| (places.as_mut_ptr(), at as i64));
                (self.columns)(RowOfScan { values, so_far, width, places });
            }
            // SAFETY: there is a place for each element.
            unsafe {
                self.kernel.store.store(values, self.memory.out.get(), first);
                if let Some(indices) = self.memory.indices {
                    let to = indices.get().add(first);
                    to.copy_from_nonoverlapping(places.as_ptr(), width);
                }
            }
        }
    }

    /// # Safety
    /// The elements from `first` on lie in the input.
    unsafe fn load(&self, first: usize, values: &mut [S::Value]) {
        let (len, to) = (values.len(), values.as_mut_ptr().cast());
        // SAFETY: a condition of this function; the values are borrowed.
        unsafe {
            let from = self.memory.input.get().add(first * self.kernel.input.size()).cast_const();
            (self.load)(LoadArguments { from, stride: 1, len, to });
        }
    }
}

/// One row of columns that are scanned: its elements, which become results, and the results so far.
#[derive(Clone, Copy)]
struct RowOfScan<V> {
    values: *mut V,
    so_far: *mut V,
    width: usize,
    /// The places of the extremes so far, and the row's number.
    places: Option<(*mut i64, i64)>,
}

struct ScanColumns<S>(PhantomData<S>);

impl<S: Cumulative> Multiversioned for ScanColumns<S> {
    type Arguments = RowOfScan<S::Value>;
    type Output = ();

    /// # Safety
    /// All arrays are valid for reads and writes of `width` elements.
    #[inline(always)]
    unsafe fn run<I: Isa>(row: RowOfScan<S::Value>) {
        // SAFETY: a condition of this function.
        let (values, so_far) = unsafe {
            (
                std::slice::from_raw_parts_mut(row.values, row.width),
                std::slice::from_raw_parts_mut(row.so_far, row.width),
            )
        };
        if let Some((places, number)) = row.places {
            // SAFETY: a condition of this function.
            let places = unsafe { std::slice::from_raw_parts_mut(places, row.width) };
            for ((place, &value), &so_far) in places.iter_mut().zip(&*values).zip(&*so_far) {
                *place = if S::chooses(so_far, value) { number } else { *place };
            }
        }
        for (value, so_far) in values.iter_mut().zip(so_far) {
            *so_far = S::next(*so_far, *value);
            *value = *so_far;
        }
    }
}
