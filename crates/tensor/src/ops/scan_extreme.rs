//! Scans that choose: the extremes of the elements so far, and their places.

use std::panic::Location;

use cpu_kernels::scan::Scan;
use gpu_runtime::at_place;
use smallvec::smallvec;

use super::convert::dense;
use super::scan::steps;
use crate::autograd::record_outputs;
use crate::dims::resolve_dim;
use crate::{DType, Result, Tensor, dispatch, no_grad};

/// Extremes so far along a dimension, and their places as `I64`. The last one of equal ones counts,
/// and NaN counts as the extreme. The gradient goes to the elements that are chosen.
///
/// They fail if the dimension does not exist.
impl Tensor {
    /// The largest elements so far along a dimension, and their places.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, places) = tensor![1.0, 3.0, 2.0, 3.0]?.cummax(0)?;
    /// assert_eq!(values.to_vec::<f32>()?, [1.0, 3.0, 3.0, 3.0]);
    /// assert_eq!(places.to_vec::<i64>()?, [0, 1, 1, 3]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn cummax(&self, dim: isize) -> Result<(Tensor, Tensor)> {
        extremes_so_far("cummax", Scan::Max, self, dim)
    }

    /// The smallest elements so far along a dimension, and their places.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (values, indices) = tensor![3.0, 1.0, 2.0]?.cummin(0)?;
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 1.0, 1.0]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 1, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn cummin(&self, dim: isize) -> Result<(Tensor, Tensor)> {
        extremes_so_far("cummin", Scan::Min, self, dim)
    }
}

#[track_caller]
fn extremes_so_far(
    op: &'static str,
    function: Scan,
    x: &Tensor,
    dim: isize,
) -> Result<(Tensor, Tensor)> {
    let own = resolve_dim(op, dim, x.dims())?;
    let source = dense(&x.detach(), x.dtype())?;
    let compute = || match source.is_cuda() {
        true => chosen_so_far(function, &source, own),
        false => {
            let (values, places) = dispatch::scan(op, function, &source, own, x.dtype())?;
            Ok((values, places.expect("extremes have places")))
        }
    };
    let (values, places) = at_place(Location::caller(), || no_grad(compute))?;
    let chosen = places.clone();
    let mut outputs = record_outputs(op, &[x], vec![values, places], |saving| {
        let (shape, chosen) = (x.layout().shape().clone(), saving.save(&chosen));
        let source = saving.watch(x);
        move |gradients: &[Option<Tensor>], _: &[bool]| {
            source.check()?;
            let Some(grad) = &gradients[0] else { return Ok(smallvec![None]) };
            let zeros = Tensor::zeros(&shape, (grad.dtype(), grad.device()))?;
            Ok(smallvec![Some(zeros.scatter_add(own as isize, &chosen.get()?, grad)?)])
        }
    });
    let places = outputs.pop().expect("there are two");
    Ok((outputs.pop().expect("there are two"), places))
}

/// The extremes and their places by elementwise operations: each step joins the choices of ranges
/// of 1, 2, 4, .. elements (Hillis and Steele 1986).
#[track_caller]
fn chosen_so_far(function: Scan, x: &Tensor, dim: usize) -> Result<(Tensor, Tensor)> {
    let (size, mut values) = (x.shape().get(dim).copied().unwrap_or(1), x.clone());
    let mut shape = vec![1; x.dims()];
    if let Some(own) = shape.get_mut(dim) {
        *own = size;
    }
    let numbers = Tensor::arange(size, (DType::I64, x.device()))?.reshape(shape)?;
    let mut places = numbers.expand(x.shape())?.contiguous()?;
    let dim = dim as isize;
    for reach in steps(size) {
        let rest = size - reach;
        let [earlier, later] = [values.narrow(dim, 0, rest)?, values.narrow(dim, reach, rest)?];
        let beats = match function {
            Scan::Min => later.le(&earlier)?,
            _ => later.ge(&earlier)?,
        };
        let beats =
            later.isnan()?.logical_or(&beats.logical_and(&earlier.isnan()?.logical_not()?)?)?;
        let joined = |all: &Tensor| {
            let own = all.narrow(dim, reach, rest)?;
            let later = Tensor::where_cond(&beats, &own, &all.narrow(dim, 0, rest)?)?;
            Tensor::cat([&all.narrow(dim, 0, reach)?, &later], dim)
        };
        (values, places) = (joined(&values)?, joined(&places)?);
    }
    // Where there is nothing to join, the elements are the results.
    Ok((values.copied_from(x)?, places))
}
