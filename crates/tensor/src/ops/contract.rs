//! Products of tensors that sum over some dimensions, made of products of matrices.

use super::autocast::autocast;
use crate::autograd::record_product;
use crate::dims::{Dims, keepdim, resolve_dim};
use crate::{Error, Result, Shape, Tensor};

/// Products in terms of [`Tensor::mul`], [`Tensor::mm`] and views.
impl Tensor {
    /// The matrix of the products of each element of this vector with each of another.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![1.0, 2.0]?.outer(&tensor![3.0, 4.0]?)?;
    /// assert_eq!(y.to_vec::<f32>()?, [3.0, 4.0, 6.0, 8.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// One of them is not a vector.
    #[track_caller]
    pub fn outer(&self, other: &Tensor) -> Result<Tensor> {
        if self.dims() != 1 || other.dims() != 1 {
            return Err(mismatch("outer", self, other, "both must be vectors"));
        }
        self.unsqueeze(1)?.mul(&other.unsqueeze(0)?)
    }

    /// The sums of products along the last dimensions of both; with a single number, the product.
    ///
    /// ```
    /// use tensor::tensor;
    /// let y = tensor![1.0, 2.0]?.inner(&tensor![[3.0, 4.0], [5.0, 6.0]]?)?;
    /// assert_eq!(y.to_vec::<f32>()?, [11.0, 17.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The last dimensions differ.
    #[track_caller]
    pub fn inner(&self, other: &Tensor) -> Result<Tensor> {
        if self.dims() == 0 || other.dims() == 0 {
            return self.mul(other);
        }
        if self.shape().last() != other.shape().last() {
            return Err(mismatch("inner", self, other, "the last sizes must be equal"));
        }
        self.tensordot(other, -1, -1)
    }

    /// The Kronecker product: blocks of `other`, each times an element of this tensor.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0]?.kron(&tensor![10.0, 20.0, 30.0]?)?;
    /// assert_eq!(x.to_vec::<f32>()?, [10.0, 20.0, 30.0, 20.0, 40.0, 60.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The result would have too many dimensions, or memory is short.
    #[track_caller]
    pub fn kron(&self, other: &Tensor) -> Result<Tensor> {
        let dims = self.dims().max(other.dims());
        let padded = |x: &Tensor| -> Vec<usize> {
            std::iter::repeat_n(1, dims - x.dims()).chain(x.shape().iter().copied()).collect()
        };
        let (own, theirs) = (padded(self), padded(other));
        let blocks: Vec<usize> = own.iter().flat_map(|&size| [size, 1]).collect();
        let inside: Vec<usize> = theirs.iter().flat_map(|&size| [1, size]).collect();
        let product = self.reshape(blocks)?.mul(&other.reshape(inside)?)?;
        let shape: Shape =
            own.iter().zip(&theirs).map(|(own, theirs)| own.saturating_mul(*theirs)).collect();
        product.reshape(shape)
    }

    /// The products summed over `dims` of this tensor and `other_dims` of the other, which pair off
    /// in order. The result has the other dimensions of this tensor, then those of the other.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let (a, b) = (Tensor::ones([2, 3, 4], ())?, Tensor::ones([4, 3, 5], ())?);
    /// let c = a.tensordot(&b, (1, 2), (1, 0))?;
    /// assert_eq!((c.shape(), c.max()?.item::<f32>()?), (&[2, 5][..], 12.0));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, one is named twice, or sizes that pair off differ and neither is
    /// 1.
    #[track_caller]
    pub fn tensordot(
        &self,
        other: &Tensor,
        dims: impl Into<Dims>,
        other_dims: impl Into<Dims>,
    ) -> Result<Tensor> {
        const OP: &str = "tensordot";
        let cast = autocast(OP, [self, other])?;
        let [mut a, mut b] = cast.operands().map(Tensor::clone);
        let (own, theirs) =
            (resolved(OP, self, &dims.into())?, resolved(OP, other, &other_dims.into())?);
        if own.len() != theirs.len() {
            return Err(mismatch(OP, self, other, "as many dimensions of each must be named"));
        }
        for (&i, &j) in own.iter().zip(&theirs) {
            match (self.shape()[i], other.shape()[j]) {
                (m, n) if m == n => {}
                (_, 1) => a = a.sum(keepdim(i))?.to(cast.operands()[0].dtype())?,
                (1, _) => b = b.sum(keepdim(j))?.to(cast.operands()[1].dtype())?,
                _ => return Err(mismatch(OP, self, other, "sizes that pair off must be equal")),
            }
        }
        Contraction::new(&a, &b, own, theirs).apply(&a, &b)
    }
}

/// The dimensions of a sum of products over some dimensions of two tensors, which pair off in order
/// and are of equal sizes.
struct Contraction {
    bound: [Vec<usize>; 2],
    /// The dimensions that are left.
    free: [Vec<usize>; 2],
}

impl Contraction {
    fn new(a: &Tensor, b: &Tensor, own: Vec<usize>, theirs: Vec<usize>) -> Contraction {
        let free = |x: &Tensor, bound: &[usize]| -> Vec<usize> {
            (0..x.dims()).filter(|dim| !bound.contains(dim)).collect()
        };
        Contraction { free: [free(a, &own), free(b, &theirs)], bound: [own, theirs] }
    }

    /// The sums of products. The operands are saved as they are, not as the matrices that the
    /// product is computed of.
    #[track_caller]
    fn apply(self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let output = self.product(&a.detach(), &b.detach())?;
        Ok(record_product("tensordot", [a, b], output, move |position, grad, other| {
            self.gradient(grad, other, position)
        }))
    }

    /// The sums of products, as a product of matrices.
    fn product(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let sizes = |x: &Tensor, dims: &[usize]| -> Vec<usize> {
            dims.iter().map(|&dim| x.shape()[dim]).collect()
        };
        let order = |first: &[usize], second: &[usize]| -> Vec<isize> {
            first.iter().chain(second).map(|&dim| dim as isize).collect()
        };
        let ([own, theirs], [rows, columns]) = (&self.bound, &self.free);
        let shape = [sizes(a, rows), sizes(b, columns)].concat();
        let common: usize = sizes(a, own).iter().product();
        let height: usize = sizes(a, rows).iter().product();
        let width: usize = sizes(b, columns).iter().product();
        let left = a.permute(order(rows, own))?.reshape([height, common])?;
        let right = b.permute(order(theirs, columns))?.reshape([common, width])?;
        Ok(left.mm(&right)?.reshape(shape)?.detach())
    }

    /// The gradient of the operand at a position: that of the result, summed with the other operand
    /// over the dimensions that only that one has.
    fn gradient(&self, grad: &Tensor, other: &Tensor, position: usize) -> Result<Tensor> {
        let others = 1 - position;
        let counts = self.free.each_ref().map(Vec::len);
        let of_other = if others == 0 { 0..counts[0] } else { counts[0]..counts[0] + counts[1] };
        let contraction =
            Contraction::new(grad, other, of_other.collect(), self.free[others].clone());
        let summed = contraction.apply(grad, other)?;
        // It has the free dimensions of the operand, then the bound ones of the other in the order
        // that they lie in there.
        let mut bound: Vec<(usize, usize)> =
            self.bound[others].iter().copied().zip(self.bound[position].iter().copied()).collect();
        bound.sort_unstable();
        let dims = self.free[position].iter().copied().chain(bound.iter().map(|pair| pair.1));
        let mut order = vec![0; summed.dims()];
        for (place, dim) in dims.enumerate() {
            order[dim] = place as isize;
        }
        summed.permute(&order)
    }
}

/// The dimensions that are named, each once.
fn resolved(op: &'static str, x: &Tensor, dims: &[isize]) -> Result<Vec<usize>> {
    let mut resolved = Vec::new();
    for &dim in dims {
        let own = resolve_dim(op, dim, x.dims())?;
        if x.dims() == 0 {
            return Err(Error::DimOutOfRange { op, dim, dims: 0 });
        }
        if resolved.contains(&own) {
            return Err(Error::InvalidArgument {
                op,
                argument: "dims",
                value: format!("{dims:?}"),
                why: "a dimension may be named only once",
            });
        }
        resolved.push(own);
    }
    Ok(resolved)
}

pub(super) fn mismatch(op: &'static str, a: &Tensor, b: &Tensor, rule: &'static str) -> Error {
    let shapes = vec![("self", a.layout().shape().clone()), ("other", b.layout().shape().clone())];
    Error::ShapeMismatch { op, shapes, rule }
}
