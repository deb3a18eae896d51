//! Random numbers: element `i` follows from seed, offset and `i` alone, so that they are the same as
//! on CUDA, whatever the number of threads and the instruction set.

mod distribution;
mod philox;

use std::marker::PhantomData;

use expression::DType;

use self::distribution::{
    Drawn, ExponentialReals, NormalReals, Ones, UniformReals, WholeNumbers, is_chosen,
};
pub use self::distribution::{Parameters, integer};
pub use self::philox::Philox;
use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, ComputeValue, ConvertedFrom, HalfBits, StoredValue, TruthByte};

/// A distribution of random numbers. [`Parameters`] says which parameters are which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// Floats in [a, b).
    Uniform,
    /// Floats of mean a and standard deviation b.
    Normal,
    /// Floats of rate a, which is the inverse of their mean.
    Exponential,
    /// Whole numbers in [low, high).
    Integers,
    /// One with probability a, else zero.
    Bernoulli,
}

/// Random numbers of one distribution and dtype.
///
/// ```
/// use cpu_kernels::random::{Distribution, Parameters, Philox, RandomKernel};
/// use expression::DType;
///
/// let mut x = [0.0f32; 1000];
/// let kernel = RandomKernel::new(Distribution::Uniform, DType::F32).expect("it is a float");
/// let parameters = Parameters { a: 2.0, b: 3.0, ..Parameters::default() };
/// // SAFETY: the array has a thousand elements.
/// unsafe { kernel.run(x.as_mut_ptr().cast(), 1000, Philox { seed: 1, offset: 0 }, parameters) };
/// assert!(x.iter().all(|x| (2.0..3.0).contains(x)));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RandomKernel {
    size: usize,
    run: Version<Filled<UniformReals, f32>>,
}

/// A part of the elements of a draw.
struct DrawnPart {
    out: SharedPointer<u8>,
    /// The number of the part's first element.
    first: usize,
    len: usize,
    philox: Philox,
    parameters: Parameters,
}

impl RandomKernel {
    /// The kernel for a dtype, in the current instruction set; `None` for numbers that the dtype
    /// does not have.
    pub fn new(distribution: Distribution, dtype: DType) -> Option<RandomKernel> {
        RandomKernel::in_set(distribution, dtype, InstructionSet::current())
    }

    /// [`RandomKernel::new`] in a set that the processor has.
    pub fn in_set(
        distribution: Distribution,
        dtype: DType,
        set: InstructionSet,
    ) -> Option<RandomKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        let run = match distribution {
            Distribution::Uniform => reals::<UniformReals>(dtype, set)?,
            Distribution::Normal => reals::<NormalReals>(dtype, set)?,
            Distribution::Exponential => reals::<ExponentialReals>(dtype, set)?,
            Distribution::Integers => all::<WholeNumbers>(dtype, set),
            Distribution::Bernoulli => all::<Ones>(dtype, set),
        };
        Some(RandomKernel { size: dtype.size(), run })
    }

    /// Fills `len` dense elements, in the threads of the pool if they are many.
    ///
    /// # Safety
    /// `out` is valid for writes of `len` elements of the dtype, and nobody else uses it.
    pub unsafe fn run(&self, out: *mut u8, len: usize, philox: Philox, parameters: Parameters) {
        // About a nanosecond per element.
        const COST: usize = 25;
        let out = SharedPointer::new(out);
        pool::split(len, COST, |range| {
            let (first, len) = (range.start, range.len());
            // SAFETY: the part lies within the elements, and no other thread uses it; the version is
            // of a set that the processor has.
            unsafe {
                let out = SharedPointer::new(out.get().add(first * self.size));
                (self.run)(DrawnPart { out, first, len, philox, parameters });
            }
        });
    }
}

fn reals<D>(dtype: DType, set: InstructionSet) -> Option<Version<Filled<UniformReals, f32>>>
where
    D: Drawn<f64> + Drawn<f32> + Drawn<HalfBits> + Drawn<BrainBits>,
{
    Some(match dtype {
        DType::F64 => set.version::<Filled<D, f64>>(),
        DType::F32 => set.version::<Filled<D, f32>>(),
        DType::F16 => set.version::<Filled<D, HalfBits>>(),
        DType::BF16 => set.version::<Filled<D, BrainBits>>(),
        _ => return None,
    })
}

fn all<D>(dtype: DType, set: InstructionSet) -> Version<Filled<UniformReals, f32>>
where
    D: Drawn<f64> + Drawn<f32> + Drawn<HalfBits> + Drawn<BrainBits>,
    D: Drawn<i64> + Drawn<i32> + Drawn<i16> + Drawn<i8> + Drawn<u8> + Drawn<TruthByte>,
{
    match dtype {
        DType::F64 => set.version::<Filled<D, f64>>(),
        DType::F32 => set.version::<Filled<D, f32>>(),
        DType::F16 => set.version::<Filled<D, HalfBits>>(),
        DType::BF16 => set.version::<Filled<D, BrainBits>>(),
        DType::I64 => set.version::<Filled<D, i64>>(),
        DType::I32 => set.version::<Filled<D, i32>>(),
        DType::I16 => set.version::<Filled<D, i16>>(),
        DType::I8 => set.version::<Filled<D, i8>>(),
        DType::U8 => set.version::<Filled<D, u8>>(),
        DType::Bool => set.version::<Filled<D, TruthByte>>(),
    }
}

/// The loop that fills elements of `S` by the distribution `D`.
struct Filled<D, S>(PhantomData<fn(D, S)>);

impl<S: StoredValue, D: Drawn<S>> Multiversioned for Filled<D, S> {
    type Arguments = DrawnPart;
    type Output = ();

    /// # Safety
    /// `out` is valid for writes of `len` elements.
    #[inline(always)]
    unsafe fn run<I: Isa>(part: DrawnPart) {
        let out = part.out.get().cast::<S>();
        for at in 0..part.len {
            let words = part.philox.words((part.first + at) as u64);
            // SAFETY: `at` is below `len`.
            unsafe { out.add(at).write(D::element(part.parameters, words)) };
        }
    }
}

/// Dropout of elements of a floating-point dtype: each one times `scale` with probability `keep`,
/// else times zero. The elements that stay are those that [`Distribution::Bernoulli`] with the same
/// numbers gives one for, so no mask need be stored: backward is the same function of the gradient.
#[derive(Clone, Copy, Debug)]
pub struct DropoutKernel {
    size: usize,
    run: Version<DroppedOut<f32>>,
}

/// A part of the elements of a dropout.
struct DropoutPart {
    out: SharedPointer<u8>,
    input: SharedPointer<u8>,
    /// The number of the part's first element.
    first: usize,
    len: usize,
    philox: Philox,
    keep: f64,
    scale: f64,
}

impl DropoutKernel {
    /// The kernel for a dtype, in the current instruction set; `None` for integers.
    pub fn new(dtype: DType) -> Option<DropoutKernel> {
        DropoutKernel::in_set(dtype, InstructionSet::current())
    }

    /// [`DropoutKernel::new`] in a set that the processor has.
    pub fn in_set(dtype: DType, set: InstructionSet) -> Option<DropoutKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        let run = match dtype {
            DType::F64 => set.version::<DroppedOut<f64>>(),
            DType::F32 => set.version::<DroppedOut<f32>>(),
            DType::F16 => set.version::<DroppedOut<HalfBits>>(),
            DType::BF16 => set.version::<DroppedOut<BrainBits>>(),
            _ => return None,
        };
        Some(DropoutKernel { size: dtype.size(), run })
    }

    /// Writes `input`, dense and of `len` elements, to `out`, in the threads of the pool if it is
    /// large.
    ///
    /// # Safety
    /// `input` is valid for reads of `len` elements of the dtype, which nobody writes, and `out` for
    /// writes of as many, which nobody else uses. They are one array, or do not overlap.
    pub unsafe fn run(
        &self,
        (out, input): (*mut u8, *const u8),
        len: usize,
        philox: Philox,
        (keep, scale): (f64, f64),
    ) {
        const COST: usize = 25;
        let (out, input) = (SharedPointer::new(out), SharedPointer::of_const(input));
        pool::split(len, COST, |range| {
            let (first, len) = (range.start, range.len());
            // SAFETY: the part lies within the elements, and no other thread uses it; the version is
            // of a set that the processor has.
            unsafe {
                let [out, input] = [out, input]
                    .map(|start| SharedPointer::new(start.get().add(first * self.size)));
                (self.run)(DropoutPart { out, input, first, len, philox, keep, scale });
            }
        });
    }
}

/// The loop of dropout over elements of `S`.
struct DroppedOut<S>(PhantomData<S>);

impl<S: StoredValue<Compute: ConvertedFrom<f64>>> Multiversioned for DroppedOut<S> {
    type Arguments = DropoutPart;
    type Output = ();

    /// # Safety
    /// `input` is valid for reads and `out` for writes of `len` elements; they are one array, or do
    /// not overlap.
    #[inline(always)]
    unsafe fn run<I: Isa>(part: DropoutPart) {
        let scale = S::Compute::converted_from(part.scale);
        let (out, input) = (part.out.get().cast::<S>(), part.input.get().cast::<S>());
        for at in 0..part.len {
            let words = part.philox.words((part.first + at) as u64);
            let factor = if is_chosen(words, part.keep) { scale } else { S::Compute::ZERO };
            // SAFETY: `at` is below `len`.
            unsafe { out.add(at).write(S::store(input.add(at).read().load().times(factor))) };
        }
    }
}
