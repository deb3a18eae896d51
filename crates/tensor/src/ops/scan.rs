//! Scans: sums, products and logarithms of sums of the elements so far.

use std::panic::Location;

use cpu_kernels::scan::Scan;
use gpu_runtime::at_place;
use smallvec::smallvec;

use super::autocast::autocast;
use super::convert::{copy_into, dense};
use crate::autograd::{InPlace, record};
use crate::dims::resolve_dim;
use crate::dispatch::abi::ScanCall;
use crate::dispatch::{self, Operator, Signature};
use crate::host::reduce::sum_dtype;
use crate::host::scan as kernels;
use crate::{DType, Result, Tensor, no_grad};

static SUMS: Cumulation = Cumulation {
    in_place: "cumsum_",
    operator: Operator::new("cumsum", kernels::CUMSUM)
        .with_signature(Signature::Follows(sum_dtype)),
};
static PRODUCTS: Cumulation = Cumulation {
    in_place: "cumprod_",
    operator: Operator::new("cumprod", kernels::CUMPROD)
        .with_signature(Signature::Follows(sum_dtype)),
};

/// Sums or products of the elements so far.
struct Cumulation {
    in_place: &'static str,
    operator: Operator<ScanCall>,
}

impl Cumulation {
    const fn name(&self) -> &'static str {
        self.operator.name()
    }

    /// The results, without history. Floats are gathered in `F64` and integers in `I64`, and rounded
    /// once.
    #[track_caller]
    fn of(&'static self, x: &Tensor, dim: usize) -> Result<Tensor> {
        let x = x.detach();
        // On CUDA there are kernels for integers of 64 bits.
        let dtype = if x.is_cuda() { sum_dtype(x.dtype()) } else { x.dtype() };
        let compute = || dispatch::cumulate(&self.operator, &dense(&x, dtype)?, dim);
        at_place(Location::caller(), || no_grad(compute))
    }

    /// The results in the tensor's own memory; they wrap around where the dtype does not have them.
    #[track_caller]
    fn write(&'static self, target: &Tensor, dim: usize) -> Result<()> {
        copy_into(target, &self.of(target, dim)?)
    }
}

/// The logarithms of the sums of exponentials so far, without history. They are gathered in `F64`,
/// on CUDA too, and rounded once.
#[track_caller]
fn log_sums(op: &'static str, x: &Tensor, dim: usize) -> Result<Tensor> {
    let x = x.detach();
    let compute = || {
        if !x.is_cuda() {
            let x = dense(&x, x.dtype())?;
            return Ok(dispatch::scan(op, Scan::LogSumExp, &x, dim, x.dtype())?.0);
        }
        let sums = doubling(&dense(&x, DType::F64)?, dim, |a, b| a.logaddexp(b))?;
        // Where there is nothing to join, the elements are the results.
        dense(&sums, x.dtype())?.copied_from(&x)
    };
    at_place(Location::caller(), || no_grad(compute))
}

/// Scans along a dimension, of the tensor's shape. A tensor without dimensions is its own.
///
/// Sums and products of integers and truth values are `I64`. Floats are gathered in `F64` and
/// rounded once. On CUDA the work is enqueued; for logarithms it is elementwise operations, of which
/// there are as many as the size has binary digits.
///
/// All fail if the dimension does not exist.
impl Tensor {
    /// The sums of the elements so far along a dimension.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, 2.0, 3.0]?.cumsum(0)?.to_vec::<f32>()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn cumsum(&self, dim: isize) -> Result<Tensor> {
        let own = resolve_dim(SUMS.name(), dim, self.dims())?;
        let cast = autocast(SUMS.name(), [self])?;
        let [x] = cast.operands();
        let output = SUMS.of(x, own)?;
        Ok(record(SUMS.name(), [x], output, |_| {
            move |grad: &Tensor, _| Ok([Some(sums_from_the_end(grad, own)?)])
        }))
    }

    /// [`Tensor::cumsum`] in place, in the tensor's dtype; gives the same handle.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.cumsum_(0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor cannot be written in place, since it requires gradients or its elements share
    /// memory.
    #[track_caller]
    pub fn cumsum_(&self, dim: isize) -> Result<Tensor> {
        let own = resolve_dim(SUMS.in_place, dim, self.dims())?;
        let write = InPlace::begin(SUMS.in_place, self, &[])?;
        SUMS.write(self, own)?;
        Ok(write.finish(|_| {
            move |grad: &Tensor, _: &[bool]| Ok(smallvec![Some(sums_from_the_end(grad, own)?)])
        }))
    }

    /// The products of the elements so far along a dimension. Gradients are right for zeros too.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![1.0, 2.0, 3.0]?.cumprod(0)?.to_vec::<f32>()?, [1.0, 2.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn cumprod(&self, dim: isize) -> Result<Tensor> {
        let own = resolve_dim(PRODUCTS.name(), dim, self.dims())?;
        let cast = autocast(PRODUCTS.name(), [self])?;
        let [x] = cast.operands();
        let output = PRODUCTS.of(x, own)?;
        Ok(record(PRODUCTS.name(), [x], output, |saving| {
            let (x, products) = (saving.save(x), saving.watch_output());
            move |grad: &Tensor, _| {
                products.check()?;
                Ok([Some(cumprod_backward(&x.get()?, grad, own)?)])
            }
        }))
    }

    /// [`Tensor::cumprod`] in place, in the tensor's dtype; gives the same handle.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.cumprod_(0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [1.0, 2.0, 6.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor cannot be written in place, since it requires gradients or its elements share
    /// memory.
    #[track_caller]
    pub fn cumprod_(&self, dim: isize) -> Result<Tensor> {
        let own = resolve_dim(PRODUCTS.in_place, dim, self.dims())?;
        let write = InPlace::begin(PRODUCTS.in_place, self, &[])?;
        let before = write.copy_if(write.needs(0))?;
        PRODUCTS.write(self, own)?;
        Ok(write.finish(|saving| {
            let before = before.map(|before| before.save(saving));
            move |grad: &Tensor, _: &[bool]| {
                let of = |x: &Tensor| cumprod_backward(x, grad, own);
                Ok(smallvec![before.as_ref().map(|before| of(&before.get()?)).transpose()?])
            }
        }))
    }

    /// The logarithms of the sums of the exponentials so far along a dimension, computed without
    /// overflow.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![0.0, 0.0, 1000.0]?.logcumsumexp(0)?.to_vec::<f32>()?;
    /// assert_eq!(x, [0.0, 2f32.ln(), 1000.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not a floating one.
    #[track_caller]
    pub fn logcumsumexp(&self, dim: isize) -> Result<Tensor> {
        let op = "logcumsumexp";
        let own = resolve_dim(op, dim, self.dims())?;
        self.expect_floats(op)?;
        let output = log_sums(op, self, own)?;
        Ok(record(op, [self], output, |saving| {
            let (x, output) = (saving.save(self), saving.save_output());
            move |grad: &Tensor, _| {
                Ok([Some(logcumsumexp_backward([&x.get()?, &output.get()?], grad, own)?)])
            }
        }))
    }
}

/// For each element the sum of those from it on.
#[track_caller]
fn sums_from_the_end(x: &Tensor, dim: usize) -> Result<Tensor> {
    from_the_end(x, dim, |x, dim| x.cumsum(dim))
}

/// A scan that begins at the last element.
#[track_caller]
fn from_the_end(
    x: &Tensor,
    dim: usize,
    scan: impl FnOnce(&Tensor, isize) -> Result<Tensor>,
) -> Result<Tensor> {
    if x.dims() == 0 {
        return scan(x, 0);
    }
    let dim = dim as isize;
    scan(&x.flip(dim)?, dim)?.flip(dim)
}

/// The scan of `x` by an associative function of two neighbouring ranges, in operations that are
/// recorded: each step joins ranges of 1, 2, 4, .. elements (Hillis and Steele 1986).
#[track_caller]
fn doubling(
    x: &Tensor,
    dim: usize,
    join: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let mut results = x.clone();
    let len = x.shape().get(dim).copied().unwrap_or(1);
    for reach in steps(len) {
        results = joined(&results, dim, reach, &join)?;
    }
    Ok(results)
}

/// The lengths of the ranges that are joined: 1, 2, 4, ..
pub(super) fn steps(len: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |reach| Some(reach * 2)).take_while(move |&reach| reach < len)
}

/// One step of [`doubling`]: the first `reach` results are done.
#[track_caller]
fn joined(
    x: &Tensor,
    dim: usize,
    reach: usize,
    join: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let rest = x.shape()[dim] - reach;
    let dim = dim as isize;
    let later = join(&x.narrow(dim, 0, rest)?, &x.narrow(dim, reach, rest)?)?;
    Tensor::cat([&x.narrow(dim, 0, reach)?, &later], dim)
}

/// For each element the product of those before it along a dimension.
#[track_caller]
pub(super) fn products_before(x: &Tensor, dim: usize) -> Result<Tensor> {
    one_later(x, dim)?.cumprod(dim as isize)
}

/// For each element the product of those after it along a dimension.
#[track_caller]
pub(super) fn products_after(x: &Tensor, dim: usize) -> Result<Tensor> {
    from_the_end(x, dim, |x, _| products_before(x, dim))
}

/// The elements moved by one place along a dimension, with a 1 in the first place.
#[track_caller]
fn one_later(x: &Tensor, dim: usize) -> Result<Tensor> {
    let Some(rest) = x.shape().get(dim).map(|size| size.saturating_sub(1)) else {
        return x.ones_like();
    };
    if x.numel() == 0 {
        return Ok(x.clone());
    }
    let first = Tensor::ones(x.layout().shape().with(dim, 1), (x.dtype(), x.device()))?;
    Tensor::cat([&first, &x.narrow(dim as isize, 0, rest)?], dim as isize)
}

/// The gradient of `cumprod`: `before[i] * s[i]`, where `before` has the products of the elements
/// before, and `s[i] = grad[i] + x[i + 1] * s[i + 1]`. So nothing is divided, and zeros do no harm.
///
/// The recurrence is a scan from the end: the functions `s -> grad + factor * s` of neighbouring
/// ranges are joined.
#[track_caller]
fn cumprod_backward(x: &Tensor, grad: &Tensor, dim: usize) -> Result<Tensor> {
    if x.dims() == 0 || x.numel() == 0 {
        return Ok(grad.clone());
    }
    let (x, grad) = (&widened(x)?, &widened(grad)?);
    let last = dim as isize;
    let mut sums = grad.flip(last)?;
    let mut factors = one_later(&x.flip(last)?, dim)?;
    for reach in steps(x.shape()[dim]) {
        let rest = x.shape()[dim] - reach;
        let later = factors.narrow(last, reach, rest)?;
        sums = joined(&sums, dim, reach, |earlier, own| own.add(&later.mul(earlier)?))?;
        factors = joined(&factors, dim, reach, |earlier, own| own.mul(earlier))?;
    }
    products_before(x, dim)?.mul(&sums.flip(last)?)
}

/// The gradient of `logcumsumexp`: for each element `exp(x)` times the sum of `grad * exp(-y)` from
/// it on, of the positive and of the negative gradients apart, so that it is computed from
/// logarithms and does not overflow.
#[track_caller]
fn logcumsumexp_backward([x, y]: [&Tensor; 2], grad: &Tensor, dim: usize) -> Result<Tensor> {
    if x.dims() == 0 {
        return Ok(grad.clone());
    }
    let (x, y, grad) = (widened(x)?, widened(y)?, widened(grad)?);
    // For the logarithm of 0. Infinity less infinity would be NaN, in the derivative of this.
    let lowest = if x.dtype() == DType::F64 { f64::MIN } else { f64::from(f32::MIN) };
    let of = |grad: Tensor| {
        let logarithm = Tensor::where_cond(&grad.gt(0)?, &grad.log()?, lowest)?;
        let sums = from_the_end(&logarithm.sub(&y)?, dim, |x, dim| x.logcumsumexp(dim))?;
        sums.add(&x)?.exp()
    };
    of(grad.clone())?.sub(&of(grad.neg()?)?)
}

/// `x` in a dtype in which many results can be gathered.
#[track_caller]
pub(super) fn widened(x: &Tensor) -> Result<Tensor> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.to(DType::F32),
        _ => Ok(x.clone()),
    }
}
