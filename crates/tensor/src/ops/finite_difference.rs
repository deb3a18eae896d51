//! Slopes of samples by finite differences of second order.

use super::trapezoid::along;
use crate::dims::{Dims, resolve_dims};
use crate::{DType, Error, Result, Tensor};

/// The points at which the elements of a tensor are for [`Tensor::gradient`].
#[derive(Clone, Copy, Debug)]
pub enum GradientSpacing<'a> {
    /// The same distance between neighbours along every dimension (1 in PyTorch).
    Uniform(f64),
    /// A distance for each dimension that is differentiated along.
    PerDim(&'a [f64]),
    /// The coordinates, a vector for each dimension that is differentiated along.
    Coordinates(&'a [&'a Tensor]),
}

impl Tensor {
    /// The slopes of the elements along some dimensions, or along all (`()`), a tensor for each: by
    /// central differences within, which are of second order at any distances, and by differences of
    /// two elements at both ends, or of three if `edge_order` is 2.
    ///
    /// B. Fornberg, "Generation of Finite Difference Formulas on Arbitrarily Spaced Grids" (1988).
    ///
    /// ```
    /// use tensor::{GradientSpacing, tensor};
    /// let y = tensor![1.0, 4.0, 9.0, 16.0]?;
    /// let slopes = y.gradient(GradientSpacing::Uniform(1.0), (), 1)?;
    /// assert_eq!(slopes[0].to_vec::<f32>()?, [3.0, 4.0, 6.0, 7.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or one is given twice; there are not as many distances or vectors
    /// as dimensions; a vector has another size; a dimension has not more elements than `edge_order`,
    /// which is 1 or 2; the dtype is `U8` or `Bool`.
    #[track_caller]
    pub fn gradient(
        &self,
        spacing: GradientSpacing<'_>,
        dims: impl Into<Dims>,
        edge_order: usize,
    ) -> Result<Vec<Tensor>> {
        const OP: &str = "gradient";
        if matches!(self.dtype(), DType::U8 | DType::Bool) {
            let (dtype, device) = (self.dtype(), self.device());
            return Err(Error::UnsupportedDType { op: OP, dtype, device });
        }
        let invalid =
            |argument, value, why| Err(Error::InvalidArgument { op: OP, argument, value, why });
        if !(1..=2).contains(&edge_order) {
            return invalid("edge_order", edge_order.to_string(), "it is 1 or 2");
        }
        let dims = dims.into();
        let dims = match dims.is_empty() {
            true => (0..self.dims()).collect(),
            false => resolve_dims(OP, &dims, self.dims())?,
        };
        let given = match spacing {
            GradientSpacing::Uniform(_) => dims.len(),
            GradientSpacing::PerDim(distances) => distances.len(),
            GradientSpacing::Coordinates(vectors) => vectors.len(),
        };
        if given != dims.len() {
            let value = format!("{given} for {} dimensions", dims.len());
            return invalid("spacing", value, "there must be one for each dimension");
        }
        let mut slopes = Vec::with_capacity(dims.len());
        for (position, &dim) in dims.iter().enumerate() {
            let size = self.shape()[dim];
            if size <= edge_order {
                let value = format!("a tensor with {size} elements along dimension {dim}");
                return invalid("self", value, "there must be more of them than `edge_order`");
            }
            let step = match spacing {
                GradientSpacing::Uniform(distance) => PointDistances::Even(distance),
                GradientSpacing::PerDim(distances) => PointDistances::Even(distances[position]),
                GradientSpacing::Coordinates(vectors) => {
                    PointDistances::of_points(OP, self, vectors[position], dim)?
                }
            };
            slopes.push(Slope { x: self, dim: dim as isize, size }.along(&step, edge_order)?);
        }
        Ok(slopes)
    }
}

/// The distances between neighbours along a dimension.
enum PointDistances {
    Even(f64),
    /// One for each pair, along that dimension.
    Uneven(Tensor),
}

impl PointDistances {
    #[track_caller]
    fn of_points(
        op: &'static str,
        x: &Tensor,
        points: &Tensor,
        dim: usize,
    ) -> Result<PointDistances> {
        if points.dims() != 1 || points.numel() != x.shape()[dim] {
            let shapes = [("self", x), ("spacing", points)];
            let shapes = shapes.map(|(name, x)| (name, x.layout().shape().clone())).to_vec();
            let rule = "coordinates are a vector with one for each place of the dimension";
            return Err(Error::ShapeMismatch { op, shapes, rule });
        }
        Ok(PointDistances::Uneven(along(&points.diff(1, 0)?, x.dims(), dim)?))
    }
}

/// The slopes of a tensor along one dimension.
struct Slope<'a> {
    x: &'a Tensor,
    dim: isize,
    size: usize,
}

impl Slope<'_> {
    #[track_caller]
    fn along(&self, step: &PointDistances, edge_order: usize) -> Result<Tensor> {
        let last = self.size - 1;
        let parts = match (step, edge_order) {
            (PointDistances::Even(h), 1) => [
                self.at(1, 1)?.sub(&self.at(0, 1)?)?.true_divide(*h)?,
                self.even_centre(*h)?,
                self.at(last, 1)?.sub(&self.at(last - 1, 1)?)?.true_divide(*h)?,
            ],
            (PointDistances::Even(h), _) => [
                self.weighted(0, [-1.5, 2.0, -0.5])?.true_divide(*h)?,
                self.even_centre(*h)?,
                self.weighted(last - 2, [0.5, -2.0, 1.5])?.true_divide(*h)?,
            ],
            (PointDistances::Uneven(h), 1) => [
                self.at(1, 1)?.sub(&self.at(0, 1)?)?.true_divide(&h.narrow(self.dim, 0, 1)?)?,
                self.centre(h)?,
                self.at(last, 1)?.sub(&self.at(last - 1, 1)?)?.true_divide(&h.narrow(
                    self.dim,
                    last - 1,
                    1,
                )?)?,
            ],
            (PointDistances::Uneven(h), _) => [self.start(h)?, self.centre(h)?, self.end(h)?],
        };
        Tensor::cat(&parts, self.dim)
    }

    /// `count` places from one on.
    fn at(&self, start: usize, count: usize) -> Result<Tensor> {
        self.x.narrow(self.dim, start, count)
    }

    /// Three neighbours with weights.
    #[track_caller]
    fn weighted(&self, start: usize, [a, b, c]: [f64; 3]) -> Result<Tensor> {
        let sum = self.at(start, 1)?.mul(a)?.add(&self.at(start + 1, 1)?.mul(b)?)?;
        sum.add(&self.at(start + 2, 1)?.mul(c)?)
    }

    #[track_caller]
    fn even_centre(&self, h: f64) -> Result<Tensor> {
        let within = self.size - 2;
        self.at(2, within)?.sub(&self.at(0, within)?)?.true_divide(2.0 * h)
    }

    /// Within, by the parabola through each element and its neighbours, at distances `p` and `q`.
    #[track_caller]
    fn centre(&self, h: &Tensor) -> Result<Tensor> {
        let within = self.size - 2;
        let (p, q) = (h.narrow(self.dim, 0, within)?, h.narrow(self.dim, 1, within)?);
        let both = p.add(&q)?;
        let a = q.neg()?.true_divide(&p.mul(&both)?)?;
        let b = q.sub(&p)?.true_divide(&p.mul(&q)?)?;
        let c = p.true_divide(&q.mul(&both)?)?;
        let sum = a.mul(&self.at(0, within)?)?.add(&b.mul(&self.at(1, within)?)?)?;
        sum.add(&c.mul(&self.at(2, within)?)?)
    }

    /// At the start, by the parabola through the first three.
    #[track_caller]
    fn start(&self, h: &Tensor) -> Result<Tensor> {
        let (p, q) = (h.narrow(self.dim, 0, 1)?, h.narrow(self.dim, 1, 1)?);
        let both = p.add(&q)?;
        let a = p.mul(2)?.add(&q)?.neg()?.true_divide(&p.mul(&both)?)?;
        let b = both.true_divide(&p.mul(&q)?)?;
        let c = p.neg()?.true_divide(&q.mul(&both)?)?;
        self.of_three(0, [a, b, c])
    }

    /// At the end, by the parabola through the last three.
    #[track_caller]
    fn end(&self, h: &Tensor) -> Result<Tensor> {
        let first = self.size - 3;
        let (p, q) = (h.narrow(self.dim, first, 1)?, h.narrow(self.dim, first + 1, 1)?);
        let both = p.add(&q)?;
        let a = q.true_divide(&p.mul(&both)?)?;
        let b = both.neg()?.true_divide(&p.mul(&q)?)?;
        let c = q.mul(2)?.add(&p)?.true_divide(&q.mul(&both)?)?;
        self.of_three(first, [a, b, c])
    }

    #[track_caller]
    fn of_three(&self, first: usize, [a, b, c]: [Tensor; 3]) -> Result<Tensor> {
        let sum = a.mul(&self.at(first, 1)?)?.add(&b.mul(&self.at(first + 1, 1)?)?)?;
        sum.add(&c.mul(&self.at(first + 2, 1)?)?)
    }
}
