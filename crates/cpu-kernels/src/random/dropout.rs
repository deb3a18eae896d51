//! Dropout, which draws its mask anew instead of keeping it.

use std::marker::PhantomData;

use expression::DType;

use super::distribution::is_chosen;
use super::philox::Philox;
use super::{CHUNK, chunk_of_words, split};
use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, ComputeValue, ConvertedFrom, HalfBits, StoredValue};

/// Dropout of elements of a floating-point dtype: each one times `scale` with probability `keep`,
/// else times zero. The elements that stay are those that [`Bernoulli`](super::Distribution::Bernoulli) with the same
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
        let (out, input) = (SharedPointer::new(out), SharedPointer::of_const(input));
        split(len, |range| {
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
        let mut at = 0;
        while at < part.len {
            let words = chunk_of_words(part.philox, part.first + at);
            let count = CHUNK.min(part.len - at);
            for (index, &word) in words[..count].iter().enumerate() {
                let factor = if is_chosen(word, part.keep) { scale } else { S::Compute::ZERO };
                // SAFETY: `at + index` is below `len`.
                unsafe {
                    let element = input.add(at + index).read().load();
                    out.add(at + index).write(S::store(element.times(factor)));
                }
            }
            at += count;
        }
    }
}
