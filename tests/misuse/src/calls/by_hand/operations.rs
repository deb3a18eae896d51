//! Operations with choices that no table can draw, hooks and checkpoints.

use tensor::{MemoryFormat, RoundingMode, checkpoint};

use crate::calls::entry::{CallEntry, entries};

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::Tensor::div_with", "tensor::Tensor::div_with_" => |d| {
        let (tensor, other) = (d.tensor()?, d.tensor()?);
        let rounding = if d.flag()? { RoundingMode::Trunc } else { RoundingMode::Floor };
        d.look(tensor.div_with(&other, rounding).ok());
        d.look(tensor.div_with_(&other, rounding).ok());
        Some(())
    };
    "tensor::Tensor::nan_to_num", "tensor::Tensor::nan_to_num_" => |d| {
        let (tensor, nan, posinf) = (d.tensor()?, d.number()?, d.number()?);
        let posinf = d.flag()?.then_some(posinf);
        d.look(tensor.nan_to_num(Some(nan), posinf, None).ok());
        d.look(tensor.nan_to_num_(Some(nan), posinf, None).ok());
        Some(())
    };
    "tensor::Tensor::logit", "tensor::Tensor::logit_" => |d| {
        let (tensor, eps) = (d.tensor()?, d.number()?);
        let eps = d.flag()?.then_some(eps);
        d.look(tensor.logit(eps).ok());
        d.look(tensor.logit_(eps).ok());
        Some(())
    };
    "tensor::Tensor::contiguous_in" => |d| {
        let tensor = d.tensor()?;
        let format = match d.rng().below(3) {
            0 => MemoryFormat::Contiguous,
            1 => MemoryFormat::ChannelsLast,
            _ => MemoryFormat::ChannelsLast3d,
        };
        d.look(tensor.contiguous_in(format).ok());
        Some(())
    };
    "tensor::Tensor::linear" => |d| {
        let (tensor, weight, bias) = (d.tensor()?, d.tensor()?, d.tensor()?);
        let bias = d.flag()?.then_some(&bias);
        d.look(tensor.linear(&weight, bias).ok());
        Some(())
    };
    "tensor::Tensor::layer_norm" => |d| {
        let (tensor, weight, bias) = (d.tensor()?, d.tensor()?, d.tensor()?);
        let (has_weight, has_bias) = (d.flag()?, d.flag()?);
        let (weight, bias) = (has_weight.then_some(&weight), has_bias.then_some(&bias));
        // Half of the calls are of shapes that fit.
        let shape = if d.flag()? { bias.unwrap_or(&tensor) } else { &tensor };
        let shape = shape.shape().get(d.rng().below(2)..).unwrap_or_default();
        let epsilon = d.number()?;
        d.look(tensor.layer_norm(shape, weight, bias, epsilon).ok());
        Some(())
    };
    "tensor::Tensor::register_hook", "tensor::Tensor::register_post_accumulate_grad_hook" => |d| {
        let (leaf, factor) = (d.tensor()?.requires_grad_(true).ok()?, d.number()?);
        let product = leaf.mul(factor).ok()?;
        let _scales = product.register_hook(move |gradient| gradient.mul(factor).map(Some));
        let _looks = leaf.register_post_accumulate_grad_hook(|leaf| leaf.mul(2.0).map(drop));
        let _ = product.backward();
        d.look(leaf.grad());
        Some(())
    };
    "tensor::checkpoint" => |d| {
        let (x, factor) = (d.tensor()?, d.number()?);
        let output = checkpoint(move |inputs| inputs[0].mul(factor)?.square(), &[&x]);
        let _ = output.as_ref().map(tensor::Tensor::backward);
        d.look(output.ok());
        Some(())
    };
};
