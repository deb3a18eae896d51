//! Products of vectors along a dimension, and of several matrices.

use std::borrow::Borrow;
use std::panic::Location;

use gpu_runtime::at_place;

use super::autocast::autocast;
use super::contract::mismatch;
use super::join::borrowed;
use crate::autograd::{record, record_product};
use crate::dims::resolve_dim;
use crate::{Error, Result, Tensor, no_grad};

/// Products in terms of [`Tensor::mul`] and [`Tensor::matmul`]. Gradients flow to all operands.
impl Tensor {
    /// The cross products of the vectors of three elements along a dimension (`torch.linalg.cross`).
    /// The operands are broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let z = tensor![1.0, 0.0, 0.0]?.cross(&tensor![0.0, 1.0, 0.0]?, -1)?;
    /// assert_eq!(z.to_vec::<f32>()?, [0.0, 0.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension, or it has another size than 3; the numbers of dimensions differ; the
    /// operands do not broadcast, or lie on different devices.
    #[track_caller]
    pub fn cross(&self, other: &Tensor, dim: isize) -> Result<Tensor> {
        const OP: &str = "cross";
        let own = resolve_dim(OP, dim, self.dims())?;
        let has_three = |x: &Tensor| x.shape().get(own) == Some(&3);
        if self.dims() != other.dims() || !has_three(self) || !has_three(other) {
            let rule = "both must have as many dimensions, and size 3 along `dim`";
            return Err(mismatch(OP, self, other, rule));
        }
        let dim = own as isize;
        let compute = || {
            let turned = |x: &Tensor, by: isize| x.detach().roll(-by, dim);
            let first = turned(self, 1)?.mul(&turned(other, 2)?)?;
            first.sub(&turned(self, 2)?.mul(&turned(other, 1)?)?)
        };
        let output = at_place(Location::caller(), || no_grad(compute))?;
        Ok(record_product(
            OP,
            [self, other],
            output,
            move |position, grad, operand| match position {
                0 => operand.cross(grad, dim),
                _ => grad.cross(operand, dim),
            },
        ))
    }

    /// The dot products of the vectors along a dimension (`torch.linalg.vecdot`). The operands are
    /// broadcast.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    /// assert_eq!(x.vecdot(&tensor![10.0, 1.0]?, -1)?.to_vec::<f32>()?, [12.0, 34.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such dimension; the dtypes are no floating ones, or differ; the operands do not
    /// broadcast, or lie on different devices.
    #[track_caller]
    pub fn vecdot(&self, other: &Tensor, dim: isize) -> Result<Tensor> {
        const OP: &str = "vecdot";
        self.expect_floats(OP)?;
        let cast = autocast(OP, [self, other])?;
        let [a, b] = cast.operands();
        let pair = Tensor::broadcast_tensors([a, b])?;
        let own = resolve_dim(OP, dim, pair[0].dims())? as isize;
        crate::dispatch::same_dtype(OP, &[("self", a), ("other", b)])?;
        if pair[0].dims() == 0 {
            return a.mul(b);
        }
        let row = pair[0].movedim(own, -1)?.unsqueeze(-2)?;
        let column = pair[1].movedim(own, -1)?.unsqueeze(-1)?;
        row.matmul(&column)?.squeeze(-1)?.squeeze(-1)
    }

    /// The product of two or more matrices, multiplied in the order that takes the fewest
    /// multiplications of numbers (`torch.linalg.multi_dot`). The first one may be a vector, which is
    /// a row, and the last one too, which is a column.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b, c) = (tensor![1.0, 2.0]?, tensor![[1.0], [1.0]]?, tensor![[4.0, 5.0]]?);
    /// assert_eq!(Tensor::multi_dot([&a, &b, &c])?.to_vec::<f32>()?, [12.0, 15.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than two operands; one has another number of dimensions; the sizes do not fit
    /// together; they differ in dtype or device.
    #[track_caller]
    pub fn multi_dot<T: Borrow<Tensor>>(tensors: impl AsRef<[T]>) -> Result<Tensor> {
        const OP: &str = "multi_dot";
        let tensors = borrowed(tensors.as_ref());
        let [first, .., last] = &*tensors else {
            let value = format!("{} operands", tensors.len());
            let why = "there must be two or more";
            return Err(Error::InvalidArgument { op: OP, argument: "tensors", value, why });
        };
        let mut matrices = Vec::with_capacity(tensors.len());
        for (position, tensor) in tensors.iter().enumerate() {
            matrices.push(match tensor.dims() {
                2 => (*tensor).clone(),
                1 if position == 0 => tensor.unsqueeze(0)?,
                1 if position + 1 == tensors.len() => tensor.unsqueeze(1)?,
                _ => {
                    let shape = tensor.layout().shape().clone();
                    return Err(Error::WrongDims { op: OP, shape, expected: 2 });
                }
            });
        }
        for pair in matrices.windows(2) {
            if pair[0].shape()[1] != pair[1].shape()[0] {
                let rule = "the columns of each must be as many as the rows of the next one";
                return Err(mismatch(OP, &pair[0], &pair[1], rule));
            }
        }
        let product = chain_product(&matrices, &cheapest_splits(&matrices), 0, matrices.len() - 1)?;
        let product = if first.dims() == 1 { product.squeeze(0)? } else { product };
        if last.dims() == 1 { product.squeeze(-1) } else { Ok(product) }
    }

    /// Square matrices to a power, by repeated squaring; to a negative one it is that of their
    /// inverses, with the feature `linalg` and on the CPU.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[1.0, 1.0], [0.0, 1.0]]?.matrix_power(5)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 5.0, 0.0, 1.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The last two sizes differ, or are missing; the dtype is not a floating one. To a negative power:
    /// as `inv`, or without the feature.
    #[track_caller]
    pub fn matrix_power(&self, n: i64) -> Result<Tensor> {
        const OP: &str = "matrix_power";
        self.expect_floats(OP)?;
        let [.., rows, columns] = *self.shape() else {
            let shape = self.layout().shape().clone();
            return Err(Error::WrongDims { op: OP, shape, expected: 2 });
        };
        if rows != columns {
            return Err(mismatch(OP, self, self, "the matrices must be square"));
        }
        if n == 0 {
            let eye = Tensor::eye(rows, (self.dtype(), self.device()))?;
            let ones = eye.expand(self.layout().shape())?.clone_data()?;
            // A result of this operation all the same: its gradient is zeros, and there.
            return Ok(record(OP, [self], ones, |_| {
                |grad: &Tensor, _| Ok([Some(grad.zeros_like()?)])
            }));
        }
        let base = if n < 0 { inverses(self)? } else { self.clone() };
        let (mut product, mut square, mut rest): (Option<Tensor>, _, _) =
            (None, base, n.unsigned_abs());
        loop {
            if rest & 1 == 1 {
                product = Some(match product {
                    Some(product) => product.matmul(&square)?,
                    None => square.clone(),
                });
            }
            rest >>= 1;
            match product {
                Some(product) if rest == 0 => {
                    return if n == 1 { product.clone_data() } else { Ok(product) };
                }
                _ => square = square.matmul(&square)?,
            }
        }
    }
}

#[cfg(feature = "linalg")]
#[track_caller]
fn inverses(x: &Tensor) -> Result<Tensor> {
    x.inv()
}

#[cfg(not(feature = "linalg"))]
fn inverses(_: &Tensor) -> Result<Tensor> {
    let why = "inverses of matrices need the feature `linalg`";
    let (op, argument, value) = ("matrix_power", "n", "a negative number".to_owned());
    Err(crate::Error::InvalidArgument { op, argument, value, why })
}

/// For each range of matrices in a chain the one after which its product is best divided, by dynamic
/// programming (Cormen et al., "Introduction to Algorithms", 15.2).
fn cheapest_splits(matrices: &[Tensor]) -> Vec<Vec<usize>> {
    let count = matrices.len();
    let size = |at: usize| match at {
        0 => matrices[0].shape()[0] as f64,
        _ => matrices[at - 1].shape()[1] as f64,
    };
    let (mut costs, mut splits) = (vec![vec![0.0; count]; count], vec![vec![0; count]; count]);
    for length in 1..count {
        for first in 0..count - length {
            let last = first + length;
            let cost = |split: usize| {
                let product = size(first) * size(split + 1) * size(last + 1);
                costs[first][split] + costs[split + 1][last] + product
            };
            let best = (first..last).min_by(|&a, &b| cost(a).total_cmp(&cost(b)));
            let best = best.expect("the range has two matrices or more");
            (costs[first][last], splits[first][last]) = (cost(best), best);
        }
    }
    splits
}

/// The product of the matrices from `first` to `last`.
#[track_caller]
fn chain_product(
    matrices: &[Tensor],
    splits: &[Vec<usize>],
    first: usize,
    last: usize,
) -> Result<Tensor> {
    if first == last {
        return Ok(matrices[first].clone());
    }
    let split = splits[first][last];
    let left = chain_product(matrices, splits, first, split)?;
    left.mm(&chain_product(matrices, splits, split + 1, last)?)
}
