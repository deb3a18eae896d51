//! Evenly spaced numbers, which have the same bits as on CUDA.

use std::marker::PhantomData;

use expression::DType;

use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, ConvertedFrom, HalfBits, StoredValue};

/// The first of some evenly spaced numbers, and their distance: floats, and the same as integers,
/// which integer dtypes use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spacing {
    /// The first number.
    pub start: f64,
    /// The distance of neighbours.
    pub step: f64,
    /// The first number as an integer.
    pub integer_start: i64,
    /// The distance as an integer.
    pub integer_step: i64,
}

/// Evenly spaced numbers of one dtype.
///
/// ```
/// use cpu_kernels::range::{RangeKernel, Spacing};
/// use expression::DType;
///
/// let mut x = [0.0f32; 4];
/// let kernel = RangeKernel::new(DType::F32).expect("it has numbers");
/// let spacing = Spacing { start: 1.0, step: 0.5, ..Spacing::default() };
/// // SAFETY: the array has four elements.
/// unsafe { kernel.run(x.as_mut_ptr().cast(), 4, spacing) };
/// assert_eq!(x, [1.0, 1.5, 2.0, 2.5]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RangeKernel {
    size: usize,
    run: Version<SpacedReals<f32>>,
}

/// A part of the numbers.
struct SpacedPart {
    out: SharedPointer<u8>,
    /// The number of the part's first element.
    first: usize,
    len: usize,
    spacing: Spacing,
}

impl RangeKernel {
    /// The kernel for a dtype, in the current instruction set; `None` for truth values.
    pub fn new(dtype: DType) -> Option<RangeKernel> {
        RangeKernel::in_set(dtype, InstructionSet::current())
    }

    /// [`RangeKernel::new`] in a set that the processor has.
    pub fn in_set(dtype: DType, set: InstructionSet) -> Option<RangeKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        let run = match dtype {
            DType::F64 => set.version::<SpacedReals<f64>>(),
            DType::F32 => set.version::<SpacedReals<f32>>(),
            DType::F16 => set.version::<SpacedReals<HalfBits>>(),
            DType::BF16 => set.version::<SpacedReals<BrainBits>>(),
            DType::I64 => set.version::<SpacedIntegers<i64>>(),
            DType::I32 => set.version::<SpacedIntegers<i32>>(),
            DType::I16 => set.version::<SpacedIntegers<i16>>(),
            DType::I8 => set.version::<SpacedIntegers<i8>>(),
            DType::U8 => set.version::<SpacedIntegers<u8>>(),
            DType::Bool => return None,
        };
        Some(RangeKernel { size: dtype.size(), run })
    }

    /// Fills `len` dense elements with `start + i * step`: floats are computed in `f64` and rounded
    /// once, integers wrap around.
    ///
    /// # Safety
    /// `out` is valid for writes of `len` elements of the dtype, and nobody else uses it.
    pub unsafe fn run(&self, out: *mut u8, len: usize, spacing: Spacing) {
        let out = SharedPointer::new(out);
        pool::split(len, self.size, |range| {
            let (first, len) = (range.start, range.len());
            // SAFETY: the part lies within the elements, and no other thread uses it; the version is
            // of a set that the processor has.
            unsafe {
                let out = SharedPointer::new(out.get().add(first * self.size));
                (self.run)(SpacedPart { out, first, len, spacing });
            }
        });
    }
}

/// The loop over floats.
struct SpacedReals<S>(PhantomData<S>);

impl<S: StoredValue<Compute: ConvertedFrom<f64>>> Multiversioned for SpacedReals<S> {
    type Arguments = SpacedPart;
    type Output = ();

    /// # Safety
    /// `out` is valid for writes of `len` elements.
    #[inline(always)]
    unsafe fn run<I: Isa>(part: SpacedPart) {
        let (out, Spacing { start, step, .. }) = (part.out.get().cast::<S>(), part.spacing);
        for at in 0..part.len {
            let number = start + (part.first + at) as f64 * step;
            // SAFETY: `at` is below `len`.
            unsafe { out.add(at).write(S::store(S::Compute::converted_from(number))) };
        }
    }
}

/// The loop over integers.
struct SpacedIntegers<S>(PhantomData<S>);

impl<S: StoredValue<Compute: ConvertedFrom<i64>>> Multiversioned for SpacedIntegers<S> {
    type Arguments = SpacedPart;
    type Output = ();

    /// # Safety
    /// `out` is valid for writes of `len` elements.
    #[inline(always)]
    unsafe fn run<I: Isa>(part: SpacedPart) {
        let out = part.out.get().cast::<S>();
        let Spacing { integer_start: start, integer_step: step, .. } = part.spacing;
        for at in 0..part.len {
            let number = start.wrapping_add(((part.first + at) as i64).wrapping_mul(step));
            // SAFETY: `at` is below `len`.
            unsafe { out.add(at).write(S::store(S::Compute::converted_from(number))) };
        }
    }
}
