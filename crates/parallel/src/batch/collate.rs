//! Joining samples into a batch.

use tensor::{Data, Error, Result, StackBuffer, Tensor};

use super::SampleList;

/// A sample that can be joined with others to a batch (`default_collate`).
///
/// Tensors of one shape are stacked along a new first dimension; numbers, and arrays of numbers,
/// become a tensor; text becomes a `Vec`. Tuples, maps, `Vec` (all of one length) and `Option` (all
/// or none) are joined part by part. Integers that tensors do not have become `I64`.
///
/// For types of one's own there is the derive, which makes a struct of batches from a struct of
/// samples:
///
/// ```
/// use parallel::Collate;
/// use tensor::{Tensor, tensor};
///
/// #[derive(Collate)]
/// struct Image {
///     pixels: Tensor,
///     label: usize,
/// }
///
/// let samples = vec![
///     Image { pixels: tensor![1.0, 2.0]?, label: 3 },
///     Image { pixels: tensor![3.0, 4.0]?, label: 5 },
/// ];
/// let batch: ImageBatch = Image::collate(samples)?;
/// assert_eq!(batch.pixels.shape(), [2, 2]);
/// assert_eq!(batch.label.to_vec::<i64>()?, [3, 5]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # One's own way of joining
/// Each worker of a loader has a [`Slot`](Collate::Slot), in which it makes one batch after the
/// other: samples are added as they are read. A slot can keep memory from batch to batch, as
/// [`StackBuffer`] does. Where all samples have to be there before they can be joined, [`SampleList`] is
/// the slot, here to pad sequences to the longest:
///
/// ```
/// use parallel::{Collate, SampleList};
/// use tensor::{Result, Tensor, tensor};
///
/// struct Sequence(Tensor);
///
/// impl Collate for Sequence {
///     type Batch = Tensor;
///     type Slot = SampleList<Sequence>;
///
///     fn slot(_pin_memory: bool) -> SampleList<Sequence> {
///         SampleList::new()
///     }
///
///     fn begin(slot: &mut SampleList<Sequence>, samples: usize) {
///         slot.begin(samples);
///     }
///
///     fn put(self, slot: &mut SampleList<Sequence>) -> Result<()> {
///         slot.push(self);
///         Ok(())
///     }
///
///     fn finish(slot: &mut SampleList<Sequence>) -> Result<Tensor> {
///         let sequences = slot.take();
///         let longest = sequences.iter().map(|one| one.0.numel()).max().unwrap_or(0);
///         let pad = |Sequence(one): &Sequence| {
///             Tensor::cat([one, &Tensor::zeros([longest - one.numel()], one.dtype())?], 0)
///         };
///         Tensor::stack(sequences.iter().map(pad).collect::<Result<Vec<_>>>()?, 0)
///     }
/// }
///
/// let batch = Sequence::collate(vec![Sequence(tensor![1.0]?), Sequence(tensor![2.0, 3.0]?)])?;
/// assert_eq!(batch.to_vec::<f32>()?, [1.0, 0.0, 2.0, 3.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// For one loader, a closure says the same: [`Dataset::collate_with`](crate::Dataset::collate_with).
#[diagnostic::on_unimplemented(
    message = "samples of type `{Self}` cannot be joined to a batch",
    label = "it has no `Collate`",
    note = "write `#[derive(Collate)]` above its declaration; tensors, numbers and tuples have it",
    note = "or say how one loader joins them: `dataset.collate_with(|samples| ..)`"
)]
pub trait Collate: Sized {
    /// The type of the batch.
    type Batch;
    /// The place in which batches are made, one after the other.
    type Slot: Send;

    /// A new slot, whose tensors lie in page-locked memory if that is asked for. It allocates
    /// nothing that may fail.
    fn slot(pin_memory: bool) -> Self::Slot;

    /// Begins a batch of so many samples. What an unfinished one has left is dropped; with 0
    /// samples, nothing else happens.
    fn begin(slot: &mut Self::Slot, samples: usize);

    /// Adds the sample to the batch that was begun.
    ///
    /// # Errors
    /// It does not fit to those before it: its shape, dtype, device or keys differ. Or memory is
    /// short.
    fn put(self, slot: &mut Self::Slot) -> Result<()>;

    /// Gives the batch, after as many samples as were announced.
    ///
    /// # Errors
    /// The samples do not fit together, or there are fewer of them.
    fn finish(slot: &mut Self::Slot) -> Result<Self::Batch>;

    /// Joins the samples, in their order.
    ///
    /// # Errors
    /// As [`put`](Collate::put) and [`finish`](Collate::finish).
    fn collate(samples: Vec<Self>) -> Result<Self::Batch> {
        let mut slot = Self::slot(false);
        Self::begin(&mut slot, samples.len());
        samples.into_iter().try_for_each(|sample| sample.put(&mut slot))?;
        Self::finish(&mut slot)
    }
}

impl Collate for Tensor {
    type Batch = Tensor;
    type Slot = StackBuffer;

    fn slot(pin_memory: bool) -> StackBuffer {
        StackBuffer::new(pin_memory)
    }

    fn begin(slot: &mut StackBuffer, samples: usize) {
        slot.begin(samples);
    }

    fn put(self, slot: &mut StackBuffer) -> Result<()> {
        slot.push(&self)
    }

    fn finish(slot: &mut StackBuffer) -> Result<Tensor> {
        slot.finish()
    }
}

impl Collate for String {
    type Batch = Vec<String>;
    type Slot = SampleList<String>;

    fn slot(_pin_memory: bool) -> SampleList<String> {
        SampleList::new()
    }

    fn begin(slot: &mut SampleList<String>, samples: usize) {
        slot.begin(samples);
    }

    fn put(self, slot: &mut SampleList<String>) -> Result<()> {
        slot.push(self);
        Ok(())
    }

    fn finish(slot: &mut SampleList<String>) -> Result<Vec<String>> {
        Ok(slot.take())
    }
}

/// Samples that become a row of a tensor: `$row` gives the numbers.
macro_rules! rows {
    ($([$($generics:tt)*] $type:ty: $sample:ident => $row:expr;)+) => {$(
        impl<$($generics)*> Collate for $type {
            type Batch = Tensor;
            type Slot = StackBuffer;

            fn slot(pin_memory: bool) -> StackBuffer {
                StackBuffer::new(pin_memory)
            }

            fn begin(slot: &mut StackBuffer, samples: usize) {
                slot.begin(samples);
            }

            // Nothing but the reference, of a sample that lies where `get` has left it: a variable
            // here would be a further copy.
            fn put($sample, slot: &mut StackBuffer) -> Result<()> {
                slot.push_data(&$row)
            }

            fn finish(slot: &mut StackBuffer) -> Result<Tensor> {
                slot.finish()
            }
        }
    )+};
}
rows! {
    [D: Data, const N: usize] [D; N]: self => self;
    [] f64: self => self;
    [] f32: self => self;
    [] i64: self => self;
    [] i32: self => self;
    [] i16: self => self;
    [] i8: self => self;
    [] u8: self => self;
    [] bool: self => self;
    [] u16: self => i64::from(self);
    [] u32: self => i64::from(self);
    [] u64: self => integer(self)?;
    [] usize: self => integer(self)?;
    [] isize: self => integer(self)?;
}

/// An integer as an element of a tensor.
///
/// # Errors
/// It is larger than any of them.
fn integer<N: TryInto<i64> + Copy + std::fmt::Display>(number: N) -> Result<i64> {
    number.try_into().map_err(|_| Error::InvalidArgument {
        op: "collate",
        argument: "sample",
        value: number.to_string(),
        why: "tensors have integers of 64 bits with a sign",
    })
}
