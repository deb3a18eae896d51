//! Attention and transformers.

use nn::{
    AttentionMasks, AttentionWeights, MultiheadAttention, MultiheadOptions, Transformer,
    TransformerActivation, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder,
    TransformerEncoderLayer, TransformerMasks, TransformerOptions,
};
use tensor::{AttentionOptions, Tensor};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::Tensor::scaled_dot_product_attention", "tensor::AttentionOptions::new",
    "tensor::AttentionOptions::attn_mask", "tensor::AttentionOptions::dropout_p",
    "tensor::AttentionOptions::is_causal", "tensor::AttentionOptions::scale",
    "tensor::AttentionOptions::enable_gqa" => |d| {
        let (q, k, v) = (d.tensor()?, d.tensor()?, d.tensor()?);
        let options = AttentionOptions::new()
            .attn_mask(if d.flag()? { Some(d.tensor()?) } else { None })
            .dropout_p(if d.flag()? { d.number()? } else { 0.0 })
            .is_causal(d.flag()?)
            .scale(if d.flag()? { Some(d.number()?) } else { None })
            .enable_gqa(d.flag()?);
        d.look(q.scaled_dot_product_attention(&k, &v, options.clone()).ok());
        let own = q.scaled_dot_product_attention(&q, &q, options).ok()?;
        let _ = own.sum(()).and_then(|sum| sum.backward());
        d.look(Some(own));
        Some(())
    };
    "nn::MultiheadAttention::new", "nn::MultiheadAttention::new_with",
    "nn::MultiheadAttention::attend", "nn::MultiheadOptions::dropout",
    "nn::MultiheadOptions::bias", "nn::MultiheadOptions::add_bias_kv",
    "nn::MultiheadOptions::add_zero_attn", "nn::MultiheadOptions::kdim",
    "nn::MultiheadOptions::vdim", "nn::MultiheadOptions::batch_first" => |d| {
        let options = MultiheadOptions::new()
            .dropout(if d.flag()? { d.number()? } else { 0.0 })
            .bias(d.flag()?)
            .add_bias_kv(d.flag()?)
            .add_zero_attn(d.flag()?)
            .kdim(if d.flag()? { Some(d.size()?) } else { None })
            .vdim(if d.flag()? { Some(d.size()?) } else { None })
            .batch_first(d.flag()?);
        let _ = MultiheadAttention::new(d.size()?, d.size()?, options);
        let attention = MultiheadAttention::new_with(4, 2, options, d.options()?).ok()?;
        let masks = masks(d)?;
        let inputs = [sequence(d)?, sequence(d)?, sequence(d)?];
        let weights = match d.rng().below(3) {
            0 => AttentionWeights::None,
            1 => AttentionWeights::Averaged,
            _ => AttentionWeights::OfHeads,
        };
        let (output, weights) = attention.attend(inputs.each_ref(), &masks, weights).ok()?;
        let _ = output.sum(()).and_then(|sum| sum.backward());
        d.look(Some(output));
        d.look(weights);
        Some(())
    };
    "nn::TransformerEncoderLayer::new", "nn::TransformerEncoderLayer::new_with",
    "nn::TransformerEncoderLayer::encode", "nn::TransformerEncoder::new",
    "nn::TransformerEncoder::encode" => |d| {
        let options = options(d)?;
        let _ = TransformerEncoderLayer::new(d.size()?, d.size()?, options);
        let layer = TransformerEncoderLayer::new_with(4, 2, options, d.options()?).ok()?;
        let (input, masks) = (sequence(d)?, masks(d)?);
        d.look(layer.encode(&input, &masks).ok());
        d.look(TransformerEncoder::new([layer], None).encode(&input, &masks).ok());
        Some(())
    };
    "nn::TransformerDecoderLayer::new", "nn::TransformerDecoderLayer::new_with",
    "nn::TransformerDecoderLayer::decode", "nn::TransformerDecoder::new",
    "nn::TransformerDecoder::decode" => |d| {
        let options = options(d)?;
        let _ = TransformerDecoderLayer::new(d.size()?, d.size()?, options);
        let layer = TransformerDecoderLayer::new_with(4, 2, options, d.options()?).ok()?;
        let (tgt, memory, own, across) = (sequence(d)?, sequence(d)?, masks(d)?, masks(d)?);
        d.look(layer.decode([&tgt, &memory], &own, &across).ok());
        let decoder = TransformerDecoder::new([layer], None);
        d.look(decoder.decode([&tgt, &memory], &own, &across).ok());
        Some(())
    };
    "nn::Transformer::new", "nn::Transformer::new_with", "nn::Transformer::transform",
    "nn::Transformer::generate_square_subsequent_mask",
    "nn::TransformerOptions::dim_feedforward", "nn::TransformerOptions::dropout",
    "nn::TransformerOptions::activation", "nn::TransformerOptions::layer_norm_eps",
    "nn::TransformerOptions::batch_first", "nn::TransformerOptions::norm_first",
    "nn::TransformerOptions::bias", "nn::AttentionMasks::key_padding_mask",
    "nn::AttentionMasks::attn_mask", "nn::AttentionMasks::causal" => |d| {
        let (options, tensors) = (options(d)?, d.options()?);
        let _ = Transformer::new(d.size()?, d.size()?, [1, 1], options);
        let transformer = Transformer::new_with(4, 2, [1, 1], options, tensors).ok()?;
        let masks = TransformerMasks { src: masks(d)?, tgt: masks(d)?, memory: masks(d)? };
        let (src, tgt) = (sequence(d)?, sequence(d)?);
        d.look(transformer.transform(&src, &tgt, &masks).ok());
        let (size, options) = (d.size()?, d.options()?);
        d.look(Transformer::generate_square_subsequent_mask(size, options).ok());
        Some(())
    };
};

/// Any tensor, or a sequence of four elements at each position.
fn sequence(d: &mut Draw) -> Option<Tensor> {
    if d.rng().one_in(3) {
        return d.tensor();
    }
    Tensor::ones([1 + d.rng().below(3), 1 + d.rng().below(2), 4], d.options()?).ok()
}

fn masks(d: &mut Draw) -> Option<AttentionMasks> {
    Some(
        AttentionMasks::new()
            .key_padding_mask(if d.rng().one_in(3) { Some(d.tensor()?) } else { None })
            .attn_mask(if d.rng().one_in(3) { Some(d.tensor()?) } else { None })
            .causal(d.flag()?),
    )
}

fn options(d: &mut Draw) -> Option<TransformerOptions> {
    let activation =
        if d.flag()? { TransformerActivation::ReLU } else { TransformerActivation::GELU };
    Some(
        TransformerOptions::new()
            .dim_feedforward(1 + d.rng().below(8))
            .dropout(if d.flag()? { d.number()? } else { 0.0 })
            .activation(activation)
            .layer_norm_eps(d.number()?)
            .batch_first(d.flag()?)
            .norm_first(d.flag()?)
            .bias(d.flag()?),
    )
}
