//! Operations with choices that no table can draw, hooks and checkpoints.

use tensor::{
    ConvOptions, ConvPadding, ConvTransposeOptions, MemoryFormat, PerAxis, RoundingMode, Tensor,
    checkpoint,
};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

/// A number for each dimension, mostly such as convolutions have.
fn each<const N: usize>(d: &mut Draw) -> Option<PerAxis<N>> {
    let size = |d: &mut Draw| if d.rng().one_in(8) { d.size() } else { Some(d.rng().below(4)) };
    if d.flag()? {
        return Some(size(d)?.into());
    }
    let mut values = [0; N];
    for value in &mut values {
        *value = size(d)?;
    }
    Some(values.into())
}

/// A tensor of `N + 2` dimensions, if it has elements.
fn with_dims<const N: usize>(tensor: &Tensor) -> Tensor {
    let mut shape = vec![1; N + 1];
    shape.push(tensor.numel());
    tensor.reshape(shape).unwrap_or_else(|_| tensor.clone())
}

fn convolution<const N: usize>(d: &mut Draw) -> Option<ConvOptions<N>> {
    let padding = match d.rng().below(4) {
        0 => ConvPadding::Same,
        1 => ConvPadding::Valid,
        _ => each::<N>(d)?.each().into(),
    };
    let options = ConvOptions::new().stride(each(d)?).padding(padding).dilation(each(d)?);
    Some(options.groups(if d.flag()? { 1 } else { d.size()? }))
}

fn transposed<const N: usize>(d: &mut Draw) -> Option<ConvTransposeOptions<N>> {
    let options = ConvTransposeOptions::new().stride(each(d)?).padding(each(d)?);
    let options = options.output_padding(each(d)?).dilation(each(d)?);
    Some(options.groups(if d.flag()? { 1 } else { d.size()? }))
}

macro_rules! convolve_in {
    ($d:ident, $x:ident, $weight:ident, $bias:ident, $dims:literal, $plain:ident, $transposed:ident) => {{
        let (options, other) = (convolution::<$dims>($d)?, transposed::<$dims>($d)?);
        let fits = $d.flag()?;
        let of = |tensor: &Tensor| if fits { with_dims::<$dims>(tensor) } else { tensor.clone() };
        let (x, weight) = (of(&$x), of(&$weight));
        $d.look(x.$plain(&weight, $bias, options).ok());
        $d.look(x.$transposed(&weight, $bias, other).ok());
    }};
}

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
    "tensor::Tensor::conv1d", "tensor::Tensor::conv2d", "tensor::Tensor::conv3d",
    "tensor::Tensor::conv_transpose1d", "tensor::Tensor::conv_transpose2d",
    "tensor::Tensor::conv_transpose3d", "tensor::ConvOptions::stride",
    "tensor::ConvOptions::padding", "tensor::ConvOptions::dilation",
    "tensor::ConvOptions::groups", "tensor::ConvTransposeOptions::stride",
    "tensor::ConvTransposeOptions::padding", "tensor::ConvTransposeOptions::output_padding",
    "tensor::ConvTransposeOptions::groups", "tensor::ConvTransposeOptions::dilation" => |d| {
        let (tensor, weight, bias) = (d.tensor()?, d.tensor()?, d.tensor()?);
        let bias = d.flag()?.then_some(&bias);
        match d.rng().below(3) {
            0 => convolve_in!(d, tensor, weight, bias, 1, conv1d, conv_transpose1d),
            1 => convolve_in!(d, tensor, weight, bias, 2, conv2d, conv_transpose2d),
            _ => convolve_in!(d, tensor, weight, bias, 3, conv3d, conv_transpose3d),
        }
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
