//! Determinants.

use super::{batch, expect_square, in_dtype, read};
use crate::autograd::{record, record_outputs};
use crate::host::linalg::{self, MatrixElement};
use crate::{Device, Result, Tensor};

/// With the feature `linalg`, of tensors on the CPU.
impl Tensor {
    /// The determinants of square matrices, also of singular ones, where the gradient is that of the
    /// minors.
    ///
    /// ```
    /// use tensor::tensor;
    /// assert_eq!(tensor![[1.0, 2.0], [4.0, 4.0]]?.det()?.item::<f32>()?, -4.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The matrices are not square; the dtype is neither `F32` nor `F64`; the tensor is not on the CPU.
    #[track_caller]
    pub fn det(&self) -> Result<Tensor> {
        const OP: &str = "det";
        expect_square(OP, self)?;
        let output = in_dtype!(self, determinants(self))?;
        Ok(record(OP, [self], output, |saving| {
            let (x, output) = (saving.save(self), saving.save_output());
            move |grad: &Tensor, _| {
                let (x, output) = (x.get()?, output.get()?);
                let factor = grad.unsqueeze(-1)?.unsqueeze(-1)?;
                if output.detach().eq(0)?.any(())?.item::<bool>()? {
                    return Ok([Some(factor.mul(&cofactors(&x)?)?)]);
                }
                let size = output.unsqueeze(-1)?.unsqueeze(-1)?;
                Ok([Some(factor.mul(&size)?.mul(&x.inv_ex()?.0.mt()?)?)])
            }
        }))
    }

    /// The signs of the determinants of square matrices, and the logarithms of their sizes, which
    /// neither overflow nor underflow. Of a singular matrix they are 0 and minus infinity.
    ///
    /// ```
    /// use tensor::tensor;
    /// let (sign, logabsdet) = tensor![[1.0, 2.0], [4.0, 4.0]]?.slogdet()?;
    /// assert_eq!(sign.item::<f32>()?, -1.0);
    /// assert!((logabsdet.item::<f32>()? - 4f32.ln()).abs() < 1e-6);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::det`].
    #[track_caller]
    pub fn slogdet(&self) -> Result<(Tensor, Tensor)> {
        slogdet("slogdet", self)
    }

    /// The logarithms of the determinants of square matrices: NaN of negative ones.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![[2.0, 0.0], [0.0, 0.5]]?.logdet()?;
    /// assert_eq!(x.item::<f32>()?, 0.0);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::det`].
    #[track_caller]
    pub fn logdet(&self) -> Result<Tensor> {
        let (sign, logabsdet) = slogdet("logdet", self)?;
        Tensor::where_cond(&sign.detach().lt(0)?, f64::NAN, &logabsdet)
    }
}

#[track_caller]
fn slogdet(op: &'static str, x: &Tensor) -> Result<(Tensor, Tensor)> {
    expect_square(op, x)?;
    let (signs, logarithms) = in_dtype!(x, logarithmic(x))?;
    let outputs = record_outputs(op, &[x], vec![signs, logarithms], |saving| {
        let x = saving.save(x);
        move |grads: &[Option<Tensor>], _: &[bool]| {
            let x = x.get()?;
            // The signs have steps, and no slope.
            let Some(grad) = &grads[1] else {
                return Ok([Some(x.zeros_like()?)].into_iter().collect());
            };
            let turned = x.inv_ex()?.0.mt()?;
            let of_x = grad.unsqueeze(-1)?.unsqueeze(-1)?.mul(&turned)?;
            Ok([Some(of_x)].into_iter().collect())
        }
    });
    let [signs, logarithms] = outputs.try_into().expect("there are two outputs");
    Ok((signs, logarithms))
}

/// The matrices of the minors with their signs, which are the derivatives of the determinants: of
/// `U diag(s) Vᵀ` they are `det(U V) U diag(products of the other s) Vᵀ`.
#[track_caller]
fn cofactors(x: &Tensor) -> Result<Tensor> {
    let (u, s, vh) = x.svd(true)?;
    let turn = u.detach().det()?.mul(&vh.detach().det()?)?;
    let one = s.narrow(-1, 0, 1)?.ones_like()?;
    let rest = s.shape()[s.dims() - 1] - 1;
    let before = Tensor::cat([&one, &s.narrow(-1, 0, rest)?], -1)?.cumprod(-1)?;
    let turned = s.flip(-1)?;
    let after = Tensor::cat([&one, &turned.narrow(-1, 0, rest)?], -1)?.cumprod(-1)?.flip(-1)?;
    let others = before.mul(&after)?.mul(&turn.unsqueeze(-1)?)?;
    u.mul(&others.unsqueeze(-2)?)?.matmul(&vh)
}

/// The products of the diagonals of U, with the signs of the exchanges.
#[track_caller]
fn determinants<T: MatrixElement + Into<f64>>(x: &Tensor) -> Result<Tensor> {
    let factors = EliminatedDiagonals::of::<T>(x)?;
    let products = factors.fold(|diagonal, sign| diagonal.iter().product::<f64>() * sign);
    Tensor::from_vec(products, batch(x), (T::DTYPE, Device::Cpu))
}

/// The signs of the determinants, and the logarithms of their sizes.
#[track_caller]
fn logarithmic<T: MatrixElement + Into<f64>>(x: &Tensor) -> Result<(Tensor, Tensor)> {
    let factors = EliminatedDiagonals::of::<T>(x)?;
    let sign_of = |x: f64| if x == 0.0 || x.is_nan() { x } else { x.signum() };
    let signs =
        factors.fold(|diagonal, sign| diagonal.iter().map(|&x| sign_of(x)).product::<f64>() * sign);
    let sizes = factors.fold(|diagonal, _| diagonal.iter().map(|x| x.abs().ln()).sum());
    let options = (T::DTYPE, Device::Cpu);
    Ok((Tensor::from_vec(signs, batch(x), options)?, Tensor::from_vec(sizes, batch(x), options)?))
}

/// The diagonals of the factors U, one after the other, and the signs of the exchanges of rows.
struct EliminatedDiagonals {
    diagonals: Vec<f64>,
    signs: Vec<f64>,
}

impl EliminatedDiagonals {
    #[track_caller]
    fn of<T: MatrixElement + Into<f64>>(x: &Tensor) -> Result<EliminatedDiagonals> {
        let mut matrices = read::<T>(x)?;
        let pivots = linalg::lu(&mut matrices)?;
        let n = matrices.rows;
        let mut factors = EliminatedDiagonals { diagonals: Vec::new(), signs: Vec::new() };
        for number in 0..matrices.count {
            let diagonal = matrices.slice(number).iter().step_by(n + 1);
            factors.diagonals.extend(diagonal.map(|&element| element.into()));
            let moved = (0..n).filter(|row| pivots[number * n + row] as usize != row + 1).count();
            factors.signs.push(if moved % 2 == 0 { 1.0 } else { -1.0 });
        }
        Ok(factors)
    }

    /// A number of each diagonal and sign.
    fn fold(&self, number: impl Fn(&[f64], f64) -> f64) -> Vec<f64> {
        let n = self.diagonals.len() / self.signs.len().max(1);
        let of = |(place, &sign): (usize, &f64)| number(&self.diagonals[place * n..][..n], sign);
        self.signs.iter().enumerate().map(of).collect()
    }
}
