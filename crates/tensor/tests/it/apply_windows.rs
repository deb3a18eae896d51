//! The operations on windows and samples of images that cases of the expected data name.

use tensor::{
    AvgPoolOptions, BlockOptions, FractionalMaxPoolOptions, GridSampleMode, GridSamplePadding,
    Interpolation, InterpolationMode, LPPoolOptions, MaxPoolOptions, MaxUnpoolOptions, PadMode,
    Tensor,
};

use crate::apply::Table;
use crate::expected::Case;

pub(crate) const WINDOWS: Table = &[
    ("max_pool1d", |case, x| x[0].max_pool1d(max_options::<1>(case))),
    ("max_pool2d", |case, x| x[0].max_pool2d(max_options::<2>(case))),
    ("max_pool3d", |case, x| x[0].max_pool3d(max_options::<3>(case))),
    ("avg_pool1d", |case, x| x[0].avg_pool1d(avg_options::<1>(case))),
    ("avg_pool2d", |case, x| x[0].avg_pool2d(avg_options::<2>(case))),
    ("avg_pool3d", |case, x| x[0].avg_pool3d(avg_options::<3>(case))),
    ("adaptive_max_pool1d", |case, x| x[0].adaptive_max_pool1d(size(case, "size"))),
    ("adaptive_max_pool2d", |case, x| x[0].adaptive_max_pool2d(size(case, "size"))),
    ("adaptive_max_pool3d", |case, x| x[0].adaptive_max_pool3d(size(case, "size"))),
    ("adaptive_avg_pool1d", |case, x| x[0].adaptive_avg_pool1d(size(case, "size"))),
    ("adaptive_avg_pool2d", |case, x| x[0].adaptive_avg_pool2d(size(case, "size"))),
    ("adaptive_avg_pool3d", |case, x| x[0].adaptive_avg_pool3d(size(case, "size"))),
    ("max_unpool1d", |case, x| x[0].max_unpool1d(&x[1], unpool_options::<1>(case))),
    ("max_unpool2d", |case, x| x[0].max_unpool2d(&x[1], unpool_options::<2>(case))),
    ("max_unpool3d", |case, x| x[0].max_unpool3d(&x[1], unpool_options::<3>(case))),
    ("lp_pool1d", |case, x| x[0].lp_pool1d(case.float("norm_type"), lp_options::<1>(case))),
    ("lp_pool2d", |case, x| x[0].lp_pool2d(case.float("norm_type"), lp_options::<2>(case))),
    ("lp_pool3d", |case, x| x[0].lp_pool3d(case.float("norm_type"), lp_options::<3>(case))),
    ("fractional_max_pool2d", |case, x| x[0].fractional_max_pool2d(&fractions(case, &x[1]))),
    ("fractional_max_pool3d", |case, x| x[0].fractional_max_pool3d(&fractions(case, &x[1]))),
    ("rpow", |case, x| x[0].rpow(case.float("base"))),
    ("rremainder", |case, x| x[0].rremainder(case.float("base"))),
    ("pad", |case, x| {
        let mode = match case.arg("mode").as_str() {
            Some("reflect") => PadMode::Reflect,
            Some("replicate") => PadMode::Replicate,
            Some("circular") => PadMode::Circular,
            _ => PadMode::Constant(1.5.into()),
        };
        x[0].pad(case.ints::<isize>("pad"), mode)
    }),
    ("interpolate", |case, x| x[0].interpolate(&interpolation(case))),
    ("im2col", |case, x| x[0].im2col(block_options(case))),
    ("col2im", |case, x| x[0].col2im([5, 6], block_options(case))),
    ("pixel_shuffle", |case, x| x[0].pixel_shuffle(size(case, "factor"))),
    ("pixel_unshuffle", |case, x| x[0].pixel_unshuffle(size(case, "factor"))),
    ("channel_shuffle", |case, x| x[0].channel_shuffle(size(case, "factor"))),
    ("local_response_norm", |case, x| {
        x[0].local_response_norm(size(case, "size"), 0.5, 0.75, case.float("k"))
    }),
    ("affine_grid", |case, x| x[0].affine_grid(&[2, 1, 2, 3], case.flag("align_corners"))),
    ("grid_sample", |case, x| {
        let mode = match case.arg("mode").as_str() {
            Some("bilinear") => GridSampleMode::Bilinear,
            Some("nearest") => GridSampleMode::Nearest,
            _ => GridSampleMode::Bicubic,
        };
        let padding = match case.arg("padding").as_str() {
            Some("zeros") => GridSamplePadding::Zeros,
            Some("border") => GridSamplePadding::Border,
            _ => GridSamplePadding::Reflection,
        };
        x[0].grid_sample(&x[1], mode, padding, case.flag("align_corners"))
    }),
];

fn size(case: &Case, name: &str) -> usize {
    case.int(name) as usize
}

fn max_options<const N: usize>(case: &Case) -> MaxPoolOptions<N> {
    MaxPoolOptions::new(size(case, "kernel_size"))
        .stride(size(case, "stride"))
        .padding(size(case, "padding"))
        .dilation(size(case, "dilation"))
        .ceil_mode(case.flag("ceil_mode"))
}

fn avg_options<const N: usize>(case: &Case) -> AvgPoolOptions<N> {
    AvgPoolOptions::new(size(case, "kernel_size"))
        .stride(size(case, "stride"))
        .padding(size(case, "padding"))
        .ceil_mode(case.flag("ceil_mode"))
        .count_include_pad(case.flag("count_include_pad"))
        .divisor_override(case.arg("divisor").as_i64())
}

fn lp_options<const N: usize>(case: &Case) -> LPPoolOptions<N> {
    let options = LPPoolOptions::new(size(case, "kernel_size")).ceil_mode(case.flag("ceil_mode"));
    match case.arg("stride").as_u64() {
        Some(stride) => options.stride(stride as usize),
        None => options,
    }
}

fn fractions<const N: usize>(case: &Case, samples: &Tensor) -> FractionalMaxPoolOptions<N> {
    let each =
        |name: &str| <[usize; N]>::try_from(case.ints(name)).expect("a number for each axis");
    FractionalMaxPoolOptions::to_size(each("kernel_size"), each("output_size"))
        .samples(samples.detach())
}

fn unpool_options<const N: usize>(case: &Case) -> MaxUnpoolOptions<N> {
    let sizes: [usize; N] = case.ints("size").try_into().expect("a size for each axis");
    MaxUnpoolOptions::new(2).output_size(sizes)
}

fn interpolation(case: &Case) -> Interpolation {
    use InterpolationMode as M;
    let options = match case.arg("scale_factor").as_f64() {
        Some(factor) => Interpolation::scale_factor(factor),
        None if case.arg("size").is_array() => Interpolation::size(case.ints::<usize>("size")),
        None => Interpolation::size(size(case, "size")),
    };
    let modes =
        [M::Nearest, M::NearestExact, M::Linear, M::Bilinear, M::Bicubic, M::Trilinear, M::Area];
    let name = case.arg("mode").as_str().expect("a mode");
    let mode = modes.into_iter().find(|mode| mode.to_string() == name).expect("it exists");
    let options = options.antialias(case.flag("antialias"));
    match case.arg("align_corners").as_bool() {
        Some(align_corners) => options.mode(mode).align_corners(align_corners),
        None => options.mode(mode),
    }
}

fn block_options(case: &Case) -> BlockOptions {
    let pair = |name: &str, otherwise: usize| match case.arg(name).is_null() {
        true => [otherwise; 2],
        false => case.ints(name).try_into().expect("two numbers"),
    };
    BlockOptions::new(pair("kernel_size", 1))
        .dilation(pair("dilation", 1))
        .padding(pair("padding", 0))
        .stride(pair("stride", 1))
}
