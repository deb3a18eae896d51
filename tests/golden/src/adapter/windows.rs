//! Windows and samples of images: pooling, padding, interpolation, blocks.

use tensor::{
    AdaptivePoolSize, AvgPoolOptions, BlockOptions, GridSampleMode, GridSamplePadding,
    Interpolation, InterpolationMode, MaxPoolOptions, MaxUnpoolOptions, PadMode, PerAxis, Scalar,
    Tensor,
};

use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

pub(super) static POOLS: &[AdapterRow] = &[
    row("nn.functional.max_pool1d", MAX, |c| {
        max(c, Tensor::max_pool1d, Tensor::max_pool1d_with_indices)
    }),
    row("nn.functional.max_pool2d", MAX, |c| {
        max(c, Tensor::max_pool2d, Tensor::max_pool2d_with_indices)
    }),
    row("nn.functional.max_pool3d", MAX, |c| {
        max(c, Tensor::max_pool3d, Tensor::max_pool3d_with_indices)
    }),
    row("nn.functional.avg_pool1d", AVERAGE_1D, |c| avg(c, Tensor::avg_pool1d)),
    row("nn.functional.avg_pool2d", AVERAGE, |c| avg(c, Tensor::avg_pool2d)),
    row("nn.functional.avg_pool3d", AVERAGE, |c| avg(c, Tensor::avg_pool3d)),
    row("nn.functional.adaptive_max_pool1d", ADAPTIVE_MAX, |c| {
        adaptive_max(c, Tensor::adaptive_max_pool1d, Tensor::adaptive_max_pool1d_with_indices)
    }),
    row("nn.functional.adaptive_max_pool2d", ADAPTIVE_MAX, |c| {
        adaptive_max(c, Tensor::adaptive_max_pool2d, Tensor::adaptive_max_pool2d_with_indices)
    }),
    row("nn.functional.adaptive_max_pool3d", ADAPTIVE_MAX, |c| {
        adaptive_max(c, Tensor::adaptive_max_pool3d, Tensor::adaptive_max_pool3d_with_indices)
    }),
    row("nn.functional.adaptive_avg_pool1d", "x, output_size", |c| {
        give(c.x()?.adaptive_avg_pool1d(output_size::<1>(c)?))
    }),
    row("nn.functional.adaptive_avg_pool2d", "x, output_size", |c| {
        give(c.x()?.adaptive_avg_pool2d(output_size::<2>(c)?))
    }),
    row("nn.functional.adaptive_avg_pool3d", "x, output_size", |c| {
        give(c.x()?.adaptive_avg_pool3d(output_size::<3>(c)?))
    }),
    row("nn.functional.max_unpool1d", UNPOOL, |c| {
        give(c.x()?.max_unpool1d(c.get("indices")?, unpool::<1>(c)?))
    }),
    row("nn.functional.max_unpool2d", UNPOOL, |c| {
        give(c.x()?.max_unpool2d(c.get("indices")?, unpool::<2>(c)?))
    }),
    row("nn.functional.max_unpool3d", UNPOOL, |c| {
        give(c.x()?.max_unpool3d(c.get("indices")?, unpool::<3>(c)?))
    }),
    row("nn.functional.local_response_norm", "x, size, alpha=0.0001, beta=0.75, k=1.0", |c| {
        let size = c.get("size")?;
        give(c.x()?.local_response_norm(size, c.get("alpha")?, c.get("beta")?, c.get("k")?))
    }),
];

pub(super) static SAMPLES: &[AdapterRow] = &[
    row("nn.functional.pad", "x, pad, mode='constant', value=None", |c| {
        let padding: Vec<isize> = c.get("pad")?;
        let value: Option<Scalar> = c.get("value")?;
        let mode = match (c.get::<&str>("mode")?, value) {
            ("constant", value) => PadMode::Constant(value.unwrap_or(Scalar::Int(0))),
            ("reflect", None) => PadMode::Reflect,
            ("replicate", None) => PadMode::Replicate,
            ("circular", None) => PadMode::Circular,
            _ => return Err(CaseFailure::Unsupported("such a mode or value".to_owned())),
        };
        give(c.x()?.pad(&padding, mode))
    }),
    row("constant_pad_nd", "x, pad, value=0", |c| {
        let padding: Vec<isize> = c.get("pad")?;
        give(c.x()?.constant_pad_nd(&padding, c.scalar("value")?))
    }),
    row(
        "nn.functional.interpolate",
        "x, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, antialias=False",
        |c| {
            let mut options = interpolation(c)?.mode(mode(c.get("mode")?)?);
            if let Some(align_corners) = c.get("align_corners")? {
                options = options.align_corners(align_corners);
            }
            let recompute: Option<bool> = c.get("recompute_scale_factor")?;
            options = options.recompute_scale_factor(recompute.unwrap_or(false));
            give(c.x()?.interpolate(&options.antialias(c.get("antialias")?)))
        },
    ),
    row("nn.functional.upsample_nearest", "x, size=None, scale_factor=None", |c| {
        give(c.x()?.interpolate(&interpolation(c)?))
    }),
    row("nn.functional.upsample_bilinear", "x, size=None, scale_factor=None", |c| {
        let options = interpolation(c)?.mode(InterpolationMode::Bilinear).align_corners(true);
        give(c.x()?.interpolate(&options))
    }),
    row(
        "nn.functional.grid_sample",
        "x, grid, mode='bilinear', padding_mode='zeros', align_corners=None",
        |c| {
            let mode = match c.get("mode")? {
                "bilinear" => GridSampleMode::Bilinear,
                "nearest" => GridSampleMode::Nearest,
                "bicubic" => GridSampleMode::Bicubic,
                name => return Err(CaseFailure::Unsupported(format!("the mode {name}"))),
            };
            let padding = match c.get("padding_mode")? {
                "zeros" => GridSamplePadding::Zeros,
                "border" => GridSamplePadding::Border,
                "reflection" => GridSamplePadding::Reflection,
                name => return Err(CaseFailure::Unsupported(format!("the padding {name}"))),
            };
            let align_corners: Option<bool> = c.get("align_corners")?;
            let grid = c.get("grid")?;
            give(c.x()?.grid_sample(grid, mode, padding, align_corners.unwrap_or(false)))
        },
    ),
    row("nn.functional.affine_grid", "theta, size, align_corners=None", |c| {
        let size: Vec<usize> = c.get("size")?;
        let align_corners: Option<bool> = c.get("align_corners")?;
        give(c.get::<&Tensor>("theta")?.affine_grid(&size, align_corners.unwrap_or(false)))
    }),
    row("nn.functional.pixel_shuffle|pixel_shuffle", "x, upscale_factor", |c| {
        give(c.x()?.pixel_shuffle(c.get("upscale_factor")?))
    }),
    row("nn.functional.pixel_unshuffle|pixel_unshuffle", "x, downscale_factor", |c| {
        give(c.x()?.pixel_unshuffle(c.get("downscale_factor")?))
    }),
    row("nn.functional.channel_shuffle|channel_shuffle", "x, groups", |c| {
        give(c.x()?.channel_shuffle(c.get("groups")?))
    }),
    row("nn.functional.unfold", "x, kernel_size, dilation=1, padding=0, stride=1", |c| {
        give(c.x()?.im2col(blocks(c)?))
    }),
    row(
        "nn.functional.fold",
        "x, output_size, kernel_size, dilation=1, padding=0, stride=1",
        |c| give(c.x()?.col2im(required::<2>(c, "output_size")?, blocks(c)?)),
    ),
];

const MAX: &str =
    "x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False";
const AVERAGE_1D: &str =
    "x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True";
const AVERAGE: &str = "x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None";
const ADAPTIVE_MAX: &str = "x, output_size, return_indices=False";
const UNPOOL: &str = "x, indices, kernel_size, stride=None, padding=0, output_size=None";

/// A number for each axis: an integer, or a list; `None` for none and for an empty list.
pub(super) fn per_axis<const N: usize>(
    c: &BoundCall,
    name: &str,
) -> Result<Option<PerAxis<N>>, CaseFailure> {
    if let CaseArgument::Integer(_) = c.argument(name)? {
        return Ok(Some(PerAxis::All(c.get(name)?)));
    }
    let numbers: Option<Vec<usize>> = c.get(name)?;
    let numbers = numbers.unwrap_or_default();
    match (numbers.as_slice(), <[usize; N]>::try_from(numbers.as_slice())) {
        ([], _) => Ok(None),
        (_, Ok(each)) => Ok(Some(PerAxis::Each(each))),
        (&[one], _) => Ok(Some(PerAxis::All(one))),
        _ => Err(CaseFailure::Unsupported(format!("{} numbers as {name}", numbers.len()))),
    }
}

pub(super) fn required<const N: usize>(
    c: &BoundCall,
    name: &str,
) -> Result<PerAxis<N>, CaseFailure> {
    let none = || CaseFailure::Unsupported(format!("no numbers as {name}"));
    per_axis(c, name)?.ok_or_else(none)
}

fn max<const N: usize>(
    c: &BoundCall,
    values: fn(&Tensor, MaxPoolOptions<N>) -> tensor::Result<Tensor>,
    with_indices: fn(&Tensor, MaxPoolOptions<N>) -> tensor::Result<(Tensor, Tensor)>,
) -> CallOutcome {
    let options = max_options(c)?;
    match c.get("return_indices")? {
        true => give(with_indices(c.x()?, options)),
        false => give(values(c.x()?, options)),
    }
}

pub(super) fn max_options<const N: usize>(c: &BoundCall) -> Result<MaxPoolOptions<N>, CaseFailure> {
    let kernel_size = required(c, "kernel_size")?;
    Ok(MaxPoolOptions::new(kernel_size)
        .stride(per_axis(c, "stride")?.unwrap_or(kernel_size))
        .padding(required::<N>(c, "padding")?)
        .dilation(required::<N>(c, "dilation")?)
        .ceil_mode(c.get::<bool>("ceil_mode")?))
}

fn avg<const N: usize>(
    c: &BoundCall,
    average: fn(&Tensor, AvgPoolOptions<N>) -> tensor::Result<Tensor>,
) -> CallOutcome {
    give(average(c.x()?, average_options(c)?))
}

pub(super) fn average_options<const N: usize>(
    c: &BoundCall,
) -> Result<AvgPoolOptions<N>, CaseFailure> {
    let kernel_size = required(c, "kernel_size")?;
    let divisor: Option<i64> = match c.argument("divisor_override") {
        Ok(_) => c.get("divisor_override")?,
        Err(_) => None,
    };
    Ok(AvgPoolOptions::new(kernel_size)
        .stride(per_axis(c, "stride")?.unwrap_or(kernel_size))
        .padding(required::<N>(c, "padding")?)
        .ceil_mode(c.get::<bool>("ceil_mode")?)
        .count_include_pad(c.get::<bool>("count_include_pad")?)
        .divisor_override(divisor))
}

pub(super) fn output_size<const N: usize>(
    c: &BoundCall,
) -> Result<AdaptivePoolSize<N>, CaseFailure> {
    if let CaseArgument::Integer(_) = c.argument("output_size")? {
        return Ok(AdaptivePoolSize::All(Some(c.get("output_size")?)));
    }
    let sizes: Vec<Option<usize>> = c.get("output_size")?;
    let each = <[Option<usize>; N]>::try_from(sizes.as_slice());
    let wrong = |_| CaseFailure::Unsupported(format!("{} sizes", sizes.len()));
    each.map(AdaptivePoolSize::Each).map_err(wrong)
}

fn adaptive_max<const N: usize>(
    c: &BoundCall,
    values: fn(&Tensor, AdaptivePoolSize<N>) -> tensor::Result<Tensor>,
    with_indices: fn(&Tensor, AdaptivePoolSize<N>) -> tensor::Result<(Tensor, Tensor)>,
) -> CallOutcome {
    let size = output_size(c)?;
    match c.get("return_indices")? {
        true => give(with_indices(c.x()?, size)),
        false => give(values(c.x()?, size)),
    }
}

/// The options of an unpooling. PyTorch's output size may have batch and channels before the axes.
fn unpool<const N: usize>(c: &BoundCall) -> Result<MaxUnpoolOptions<N>, CaseFailure> {
    let kernel_size = required(c, "kernel_size")?;
    let sizes: Option<Vec<usize>> = c.get("output_size")?;
    let last = sizes.as_deref().map(|sizes| sizes.last_chunk::<N>().copied());
    if last == Some(None) {
        return Err(CaseFailure::Unsupported("so few sizes".to_owned()));
    }
    Ok(MaxUnpoolOptions::new(kernel_size)
        .stride(per_axis(c, "stride")?.unwrap_or(kernel_size))
        .padding(required::<N>(c, "padding")?)
        .output_size(last.flatten()))
}

fn blocks(c: &BoundCall) -> Result<BlockOptions, CaseFailure> {
    Ok(BlockOptions::new(required(c, "kernel_size")?)
        .dilation(required(c, "dilation")?)
        .padding(required(c, "padding")?)
        .stride(required(c, "stride")?))
}

/// An interpolation to a size, or by factors.
fn interpolation(c: &BoundCall) -> Result<Interpolation, CaseFailure> {
    let (size, factor) = (c.argument("size")?, c.argument("scale_factor")?);
    match (size, factor) {
        (CaseArgument::Integer(_), CaseArgument::None) => {
            Ok(Interpolation::size(c.get::<usize>("size")?))
        }
        (CaseArgument::List(_), CaseArgument::None) => {
            Ok(Interpolation::size(c.get::<Vec<usize>>("size")?))
        }
        (CaseArgument::None, CaseArgument::List(_)) => {
            let factors: Vec<f64> = c.get("scale_factor")?;
            Ok(Interpolation::scale_factor(factors.as_slice()))
        }
        (CaseArgument::None, _) => Ok(Interpolation::scale_factor(c.get::<f64>("scale_factor")?)),
        _ => Err(CaseFailure::Unsupported("a size and factors".to_owned())),
    }
}

fn mode(name: &str) -> Result<InterpolationMode, CaseFailure> {
    use InterpolationMode as M;
    let all =
        [M::Nearest, M::NearestExact, M::Linear, M::Bilinear, M::Bicubic, M::Trilinear, M::Area];
    let unsupported = || CaseFailure::Unsupported(format!("the mode {name}"));
    all.into_iter().find(|mode| mode.to_string() == name).ok_or_else(unsupported)
}
