//! Samples of images at the places of a grid.

use smallvec::SmallVec;

use super::autocast::autocast;
use super::scan::widened;
use crate::autograd::Recomputation;
use crate::checked_size::CheckedSize;
use crate::dispatch::same_device;
use crate::{DType, Error, Result, Tensor, is_grad_enabled};

/// The way in which the value at a place between elements is made, for [`Tensor::grid_sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GridSampleMode {
    /// The elements around it, two along each dimension, linearly.
    Bilinear,
    /// The nearest element.
    Nearest,
    /// The elements around it, four along each dimension, by cubic convolution.
    Bicubic,
}

/// The value outside an image, for [`Tensor::grid_sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GridSamplePadding {
    /// 0.
    Zeros,
    /// The nearest element.
    Border,
    /// The value of the mirrored image.
    Reflection,
}

const OP: &str = "grid_sample";

/// Samples of images.
impl Tensor {
    /// The values of images `[batch, channels, (depth,) height, width]` at the places of a grid `[batch,
    /// (out depth,) out height, out width, 2 or 3]`, whose numbers are x, y and z from -1 to 1. With
    /// `align_corners` these are the middles of the first and the last element, without it their outer
    /// edges, which is PyTorch's default.
    ///
    /// Halves are computed in `F32`. Nothing but the operands is kept for the gradients; that of the
    /// images is added up as by [`Tensor::index_add`], so on CUDA its last bits may differ from run to
    /// run.
    ///
    /// M. Jaderberg et al., "Spatial Transformer Networks" (2015).
    ///
    /// ```
    /// use tensor::{GridSampleMode, GridSamplePadding, tensor};
    /// let x = tensor![[[[1.0, 2.0], [3.0, 4.0]]]]?;
    /// let grid = tensor![[[[0.0, 0.0], [1.0, -1.0]]]]?;
    /// let (mode, padding) = (GridSampleMode::Bilinear, GridSamplePadding::Zeros);
    /// assert_eq!(x.grid_sample(&grid, mode, padding, true)?.to_vec::<f32>()?, [2.5, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The shapes do not fit, or an image is empty but for the batch; the dtypes differ or are none of
    /// floats; the tensors lie on different devices.
    #[track_caller]
    pub fn grid_sample(
        &self,
        grid: &Tensor,
        mode: GridSampleMode,
        padding: GridSamplePadding,
        align_corners: bool,
    ) -> Result<Tensor> {
        let cast = autocast("grid_sample", [self, grid])?;
        let [x, grid] = cast.operands();
        check(x, grid)?;
        let sampling = GridSampling { mode, padding, align_corners };
        if !is_grad_enabled() {
            return sampling.sample(x, grid);
        }
        let rerun = move |inputs: &[Tensor]| sampling.sample(&inputs[0], &inputs[1]).map(drop);
        Recomputation::first(Box::new(rerun), &[x, grid], || sampling.sample(x, grid))
    }

    /// The grid that an affine map `[batch, 2, 3]` or `[batch, 3, 4]` of the places of images gives, for
    /// [`Tensor::grid_sample`]. `size` is that of the images that are sampled to, with batch and
    /// channels.
    ///
    /// ```
    /// use tensor::tensor;
    /// let identity = tensor![[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]?;
    /// let grid = identity.affine_grid(&[1, 1, 1, 3], true)?;
    /// assert_eq!(grid.to_vec::<f32>()?, [-1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The maps have not that shape, or not one for each image; a size is 0; the dtype is none of floats.
    #[track_caller]
    pub fn affine_grid(&self, size: &[usize], align_corners: bool) -> Result<Tensor> {
        const OP: &str = "affine_grid";
        self.expect_floats(OP)?;
        let dims = size.len().saturating_sub(2);
        let fits = matches!(dims, 2 | 3)
            && *self.shape() == [size[0], dims, dims + 1]
            && !size.contains(&0);
        if !fits {
            let shapes = vec![("self", self.layout().shape().clone()), ("size", size.into())];
            let rule = "`self` must be [batch, 2, 3] for the size of images of two dimensions, [batch, \
                        3, 4] for those of three, and no size 0";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        let spatial = &size[2..];
        let options = (self.dtype(), self.device());
        let mut parts: SmallVec<[Tensor; 4]> = SmallVec::new();
        // x goes along the last dimension.
        for (dim, &count) in spatial.iter().enumerate().rev() {
            let middles = match count {
                1 => Tensor::zeros([1], options)?,
                _ => Tensor::linspace(-1.0, 1.0, count, options)?,
            };
            let places = match align_corners {
                true => middles,
                false => middles.mul((count - 1) as f64 / count as f64)?,
            };
            let mut shape: SmallVec<[usize; 4]> = SmallVec::from_elem(1, dims + 1);
            shape[dim] = count;
            let whole = [spatial, &[1]].concat();
            parts.push(places.reshape(&*shape)?.expand(&*whole)?);
        }
        parts.push(Tensor::ones([spatial, &[1]].concat(), options)?);
        let base = Tensor::cat(&parts, dims as isize)?;
        let rows = base.reshape([spatial.iter().product(), dims + 1])?;
        let grid = rows.matmul(&self.transpose(1, 2)?)?;
        grid.reshape([&size[..1], spatial, &[dims]].concat())
    }
}

/// # Errors
/// The images or the grid do not fit.
fn check(x: &Tensor, grid: &Tensor) -> Result<()> {
    same_device(OP, &[("self", x), ("grid", grid)])?;
    x.expect_floats(OP)?;
    crate::dispatch::same_dtype(OP, &[("self", x), ("grid", grid)])?;
    let dims = x.dims().saturating_sub(2);
    let fits = matches!(dims, 2 | 3)
        && grid.dims() == dims + 2
        && grid.shape()[0] == x.shape()[0]
        && grid.shape()[dims + 1] == dims;
    if !fits || x.shape()[2..].contains(&0) {
        let rule = "`self` must be [batch, channels, height, width] and `grid` [batch, height, width, \
                    2], or with a depth before the height and 3, and no image empty";
        let shapes = [("self", x), ("grid", grid)];
        let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
        return Err(Error::ShapeMismatch { op: OP, shapes, rule });
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct GridSampling {
    mode: GridSampleMode,
    padding: GridSamplePadding,
    align_corners: bool,
}

/// The elements along one dimension of which samples are made: for each the index, which may be
/// outside, and the weight, which is 1 if it is not there.
struct AxisSamples {
    size: usize,
    parts: SmallVec<[(Tensor, Option<Tensor>); 4]>,
}

impl GridSampling {
    /// The samples, in recorded operations.
    #[track_caller]
    fn sample(self, x: &Tensor, grid: &Tensor) -> Result<Tensor> {
        let dims = x.dims() - 2;
        let (batch, channels) = (x.shape()[0], x.shape()[1]);
        let places: usize = grid.shape()[1..=dims].iter().product();
        let numel = (CheckedSize::from(batch) * places).size();
        let too_large = || Error::TooLarge { shape: grid.shape().into(), dtype: x.dtype() };
        let numel = numel.ok_or_else(too_large)?;
        let plane: usize = x.shape()[2..].iter().product();
        let output = [&[channels, batch], &grid.shape()[1..=dims]].concat();
        // Channels first, so that one index serves for all of them.
        let images = widened(x)?.transpose(0, 1)?.reshape([channels, batch * plane])?;
        let coordinates = widened(grid)?;
        let mut axes: SmallVec<[AxisSamples; 3]> = SmallVec::new();
        for axis in 0..dims {
            let along = coordinates.select(-1, (dims - 1 - axis) as isize)?.reshape([numel])?;
            axes.push(self.along(&along, x.shape()[2 + axis])?);
        }
        let first = Tensor::arange(batch as i64, (DType::I64, x.device()))?.mul(plane as i64)?;
        let first = first.unsqueeze(1)?.expand([batch, places])?.reshape([numel])?;
        let mut sum: Option<Tensor> = None;
        let count = axes.iter().map(|axis| axis.parts.len()).product::<usize>();
        for number in 0..count {
            let part = sampled(&images, &axes, &first, number)?;
            sum = Some(match sum {
                Some(sum) => sum.add(&part)?,
                None => part,
            });
        }
        let samples = sum.expect("there are parts of each dimension").reshape(output)?;
        samples.transpose(0, 1)?.contiguous()?.to(x.dtype())
    }

    /// The elements along a dimension of `size` that samples at some coordinates are made of.
    #[track_caller]
    fn along(self, coordinates: &Tensor, size: usize) -> Result<AxisSamples> {
        let length = size as f64;
        let place = match self.align_corners {
            true => coordinates.add(1)?.mul((length - 1.0) / 2.0)?,
            false => coordinates.add(1)?.mul(length)?.sub(1)?.div(2)?,
        };
        let index = |place: &Tensor| place.detach().to(DType::I64);
        let mut parts = SmallVec::new();
        match self.mode {
            GridSampleMode::Nearest => {
                let place = self.inside(&place, size)?;
                parts.push((index(&place.round()?)?, None));
            }
            GridSampleMode::Bilinear => {
                let place = self.inside(&place, size)?;
                let start = place.detach().floor()?;
                let rest = place.sub(&start)?;
                let start = index(&start)?;
                parts.push((start.clone(), Some(rest.neg()?.add(1)?)));
                parts.push((start.add(1)?, Some(rest)));
            }
            GridSampleMode::Bicubic => {
                let start = place.detach().floor()?;
                let rest = place.sub(&start)?;
                for (shift, weight) in (-1..).zip(cubic_weights(&rest)?) {
                    let place = self.inside(&start.add(shift)?, size)?;
                    parts.push((index(&place)?, Some(weight)));
                }
            }
        }
        Ok(AxisSamples { size, parts })
    }

    /// Places outside a dimension where the padding says.
    #[track_caller]
    fn inside(self, place: &Tensor, size: usize) -> Result<Tensor> {
        let last = size as f64 - 1.0;
        match self.padding {
            GridSamplePadding::Zeros => Ok(place.clone()),
            GridSamplePadding::Border => place.clamp(0.0, last),
            GridSamplePadding::Reflection => {
                let (low, span) = if self.align_corners { (0.0, last) } else { (-0.5, last + 1.0) };
                if span == 0.0 {
                    return place.mul(0)?.clamp(0.0, last);
                }
                let distance = place.sub(low)?.abs()?;
                let rest = distance.fmod(span)?;
                let is_even = distance.detach().div(span)?.floor()?.remainder(2)?.eq(0)?;
                let mirrored = rest.neg()?.add(span)?;
                Tensor::where_cond(&is_even, &rest, &mirrored)?.add(low)?.clamp(0.0, last)
            }
        }
    }
}

/// A product of one part of each dimension: its elements times their weights, 0 for those outside.
#[track_caller]
fn sampled(images: &Tensor, axes: &[AxisSamples], first: &Tensor, number: usize) -> Result<Tensor> {
    let mut rest = number;
    let mut plane_index: Option<Tensor> = None;
    let mut is_inside: Option<Tensor> = None;
    let mut weight: Option<Tensor> = None;
    for axis in axes {
        let (index, own) = &axis.parts[rest % axis.parts.len()];
        rest /= axis.parts.len();
        let last = axis.size as i64 - 1;
        let own_inside = index.ge(0)?.logical_and(&index.le(last)?)?;
        let index = index.clamp(0, last)?;
        plane_index = Some(match plane_index {
            Some(before) => before.mul(axis.size as i64)?.add(&index)?,
            None => index,
        });
        is_inside = Some(match is_inside {
            Some(before) => before.logical_and(&own_inside)?,
            None => own_inside,
        });
        weight = match (weight, own) {
            (Some(before), Some(own)) => Some(before.mul(own)?),
            (before, own) => before.or_else(|| own.clone()),
        };
    }
    let (Some(index), Some(is_inside)) = (plane_index, is_inside) else {
        unreachable!("images have two or three dimensions")
    };
    let elements = images.index_select(1, &index.add(first)?)?;
    let weighted = match weight {
        Some(weight) => elements.mul(&weight)?,
        None => elements,
    };
    Tensor::where_cond(&is_inside, &weighted, 0.0)
}

/// The weights of four elements around places that lie `rest` behind the second one, by cubic
/// convolution with a = -0.75.
#[track_caller]
fn cubic_weights(rest: &Tensor) -> Result<[Tensor; 4]> {
    let near = |x: &Tensor| x.mul(1.25)?.sub(2.25)?.mul(x)?.mul(x)?.add(1);
    let far = |x: &Tensor| x.mul(-0.75)?.add(3.75)?.mul(x)?.sub(6)?.mul(x)?.add(3);
    let other = rest.neg()?.add(1)?;
    Ok([far(&rest.add(1)?)?, near(rest)?, near(&other)?, far(&other.add(1)?)?])
}
