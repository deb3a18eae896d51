//! Interpolation to other sizes.

use std::fmt;

use cpu_kernels::resample::{ResampleAxis, ResampleRule};
use smallvec::SmallVec;

use super::autocast::autocast;
use super::interpolate_taps::AxisTaps;
use super::resample::resampled;
use super::scan::widened;
use crate::{DType, Error, Result, Shape, Tensor};

/// The way in which elements are interpolated, in PyTorch's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterpolationMode {
    /// The element at the start of each result.
    Nearest,
    /// The element at the middle of each result.
    NearestExact,
    /// The two elements around each result, along one dimension.
    Linear,
    /// The four elements around each result, along two dimensions.
    Bilinear,
    /// The sixteen elements around each result, along two dimensions, by cubic convolution.
    Bicubic,
    /// The eight elements around each result, along three dimensions.
    Trilinear,
    /// The average of the elements that each result stands for.
    Area,
}

/// PyTorch's name.
impl fmt::Display for InterpolationMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InterpolationMode::Nearest => "nearest",
            InterpolationMode::NearestExact => "nearest-exact",
            InterpolationMode::Linear => "linear",
            InterpolationMode::Bilinear => "bilinear",
            InterpolationMode::Bicubic => "bicubic",
            InterpolationMode::Trilinear => "trilinear",
            InterpolationMode::Area => "area",
        })
    }
}

/// Factors by which sizes grow: one for all dimensions, or one for each. They are made from a number
/// or an array of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleFactors(SmallVec<[f64; 3]>);

impl From<f64> for ScaleFactors {
    fn from(factor: f64) -> ScaleFactors {
        ScaleFactors(SmallVec::from_slice(&[factor]))
    }
}

impl<const N: usize> From<[f64; N]> for ScaleFactors {
    fn from(factors: [f64; N]) -> ScaleFactors {
        ScaleFactors(SmallVec::from_slice(&factors))
    }
}

impl From<&[f64]> for ScaleFactors {
    fn from(factors: &[f64]) -> ScaleFactors {
        ScaleFactors(SmallVec::from_slice(factors))
    }
}

/// The size to interpolate to, given as itself or by factors.
#[derive(Clone, Debug, PartialEq)]
enum InterpolationTarget {
    Size(Shape),
    Factors(ScaleFactors),
}

/// The options of [`Tensor::interpolate`]: a size or factors, with PyTorch's defaults for the others.
///
/// ```
/// use tensor::{Interpolation, InterpolationMode, tensor};
/// let x = tensor![[[0.0, 4.0]]]?;
/// let doubled = Interpolation::scale_factor(2.0);
/// assert_eq!(x.interpolate(&doubled)?.to_vec::<f32>()?, [0.0, 0.0, 4.0, 4.0]);
/// let linear = doubled.mode(InterpolationMode::Linear);
/// assert_eq!(x.interpolate(&linear)?.to_vec::<f32>()?, [0.0, 1.0, 3.0, 4.0]);
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Interpolation {
    target: InterpolationTarget,
    mode: InterpolationMode,
    align_corners: Option<bool>,
    recompute_scale_factor: bool,
    antialias: bool,
}

impl Interpolation {
    /// To a size: one number for all dimensions, or one for each, without batch and channels.
    pub fn size(size: impl Into<Shape>) -> Interpolation {
        Interpolation::to(InterpolationTarget::Size(size.into()))
    }

    /// To sizes that are larger by a factor: one for all dimensions, or one for each. Results are
    /// rounded down, and lie the factor apart whatever the sizes are, unless
    /// [`recompute_scale_factor`](Interpolation::recompute_scale_factor) says otherwise.
    pub fn scale_factor(factors: impl Into<ScaleFactors>) -> Interpolation {
        Interpolation::to(InterpolationTarget::Factors(factors.into()))
    }

    fn to(target: InterpolationTarget) -> Interpolation {
        let mode = InterpolationMode::Nearest;
        let (align_corners, recompute_scale_factor, antialias) = (None, false, false);
        Interpolation { target, mode, align_corners, recompute_scale_factor, antialias }
    }

    /// Sets the mode, in place of the nearest element.
    pub fn mode(mut self, mode: InterpolationMode) -> Interpolation {
        self.mode = mode;
        self
    }

    /// Sets whether the first and last results are the first and last elements, for linear and cubic
    /// modes. Without it, the outer edges of the two are the same.
    pub fn align_corners(mut self, align_corners: bool) -> Interpolation {
        self.align_corners = Some(align_corners);
        self
    }

    /// Sets whether results lie as far apart as the two sizes say, and not the factor.
    pub fn recompute_scale_factor(mut self, recompute_scale_factor: bool) -> Interpolation {
        self.recompute_scale_factor = recompute_scale_factor;
        self
    }

    /// Sets whether each result is made of all elements that it stands for, and not of those beside it
    /// alone, for bilinear and bicubic modes: what is made smaller keeps no pattern of single
    /// elements.
    pub fn antialias(mut self, antialias: bool) -> Interpolation {
        self.antialias = antialias;
        self
    }
}

/// PyTorch's printed form of these options in a layer.
impl fmt::Display for Interpolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: Vec<String>| match numbers.as_slice() {
            [one] => one.clone(),
            _ => format!("({})", numbers.join(", ")),
        };
        match &self.target {
            InterpolationTarget::Size(sizes) => {
                write!(f, "size={}", list(sizes.iter().map(usize::to_string).collect()))?;
            }
            InterpolationTarget::Factors(ScaleFactors(factors)) => {
                let texts = factors.iter().map(|factor| format!("{factor:?}")).collect();
                write!(f, "scale_factor={}", list(texts))?;
            }
        }
        write!(f, ", mode='{}'", self.mode)
    }
}

const OP: &str = "interpolate";

/// Interpolation.
impl Tensor {
    /// The tensor, `[batch, channels, ..]`, at other sizes of its last one to three dimensions
    /// (`torch.nn.functional.interpolate`). It is of floats, or of `U8`, whose interpolated values are
    /// rounded along each dimension.
    ///
    /// The gradient of an element is gathered from the results that it is a part of, in a fixed order. On
    /// CUDA the work is enqueued.
    ///
    /// ```
    /// use tensor::{Interpolation, InterpolationMode, Tensor};
    /// let x = Tensor::arange(4.0, ())?.reshape([1, 1, 2, 2])?;
    /// let options = Interpolation::size([1, 3]).mode(InterpolationMode::Bilinear);
    /// assert_eq!(x.interpolate(&options)?.to_vec::<f32>()?, [1.0, 1.5, 2.0]);
    /// let options = options.align_corners(true);
    /// assert_eq!(x.interpolate(&options)?.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor has not the number of dimensions that the mode is for, or anything but the batch is
    /// empty, or of another dtype; there is not one size or factor, or one for each dimension; a size
    /// is 0 or too large; corners are aligned, or antialiasing is asked for, in a mode that has none.
    #[track_caller]
    pub fn interpolate(&self, options: &Interpolation) -> Result<Tensor> {
        autocast(OP, [self])?.operands()[0].interpolated(options)
    }

    #[track_caller]
    fn interpolated(&self, options: &Interpolation) -> Result<Tensor> {
        let spatial = check(self, options)?;
        let sizes = &self.shape()[2..];
        let mut axes: SmallVec<[ResampleAxis; 3]> = SmallVec::new();
        for (at, &input) in sizes.iter().enumerate() {
            axes.push(axis(options, at, input)?);
        }
        if options.mode == InterpolationMode::Area {
            return match *axes {
                [a] => self.adaptive_avg_pool1d([a.output]),
                [a, b] => self.adaptive_avg_pool2d([a.output, b.output]),
                [a, b, c] => self.adaptive_avg_pool3d([a.output, b.output, c.output]),
                _ => unreachable!("{spatial} dimensions were checked"),
            };
        }
        let chooses =
            matches!(options.mode, InterpolationMode::Nearest | InterpolationMode::NearestExact);
        if self.dtype() == DType::U8 && !chooses {
            return in_bytes(self, &axes, options.antialias);
        }
        if options.antialias {
            let wide = AxisTaps::antialiased(&axes[1]).apply(&widened(self)?, 3)?;
            return AxisTaps::antialiased(&axes[0]).apply(&wide, 2)?.to(self.dtype());
        }
        resampled(OP, self, &axes)
    }
}

/// Bytes, interpolated along one dimension after the other, from the last one on: as in PyTorch, what
/// each gives is rounded, and of two dimensions the weights are too.
#[track_caller]
fn in_bytes(x: &Tensor, axes: &[ResampleAxis], antialias: bool) -> Result<Tensor> {
    // Sums of many weights in fixed point have more digits than `F32`.
    let mut values = x.to(if antialias { DType::F64 } else { DType::F32 })?;
    for (at, &axis) in axes.iter().enumerate().rev() {
        values = match axes.len() {
            2 => {
                let of = if antialias { AxisTaps::antialiased } else { AxisTaps::of };
                of(&axis).rounded().apply(&values, at + 2)?
            }
            _ => {
                let mut only: SmallVec<[ResampleAxis; 3]> =
                    values.shape()[2..].iter().map(|&size| ResampleAxis::unchanged(size)).collect();
                only[at] = axis;
                resampled(OP, &values, &only)?
            }
        };
        values = values.add(0.5)?.floor()?.clamp(0, 255)?;
    }
    values.to(DType::U8)
}

/// The number of dimensions that are interpolated.
///
/// # Errors
/// The tensor or the options do not fit.
fn check(x: &Tensor, options: &Interpolation) -> Result<usize> {
    use InterpolationMode as M;
    let spatial = x.dims().saturating_sub(2);
    let (fits, rule) = match options.mode {
        M::Linear => (spatial == 1, "`linear` is for [batch, channels, length]"),
        M::Bilinear | M::Bicubic => {
            (spatial == 2, "this mode is for [batch, channels, height, width]")
        }
        M::Trilinear => {
            (spatial == 3, "`trilinear` is for [batch, channels, depth, height, width]")
        }
        _ => ((1..=3).contains(&spatial), "`self` must be [batch, channels, ..], with 1 to 3 more"),
    };
    let rule = match fits {
        true => "only the batch may be empty",
        false => rule,
    };
    if !fits || x.shape()[1..].contains(&0) {
        let shapes = vec![("self", x.layout().shape().clone())];
        return Err(Error::ShapeMismatch { op: OP, shapes, rule });
    }
    if x.dtype() != DType::U8 || options.mode == M::Area {
        x.expect_floats(OP)?;
    }
    let has_corners = matches!(options.mode, M::Linear | M::Bilinear | M::Bicubic | M::Trilinear);
    if let (Some(align_corners), false) = (options.align_corners, has_corners) {
        return Err(Error::InvalidArgument {
            op: OP,
            argument: "align_corners",
            value: align_corners.to_string(),
            why: "only linear and cubic modes have it",
        });
    }
    if options.antialias && !matches!(options.mode, M::Bilinear | M::Bicubic) {
        return Err(Error::InvalidArgument {
            op: OP,
            argument: "antialias",
            value: options.mode.to_string(),
            why: "only the modes bilinear and bicubic have it",
        });
    }
    let given = match &options.target {
        InterpolationTarget::Size(sizes) => sizes.len(),
        InterpolationTarget::Factors(ScaleFactors(factors)) => factors.len(),
    };
    if given != 1 && given != spatial {
        return Err(refused(options, "there must be one for all dimensions, or one for each"));
    }
    Ok(spatial)
}

#[cold]
fn refused(options: &Interpolation, why: &'static str) -> Error {
    let argument = match options.target {
        InterpolationTarget::Size(_) => "size",
        InterpolationTarget::Factors(_) => "scale_factor",
    };
    Error::InvalidArgument { op: OP, argument, value: options.to_string(), why }
}

/// The results along one of the dimensions.
///
/// # Errors
/// There are none, or too many.
fn axis(options: &Interpolation, at: usize, input: usize) -> Result<ResampleAxis> {
    let (output, factor) = match &options.target {
        InterpolationTarget::Size(sizes) => (sizes[at.min(sizes.len() - 1)], None),
        InterpolationTarget::Factors(ScaleFactors(factors)) => {
            let factor = factors[at.min(factors.len() - 1)];
            // Cut towards zero, as PyTorch has it; NaN and negative ones become 0.
            let output = (input as f64 * factor) as usize;
            (output, Some(factor).filter(|_| !options.recompute_scale_factor))
        }
    };
    if output == 0 || isize::try_from(output).is_err() {
        return Err(refused(options, "sizes must be at least 1, and must fit into memory"));
    }
    let is_aligned = options.align_corners == Some(true);
    let distance = factor.map_or(input as f64 / output as f64, f64::recip);
    let scale = match is_aligned {
        true if output > 1 => (input - 1) as f64 / (output - 1) as f64,
        true => 0.0,
        false => distance,
    };
    if input == output && options.mode != InterpolationMode::Bicubic {
        // Whatever the factor: so PyTorch has it on the CPU.
        return Ok(ResampleAxis::unchanged(input));
    }
    let rule = match options.mode {
        InterpolationMode::Nearest | InterpolationMode::Area => {
            ResampleRule::Nearest { scale: distance, is_exact: false }
        }
        InterpolationMode::NearestExact => {
            ResampleRule::Nearest { scale: distance, is_exact: true }
        }
        InterpolationMode::Bicubic => ResampleRule::Cubic { scale, is_aligned },
        _ => ResampleRule::Linear { scale, is_aligned },
    };
    Ok(ResampleAxis { input, output, rule })
}
