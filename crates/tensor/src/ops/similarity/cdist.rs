//! Distances between all vectors of two sets, or of one.

use std::panic::Location;

use gpu_runtime::at_place;

use crate::autograd::{recomputed, record};
use crate::dims::keepdim;
use crate::ops::autocast;
use crate::{DType, Error, Result, Tensor, no_grad};

/// From this number of vectors on, Euclidean distances are computed by a product of matrices, as in
/// PyTorch.
const BY_PRODUCT: usize = 26;

/// The use of a product of matrices for Euclidean distances in [`Tensor::cdist_with`] (PyTorch's
/// `compute_mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CdistMode {
    /// For more than 25 rows (`use_mm_for_euclid_dist_if_necessary`).
    #[default]
    IfNecessary,
    /// For any number of rows (`use_mm_for_euclid_dist`).
    Always,
    /// For none (`donot_use_mm_for_euclid_dist`).
    Never,
}

impl Tensor {
    /// The `p`-norms (2 in PyTorch) of the differences of all rows of the tensor, `[.., n, size]`,
    /// and all rows of `other`, `[.., m, size]`, as `[.., n, m]`. Leading dimensions are broadcast.
    ///
    /// Euclidean distances of more than 25 rows follow from the rows' products, which takes little
    /// memory, and loses digits where distances are small beside the rows' lengths.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![[0.0, 0.0], [3.0, 0.0]]?, tensor![[3.0, 4.0]]?);
    /// assert_eq!(a.cdist(&b, 2)?.to_vec::<f32>()?, [5.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `p` is negative; there are less than two dimensions, or the sizes of the rows differ; the other
    /// dimensions do not broadcast; the dtypes or devices differ, or the dtype is not a floating one.
    #[track_caller]
    pub fn cdist(&self, other: &Tensor, p: impl Into<f64>) -> Result<Tensor> {
        self.cdist_with(other, p, CdistMode::default())
    }

    /// [`Tensor::cdist`] with another choice between the two ways to Euclidean distances.
    ///
    /// ```
    /// use tensor::{CdistMode, tensor};
    /// let (a, b) = (tensor![[1e4, 0.0]]?, tensor![[1e4, 1.0]]?);
    /// let exact = a.cdist_with(&b, 2, CdistMode::Never)?;
    /// assert_eq!(exact.to_vec::<f32>()?, [1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::cdist`].
    #[track_caller]
    pub fn cdist_with(&self, other: &Tensor, p: impl Into<f64>, mode: CdistMode) -> Result<Tensor> {
        const OP: &str = "cdist";
        let p = p.into();
        expect_norm(OP, p)?;
        self.expect_floats(OP)?;
        crate::dispatch::same_device(OP, &[("self", self), ("other", other)])?;
        let cast = autocast(OP, [self, other])?;
        let [a, b] = cast.operands();
        crate::dispatch::same_dtype(OP, &[("self", a), ("other", b)])?;
        let (&[.., rows, size], &[.., columns, other_size]) = (self.shape(), other.shape()) else {
            return Err(mismatch(self, other, "each must have at least two dimensions"));
        };
        if size != other_size {
            return Err(mismatch(self, other, "their rows must have the same size"));
        }
        let by_product = match mode {
            CdistMode::IfNecessary => rows >= BY_PRODUCT || columns >= BY_PRODUCT,
            CdistMode::Always => true,
            CdistMode::Never => false,
        };
        if p == 2.0 && by_product {
            return euclidean(a, b);
        }
        // The differences are larger than rows and distances together: they are not kept.
        recomputed(&[a, b], move |operands: &[Tensor]| {
            lengths(&operands[0].unsqueeze(-2)?.sub(&operands[1].unsqueeze(-3)?)?, p)
        })
    }

    /// The `p`-norms (2 in PyTorch) of the differences of all pairs of rows of the tensor,
    /// `[n, size]`, as a vector: those of the first row and each later one, of the second one, ..
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]?;
    /// assert_eq!(x.pdist(2)?.to_vec::<f32>()?, [5.0, 3.0, 4.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `p` is negative; there are not two dimensions; the dtype is not a floating one.
    #[track_caller]
    pub fn pdist(&self, p: impl Into<f64>) -> Result<Tensor> {
        const OP: &str = "pdist";
        let p = p.into();
        expect_norm(OP, p)?;
        self.expect_floats(OP)?;
        let &[rows, _] = self.shape() else {
            let shape = self.layout().shape().clone();
            return Err(Error::WrongDims { op: OP, shape, expected: 2 });
        };
        // The differences of all pairs are as many times the rows as there are rows: they are not
        // kept.
        let cast = autocast(OP, [self])?;
        recomputed(&cast.operands(), move |operands: &[Tensor]| {
            let x = &operands[0];
            let indices = Tensor::triu_indices(rows, rows, 1, (DType::I64, x.device()))?;
            let row = |number| x.index_select(0, &indices.select(0, number)?);
            lengths(&row(0)?.sub(&row(1)?)?, p)
        })
    }
}

/// The norms along the last dimension. Those of vectors without elements are 0.
#[track_caller]
fn lengths(difference: &Tensor, p: f64) -> Result<Tensor> {
    match difference.shape().last() {
        Some(0) => difference.sum(-1),
        _ => difference.norm(p, -1),
    }
}

/// Euclidean distances by the product of the matrices: nothing of the size of all differences is
/// made, neither here nor for the gradients.
#[track_caller]
fn euclidean(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let compute = || {
        let (a, b) = (a.detach(), b.detach());
        let squares = |x: &Tensor| x.square()?.sum(keepdim(-1));
        let sums = squares(&a)?.add(&squares(&b)?.mt()?)?;
        sums.sub(&a.matmul(&b.mt()?)?.mul(2.0)?)?.clamp_min_(0.0)?.sqrt_()
    };
    let output = at_place(Location::caller(), || no_grad(compute))?;
    Ok(record("cdist", [a, b], output, |saving| {
        let (a, b, output) = (saving.save(a), saving.save(b), saving.save_output());
        move |grad: &Tensor, [of_a, of_b]: [bool; 2]| {
            let (a, b) = (a.get()?, b.get()?);
            let distance = output.get()?;
            let ratio = grad.div(&distance)?.masked_fill(&distance.eq(0.0)?, 0.0)?;
            let of = |x: &Tensor, other: &Tensor, ratio: &Tensor| {
                let sums = ratio.sum(keepdim(-1))?;
                let gradient = x.mul(&sums)?.sub(&ratio.matmul(other)?)?;
                gradient.summed_to(x.layout().shape())
            };
            Ok([
                of_a.then(|| of(&a, &b, &ratio)).transpose()?,
                of_b.then(|| of(&b, &a, &ratio.mt()?)).transpose()?,
            ])
        }
    }))
}

/// # Errors
/// It is negative, or no number.
fn expect_norm(op: &'static str, p: f64) -> Result<()> {
    if p >= 0.0 {
        return Ok(());
    }
    let why = "it must not be negative";
    Err(Error::InvalidArgument { op, argument: "p", value: p.to_string(), why })
}

fn mismatch(a: &Tensor, b: &Tensor, rule: &'static str) -> Error {
    let shapes = vec![("self", a.layout().shape().clone()), ("other", b.layout().shape().clone())];
    Error::ShapeMismatch { op: "cdist", shapes, rule }
}
