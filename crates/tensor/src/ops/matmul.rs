//! Products of vectors, matrices and batches of matrices.

use super::autocast::autocast;
use super::repeated::{MANY, added};
use crate::autograd::record_product;
use crate::dispatch::{self, ProductKernels, ProductPlan};
use crate::host::matmul as kernels;
use crate::{Error, Result, Shape, Tensor, is_grad_enabled};

static MATMUL: ProductKernels = ProductKernels::new(kernels::MATMUL);

/// The matrix product. Transposed and otherwise strided operands are read as they lie, without
/// copies. On CUDA the work is enqueued. All fail if the shapes do not fit, if the dtypes differ or
/// have no product (`Bool`), or if the operands lie on different devices.
impl Tensor {
    /// The product of two vectors (a number), a matrix and a vector, two matrices, or of batches of
    /// matrices in the last two dimensions, where the dimensions before are broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let a = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(a.matmul(&tensor![1.0, 10.0]?)?.to_vec::<f32>()?, [21.0, 43.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        let cast = autocast("matmul", [self, other])?;
        let [a, b] = cast.operands();
        check("matmul", a, b)?;
        match (a.dims(), b.dims()) {
            (1, 1) => product(&a.unsqueeze(0)?, &b.unsqueeze(1)?)?.with_sizes(Shape::default()),
            (1, _) => without(&product(&a.unsqueeze(0)?, b)?, 1),
            (_, 1) => without(&product(a, &b.unsqueeze(1)?)?, 0),
            (3.., 2) if is_better_as_one(a, b) => as_one_matrix(a, b),
            _ => product(a, b),
        }
    }

    /// [`Tensor::matmul`] of two matrices; other numbers of dimensions are an error.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![[0.0, 1.0], [1.0, 0.0]]?);
    /// assert_eq!(a.mm(&b)?.to_vec::<f32>()?, [2.0, 1.0, 4.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn mm(&self, other: &Tensor) -> Result<Tensor> {
        let rule = "both must have two dimensions; matmul takes others";
        self.of_dims("mm", other, 2, rule)?.matmul(other)
    }

    /// [`Tensor::matmul`] of two batches of equally many matrices, `[b, m, k]` and `[b, k, n]`.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let (a, b) = (Tensor::ones([5, 2, 3], ())?, Tensor::ones([5, 3, 4], ())?);
    /// assert_eq!(a.bmm(&b)?.shape(), [5, 2, 4]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn bmm(&self, other: &Tensor) -> Result<Tensor> {
        let rule = "both must have three dimensions, the first of one size; matmul takes others";
        let this = self.of_dims("bmm", other, 3, rule)?;
        if self.shape()[0] != other.shape()[0] {
            return Err(mismatch("bmm", self, other, rule));
        }
        this.matmul(other)
    }

    fn of_dims(
        &self,
        op: &'static str,
        other: &Tensor,
        dims: usize,
        rule: &'static str,
    ) -> Result<&Tensor> {
        if self.dims() == dims && other.dims() == dims {
            Ok(self)
        } else {
            Err(mismatch(op, self, other, rule))
        }
    }
}

fn check(op: &'static str, a: &Tensor, b: &Tensor) -> Result<()> {
    dispatch::same_device(op, &[("self", a), ("other", b)])?;
    dispatch::same_dtype(op, &[("self", a), ("other", b)])?;
    if a.dims() == 0 || b.dims() == 0 {
        return Err(mismatch(op, a, b, "both must have a dimension or more; mul takes numbers"));
    }
    let rows = b.shape()[b.dims().saturating_sub(2)];
    if a.shape().last() != Some(&rows) {
        let rule = "the last size of `self` must be the last but one of `other`";
        return Err(mismatch(op, a, b, rule));
    }
    Ok(())
}

/// Whether the matrices of a batch are better one larger matrix, to be multiplied by one matrix: where
/// that needs no copy, or else where the other factor gets a gradient, which would be made of a product
/// for each of the batch, summed afterwards.
fn is_better_as_one(a: &Tensor, b: &Tensor) -> bool {
    a.is_contiguous() || b.requires_grad() && is_grad_enabled()
}

/// The product of a batch of matrices and one matrix, as that of one larger matrix: `[b * m, k]`
/// and `[k, n]`.
#[track_caller]
fn as_one_matrix(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    // Of a batch that lies across memory they are a copy, which is not kept for the gradients.
    let rows = rows_of_batch(&a.detach())?;
    let output = product(&rows, &b.detach())?.with_sizes(shape_of_rows(a, b))?;
    let (shape, flip_b) = (a.layout().shape().clone(), is_column_major(b));
    Ok(record_product("matmul", [a, b], output, move |position, grad, other| {
        let grad = rows_of_batch(grad)?;
        match (position, flip_b) {
            (0, _) => product(&grad, &other.mt()?)?.with_sizes(shape.clone()),
            (_, true) => product(&grad.mt()?, &rows_of_batch(other)?)?.mt(),
            (_, false) => product(&rows_of_batch(other)?.mt()?, &grad),
        }
    }))
}

/// All rows of a batch of matrices as one matrix.
#[track_caller]
fn rows_of_batch(a: &Tensor) -> Result<Tensor> {
    a.flatten_dims(0, -2)
}

/// The shape of the products of a batch of rows with a matrix.
fn shape_of_rows(a: &Tensor, b: &Tensor) -> Shape {
    let (_, batch) = a.shape().split_last().expect("it has dimensions");
    batch.iter().copied().chain([b.shape()[1]]).collect()
}

/// A product without one of its dimensions, which is counted from the innermost and of size 1.
#[track_caller]
fn without(product: &Tensor, dim: usize) -> Result<Tensor> {
    let own = product.dims() - 1 - dim;
    let sizes = product.shape().iter().enumerate().filter(|(dim, _)| *dim != own);
    product.with_sizes(sizes.map(|(_, &size)| size).collect())
}

/// The product of operands that have matrices in their last two dimensions.
#[track_caller]
fn product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let batch_of = |t: &Tensor| Shape::from(&t.shape()[..t.dims() - 2]);
    let batch = batch_of(a).broadcast(&batch_of(b)).ok_or_else(|| {
        mismatch("matmul", a, b, "the dimensions before the last two must broadcast")
    })?;
    let output = match summed_once(a, b)? {
        Some((a, b, times)) => added(&multiplied(&a, &b, &batch)?, times)?,
        None => multiplied(a, b, &batch)?,
    };
    let (flip_a, flip_b) = (is_column_major(a), is_column_major(b));
    Ok(record_product("matmul", [a, b], output, move |position, grad, other| {
        match (position, flip_a, flip_b) {
            (0, true, _) => product(other, &grad.mt()?)?.mt(),
            (0, false, _) => product(grad, &other.mt()?),
            (_, _, true) => product(&grad.mt()?, other)?.mt(),
            (_, _, false) => product(&other.mt()?, grad),
        }
    }))
}

/// Whether the matrices are transposed ones, like a weight's. Their gradient is computed as the
/// transposed of a product then, so that it lies as they do, and the weight gets it without a copy.
fn is_column_major(x: &Tensor) -> bool {
    let (rows, cols) = (x.dims() - 2, x.dims() - 1);
    let strides = x.strides();
    strides[rows] == 1 && strides[cols] >= x.shape()[rows] as isize && x.shape()[cols] > 1
}

/// The product, as the device computes it best.
#[track_caller]
fn multiplied(a: &Tensor, b: &Tensor, batch: &Shape) -> Result<Tensor> {
    let [rows, cols] = [a.shape()[a.dims() - 2], b.shape()[b.dims() - 1]];
    if a.is_cuda() && rows == 1 && cols > 1 && is_column_major(b) {
        // A row times the rows of the other factor's transpose.
        let shape = batch.iter().copied().chain([1, cols]).collect();
        return multiplied(&b.mt()?, &a.mt()?, batch)?.with_sizes(shape);
    }
    let plan = ProductPlan::new(a, b, batch)?;
    let output = dispatch::matmul(&MATMUL, [a, b], batch, &plan)?;
    if plan.parts() == 1 {
        return Ok(output);
    }
    output.sum(batch.len() as isize)?.to(a.dtype())
}

/// The product of a batch of rows and a matrix, both of halves, in the dtype `F32` that it is summed in.
/// `None` where no kernel leaves it unrounded.
#[track_caller]
pub(super) fn unrounded_product(a: &Tensor, b: &Tensor) -> Result<Option<Tensor>> {
    if a.dims() < 2 {
        return Ok(None);
    }
    check("linear", a, b)?;
    let (rows, one) = (rows_of_batch(a)?, Shape::default());
    let Some(plan) = ProductPlan::new(&rows, b, &one)?.unrounded() else {
        return Ok(None);
    };
    let parts = dispatch::matmul(&MATMUL, [&rows, b], &one, &plan)?;
    Ok(Some(parts.sum(0)?.with_sizes(shape_of_rows(a, b))?))
}

/// One column of `a`, one row of `b`, and the number of times that they are there, if both operands
/// were expanded along the dimension that is summed over, and it is long. Then the sum is that many
/// times one product.
fn summed_once(a: &Tensor, b: &Tensor) -> Result<Option<(Tensor, Tensor, usize)>> {
    let (col, row) = (a.dims() - 1, b.dims() - 2);
    let times = a.shape()[col];
    if times < MANY || !a.layout().repeats(col) || !b.layout().repeats(row) {
        return Ok(None);
    }
    let one = |x: &Tensor, dim| x.alias(x.layout().slice(dim, 0, 1, 1));
    Ok(Some((one(a, col)?, one(b, row)?, times)))
}

fn mismatch(op: &'static str, a: &Tensor, b: &Tensor, rule: &'static str) -> Error {
    let shapes = vec![("self", a.layout().shape().clone()), ("other", b.layout().shape().clone())];
    Error::ShapeMismatch { op, shapes, rule }
}
