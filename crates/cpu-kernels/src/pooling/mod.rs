//! Pooling: the largest element, or the average, of each window of an array, and the gradients of
//! the elements.
//!
//! Arrays are dense and seen as `[planes, depth, height, width]`; windows of fewer axes have axes of
//! size 1 before them. Threads have different rows of the result. A gradient is gathered: each
//! element collects from the windows that have it, so the order of the additions is fixed.

mod axis;
mod backward;
mod forward;

use expression::DType;

use crate::instruction_set::{InstructionSet, Version};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, HalfBits, stored_as};

use self::backward::{AverageGradient, LargestGradient};
use self::forward::{Average, Largest, WindowRows};

pub use self::axis::{WindowAxis, Windows};

/// An array and its windows: depth, height and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolShape {
    /// The number of arrays of these three axes.
    pub planes: usize,
    /// The windows along each axis.
    pub axes: [WindowAxis; 3],
}

/// The result of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// The largest element, the first of equal ones; NaN if there is one.
    Max,
    /// The average. Windows have no dilation.
    Average {
        /// The number that the sum is divided by, in place of the number of elements.
        divisor: Option<usize>,
        /// Whether the padding's zeros count among the elements.
        counts_padding: bool,
    },
}

/// The memory of a call.
#[derive(Clone, Copy, Debug)]
pub struct PoolMemory {
    /// The array that is written.
    pub out: *mut u8,
    /// The places of the largest elements in their planes: written, if they are there, by the forward
    /// function; read by the backward function.
    pub places: Option<*mut i64>,
    /// The array that is read.
    pub input: *const u8,
}

/// Some rows of a call.
#[derive(Clone)]
struct PoolWork {
    shape: PoolShape,
    divisor: Option<usize>,
    counts_padding: bool,
    out: SharedPointer<u8>,
    places: Option<SharedPointer<i64>>,
    input: SharedPointer<u8>,
    rows: std::ops::Range<usize>,
}

type RunRows = Version<WindowRows<Average, f32>>;

/// Pooling of elements of one dtype.
///
/// ```
/// use cpu_kernels::pooling::{PoolKernel, PoolMemory, PoolShape, Pooling, WindowAxis, Windows};
/// use expression::DType;
///
/// let (x, mut largest, mut places) = ([1.0f32, 3.0, 2.0, 0.0], [0.0f32; 2], [0i64; 2]);
/// let one = WindowAxis { input: 1, output: 1, windows: Windows::Adaptive };
/// let shape = PoolShape { planes: 1, axes: [one, one, WindowAxis { input: 4, output: 2, ..one }] };
/// let kernel = PoolKernel::new(Pooling::Max, DType::F32).expect("it is there");
/// let out = largest.as_mut_ptr().cast();
/// let memory = PoolMemory { out, places: Some(places.as_mut_ptr()), input: x.as_ptr().cast() };
/// // SAFETY: the arrays have four, two and two elements.
/// unsafe { kernel.run(shape, memory) };
/// assert_eq!((largest, places), ([3.0, 2.0], [1, 2]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PoolKernel {
    pooling: Pooling,
    size: usize,
    /// The function that notes no places, and the one that does.
    run: [RunRows; 2],
}

/// The gradients of a pooling's elements, from those of its results, of one dtype of floats.
#[derive(Clone, Copy, Debug)]
pub struct PoolBackwardKernel {
    pooling: Pooling,
    size: usize,
    run: RunRows,
}

impl PoolKernel {
    /// The kernel for a dtype, in the current instruction set; `None` if there is none. There are no
    /// largest truth values, and averages of floats and `I64` alone.
    pub fn new(pooling: Pooling, dtype: DType) -> Option<PoolKernel> {
        PoolKernel::in_set(pooling, dtype, InstructionSet::current())
    }

    /// [`PoolKernel::new`] in a set that the processor has.
    pub fn in_set(pooling: Pooling, dtype: DType, set: InstructionSet) -> Option<PoolKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        // Integers are seldom pooled: one version of each loop is enough.
        const OF_INTEGERS: InstructionSet = InstructionSet::Baseline;
        macro_rules! by_dtype {
            ($fold:ty, $second:ty: $($float:ident)+; $($integer:ident)+) => {
                match dtype {
                    $(DType::$float => [
                        set.version::<WindowRows<$fold, stored_as!($float)>>(),
                        set.version::<WindowRows<$second, stored_as!($float)>>(),
                    ],)+
                    $(DType::$integer => const { [
                        OF_INTEGERS.version::<WindowRows<$fold, stored_as!($integer)>>(),
                        OF_INTEGERS.version::<WindowRows<$second, stored_as!($integer)>>(),
                    ] },)+
                    _ => return None,
                }
            };
        }
        let run = match pooling {
            Pooling::Max => {
                by_dtype!(Largest<false>, Largest<true>: F64 F32 F16 BF16; I64 I32 I16 I8 U8)
            }
            Pooling::Average { .. } => by_dtype!(Average, Average: F64 F32 F16 BF16; I64),
        };
        Some(PoolKernel { pooling, size: dtype.size(), run })
    }

    /// Pools, in the threads of the pool if there is much to do.
    ///
    /// # Safety
    /// The input is valid for reads, and `out` and the places for writes, of as many elements as the
    /// shape says; nobody else writes the one or uses the others, and they do not overlap. No axis has
    /// inputs or outputs of size 0.
    pub unsafe fn run(&self, shape: PoolShape, memory: PoolMemory) {
        let [depth, height, width] = shape.axes;
        let rows = shape.planes * depth.output * height.output;
        let inputs = depth.input * height.input * width.input;
        let outputs = (depth.output * height.output * width.output).max(1);
        // The elements that are read for each output, at least one.
        let cost = width.output * self.size * (1 + inputs / outputs) * 4;
        let run = self.run[usize::from(memory.places.is_some())];
        // SAFETY: the conditions of this function; rows of the output differ between threads.
        unsafe { each_row(self.pooling, shape, memory, (rows, cost), run) }
    }
}

impl PoolBackwardKernel {
    /// The kernel for a dtype, in the current instruction set; `None` if it is none of floats.
    pub fn new(pooling: Pooling, dtype: DType) -> Option<PoolBackwardKernel> {
        PoolBackwardKernel::in_set(pooling, dtype, InstructionSet::current())
    }

    /// [`PoolBackwardKernel::new`] in a set that the processor has.
    pub fn in_set(
        pooling: Pooling,
        dtype: DType,
        set: InstructionSet,
    ) -> Option<PoolBackwardKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        macro_rules! by_dtype {
            ($($dtype:ident)+) => {
                match (dtype, pooling) {
                    $((DType::$dtype, Pooling::Max) => {
                        set.version::<LargestGradient<stored_as!($dtype)>>()
                    }
                    (DType::$dtype, _) => set.version::<AverageGradient<stored_as!($dtype)>>(),)+
                    _ => return None,
                }
            };
        }
        let run = by_dtype!(F64 F32 F16 BF16);
        Some(PoolBackwardKernel { pooling, size: dtype.size(), run })
    }

    /// Writes the gradients of the shape's inputs to `out`, from those of its outputs in `input`, and
    /// for [`Pooling::Max`] the places of the largest elements. A place that is not in a window that
    /// could have it counts for nothing.
    ///
    /// # Safety
    /// `input` and the places are valid for reads of as many elements as the shape has outputs, and
    /// `out` for writes of as many as it has inputs; nobody else writes the ones or uses the other,
    /// and they do not overlap. The places are there for [`Pooling::Max`]. No axis has inputs or
    /// outputs of size 0.
    pub unsafe fn run(&self, shape: PoolShape, memory: PoolMemory) {
        let [depth, height, width] = shape.axes;
        let rows = shape.planes * depth.input * height.input;
        let cost = (width.input + width.output) * self.size * 8;
        // SAFETY: the conditions of this function; rows of the result differ between threads.
        unsafe { each_row(self.pooling, shape, memory, (rows, cost), self.run) }
    }
}

/// # Safety
/// The conditions of the kernel's `run`.
unsafe fn each_row(
    pooling: Pooling,
    shape: PoolShape,
    memory: PoolMemory,
    (rows, cost): (usize, usize),
    run: RunRows,
) {
    let (divisor, counts_padding) = match pooling {
        Pooling::Max => (None, false),
        Pooling::Average { divisor, counts_padding } => (divisor, counts_padding),
    };
    let out = SharedPointer::new(memory.out);
    let input = SharedPointer::of_const(memory.input);
    let places = memory.places.map(SharedPointer::new);
    pool::split(rows, cost, |rows| {
        // SAFETY: the function is the one for the dtype, in a set that the processor has; the
        // addresses are valid, and the rows are this thread's alone (conditions of this function).
        unsafe { run(PoolWork { shape, divisor, counts_padding, out, places, input, rows }) }
    });
}
