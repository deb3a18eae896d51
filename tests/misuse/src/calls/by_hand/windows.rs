//! Windows and samples of images.

use nn::{
    Fold, Forward, FractionalMaxPool2d, LPPool1d, LocalResponseNorm, Unfold, Upsample,
    UpsamplingBilinear2d, UpsamplingNearest2d,
};
use tensor::{
    AdaptivePoolSize, AvgPoolOptions, BlockOptions, FractionalMaxPoolOptions, GridSampleMode,
    GridSamplePadding, Interpolation, InterpolationMode, LPPoolOptions, MaxPoolOptions,
    MaxUnpoolOptions, PadMode, PerAxis, Result, Tensor,
};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::MaxPoolOptions::new", "tensor::PerAxis::each" => |d| {
        let tensor = image(d)?;
        let options = MaxPoolOptions::new(sizes::<2>(d)?)
            .stride(sizes(d)?)
            .padding(sizes(d)?)
            .dilation(sizes(d)?)
            .ceil_mode(d.flag()?);
        let _ = options.kernel_size.each();
        let (values, indices) = tensor.max_pool2d_with_indices(options).ok()?;
        let size = d.size()?;
        both_ways(d, tensor.max_pool1d(size));
        let size = d.size()?;
        both_ways(d, tensor.max_pool3d(size));
        both_ways(d, Ok(values));
        d.look(Some(indices));
        Some(())
    };
    "tensor::AvgPoolOptions::new" => |d| {
        let tensor = image(d)?;
        let divisor = d.flag()?.then_some(d.word()? as i64);
        let options = AvgPoolOptions::new(sizes::<2>(d)?)
            .stride(sizes(d)?)
            .padding(sizes(d)?)
            .ceil_mode(d.flag()?)
            .count_include_pad(d.flag()?)
            .divisor_override(divisor);
        both_ways(d, tensor.avg_pool2d(options));
        let size = d.size()?;
        both_ways(d, tensor.avg_pool1d(size));
        let size = d.size()?;
        both_ways(d, tensor.avg_pool3d(size));
        Some(())
    };
    "tensor::AdaptivePoolSize::each" => |d| {
        let (tensor, sizes) = (image(d)?, [d.maybe_size()?, d.maybe_size()?]);
        let _ = AdaptivePoolSize::from(sizes).each();
        both_ways(d, tensor.adaptive_max_pool2d(sizes));
        both_ways(d, tensor.adaptive_avg_pool2d(sizes));
        let size = d.size()?;
        both_ways(d, tensor.adaptive_avg_pool1d(size));
        Some(())
    };
    "tensor::MaxUnpoolOptions::new" => |d| {
        let (tensor, indices) = (image(d)?, d.tensor()?);
        let sizes_of_result = [d.size()?, d.size()?];
        let options = MaxUnpoolOptions::new(sizes::<2>(d)?)
            .stride(sizes(d)?)
            .padding(sizes(d)?)
            .output_size(d.flag()?.then_some(sizes_of_result));
        both_ways(d, tensor.max_unpool2d(&indices, options));
        Some(())
    };
    "tensor::LPPoolOptions::new", "tensor::LPPoolOptions::stride" => |d| {
        let (tensor, norm) = (image(d)?, d.number()?);
        let options = LPPoolOptions::new(sizes::<2>(d)?).ceil_mode(d.flag()?);
        let options = if d.flag()? { options.stride(sizes(d)?) } else { options };
        both_ways(d, tensor.lp_pool2d(norm, options));
        let size = d.size()?;
        both_ways(d, LPPool1d::new(norm, size).forward(&tensor));
        Some(())
    };
    "tensor::FractionalMaxPoolOptions::to_size", "tensor::FractionalMaxPoolOptions::to_ratio" => |d| {
        let (tensor, kernel, ratio) = (image(d)?, sizes::<2>(d)?, d.number()?);
        let options = match d.flag()? {
            true => FractionalMaxPoolOptions::to_size(kernel, sizes(d)?),
            false => FractionalMaxPoolOptions::to_ratio(kernel, ratio),
        };
        let options = options.samples(d.maybe_tensor()?);
        both_ways(d, tensor.fractional_max_pool2d(&options));
        let layer = FractionalMaxPool2d::new(options);
        d.look(layer.forward_with_indices(&tensor).ok().map(|(values, _)| values));
        Some(())
    };
    "tensor::Tensor::pad" => |d| {
        let (tensor, padding, number) = (d.tensor()?, d.dims()?, d.number()?);
        let modes =
            [PadMode::Constant(number.into()), PadMode::Reflect, PadMode::Replicate, PadMode::Circular];
        let mode = modes[d.rng().below(4)];
        both_ways(d, tensor.pad(&padding, mode));
        Some(())
    };
    "tensor::Tensor::interpolate", "tensor::Interpolation::size", "tensor::Interpolation::scale_factor",
    "tensor::Interpolation::mode", "tensor::Interpolation::align_corners",
    "tensor::Interpolation::recompute_scale_factor", "tensor::Interpolation::antialias", "nn::Upsample::new" => |d| {
        use InterpolationMode as M;
        let modes =
            [M::Nearest, M::NearestExact, M::Linear, M::Bilinear, M::Bicubic, M::Trilinear, M::Area];
        let tensor = image(d)?;
        let options = match d.flag()? {
            true => Interpolation::size(d.shape()?),
            false => Interpolation::scale_factor(d.number()?),
        };
        let mode = modes[d.rng().below(7)];
        let mut options = options.mode(mode).recompute_scale_factor(d.flag()?);
        options = options.antialias(d.flag()?);
        if d.flag()? {
            options = options.align_corners(d.flag()?);
        }
        both_ways(d, tensor.interpolate(&options));
        both_ways(d, Upsample::new(options).forward(&tensor));
        let (size, factor) = (d.shape()?, d.number()?);
        both_ways(d, UpsamplingNearest2d::size(size.clone()).forward(&tensor));
        both_ways(d, UpsamplingNearest2d::scale_factor(factor).forward(&tensor));
        both_ways(d, UpsamplingBilinear2d::size(size).forward(&tensor));
        both_ways(d, UpsamplingBilinear2d::scale_factor([factor, 2.0]).forward(&tensor));
        Some(())
    };
    "tensor::Tensor::grid_sample", "tensor::Tensor::affine_grid" => |d| {
        let (tensor, other, size) = (image(d)?, d.tensor()?, d.sizes()?);
        let grid = if d.flag()? { other.affine_grid(&size, d.flag()?).ok()? } else { other };
        let mode = match d.rng().below(3) {
            0 => GridSampleMode::Bilinear,
            1 => GridSampleMode::Nearest,
            _ => GridSampleMode::Bicubic,
        };
        let padding = match d.rng().below(3) {
            0 => GridSamplePadding::Zeros,
            1 => GridSamplePadding::Border,
            _ => GridSamplePadding::Reflection,
        };
        let align_corners = d.flag()?;
        both_ways(d, tensor.grid_sample(&grid, mode, padding, align_corners));
        Some(())
    };
    "tensor::Tensor::im2col", "tensor::Tensor::col2im", "tensor::BlockOptions::new",
    "tensor::BlockOptions::dilation", "tensor::BlockOptions::padding", "tensor::BlockOptions::stride",
    "nn::Unfold::new", "nn::Fold::new" => |d| {
        let tensor = image(d)?;
        let options = BlockOptions::new(sizes(d)?)
            .dilation(sizes(d)?)
            .padding(sizes(d)?)
            .stride(sizes(d)?);
        let size = sizes(d)?;
        both_ways(d, tensor.col2im(size, options));
        both_ways(d, Fold::new(size, options).forward(&tensor));
        both_ways(d, Unfold::new(options).forward(&tensor));
        both_ways(d, tensor.im2col(options));
        Some(())
    };
    "tensor::Tensor::local_response_norm", "nn::LocalResponseNorm::new",
    "nn::LocalResponseNorm::alpha", "nn::LocalResponseNorm::beta", "nn::LocalResponseNorm::k" => |d| {
        let (tensor, size, number) = (image(d)?, d.size()?, d.number()?);
        let layer = LocalResponseNorm::new(size).alpha(number).beta(d.number()?).k(d.number()?);
        both_ways(d, layer.forward(&tensor));
        both_ways(d, tensor.local_response_norm(size, number, number, number));
        Some(())
    };
};

/// A tensor, half of the time of four dimensions, that may require gradients.
fn image(d: &mut Draw) -> Option<Tensor> {
    let tensor = d.tensor()?;
    let tensor = if d.flag()? { Tensor::arange(120.0, ()).ok()? } else { tensor };
    let tensor = if d.flag()? { tensor.reshape([1, 2, -1, 6]).unwrap_or(tensor) } else { tensor };
    if d.flag()? { Some(tensor.requires_grad_(true).unwrap_or(tensor)) } else { Some(tensor) }
}

fn sizes<const N: usize>(d: &mut Draw) -> Option<PerAxis<N>> {
    // Mostly numbers that fit.
    if !d.rng().one_in(4) {
        return Some(PerAxis::All(1 + d.rng().below(3)));
    }
    let mut each = [0; N];
    for size in &mut each {
        *size = d.size()?;
    }
    Some(PerAxis::Each(each))
}

/// Looks at a result, and goes back from it.
fn both_ways(d: &mut Draw, result: Result<Tensor>) {
    if let Ok(output) = result {
        let _ = output.sum(()).and_then(|sum| sum.backward());
        d.look(Some(output));
    }
}
