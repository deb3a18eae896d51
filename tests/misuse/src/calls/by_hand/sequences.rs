//! Sequences of different lengths, mixed precision, modules that call functions of the program.

use nn::optim::lr_scheduler::{LRSchedule, SWALR};
use nn::utils::rnn::{
    pack_padded_sequence, pack_sequence, pad_packed_sequence, pad_sequence, unpad_sequence,
};
use nn::{AdaptiveLogSoftmaxWithLoss, CosineSimilarity, Forward, GRU, Hooked, PairwiseDistance};
use tensor::{Autocast, Tensor};

use crate::calls::entry::{CallEntry, entries};

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "nn::utils::rnn::pack_padded_sequence", "nn::utils::rnn::pad_packed_sequence",
    "nn::utils::rnn::unpad_sequence", "nn::utils::rnn::PackedSequence::map",
    "nn::utils::rnn::PackedSequence::to" => |d| {
        let (padded, lengths) = (d.tensor()?, d.sizes()?);
        let (batch_first, is_sorted) = (d.flag()?, d.flag()?);
        d.look_at_all(unpad_sequence(&padded, &lengths, batch_first));
        let packed = pack_padded_sequence(&padded, &lengths, batch_first, is_sorted).ok()?;
        let other = d.tensor()?;
        let packed = packed.map(|data| data.add(&other)).unwrap_or(packed);
        let packed = packed.to(d.target()?).unwrap_or(packed);
        let (total, padding) = (if d.flag()? { Some(d.size()?) } else { None }, d.scalar()?);
        let padded = pad_packed_sequence(&packed, d.flag()?, padding, total);
        d.look(padded.ok().map(|(padded, _)| padded));
        Some(())
    };
    "nn::utils::rnn::pad_sequence", "nn::utils::rnn::pack_sequence" => |d| {
        let sequences = d.owned_tensors()?;
        let (batch_first, padding) = (d.flag()?, d.scalar()?);
        d.look(pad_sequence(&sequences, batch_first, padding).ok());
        let packed = pack_sequence(&sequences, d.flag()?).ok()?;
        let layer = GRU::new(d.rng().below(4), 3).ok()?;
        let state = d.tensor()?;
        d.look(layer.forward(&packed).ok().map(|(output, _)| output.data().clone()));
        d.look(layer.forward(&(packed, state)).ok().map(|(_, state)| state));
        Some(())
    };
    "nn::AdaptiveLogSoftmaxWithLoss::new", "nn::AdaptiveLogSoftmaxWithLoss::new_with",
    "nn::AdaptiveLogSoftmaxWithLoss::log_prob", "nn::AdaptiveLogSoftmaxWithLoss::predict" => |d| {
        let (features, classes, cutoffs) = (d.rng().below(9), d.rng().below(9), d.sizes()?);
        let layer = match d.flag()? {
            true => AdaptiveLogSoftmaxWithLoss::new(features, classes, &cutoffs).ok()?,
            false => {
                let (division, bias, options) = (d.number()?, d.flag()?, d.options()?);
                let made = AdaptiveLogSoftmaxWithLoss::new_with(
                    features, classes, &cutoffs, division, bias, options,
                );
                made.ok()?
            }
        };
        let (input, target) = (d.tensor()?, d.index()?);
        d.look(layer.log_prob(&input).ok());
        d.look(layer.predict(&input).ok());
        d.look(layer.forward(&(input, target)).ok().map(|(_, loss)| loss));
        Some(())
    };
    "nn::CosineSimilarity::new", "nn::PairwiseDistance::new" => |d| {
        let pair = (d.tensor()?, d.tensor()?);
        let (dim, p, eps, keepdim) = (d.dim()?, d.number()?, d.number()?, d.flag()?);
        d.look(CosineSimilarity::new(dim, eps).forward(&pair).ok());
        d.look(PairwiseDistance::new(p, eps, keepdim).forward(&pair).ok());
        Some(())
    };
    "nn::optim::lr_scheduler::SWALR::new" => |d| {
        let schedule = SWALR { anneal_epochs: d.word()?, ..SWALR::new(d.number()?) };
        let _ = schedule.rate(d.number()?, d.word()?);
        Some(())
    };
    "nn::Hooked::new", "nn::Hooked::register_forward_pre_hook",
    "nn::Hooked::register_forward_hook", "nn::Hooked::register_full_backward_hook" => |d| {
        let layer = Hooked::new(d.linear()?);
        let (first, second, third) = (d.maybe_tensor()?, d.maybe_tensor()?, d.maybe_tensor()?);
        let before = layer.register_forward_pre_hook(move |_, _| Ok(first.clone()));
        layer.register_forward_hook(move |_, _, _| Ok(second.clone()));
        layer.register_full_backward_hook(move |_, _| Ok(third.clone()));
        let input = d.tensor()?;
        let output = layer.forward(&input).ok();
        let loss = output.as_ref().and_then(|output| output.sum(()).ok());
        let _ = loss.map(|loss| loss.backward());
        before.remove();
        d.look(output);
        d.look(layer.forward(&input).ok());
        Some(())
    };
    "tensor::Autocast::new", "tensor::Autocast::dtype", "tensor::Autocast::enabled",
    "tensor::Autocast::cache_enabled", "tensor::Tensor::to_autocast",
    "tensor::is_autocast_enabled", "tensor::autocast_dtype" => |d| {
        let (device, other) = (d.device()?, d.device()?);
        let mode = Autocast::new(device).enabled(d.flag()?).cache_enabled(d.flag()?);
        let mode = if d.flag()? { mode.dtype(d.dtype()?) } else { mode };
        let guard = mode.enter().ok()?;
        let (a, b) = (d.tensor()?, d.tensor()?);
        d.look(a.to_autocast().ok());
        let output = a.matmul(&b).or_else(|_| a.linear(&b, None)).or_else(|_| a.softmax(-1));
        let output = output.and_then(|output: Tensor| output.exp()?.sum(()));
        if d.flag()? {
            drop(guard);
        }
        let _ = output.as_ref().map(|output| output.backward());
        let _ = (tensor::is_autocast_enabled(other), tensor::autocast_dtype(other));
        d.look(output.ok());
        Some(())
    };
};
