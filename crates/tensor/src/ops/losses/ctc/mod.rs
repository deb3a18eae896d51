//! Connectionist temporal classification: the loss of labels whose places in a sequence are not known.
//!
//! A. Graves, S. Fernández, F. Gomez, J. Schmidhuber: "Connectionist Temporal Classification: Labelling
//! Unsegmented Sequence Data with Recurrent Neural Networks" (ICML 2006); the names are those of
//! its section 4.1.

mod call;

use std::panic::Location;

use gpu_runtime::at_place;

use self::call::{CtcCall, CtcOptions};
use super::Reduction;
use crate::autograd::{SavedTensor, record};
use crate::ops::autocast;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::ops::scan::widened;
use crate::{AutogradError, Result, Scalar, Tensor, is_grad_enabled, no_grad};

const OP: &str = "ctc_loss";

/// A step of the recursions, in logarithms: the probability of a state's label, times the sum of those
/// of the states beside it that it can be reached from. Outside its sequence a state keeps its value.
static STEP: Pointwise<6> =
    Pointwise::common(OP, |[own, same, next, second, can_skip, is_inside]| {
        let impossible = f64::NEG_INFINITY;
        let second = can_skip.select(second, impossible);
        let most = same.maximum(next).maximum(second);
        let scale = most.eq(impossible).select(0.0, most);
        let sum = (same - scale).exp() + (next - scale).exp() + (second - scale).exp();
        is_inside.select(own + sum.log() + scale, own)
    })
    .of(Kinds::FLOATS)
    .with_condition(4)
    .with_condition(5)
    .without_gradient();

/// The share of the paths that are in a state at a time, of all that give the labels.
static SHARE: Pointwise<4> = Pointwise::common(OP, |[alpha, beta, of_label, loss]| {
    let both = alpha + beta;
    both.eq(f64::NEG_INFINITY).select(0.0, (both - of_label + loss).exp())
})
.of(Kinds::FLOATS)
.without_gradient();

/// The gradient of a logarithm, as if it came from `log_softmax`: so PyTorch has it.
static GRADIENT: Pointwise<4> = Pointwise::common(OP, |[grad, log_prob, shares, is_inside]| {
    is_inside.select(grad * (log_prob.exp() - shares), 0.0)
})
.of(Kinds::FLOATS)
.with_condition(3)
.without_gradient();

impl Tensor {
    /// The mean over a batch of minus the logarithm of the probability of a sequence of labels, divided by
    /// their number: the sum over all paths that become the labels when equal neighbours are merged and
    /// blanks, class 0, are left out.
    ///
    /// The tensor has logarithms of probabilities, `[time, batch, classes]`, or without the batch
    /// `[time, classes]`, of which the first `input_lengths` count. Targets, of dtype `I64` or `I32`, are
    /// `[batch, labels]`, of which the first `target_lengths` count, or all labels one after the other
    /// in one vector. The gradient is that of the scores whose `log_softmax` the tensor is.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// // Two steps of a coin: of the four paths 1 1, 1 0 and 0 1 give the label 1.
    /// let log_probs = Tensor::full([2, 1, 2], 0.5f64.ln(), ())?;
    /// let loss = log_probs.ctc_loss(&tensor![[1]]?, &[2], &[1])?;
    /// assert!((loss.item::<f32>()? + 0.75f32.ln()).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::ctc_loss_with`].
    #[track_caller]
    pub fn ctc_loss(
        &self,
        targets: &Tensor,
        input_lengths: &[usize],
        target_lengths: &[usize],
    ) -> Result<Tensor> {
        let reduction = Reduction::Mean;
        self.ctc_loss_with(targets, input_lengths, target_lengths, 0, false, reduction)
    }

    /// [`Tensor::ctc_loss`] with another class of blanks and another reduction. With `zero_infinity`, the
    /// loss of labels that do not fit into their sequence is 0, and its gradient too, and not infinite.
    /// Labels are divided by their number for [`Reduction::Mean`] only.
    ///
    /// # Errors
    /// The shapes do not fit; there is not one length for each sequence, or one is larger than there are
    /// steps or labels; there is no class of blanks; the dtypes are not those that are named; the
    /// operands lie on different devices; on the CPU also a label that is no class.
    #[track_caller]
    pub fn ctc_loss_with(
        &self,
        targets: &Tensor,
        input_lengths: &[usize],
        target_lengths: &[usize],
        blank: usize,
        zero_infinity: bool,
        reduction: Reduction,
    ) -> Result<Tensor> {
        let options = CtcOptions { blank, zero_infinity, input_lengths, target_lengths };
        let cast = autocast(OP, [self])?;
        let [own] = cast.operands();
        let call = CtcCall::new(own, targets, options)?;
        let is_batch = own.dims() == 3;
        let log_probs = if is_batch { own.clone() } else { own.unsqueeze(1)? };
        let losses = losses(&log_probs, targets, call.clone())?;
        let losses = if is_batch { losses } else { losses.squeeze(0)? };
        match reduction {
            Reduction::Mean => losses.div(&call.label_counts(&losses)?)?.mean(()),
            other => other.of(&losses),
        }
    }
}

/// The loss of each sequence.
#[track_caller]
fn losses(log_probs: &Tensor, targets: &Tensor, call: CtcCall) -> Result<Tensor> {
    let compute = || {
        let log_probs = widened(&log_probs.detach())?;
        let (states, losses) = alpha(&log_probs, &call.labels(targets)?, &call)?;
        // Without the borders that the recursion needs.
        let states = states.narrow(0, 1, call.time)?.narrow(2, 2, call.states())?;
        let output = match call.zero_infinity {
            true => losses.masked_fill(&losses.eq(f64::INFINITY)?, 0.0)?,
            false => losses.alias(Ok(losses.layout().clone()))?,
        };
        Ok::<_, crate::Error>((states, losses, output))
    };
    let (states, losses, output) = at_place(Location::caller(), || no_grad(compute))?;
    let dtype = log_probs.dtype();
    let is_recorded = is_grad_enabled() && log_probs.requires_grad();
    let states = if is_recorded { states.clone_data()? } else { states };
    Ok(record(OP, [log_probs], output.to(dtype)?, |saving| {
        let saved = [log_probs, targets, &states, &losses].map(|tensor| saving.save(tensor));
        move |grad: &Tensor, _| {
            if is_grad_enabled() {
                return Err(AutogradError::NoSecondDerivative { op: OP }.into());
            }
            let [log_probs, targets, alpha, losses] = saved.each_ref().map(SavedTensor::get);
            let known =
                ForwardPass { log_probs: widened(&log_probs?)?, alpha: alpha?, losses: losses? };
            Ok([Some(known.gradient(grad, &targets?, &call)?.to(dtype)?)])
        }
    }))
}

/// The forward variables with their borders, `[time + 1, batch, 2 + states]`, and the losses. Before the
/// first step, every path is in the first state.
#[track_caller]
fn alpha(log_probs: &Tensor, labels: &Tensor, call: &CtcCall) -> Result<(Tensor, Tensor)> {
    let (time, states) = (call.time, call.states());
    let all = call.impossible(log_probs)?;
    all.narrow(0, 0, 1)?.narrow(2, 2, 1)?.fill_(0.0)?;
    all.narrow(0, 1, time)?.narrow(2, 2, states)?.copy_(&call.of_labels(log_probs, labels)?)?;
    let (can_skip, is_inside) = (call.skips(labels)?, call.inside(log_probs)?);
    let can_skip = call.bordered(&can_skip, 2, 0)?;
    for step in 0..time {
        let (before, own) = (all.select(0, step as isize)?, all.select(0, step as isize + 1)?);
        let own = own.narrow(1, 2, states)?;
        let [second, next, same] = neighbours(&before, states)?;
        let is_inside = is_inside.select(0, step as isize)?;
        let operands = [&own, &same, &next, &second, &can_skip, &is_inside].map(Into::into);
        STEP.apply_in_place(OP, &own, operands)?;
    }
    let likelihoods = call.at_ends(&all)?.logsumexp(1)?;
    Ok((all, likelihoods.neg()?))
}

/// The three parts of rows of states that begin one after the other.
#[track_caller]
fn neighbours(rows: &Tensor, states: usize) -> Result<[Tensor; 3]> {
    Ok([rows.narrow(1, 0, states)?, rows.narrow(1, 1, states)?, rows.narrow(1, 2, states)?])
}

/// The parts of the forward pass that the gradient is made of.
struct ForwardPass {
    log_probs: Tensor,
    alpha: Tensor,
    losses: Tensor,
}

impl ForwardPass {
    #[track_caller]
    fn gradient(&self, grad: &Tensor, targets: &Tensor, call: &CtcCall) -> Result<Tensor> {
        let ForwardPass { log_probs, alpha, losses } = self;
        let labels = call.labels(targets)?;
        let of_labels = call.of_labels(log_probs, &labels)?;
        let is_inside = call.inside(log_probs)?;
        let beta = beta(&of_labels, &labels, &is_inside, call)?;
        let of_sequences = [1, call.batch(), 1];
        let row = losses.reshape(of_sequences)?;
        let shares = SHARE.apply([alpha, &beta, &of_labels, &row].map(Into::into))?;
        let zeros = Tensor::zeros(log_probs.shape(), (shares.dtype(), shares.device()))?;
        let shares = zeros.scatter_add_(2, &call.at_all_times(&labels)?, &shares)?;
        // Labels that do not fit have no path, and so no gradient.
        let lost = if call.zero_infinity { 0.0 } else { f64::NAN };
        let grad = widened(grad)?.masked_fill(&losses.eq(f64::INFINITY)?, Scalar::Float(lost))?;
        let grad = grad.reshape(of_sequences)?;
        GRADIENT.apply([&grad, log_probs, &shares, &is_inside].map(Into::into))
    }
}

/// The backward variables, `[time, batch, states]`, each with the probability of its own label. After
/// the last step, every path is in its last state.
#[track_caller]
fn beta(of_labels: &Tensor, labels: &Tensor, is_inside: &Tensor, call: &CtcCall) -> Result<Tensor> {
    let (time, states) = (call.time, call.states());
    let all = call.impossible(of_labels)?;
    let known = of_labels.masked_fill(&is_inside.logical_not()?, f64::NEG_INFINITY)?;
    all.narrow(0, 0, time)?.narrow(2, 0, states)?.copy_(&known)?;
    all.view(-1)?.index_fill_(0, &call.ends_in_memory(of_labels)?, 0.0)?;
    let can_skip = call.bordered(&call.skips(labels)?, 0, 2)?;
    for step in (0..time as isize).rev() {
        let own = all.select(0, step)?.narrow(1, 0, states)?;
        let [same, next, second] = neighbours(&all.select(0, step + 1)?, states)?;
        let is_inside = is_inside.select(0, step)?;
        let operands = [&own, &same, &next, &second, &can_skip, &is_inside].map(Into::into);
        STEP.apply_in_place(OP, &own, operands)?;
    }
    all.narrow(0, 0, time)?.narrow(2, 0, states)
}
