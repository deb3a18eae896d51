//! Normalisations, losses and tables with options, and the layers of them.

use nn::{CTCLoss, Embedding, EmbeddingBag, Forward, GroupNorm, LinearCrossEntropyLoss, RMSNorm};
use tensor::{BagMode, CdistMode, EmbeddingOptions, Reduction};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::Tensor::batch_norm", "tensor::Tensor::instance_norm", "tensor::Tensor::group_norm" => |d| {
        let (x, weight, bias) = (d.tensor()?, d.maybe_tensor()?, d.maybe_tensor()?);
        let (mean, variance) = (d.maybe_tensor()?, d.maybe_tensor()?);
        let (weight, bias) = (weight.as_ref(), bias.as_ref());
        let (training, momentum, epsilon) = (d.flag()?, d.number()?, d.number()?);
        let running = mean.as_ref().zip(variance.as_ref());
        d.look(x.batch_norm(running, weight, bias, training, momentum, epsilon).ok());
        d.look(x.instance_norm(running, weight, bias, training, momentum, epsilon).ok());
        let groups = d.rng().below(4);
        d.look(x.group_norm(groups, weight, bias, epsilon).ok());
        Some(())
    };
    "tensor::Tensor::rms_norm" => |d| {
        let (x, weight, epsilon) = (d.tensor()?, d.maybe_tensor()?, d.number()?);
        let epsilon = d.flag()?.then_some(epsilon);
        let shape = x.shape().get(d.rng().below(2)..).unwrap_or_default();
        d.look(x.rms_norm(shape, weight.as_ref(), epsilon).ok());
        Some(())
    };
    "tensor::Tensor::cross_entropy_with", "tensor::Tensor::nll_loss_with" => |d| {
        let (x, target, weight) = (d.tensor()?, d.tensor()?, d.maybe_tensor()?);
        let (ignored, smoothing, reduction) = (d.integer()?, d.number()?, reduction(d));
        let weight = weight.as_ref();
        d.look(x.cross_entropy_with(&target, weight, ignored, smoothing, reduction).ok());
        d.look(x.nll_loss_with(&target, weight, ignored, reduction).ok());
        Some(())
    };
    "tensor::Tensor::binary_cross_entropy_with",
    "tensor::Tensor::binary_cross_entropy_with_logits_with",
    "tensor::Tensor::multilabel_soft_margin_loss_with",
    "tensor::Tensor::multi_margin_loss_with" => |d| {
        let (x, target, weight) = (d.tensor()?, d.tensor()?, d.maybe_tensor()?);
        let (positive, reduction) = (d.maybe_tensor()?, reduction(d));
        let (weight, positive) = (weight.as_ref(), positive.as_ref());
        d.look(x.binary_cross_entropy_with(&target, weight, reduction).ok());
        let loss = x.binary_cross_entropy_with_logits_with(&target, weight, positive, reduction);
        d.look(loss.ok());
        d.look(x.multilabel_soft_margin_loss_with(&target, weight, reduction).ok());
        let (p, margin) = (d.integer()?, d.number()?);
        d.look(x.multi_margin_loss_with(&target, p, margin, weight, reduction).ok());
        d.look(x.mse_loss_with(&target, reduction).ok());
        d.look(x.huber_loss_with(&target, margin, reduction).ok());
        d.look(x.multilabel_margin_loss_with(&target, reduction).ok());
        Some(())
    };
    "tensor::Tensor::triplet_margin_loss_with" => |d| {
        let (x, near, far) = (d.tensor()?, d.tensor()?, d.tensor()?);
        let (margin, p, swap, reduction) = (d.number()?, d.number()?, d.flag()?, reduction(d));
        d.look(x.triplet_margin_loss_with(&near, &far, margin, p, swap, reduction).ok());
        d.look(x.cosine_embedding_loss_with(&near, &far, margin, reduction).ok());
        d.look(x.gaussian_nll_loss_with(&near, &far, swap, margin, reduction).ok());
        Some(())
    };
    "tensor::Tensor::ctc_loss", "tensor::Tensor::ctc_loss_with", "nn::CTCLoss::blank",
    "nn::CTCLoss::zero_infinity", "nn::CTCLoss::reduction" => |d| {
        let (x, targets, blank, zero) = (d.tensor()?, d.index()?, d.size()?, d.flag()?);
        let (lengths, counts) = (d.sizes()?, d.sizes()?);
        let reduction = reduction(d);
        d.look(x.ctc_loss(&targets, &lengths, &counts).ok());
        d.look(x.ctc_loss_with(&targets, &lengths, &counts, blank, zero, reduction).ok());
        let loss = CTCLoss::new().blank(blank).zero_infinity(zero).reduction(reduction);
        let (lengths, counts) = (d.index()?, d.index()?);
        d.look(loss.forward(&(x, targets, lengths, counts)).ok());
        Some(())
    };
    "nn::LinearCrossEntropyLoss::new", "nn::LinearCrossEntropyLoss::new_with",
    "nn::LinearCrossEntropyLoss::weight", "nn::LinearCrossEntropyLoss::ignore_index",
    "nn::LinearCrossEntropyLoss::label_smoothing", "nn::LinearCrossEntropyLoss::reduction" => |d| {
        let (x, target, weight) = (d.tensor()?, d.index()?, d.maybe_tensor()?);
        let (features, classes) = (d.rng().below(4), d.rng().below(4));
        let loss = LinearCrossEntropyLoss::new_with(features, classes, d.options()?).ok()?;
        let loss = loss.weight(weight).ignore_index(d.integer()?).label_smoothing(d.number()?);
        let loss = loss.reduction(reduction(d));
        d.look(loss.forward(&(x, target)).ok());
        Some(())
    };
    "tensor::Tensor::cdist_with" => |d| {
        let (x, other, p) = (d.tensor()?, d.tensor()?, d.number()?);
        let mode = d.rng().pick(&[CdistMode::IfNecessary, CdistMode::Always, CdistMode::Never]);
        d.look(x.cdist_with(&other, p, mode).ok());
        Some(())
    };
    "tensor::Tensor::bilinear" => |d| {
        let (x, other, weight, bias) = (d.tensor()?, d.tensor()?, d.tensor()?, d.maybe_tensor()?);
        d.look(x.bilinear(&other, &weight, bias.as_ref()).ok());
        Some(())
    };
    "tensor::Tensor::embedding_with", "tensor::Tensor::embedding_bag",
    "tensor::EmbeddingOptions::padding_idx", "tensor::EmbeddingOptions::max_norm",
    "tensor::EmbeddingOptions::scale_grad_by_freq",
    "tensor::EmbeddingOptions::include_last_offset", "nn::Embedding::with_options",
    "nn::EmbeddingBag::with_mode", "nn::EmbeddingBag::with_options" => |d| {
        let (numbers, table, options, mode) = (d.index()?, d.tensor()?, lookup(d)?, mode(d));
        let (offsets, weights) = (d.flag()?.then_some(d.index()?), d.maybe_tensor()?);
        let (offsets, weights) = (offsets.as_ref(), weights.as_ref());
        d.look(numbers.embedding_with(&table, options).ok());
        d.look(numbers.embedding_bag(&table, offsets, mode, weights, options).ok());
        let layer = Embedding::new(5, 2).ok()?.with_options(options).ok();
        d.look(layer.and_then(|layer| layer.forward(&numbers).ok()));
        let layer = EmbeddingBag::new(5, 2).ok()?.with_options(options).with_mode(mode);
        d.look(layer.forward(&numbers).ok());
        d.look(offsets.and_then(|offsets| layer.forward(&(numbers, offsets.clone())).ok()));
        Some(())
    };
    "nn::GroupNorm::with_eps", "nn::RMSNorm::with_eps" => |d| {
        let (input, eps) = (d.tensor()?, d.number()?);
        let layer = GroupNorm::new(d.rng().below(3), d.rng().below(5)).ok()?.with_eps(eps);
        d.look(layer.forward(&input).ok());
        let layer = RMSNorm::new_with(d.shape()?, d.options()?).ok()?.with_eps(eps);
        d.look(layer.forward(&input).ok());
        Some(())
    };
    "nn::Forward::forward" => |d| {
        let (x, target, weight) = (d.tensor()?, d.tensor()?, d.maybe_tensor()?);
        let (features, reduction) = (d.rng().below(4), reduction(d));
        let (number, options) = (d.number()?, d.options()?);
        let layer = nn::BatchNorm1d::new(features).ok()?.with_momentum(number);
        d.look(layer.without_bias().with_eps(number).forward(&x).ok());
        let layer = nn::InstanceNorm2d::new(features).ok()?.with_affine(options).ok()?;
        let layer = layer.with_running_stats(options).ok();
        d.look(layer.and_then(|layer| layer.forward(&x).ok()));
        let loss = nn::CrossEntropyLoss::new().reduction(reduction).weight(weight);
        d.look(loss.label_smoothing(number).forward(&(x, target)).ok());
        Some(())
    };
};

fn reduction(d: &mut Draw) -> Reduction {
    d.rng().pick(&[Reduction::None, Reduction::Mean, Reduction::Sum, Reduction::BatchMean])
}

fn mode(d: &mut Draw) -> BagMode {
    d.rng().pick(&[BagMode::Sum, BagMode::Mean, BagMode::Max])
}

fn lookup(d: &mut Draw) -> Option<EmbeddingOptions> {
    let options = EmbeddingOptions::new().scale_grad_by_freq(d.flag()?);
    let options = options.include_last_offset(d.flag()?);
    let options = if d.flag()? { options.padding_idx(d.dim()?) } else { options };
    Some(if d.flag()? { options.max_norm(d.number()?, d.number()?) } else { options })
}
