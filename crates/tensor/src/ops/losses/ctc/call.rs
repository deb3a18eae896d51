//! The sizes of a call, which are checked once, and the tensors that follow from them.

use super::OP;
use crate::{DType, Error, Result, Tensor};

/// The options of a call.
pub(super) struct CtcOptions<'a> {
    pub(super) blank: usize,
    pub(super) zero_infinity: bool,
    pub(super) input_lengths: &'a [usize],
    pub(super) target_lengths: &'a [usize],
}

/// The sizes of a call that fit.
#[derive(Clone)]
pub(super) struct CtcCall {
    pub(super) time: usize,
    pub(super) zero_infinity: bool,
    blank: usize,
    input_lengths: Vec<usize>,
    target_lengths: Vec<usize>,
    /// The position of each sequence's first label among all targets.
    starts: Vec<usize>,
}

impl CtcCall {
    /// # Errors
    /// As [`Tensor::ctc_loss_with`].
    pub(super) fn new(
        log_probs: &Tensor,
        targets: &Tensor,
        options: CtcOptions<'_>,
    ) -> Result<CtcCall> {
        let CtcOptions { blank, zero_infinity, input_lengths, target_lengths } = options;
        log_probs.expect_floats(OP)?;
        crate::dispatch::same_device(OP, &[("self", log_probs), ("targets", targets)])?;
        if !matches!(targets.dtype(), DType::I64 | DType::I32) {
            let arguments = vec![("targets", targets.dtype())];
            let rule = "targets are indices of classes, as int64 or int32";
            return Err(Error::DTypeMismatch { op: OP, arguments, rule });
        }
        let (time, batch, classes) = match *log_probs.shape() {
            [time, batch, classes] if matches!(targets.dims(), 1 | 2) => (time, batch, classes),
            [time, classes] if targets.dims() == 1 => (time, 1, classes),
            _ => return Err(unlike(log_probs, targets)),
        };
        if blank >= classes {
            let value = format!("{blank} of {classes} classes");
            let why = "it must be one of the classes";
            return Err(Error::InvalidArgument { op: OP, argument: "blank", value, why });
        }
        expect_lengths("input_lengths", input_lengths, batch, time)?;
        let each = match *targets.shape() {
            [batch_of_targets, each] if batch_of_targets == batch => Some(each),
            [_, _] => return Err(unlike(log_probs, targets)),
            _ => None,
        };
        let most = each.unwrap_or(targets.numel());
        expect_lengths("target_lengths", target_lengths, batch, most)?;
        let mut starts = Vec::with_capacity(batch);
        let mut sum = 0;
        for (sequence, length) in target_lengths.iter().enumerate() {
            starts.push(each.map_or(sum, |each| sequence * each));
            sum += length;
        }
        if each.is_none() && sum > targets.numel() {
            let value = format!("{target_lengths:?} for {} labels", targets.numel());
            let why = "they must be the lengths of parts of the targets";
            return Err(Error::InvalidArgument { op: OP, argument: "target_lengths", value, why });
        }
        let (input_lengths, target_lengths) = (input_lengths.to_vec(), target_lengths.to_vec());
        Ok(CtcCall { time, zero_infinity, blank, input_lengths, target_lengths, starts })
    }

    pub(super) fn batch(&self) -> usize {
        self.input_lengths.len()
    }

    /// The number of states: the labels of the longest target, with a blank before, between and behind
    /// them.
    pub(super) fn states(&self) -> usize {
        2 * self.longest() + 1
    }

    fn longest(&self) -> usize {
        self.target_lengths.iter().copied().max().unwrap_or(0)
    }

    /// The numbers of labels, of which there is one at least, to divide losses by.
    #[track_caller]
    pub(super) fn label_counts(&self, losses: &Tensor) -> Result<Tensor> {
        let counts: Vec<i64> = self.target_lengths.iter().map(|&n| n.max(1) as i64).collect();
        let counts = Tensor::from_vec(counts, losses.shape(), losses.device())?;
        counts.to(losses.dtype())
    }

    /// The label of each state, `[batch, states]`: blanks where there is none.
    #[track_caller]
    pub(super) fn labels(&self, targets: &Tensor) -> Result<Tensor> {
        let (batch, longest, device) = (self.batch(), self.longest(), targets.device());
        let blanks =
            |count: usize| Tensor::full([batch, count], self.blank as i64, (DType::I64, device));
        if longest == 0 {
            return blanks(1);
        }
        let (mut places, mut is_there) = (Vec::new(), Vec::new());
        for (&start, &length) in self.starts.iter().zip(&self.target_lengths) {
            for at in 0..longest {
                places.push(if at < length { (start + at) as i64 } else { 0 });
                is_there.push(at < length);
            }
        }
        let places = Tensor::from_vec(places, [batch, longest], device)?;
        let is_there = Tensor::from_vec(is_there, [batch, longest], device)?;
        let labels = targets.to(DType::I64)?.take(&places)?;
        let labels = Tensor::where_cond(&is_there, &labels, self.blank as i64)?;
        let pairs = Tensor::stack([&blanks(longest)?, &labels], 2)?;
        Tensor::cat([&pairs.reshape([batch, 2 * longest])?, &blanks(1)?], 1)
    }

    /// Labels of states, `[batch, states]`, as those at each time.
    pub(super) fn at_all_times(&self, labels: &Tensor) -> Result<Tensor> {
        labels.unsqueeze(0)?.expand([self.time, self.batch(), self.states()])
    }

    /// The logarithms of the probabilities of the states' labels, `[time, batch, states]`.
    #[track_caller]
    pub(super) fn of_labels(&self, log_probs: &Tensor, labels: &Tensor) -> Result<Tensor> {
        log_probs.gather(2, &self.at_all_times(labels)?)
    }

    /// Room for the variables of a recursion, with a row and two columns more, in which nothing is
    /// possible.
    #[track_caller]
    pub(super) fn impossible(&self, like: &Tensor) -> Result<Tensor> {
        let shape = [self.time + 1, self.batch(), self.states() + 2];
        Tensor::full(shape, f64::NEG_INFINITY, (like.dtype(), like.device()))
    }

    /// Whether each state but the first two can follow the one before the last, `[batch, states - 2]`: a
    /// blank that lies between different labels can be left out.
    #[track_caller]
    pub(super) fn skips(&self, labels: &Tensor) -> Result<Tensor> {
        let rest = self.states().saturating_sub(2);
        let later = labels.narrow(1, self.states() - rest, rest)?;
        later.ne(&labels.narrow(1, 0, rest)?)
    }

    /// Truth values of [`CtcCall::skips`] for all states, false for the others.
    #[track_caller]
    pub(super) fn bordered(&self, skips: &Tensor, before: usize, after: usize) -> Result<Tensor> {
        let rest = self.states().saturating_sub(2);
        let all =
            Tensor::zeros([self.batch(), rest + before + after], (DType::Bool, skips.device()))?;
        all.narrow(1, before, rest)?.copy_(skips)?;
        all.narrow(1, 0, self.states())
    }

    /// Whether a time lies in the sequence, `[time, batch, 1]`.
    #[track_caller]
    pub(super) fn inside(&self, like: &Tensor) -> Result<Tensor> {
        let lengths: Vec<i64> = self.input_lengths.iter().map(|&length| length as i64).collect();
        let lengths = Tensor::from_vec(lengths, [1, self.batch(), 1], like.device())?;
        let times = Tensor::arange(0..self.time as i64, (DType::I64, like.device()))?;
        times.reshape([self.time, 1, 1])?.lt(&lengths)
    }

    /// The forward variables of the two states that a path can end in, after the last step of each
    /// sequence, `[batch, 2]`; of a target without labels, one is a border.
    #[track_caller]
    pub(super) fn at_ends(&self, all: &Tensor) -> Result<Tensor> {
        let width = self.states() + 2;
        let mut places = Vec::with_capacity(2 * self.batch());
        for (sequence, (time, labels)) in self.lengths().enumerate() {
            let last = (time * self.batch() + sequence) * width + 2 * labels + 2;
            places.extend([last as i64, last as i64 - 1]);
        }
        all.take(&Tensor::from_vec(places, [self.batch(), 2], all.device())?)
    }

    /// The positions in the memory of the backward variables of the state behind which each sequence
    /// ends.
    #[track_caller]
    pub(super) fn ends_in_memory(&self, like: &Tensor) -> Result<Tensor> {
        let width = self.states() + 2;
        let place = |(sequence, (time, labels)): (usize, (usize, usize))| {
            ((time * self.batch() + sequence) * width + 2 * labels) as i64
        };
        let places: Vec<i64> = self.lengths().enumerate().map(place).collect();
        Tensor::from_vec(places, [self.batch()], like.device())
    }

    /// The numbers of steps and of labels of each sequence.
    fn lengths(&self) -> impl Iterator<Item = (usize, usize)> {
        self.input_lengths.iter().copied().zip(self.target_lengths.iter().copied())
    }
}

/// # Errors
/// There is not one for each sequence, or one is too large.
fn expect_lengths(
    argument: &'static str,
    lengths: &[usize],
    batch: usize,
    most: usize,
) -> Result<()> {
    if lengths.len() == batch && lengths.iter().all(|&length| length <= most) {
        return Ok(());
    }
    let value = format!("{lengths:?} for {batch} sequences of up to {most}");
    let why = "there must be one for each sequence, and none may be larger than that";
    Err(Error::InvalidArgument { op: OP, argument, value, why })
}

fn unlike(log_probs: &Tensor, targets: &Tensor) -> Error {
    let named = [("self", log_probs), ("targets", targets)];
    let shapes = named.map(|(name, tensor)| (name, tensor.layout().shape().clone())).to_vec();
    let rule = "`self` must be [time, batch, classes] and `targets` [batch, labels] or [labels], or \
                `self` [time, classes] and `targets` [labels]";
    Error::ShapeMismatch { op: OP, shapes, rule }
}
