//! Interpolation along one dimension by tables of elements and weights, for weights that no rule of
//! resampling gives.

use cpu_kernels::resample::{ResampleAxis, ResampleRule};
use smallvec::SmallVec;

use crate::{Result, Tensor};

/// The parts of a result: elements and their weights, an element once.
type WeightedElements = SmallVec<[(usize, f64); 4]>;

/// The elements that each result along a dimension is made of.
pub(super) struct AxisTaps(Vec<WeightedElements>);

impl AxisTaps {
    /// The elements by a rule of resampling.
    pub(super) fn of(axis: &ResampleAxis) -> AxisTaps {
        let of_result = |output: usize| {
            let mut parts = WeightedElements::new();
            axis.parts(output, |element, weight| {
                match parts.iter_mut().find(|(own, _)| *own == element) {
                    Some((_, sum)) => *sum += weight,
                    None => parts.push((element, weight)),
                }
            });
            parts
        };
        AxisTaps((0..axis.output).map(of_result).collect())
    }

    /// The elements under a filter that is as wide as the distance of the results, where they are further
    /// apart than the elements: a triangle for linear modes, a cubic one with a = -0.5 for the
    /// others, as Pillow and PyTorch have it. Other rules stay as they are.
    pub(super) fn antialiased(axis: &ResampleAxis) -> AxisTaps {
        let (scale, filter, reach): (f64, fn(f64) -> f64, f64) = match axis.rule {
            ResampleRule::Linear { scale, .. } => (scale, triangle, 1.0),
            ResampleRule::Cubic { scale, .. } => (scale, cubic, 2.0),
            _ => return AxisTaps::of(axis),
        };
        let width = scale.max(1.0);
        let of_result = |output: usize| {
            let middle = scale * (output as f64 + 0.5);
            let first = (middle - reach * width + 0.5).max(0.0) as usize;
            let end = ((middle + reach * width + 0.5) as usize).min(axis.input);
            let weight = |element: usize| filter((element as f64 - middle + 0.5) / width);
            let sum: f64 = (first..end).map(weight).sum();
            (first..end).map(|element| (element, weight(element) / sum)).collect()
        };
        AxisTaps((0..axis.output).map(of_result).collect())
    }

    /// The same with weights in fixed point, of as many binary places as 16 bits have for the largest
    /// of them: those that PyTorch interpolates bytes with.
    pub(super) fn rounded(mut self) -> AxisTaps {
        const MAX_PLACES: i32 = 22;
        let weights = || self.0.iter().flatten().map(|(_, weight)| *weight);
        let largest = weights().fold(0.0, f64::max);
        let fits = |places: i32| 0.5 + largest * f64::from(places + 1).exp2() < 32768.0;
        let places = (0..MAX_PLACES).find(|&places| !fits(places)).unwrap_or(MAX_PLACES);
        let scale = f64::from(places).exp2();
        for (_, weight) in self.0.iter_mut().flatten() {
            // Halves away from zero.
            *weight = (*weight * scale).round() / scale;
        }
        self
    }

    /// The results along dimension `dim`, on any device.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(super) fn apply(&self, x: &Tensor, dim: usize) -> Result<Tensor> {
        let most = self.0.iter().map(SmallVec::len).max().unwrap_or(0);
        let mut shape = vec![1; x.dims()];
        shape[dim] = self.0.len();
        let mut sum: Option<Tensor> = None;
        for tap in 0..most {
            // Results of fewer elements take none of another.
            let part =
                |parts: &WeightedElements| parts.get(tap).copied().unwrap_or((parts[0].0, 0.0));
            let elements: Vec<i64> = self.0.iter().map(|parts| part(parts).0 as i64).collect();
            let weights: Vec<f64> = self.0.iter().map(|parts| part(parts).1).collect();
            let elements = Tensor::from_vec(elements, [self.0.len()], x.device())?;
            let weights = Tensor::from_vec(weights, &*shape, x.device())?.to(x.dtype())?;
            let found = x.index_select(dim as isize, &elements)?;
            sum = Some(match sum {
                None => found.mul(&weights)?,
                Some(sum) => sum.addcmul(&found, &weights, 1)?,
            });
        }
        Ok(sum.expect("there are results, and each has an element"))
    }
}

/// A triangle around 0.
fn triangle(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// A cubic filter around 0 (R. Keys, "Cubic Convolution Interpolation for Digital Image Processing",
/// 1981).
fn cubic(x: f64) -> f64 {
    const A: f64 = -0.5;
    match x.abs() {
        x if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
        x if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
        _ => 0.0,
    }
}
