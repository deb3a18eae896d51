//! Histograms with the edges of their bins.

use std::panic::Location;

use gpu_runtime::at_place;

use crate::{DType, Error, Result, Tensor, dispatch, no_grad};

const OP: &str = "histogram";

/// Histograms, which have no gradient.
impl Tensor {
    /// The numbers of elements in `bins` bins of equal width, or the sums of their weights, and the
    /// edges of the bins, one more than bins. The bins go from the first number of `range` to the
    /// second, or from the least element to the greatest, which the host waits for. Of `density` the
    /// sums times the widths add up to 1. The last bin has its upper edge; elements outside and NaN
    /// are not counted.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 1.0]?;
    /// let (counts, edges) = x.histogram(4, Some((0.0, 4.0)), None, false)?;
    /// assert_eq!(counts.to_vec::<f32>()?, [0.0, 2.0, 1.0, 0.0]);
    /// assert_eq!(edges.to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; there are no bins; the range is not finite, or its first
    /// number is the greater one; the weights differ in shape, dtype or device.
    #[track_caller]
    pub fn histogram(
        &self,
        bins: usize,
        range: Option<(f64, f64)>,
        weight: Option<&Tensor>,
        density: bool,
    ) -> Result<(Tensor, Tensor)> {
        self.expect_floats(OP)?;
        let invalid =
            |argument, value, why| Err(Error::InvalidArgument { op: OP, argument, value, why });
        if bins == 0 {
            return invalid("bins", bins.to_string(), "there must be at least one");
        }
        let count = || {
            let (mut least, mut greatest) = match range {
                Some(range) => range,
                None if self.numel() == 0 => (0.0, 1.0),
                None => {
                    let (least, greatest) = self.detach().aminmax(())?;
                    (least.to(DType::F64)?.item()?, greatest.to(DType::F64)?.item()?)
                }
            };
            if !(least.is_finite() && greatest.is_finite()) {
                return invalid("range", format!("{least}, {greatest}"), "it must be finite");
            }
            if least > greatest {
                let why = "the first number must not be the greater one";
                return invalid("range", format!("{least}, {greatest}"), why);
            }
            if least == greatest {
                (least, greatest) = (least - 0.5, greatest + 0.5);
            }
            let options = (self.dtype(), self.device());
            let edges = Tensor::linspace(least, greatest, bins.saturating_add(1), options)?;
            Ok((counted(self, &edges, weight, density)?, edges))
        };
        at_place(Location::caller(), || no_grad(count))
    }

    /// [`Tensor::histogram`] with bins between the elements of a vector, which grow. The edges are
    /// given back.
    ///
    /// ```
    /// use tensor::tensor;
    /// let edges = tensor![0.0, 1.0, 4.0]?;
    /// let (counts, _) = tensor![0.5, 1.0, 4.0]?.histogram_with_edges(&edges, None, false)?;
    /// assert_eq!(counts.to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one; the edges are no vector of one element or more; they or the
    /// weights differ in dtype or device, or the weights in shape.
    #[track_caller]
    pub fn histogram_with_edges(
        &self,
        edges: &Tensor,
        weight: Option<&Tensor>,
        density: bool,
    ) -> Result<(Tensor, Tensor)> {
        self.expect_floats(OP)?;
        dispatch::same_device(OP, &[("self", self), ("bins", edges)])?;
        dispatch::same_dtype(OP, &[("self", self), ("bins", edges)])?;
        if edges.dims() != 1 || edges.numel() == 0 {
            let shapes = vec![("bins", edges.layout().shape().clone())];
            let rule = "edges are a vector of one or more";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
        let count = || Ok((counted(self, &edges.detach(), weight, density)?, edges.clone()));
        at_place(Location::caller(), || no_grad(count))
    }
}

/// The sums of the weights between neighbours of `edges`.
#[track_caller]
fn counted(x: &Tensor, edges: &Tensor, weight: Option<&Tensor>, density: bool) -> Result<Tensor> {
    if let Some(weight) = weight {
        dispatch::same_device(OP, &[("self", x), ("weight", weight)])?;
        dispatch::same_dtype(OP, &[("self", x), ("weight", weight)])?;
        if weight.shape() != x.shape() {
            let shapes = [("self", x), ("weight", weight)];
            let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
            let rule = "there must be a weight for each element";
            return Err(Error::ShapeMismatch { op: OP, shapes, rule });
        }
    }
    let bins = edges.numel() - 1;
    let sums = Tensor::zeros([bins], (x.dtype(), x.device()))?;
    if bins == 0 {
        return Ok(sums);
    }
    let x = x.detach().flatten()?;
    let last = edges.select(0, -1)?;
    // The last edge belongs to the bin before it.
    let place = edges.searchsorted(&x, true, None)?.sub(1)?;
    let place = Tensor::where_cond(&x.eq(&last)?, bins as i64 - 1, &place)?;
    let is_inside = place.ge(0)?.logical_and(&x.le(&last)?)?;
    let counts = match weight {
        Some(weight) => weight.detach().flatten()?,
        None => x.ones_like()?,
    };
    let counts = Tensor::where_cond(&is_inside, &counts, 0)?;
    let sums = sums.scatter_add_(0, &place.clamp(0, bins as i64 - 1)?, &counts)?;
    match density {
        true => sums.div(&sums.sum(())?)?.div(&edges.diff(1, 0)?),
        false => Ok(sums),
    }
}
