//! Products of matrices and vectors that are added to something, made of [`Tensor::matmul`].

use super::autocast::autocast;
use super::matmul::unrounded_product;
use crate::autograd::{record, record_product};
use crate::dispatch::same_dtype;
use crate::{DType, Error, Result, Scalar, Tensor};

/// Products under the names of BLAS: `beta * self + alpha * product`. With a `beta` of 0 what is in
/// `self` does not matter, NaN neither.
impl Tensor {
    /// The sum of the products of two vectors' elements.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0]?);
    /// assert_eq!(a.dot(&b)?.item::<f32>()?, 11.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// One of them is no vector, or they differ in size or dtype.
    #[track_caller]
    pub fn dot(&self, other: &Tensor) -> Result<Tensor> {
        const OP: &str = "dot";
        expect_dims(OP, [("self", self, 1), ("other", other, 1)])?;
        let cast = autocast(OP, [self, other])?;
        let [a, b] = cast.operands();
        a.matmul(b)
    }

    /// The product of a matrix with a vector.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![[0.0, 1.0], [1.0, 0.0]]?);
    /// assert_eq!(a.mv(&tensor![1.0, 10.0]?)?.to_vec::<f32>()?, [21.0, 43.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// They are none, or their sizes or dtypes do not fit.
    #[track_caller]
    pub fn mv(&self, vector: &Tensor) -> Result<Tensor> {
        const OP: &str = "mv";
        expect_dims(OP, [("self", self, 2), ("vector", vector, 1)])?;
        let cast = autocast(OP, [self, vector])?;
        let [matrix, vector] = cast.operands();
        matrix.matmul(vector)
    }

    /// `beta * self + alpha * a b` of two matrices.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![[0.0, 1.0], [1.0, 0.0]]?);
    /// let sum = Tensor::ones([2, 2], ())?.addmm(&a, &b, 0.5, 2.0)?;
    /// assert_eq!(sum.to_vec::<f32>()?, [4.5, 2.5, 8.5, 6.5]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// They are no matrices, their sizes or dtypes do not fit, or `self` does not broadcast to the
    /// shape of the product.
    #[track_caller]
    pub fn addmm(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let scalars = [beta.into(), alpha.into()];
        self.plus("addmm", [a, b], scalars, Tensor::mm)
    }

    /// `beta * self + alpha * matrix vector`.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (a, b) = (tensor![[1.0, 2.0], [3.0, 4.0]]?, tensor![[0.0, 1.0], [1.0, 0.0]]?);
    /// let sum = tensor![1.0, 2.0]?.addmv(&a, &tensor![1.0, 1.0]?, 1.0, 2.0)?;
    /// assert_eq!(sum.to_vec::<f32>()?, [7.0, 16.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::mv`]; or `self` does not broadcast to the shape of the product.
    #[track_caller]
    pub fn addmv(
        &self,
        matrix: &Tensor,
        vector: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let scalars = [beta.into(), alpha.into()];
        self.plus("addmv", [matrix, vector], scalars, Tensor::mv)
    }

    /// `beta * self + alpha * a b`, the outer product of two vectors.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let (a, b) = (tensor![1.0, 2.0]?, tensor![3.0, 4.0]?);
    /// let sum = Tensor::ones([2, 2], ())?.addr(&a, &b, 1.0, 1.0)?;
    /// assert_eq!(sum.to_vec::<f32>()?, [4.0, 5.0, 7.0, 9.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::outer`]; or `self` does not broadcast to the shape of the product.
    #[track_caller]
    pub fn addr(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let scalars = [beta.into(), alpha.into()];
        self.plus("addr", [a, b], scalars, Tensor::outer)
    }

    /// `beta * self + alpha * a b` of batches of matrices.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let (a, b) = (Tensor::ones([5, 2, 3], ())?, Tensor::ones([5, 3, 4], ())?);
    /// let sum = Tensor::ones([5, 2, 4], ())?.baddbmm(&a, &b, 1.0, 2.0)?;
    /// assert_eq!(sum.i((0, 0, 0))?.item::<f32>()?, 7.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::bmm`]; or `self` does not broadcast to the shape of the product.
    #[track_caller]
    pub fn baddbmm(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        let scalars = [beta.into(), alpha.into()];
        self.plus("baddbmm", [a, b], scalars, Tensor::bmm)
    }

    /// `beta * self + alpha *` the sum of the products of a batch of matrices.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let (a, b) = (Tensor::ones([5, 2, 3], ())?, Tensor::ones([5, 3, 4], ())?);
    /// let sum = Tensor::ones([2, 4], ())?.addbmm(&a, &b, 1.0, 1.0)?;
    /// assert_eq!(sum.i((0, 0))?.item::<f32>()?, 16.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::bmm`]; or `self` does not broadcast to the shape of a product.
    #[track_caller]
    pub fn addbmm(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Scalar>,
        alpha: impl Into<Scalar>,
    ) -> Result<Tensor> {
        expect_dims("addbmm", [("a", a, 3), ("b", b, 3)])?;
        if a.shape()[0] != b.shape()[0] {
            return Err(mismatch("addbmm", a, b, "the batches must have the same size"));
        }
        if a.shape()[2] != b.shape()[1] {
            return Err(mismatch("addbmm", a, b, "the inner sizes must be equal"));
        }
        let scalars = [beta.into(), alpha.into()];
        self.plus("addbmm", [a, b], scalars, sum_of_products)
    }

    /// The product with a transposed weight, plus a bias: what a linear layer computes.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (x, weight, bias) = (tensor![[1.0, 2.0]]?, tensor![[3.0, 4.0]]?, tensor![0.5]?);
    /// assert_eq!(x.linear(&weight, Some(&bias))?.item::<f32>()?, 11.5);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul`]; or the bias does not broadcast to the product.
    #[track_caller]
    pub fn linear(&self, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        let cast = autocast("linear", [self, weight])?;
        let ([x, weight], bias) = (cast.operands(), cast.optional(bias)?);
        let is_half = matches!(x.dtype(), DType::F16 | DType::BF16);
        match bias.as_deref() {
            Some(bias) if is_half && weight.dims() == 2 => half_linear(x, weight, bias),
            // In the product's memory.
            Some(bias) => x.matmul(&weight.t()?)? + bias,
            None => x.matmul(&weight.t()?),
        }
    }

    /// `beta * self + alpha * product(a, b)`, of the shape of the product. Half precision is rounded
    /// once, at the end; numbers are converted to the dtype, as in PyTorch.
    #[track_caller]
    fn plus(
        &self,
        op: &'static str,
        [a, b]: [&Tensor; 2],
        [beta, alpha]: [Scalar; 2],
        product: fn(&Tensor, &Tensor) -> Result<Tensor>,
    ) -> Result<Tensor> {
        let cast = autocast(op, [self, a, b])?;
        let [own, a, b] = cast.operands();
        let dtype = own.dtype();
        same_dtype(op, &[("self", own), ("a", a), ("b", b)])?;
        if matches!(dtype, DType::F16 | DType::BF16) {
            let wide = |x: &Tensor| x.to(DType::F32);
            let (a, b) = (wide(a)?, wide(b)?);
            return wide(own)?.plus(op, [&a, &b], [beta, alpha], product)?.to(dtype);
        }
        let converted = |number: Scalar| Scalar::from_bits(number.bits(dtype), dtype);
        let (beta, alpha) = (converted(beta), converted(alpha));
        let product = product(a, b)?;
        let own = own.expand(product.layout().shape())?;
        let product = if alpha.to_f64() == 1.0 { product } else { product.mul(alpha)? };
        match beta.to_f64() {
            0.0 => Ok(product),
            1.0 => own.add(&product),
            _ => own.mul(beta)?.add(&product),
        }
    }
}

/// A linear layer in half precision, whose result is rounded once. It saves the halves, not the
/// singles that it is computed in.
#[track_caller]
fn half_linear(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let dtype = x.dtype();
    same_dtype("linear", &[("self", x), ("weight", weight), ("bias", bias)])?;
    let wide = |x: &Tensor| x.detach().to(DType::F32);
    let product = match unrounded_product(&x.detach(), &weight.detach().t()?)? {
        Some(product) => product,
        None => wide(x)?.matmul(&wide(weight)?.t()?)?,
    };
    let output = (product + wide(bias)?)?.to(dtype)?;
    Ok(record("linear", [x, weight, bias], output, |saving| {
        let save = |needed: bool, tensor: &Tensor| needed.then(|| saving.save(tensor));
        let (x, weight) = (save(saving.needs(1), x), save(saving.needs(0), weight));
        move |grad: &Tensor, needs: [bool; 3]| {
            let rows = |x: &Tensor| {
                let (columns, rows) = x.shape().split_last().expect("products have dimensions");
                x.reshape([rows.iter().product(), *columns])
            };
            let of_x = weight.as_ref().filter(|_| needs[0]);
            let of_weight = x.as_ref().filter(|_| needs[1]);
            Ok([
                of_x.map(|weight| grad.matmul(&weight.get()?)).transpose()?,
                of_weight.map(|x| rows(grad)?.t()?.matmul(&rows(&x.get()?)?)).transpose()?,
                needs[2].then(|| grad.clone()),
            ])
        }
    }))
}

/// The sum of the products of a batch of matrices. It saves the batches as they are, not as the
/// matrices that the product is computed of.
#[track_caller]
fn sum_of_products(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    // The sum over the batch is part of one product: its matrices stand side by side in the left
    // factor, and one below the other in the right one.
    let depth = a.shape()[0] * a.shape()[2];
    let wide = a.detach().transpose(0, 1)?.reshape([a.shape()[1], depth])?;
    let tall = b.detach().reshape([depth, b.shape()[2]])?;
    let output = wide.mm(&tall)?;
    Ok(record_product("addbmm", [a, b], output, |position, grad, other| match position {
        0 => grad.matmul(&other.mt()?),
        _ => other.mt()?.matmul(grad),
    }))
}

/// # Errors
/// A tensor has another number of dimensions.
fn expect_dims<const N: usize>(
    op: &'static str,
    tensors: [(&'static str, &Tensor, usize); N],
) -> Result<()> {
    if tensors.iter().all(|(_, tensor, dims)| tensor.dims() == *dims) {
        return Ok(());
    }
    let shape = |(name, tensor, _): &(&'static str, &Tensor, usize)| {
        (*name, tensor.layout().shape().clone())
    };
    let shapes = tensors.iter().map(shape).collect();
    let rule = "they must have as many dimensions as the operation says";
    Err(Error::ShapeMismatch { op, shapes, rule })
}

fn mismatch(op: &'static str, a: &Tensor, b: &Tensor, rule: &'static str) -> Error {
    let shapes = vec![("a", a.layout().shape().clone()), ("b", b.layout().shape().clone())];
    Error::ShapeMismatch { op, shapes, rule }
}
