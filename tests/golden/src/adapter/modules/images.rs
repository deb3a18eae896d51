//! Layers of images: convolutions, pooling and padding.

use nn::PadSides;
use tensor::{FractionalMaxPoolOptions, LPPoolOptions, PadMode, Tensor};

use super::super::convolutions::{convolution_options, transposed_options};
use super::super::windows::{average_options, max_options, output_size, per_axis, required};
use super::module_row::{BoundCall, CalledModule, ModuleRow, module, one, tensors};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

macro_rules! convolution {
    ($name:literal, $layer:ident, $dims:literal) => {
        module($name, CONVOLUTION, |c| {
            let (channels, size) = (c.get("in_channels")?, required::<$dims>(c, "kernel_size")?);
            let options = convolution_options::<$dims>(c)?;
            let layer = nn::$layer::new(channels, c.get("out_channels")?, size, options)?;
            let layer = layer.with_padding_mode(padding_mode(c)?);
            one(if c.get("bias")? { layer } else { layer.without_bias() })
        })
    };
}

macro_rules! transposed_convolution {
    ($name:literal, $layer:ident, $dims:literal) => {
        module($name, TRANSPOSED_CONVOLUTION, |c| {
            expect_zeros(c)?;
            let (channels, size) = (c.get("in_channels")?, required::<$dims>(c, "kernel_size")?);
            let options = transposed_options::<$dims>(c)?;
            let layer = nn::$layer::new(channels, c.get("out_channels")?, size, options)?;
            one(if c.get("bias")? { layer } else { layer.without_bias() })
        })
    };
}

/// A layer that gives the largest values, with their indices on request.
macro_rules! max_pool {
    ($name:literal, $layer:ident, $signature:expr, $options:expr) => {
        module($name, $signature, |c| {
            let module = nn::$layer::new($options(c)?);
            if !c.get("return_indices")? {
                return one(module);
            }
            let call = |module: &nn::$layer, inputs: &[CaseArgument]| {
                let [x] = tensors(inputs)?;
                let (values, indices) = module.forward_with_indices(&x)?;
                Ok(vec![values, indices])
            };
            Ok(Box::new(CalledModule { module, call }))
        })
    };
}

macro_rules! pad {
    ($name:literal, $layer:ident, $sides:literal) => {
        module($name, "padding", |c| one(nn::$layer::new(sides::<$sides>(c)?)))
    };
}

macro_rules! constant_pad {
    ($name:literal, $layer:ident, $sides:literal) => {
        module($name, "padding, value", |c| {
            one(nn::$layer::new(sides::<$sides>(c)?, c.get("value")?))
        })
    };
}

pub(super) static ROWS: &[ModuleRow] = &[
    convolution!("nn.Conv1d", Conv1d, 1),
    convolution!("nn.Conv2d", Conv2d, 2),
    convolution!("nn.Conv3d", Conv3d, 3),
    transposed_convolution!("nn.ConvTranspose1d", ConvTranspose1d, 1),
    transposed_convolution!("nn.ConvTranspose2d", ConvTranspose2d, 2),
    transposed_convolution!("nn.ConvTranspose3d", ConvTranspose3d, 3),
    max_pool!("nn.MaxPool1d", MaxPool1d, MAX_POOL, max_options::<1>),
    max_pool!("nn.MaxPool2d", MaxPool2d, MAX_POOL, max_options::<2>),
    max_pool!("nn.MaxPool3d", MaxPool3d, MAX_POOL, max_options::<3>),
    max_pool!("nn.AdaptiveMaxPool1d", AdaptiveMaxPool1d, ADAPTIVE_MAX_POOL, output_size::<1>),
    max_pool!("nn.AdaptiveMaxPool2d", AdaptiveMaxPool2d, ADAPTIVE_MAX_POOL, output_size::<2>),
    max_pool!("nn.AdaptiveMaxPool3d", AdaptiveMaxPool3d, ADAPTIVE_MAX_POOL, output_size::<3>),
    module("nn.AvgPool1d", AVG_POOL_1D, |c| one(nn::AvgPool1d::new(average_options::<1>(c)?))),
    module("nn.AvgPool2d", AVG_POOL, |c| one(nn::AvgPool2d::new(average_options::<2>(c)?))),
    module("nn.AvgPool3d", AVG_POOL, |c| one(nn::AvgPool3d::new(average_options::<3>(c)?))),
    module("nn.LPPool1d", LP_POOL, |c| one(nn::LPPool1d::new(norm(c)?, lp_options::<1>(c)?))),
    module("nn.LPPool2d", LP_POOL, |c| one(nn::LPPool2d::new(norm(c)?, lp_options::<2>(c)?))),
    module("nn.LPPool3d", LP_POOL, |c| one(nn::LPPool3d::new(norm(c)?, lp_options::<3>(c)?))),
    max_pool!("nn.FractionalMaxPool2d", FractionalMaxPool2d, FRACTIONAL, fractional_options::<2>),
    max_pool!("nn.FractionalMaxPool3d", FractionalMaxPool3d, FRACTIONAL, fractional_options::<3>),
    module("nn.AdaptiveAvgPool1d", "output_size", |c| {
        one(nn::AdaptiveAvgPool1d::new(output_size::<1>(c)?))
    }),
    module("nn.AdaptiveAvgPool2d", "output_size", |c| {
        one(nn::AdaptiveAvgPool2d::new(output_size::<2>(c)?))
    }),
    module("nn.AdaptiveAvgPool3d", "output_size", |c| {
        one(nn::AdaptiveAvgPool3d::new(output_size::<3>(c)?))
    }),
    pad!("nn.ReflectionPad1d", ReflectionPad1d, 2),
    pad!("nn.ReflectionPad2d", ReflectionPad2d, 4),
    pad!("nn.ReflectionPad3d", ReflectionPad3d, 6),
    pad!("nn.ReplicationPad1d", ReplicationPad1d, 2),
    pad!("nn.ReplicationPad2d", ReplicationPad2d, 4),
    pad!("nn.ReplicationPad3d", ReplicationPad3d, 6),
    pad!("nn.CircularPad1d", CircularPad1d, 2),
    pad!("nn.CircularPad2d", CircularPad2d, 4),
    pad!("nn.CircularPad3d", CircularPad3d, 6),
    pad!("nn.ZeroPad1d", ZeroPad1d, 2),
    pad!("nn.ZeroPad2d", ZeroPad2d, 4),
    pad!("nn.ZeroPad3d", ZeroPad3d, 6),
    constant_pad!("nn.ConstantPad1d", ConstantPad1d, 2),
    constant_pad!("nn.ConstantPad2d", ConstantPad2d, 4),
    constant_pad!("nn.ConstantPad3d", ConstantPad3d, 6),
];

const CONVOLUTION: &str = "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode='zeros'";
const TRANSPOSED_CONVOLUTION: &str = "in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, padding_mode='zeros'";
const MAX_POOL: &str =
    "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False";
const ADAPTIVE_MAX_POOL: &str = "output_size, return_indices=False";
const AVG_POOL_1D: &str =
    "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True";
const AVG_POOL: &str = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None";

const LP_POOL: &str = "norm_type, kernel_size, stride=None, ceil_mode=False";
const FRACTIONAL: &str =
    "kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None";

fn norm(c: &BoundCall) -> Result<f64, CaseFailure> {
    c.get("norm_type")
}

fn lp_options<const N: usize>(c: &BoundCall) -> Result<LPPoolOptions<N>, CaseFailure> {
    let options =
        LPPoolOptions::new(required(c, "kernel_size")?).ceil_mode(c.get::<bool>("ceil_mode")?);
    Ok(match per_axis(c, "stride")? {
        Some(stride) => options.stride(stride),
        None => options,
    })
}

fn fractional_options<const N: usize>(
    c: &BoundCall,
) -> Result<FractionalMaxPoolOptions<N>, CaseFailure> {
    let kernel = required::<N>(c, "kernel_size")?;
    let options = match (c.argument("output_size")?, c.argument("output_ratio")?) {
        (CaseArgument::None, CaseArgument::List(_)) => {
            let ratios: Vec<f64> = c.get("output_ratio")?;
            let wrong = |_| CaseFailure::Unsupported(format!("{} ratios", ratios.len()));
            let ratios = <[f64; N]>::try_from(&*ratios).map_err(wrong)?;
            FractionalMaxPoolOptions::to_ratio(kernel, ratios)
        }
        (CaseArgument::None, _) => {
            FractionalMaxPoolOptions::to_ratio(kernel, c.get::<f64>("output_ratio")?)
        }
        _ => FractionalMaxPoolOptions::to_size(kernel, required::<N>(c, "output_size")?),
    };
    Ok(options.samples(c.get::<Option<&Tensor>>("_random_samples")?.cloned()))
}

/// The elements around the input of a convolution.
fn padding_mode(c: &BoundCall) -> Result<PadMode, CaseFailure> {
    match c.get("padding_mode")? {
        "zeros" => Ok(PadMode::Constant(0.into())),
        "reflect" => Ok(PadMode::Reflect),
        "replicate" => Ok(PadMode::Replicate),
        "circular" => Ok(PadMode::Circular),
        mode => Err(CaseFailure::Unsupported(format!("the padding {mode}"))),
    }
}

/// A transposed convolution is padded with zeros.
fn expect_zeros(c: &BoundCall) -> Result<(), CaseFailure> {
    match c.get("padding_mode")? {
        "zeros" => Ok(()),
        mode => Err(CaseFailure::Unsupported(format!("the padding {mode}"))),
    }
}

/// The padding of each side: one number, or a list.
fn sides<const S: usize>(c: &BoundCall) -> Result<PadSides<S>, CaseFailure> {
    if let CaseArgument::Integer(_) = c.argument("padding")? {
        return Ok(c.get::<isize>("padding")?.into());
    }
    let numbers: Vec<isize> = c.get("padding")?;
    let sides = <[isize; S]>::try_from(&*numbers);
    let wrong = |_| CaseFailure::Unsupported(format!("{} numbers as padding", numbers.len()));
    sides.map(PadSides::from).map_err(wrong)
}
