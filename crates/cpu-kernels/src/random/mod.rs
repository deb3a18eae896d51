//! Random numbers: element `i` follows from seed, offset and `i` alone, so that they are the same as
//! on CUDA, whatever the number of threads and the instruction set.

mod distribution;
mod dropout;
mod philox;

use std::marker::PhantomData;
use std::ops::Range;

use expression::DType;

pub(crate) use self::distribution::is_chosen;
use self::distribution::{Drawn, ExponentialReals, NormalReals, Ones, UniformReals, WholeNumbers};
pub use self::distribution::{Parameters, integer};
pub use self::dropout::DropoutKernel;
pub use self::philox::Philox;
use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, HalfBits, StoredValue, TruthByte};

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
        let out = SharedPointer::new(out);
        split(len, |range| {
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

/// Runs `work` on all elements, in parts that begin with a block of random words.
fn split(len: usize, work: impl Fn(Range<usize>) + Sync) {
    // About a nanosecond and a half for the elements of a block.
    const COST: usize = 40;
    pool::split(len.div_ceil(BLOCK), COST, |blocks| {
        work(blocks.start * BLOCK..len.min(blocks.end * BLOCK));
    });
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

/// The words of a block.
const BLOCK: usize = 4;

/// Words that are drawn at a time.
const CHUNK: usize = 64;

/// The random words from `first` on, which is the first word of a block.
#[inline(always)]
fn chunk_of_words(philox: Philox, first: usize) -> [u32; CHUNK] {
    let mut words = [0; CHUNK];
    for block in 0..CHUNK / BLOCK {
        let drawn = philox.words((first / BLOCK + block) as u64);
        for (lane, word) in drawn.into_iter().enumerate() {
            words[block * BLOCK + lane] = word;
        }
    }
    words
}

/// The loop that fills elements of `S` by the distribution `D`.
struct Filled<D, S>(PhantomData<fn(D, S)>);

impl<S: StoredValue + Default, D: Drawn<S>> Multiversioned for Filled<D, S> {
    type Arguments = DrawnPart;
    type Output = ();

    /// # Safety
    /// `out` is valid for writes of `len` elements.
    #[inline(always)]
    unsafe fn run<I: Isa>(part: DrawnPart) {
        let out = part.out.get().cast::<S>();
        let per_chunk = CHUNK / D::WORDS;
        let mut at = 0;
        while at < part.len {
            let words = chunk_of_words(part.philox, (part.first + at) * D::WORDS);
            let mut elements = [S::default(); CHUNK];
            for pair in 0..per_chunk / 2 {
                let first = pair * 2 * D::WORDS;
                let second_half = if D::WORDS == 2 { 2 } else { 0 };
                let words = [
                    words[first],
                    words[first + 1],
                    words[first + second_half],
                    words[first + second_half + 1],
                ];
                let [first, second] = D::pair(part.parameters, words);
                elements[2 * pair] = first;
                elements[2 * pair + 1] = second;
            }
            let count = per_chunk.min(part.len - at);
            // SAFETY: the elements from `at` on end within `len`.
            unsafe { out.add(at).copy_from_nonoverlapping(elements.as_ptr(), count) };
            at += count;
        }
    }
}
