//! Sequences of different lengths in one batch (`torch.nn.utils.rnn`).

use std::borrow::Borrow;

use tensor::{DType, Device, Error, Tensor};

use crate::Result;

/// The elements of sequences of different lengths, without padding: those of the first step of all
/// sequences, then those of the second step of all that have one, and so on, the longest sequence first
/// (`PackedSequence`). Recurrent layers compute nothing for what is not there.
///
/// ```
/// use nn::utils::rnn::{pack_sequence, pad_packed_sequence};
/// use nn::{Forward, LSTM};
/// use tensor::Tensor;
/// let sequences = [Tensor::ones([2, 3], ())?, Tensor::ones([4, 3], ())?];
/// let packed = pack_sequence(&sequences, false)?;
/// assert_eq!(packed.batch_sizes(), [2, 2, 1, 1]);
/// let (output, _) = LSTM::new(3, 5)?.forward(&packed)?;
/// let (padded, lengths) = pad_packed_sequence(&output, true, 0.0, None)?;
/// assert_eq!((padded.shape(), lengths), (&[2, 4, 5][..], vec![2, 4]));
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PackedSequence {
    data: Tensor,
    /// The number of sequences that have a step; none is larger than the one before, nor 0.
    batch_sizes: Vec<usize>,
    /// The place in the batch of each sequence, the longest one first, if that is not their order.
    order: Option<Vec<usize>>,
}

impl PackedSequence {
    /// The elements, `[steps of all sequences, ..]`.
    pub fn data(&self) -> &Tensor {
        &self.data
    }

    /// The number of sequences that have a first step, a second one, and so on.
    pub fn batch_sizes(&self) -> &[usize] {
        &self.batch_sizes
    }

    /// The place in the batch of each sequence, the longest one first (`sorted_indices`); `None` where
    /// the batch is in that order.
    pub fn sorted_indices(&self) -> Option<&[usize]> {
        self.order.as_deref()
    }

    /// The length of each sequence, in the order of the batch.
    pub fn lengths(&self) -> Vec<usize> {
        let mut lengths = vec![0; self.batch_sizes.first().copied().unwrap_or(0)];
        for (sorted, length) in (0..lengths.len()).zip(self.sorted_lengths()) {
            lengths[self.place(sorted)] = length;
        }
        lengths
    }

    /// The same sequences with other elements: those that `function` makes of them, as many.
    ///
    /// # Errors
    /// Those of the function; or it gives another number of elements.
    pub fn map(&self, function: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<PackedSequence> {
        let data = function(&self.data)?;
        if data.shape().first() != self.data.shape().first() {
            let value =
                format!("elements of shape {:?}, not {:?}", data.shape(), self.data.shape());
            let why = "there must be as many as before";
            return Err(refused("PackedSequence::map", "function", value, why));
        }
        Ok(PackedSequence { data, ..self.clone() })
    }

    /// The sequences on a device, or in a dtype.
    ///
    /// # Errors
    /// The device does not exist, or memory is short.
    pub fn to(&self, target: impl Into<tensor::To>) -> Result<PackedSequence> {
        self.map(|data| data.to(target))
    }

    /// The place in the batch of a sequence by its place among the sorted ones.
    fn place(&self, sorted: usize) -> usize {
        self.order.as_ref().map_or(sorted, |order| order[sorted])
    }

    /// The lengths, the longest one first.
    fn sorted_lengths(&self) -> impl Iterator<Item = usize> {
        let batch = self.batch_sizes.first().copied().unwrap_or(0);
        (0..batch).map(|sequence| self.batch_sizes.partition_point(|&size| size > sequence))
    }

    /// For each element, the place in the batch of its sequence, and its step.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let steps = self.batch_sizes.iter().enumerate();
        steps.flat_map(move |(step, &size)| (0..size).map(move |sorted| (self.place(sorted), step)))
    }

    /// Rows along a dimension, from the order of the batch to that of lengths.
    pub(crate) fn sorted(&self, x: &Tensor, dim: isize) -> Result<Tensor> {
        match &self.order {
            Some(order) => x.index_select(dim, &indices(order.iter().copied(), x.device())?),
            None => Ok(x.clone()),
        }
    }

    /// Rows along a dimension, from the order of lengths to that of the batch.
    pub(crate) fn unsorted(&self, x: &Tensor, dim: isize) -> Result<Tensor> {
        let Some(order) = &self.order else { return Ok(x.clone()) };
        let mut places = vec![0; order.len()];
        for (sorted, &place) in order.iter().enumerate() {
            places[place] = sorted;
        }
        x.index_select(dim, &indices(places.into_iter(), x.device())?)
    }
}

/// Packs sequences that are padded to one length: `[steps, batch, ..]`, or `[batch, steps, ..]` with
/// `batch_first`. With `enforce_sorted` they must come the longest one first.
///
/// ```
/// use nn::utils::rnn::pack_padded_sequence;
/// use tensor::tensor;
/// let padded = tensor![[1, 2, 0], [3, 4, 5]]?;
/// let packed = pack_padded_sequence(&padded, &[2, 3], true, false)?;
/// assert_eq!(packed.data().to_vec::<i64>()?, [3, 1, 4, 2, 5]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// There is not one length for each sequence; one is 0, or larger than there are steps; they are not in
/// the order that is asked for; memory is short.
#[track_caller]
pub fn pack_padded_sequence(
    input: &Tensor,
    lengths: &[usize],
    batch_first: bool,
    enforce_sorted: bool,
) -> Result<PackedSequence> {
    const OP: &str = "pack_padded_sequence";
    let &[first, second, ..] = input.shape() else {
        let value = format!("a tensor of shape {:?}", input.shape());
        return Err(refused(OP, "input", value, "it must be [steps, batch, ..]"));
    };
    let (steps, batch) = if batch_first { (second, first) } else { (first, second) };
    let fits = lengths.len() == batch && lengths.iter().all(|length| (1..=steps).contains(length));
    if !fits || batch == 0 {
        let value = format!("{lengths:?} of {batch} sequences of {steps} steps");
        let why = "there must be sequences, and one length for each, from 1 to the number of steps";
        return Err(refused(OP, "lengths", value, why));
    }
    let is_sorted = lengths.is_sorted_by(|a, b| a >= b);
    if enforce_sorted && !is_sorted {
        let why =
            "they must fall, the longest sequence first; without enforce_sorted any order will do";
        return Err(refused(OP, "lengths", format!("{lengths:?}"), why));
    }
    let mut order: Vec<usize> = (0..batch).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(lengths[place]));
    let longest = lengths[order[0]];
    let size = |step: usize| lengths.iter().filter(|&&length| length > step).count();
    let packed = PackedSequence {
        data: input.clone(),
        batch_sizes: (0..longest).map(size).collect(),
        order: (!is_sorted).then_some(order),
    };
    let row = row_of(batch_first, steps, batch);
    let rows = indices(packed.places().map(row), input.device())?;
    let data = input.flatten_dims(0, 1)?.index_select(0, &rows)?;
    Ok(PackedSequence { data, ..packed })
}

/// The sequences padded with a value to the length of the longest, or to `total_length`, and the length
/// of each, in the order of the batch that was packed: `[steps, batch, ..]`, or `[batch, steps, ..]` with
/// `batch_first`.
///
/// ```
/// use nn::utils::rnn::{pack_sequence, pad_packed_sequence};
/// use tensor::tensor;
/// let packed = pack_sequence(&[tensor![1, 2]?, tensor![3, 4, 5]?], false)?;
/// let (padded, lengths) = pad_packed_sequence(&packed, true, -1, None)?;
/// assert_eq!(padded.to_vec::<i64>()?, [1, 2, -1, 3, 4, 5]);
/// assert_eq!(lengths, [2, 3]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// `total_length` is less than the longest sequence; the value is none of the dtype; memory is short.
#[track_caller]
pub fn pad_packed_sequence(
    sequence: &PackedSequence,
    batch_first: bool,
    padding_value: impl Into<tensor::Scalar>,
    total_length: Option<usize>,
) -> Result<(Tensor, Vec<usize>)> {
    const OP: &str = "pad_packed_sequence";
    let (longest, data) = (sequence.batch_sizes.len(), &sequence.data);
    let steps = total_length.unwrap_or(longest);
    if steps < longest {
        let value = format!("{steps}, where the longest sequence has {longest} steps");
        return Err(refused(OP, "total_length", value, "it must not be less"));
    }
    let lengths = sequence.lengths();
    let batch = lengths.len();
    let row = row_of(batch_first, steps, batch);
    let rows = indices(sequence.places().map(row), data.device())?;
    let mut shape = data.shape().to_vec();
    shape[0] = steps * batch;
    let padding = Tensor::full(&*shape, padding_value, (data.dtype(), data.device()))?;
    let padded = padding.index_copy(0, &rows, data)?;
    shape.splice(..1, if batch_first { [batch, steps] } else { [steps, batch] });
    Ok((padded.reshape(shape)?, lengths))
}

/// Sequences `[steps, ..]` of different lengths in one tensor, each filled with a value at its end:
/// `[steps, batch, ..]`, or `[batch, steps, ..]` with `batch_first`.
///
/// ```
/// use nn::utils::rnn::pad_sequence;
/// use tensor::tensor;
/// let padded = pad_sequence(&[tensor![1, 2]?, tensor![3, 4, 5]?], true, 0)?;
/// assert_eq!(padded.to_vec::<i64>()?, [1, 2, 0, 3, 4, 5]);
/// # Ok::<(), tensor::Error>(())
/// ```
///
/// # Errors
/// There are none, or they differ in other sizes, in dtype or in device; the value is none of the dtype;
/// memory is short.
#[track_caller]
pub fn pad_sequence<T: Borrow<Tensor>>(
    sequences: &[T],
    batch_first: bool,
    padding_value: impl Into<tensor::Scalar>,
) -> Result<Tensor> {
    let value = padding_value.into();
    let longest = lengths_of("pad_sequence", sequences)?.into_iter().max().unwrap_or(0);
    let mut padded = Vec::with_capacity(sequences.len());
    for sequence in sequences.iter().map(Borrow::borrow) {
        let mut shape = sequence.shape().to_vec();
        shape[0] = longest - shape[0];
        padded.push(match shape[0] {
            0 => sequence.clone(),
            _ => {
                let end = Tensor::full(&*shape, value, (sequence.dtype(), sequence.device()))?;
                Tensor::cat([sequence, &end], 0)?
            }
        });
    }
    Tensor::stack(&padded, isize::from(!batch_first))
}

/// Packs sequences `[steps, ..]` of different lengths. With `enforce_sorted` they must come the longest
/// one first.
///
/// # Errors
/// As [`pad_sequence`] and [`pack_padded_sequence`].
#[track_caller]
pub fn pack_sequence<T: Borrow<Tensor>>(
    sequences: &[T],
    enforce_sorted: bool,
) -> Result<PackedSequence> {
    let lengths = lengths_of("pack_sequence", sequences)?;
    pack_padded_sequence(&pad_sequence(sequences, false, 0)?, &lengths, false, enforce_sorted)
}

/// The sequences of a padded batch without their padding, as views.
///
/// # Errors
/// There is not one length for each sequence, or one is larger than there are steps.
#[track_caller]
pub fn unpad_sequence(
    padded: &Tensor,
    lengths: &[usize],
    batch_first: bool,
) -> Result<Vec<Tensor>> {
    let sequences = padded.unbind(isize::from(!batch_first))?;
    if sequences.len() != lengths.len() {
        let value = format!("{} lengths of {} sequences", lengths.len(), sequences.len());
        return Err(refused("unpad_sequence", "lengths", value, "there must be one for each"));
    }
    sequences.iter().zip(lengths).map(|(sequence, &length)| sequence.narrow(0, 0, length)).collect()
}

/// The lengths of sequences.
///
/// # Errors
/// There are none, or one has no dimensions.
fn lengths_of<T: Borrow<Tensor>>(op: &'static str, sequences: &[T]) -> Result<Vec<usize>> {
    if sequences.is_empty() {
        return Err(refused(op, "sequences", "[]".to_owned(), "there must be at least one"));
    }
    sequences.iter().map(|sequence| sequence.borrow().size(0)).collect()
}

/// The row of an element in a padded batch whose first two dimensions are one.
fn row_of(batch_first: bool, steps: usize, batch: usize) -> impl Fn((usize, usize)) -> usize {
    move |(place, step)| if batch_first { place * steps + step } else { step * batch + place }
}

/// Indices as a tensor.
fn indices(rows: impl Iterator<Item = usize>, device: Device) -> Result<Tensor> {
    let rows: Vec<i64> = rows.map(|row| row as i64).collect();
    let count = rows.len();
    Tensor::from_vec(rows, [count], (DType::I64, device))
}

fn refused(op: &'static str, argument: &'static str, value: String, why: &'static str) -> Error {
    Error::InvalidArgument { op, argument, value, why }
}
