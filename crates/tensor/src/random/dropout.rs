//! Dropout, which keeps no mask: its gradient draws the same numbers again.

use super::draw::{DistributionParameters, RandomDraw};
use super::ops::expect;
use crate::autograd::{InPlace, record};
use crate::dispatch::Operator;
use crate::dispatch::abi::Random;
use crate::host::random as kernels;
use crate::{Result, Shape, Tensor};

static DROPOUT: Operator<Random> = Operator::new("dropout", kernels::DROPOUT);

impl Tensor {
    /// Dropout: in training each element becomes zero with probability `p`, and the others are
    /// scaled by `1 / (1 - p)`; else, and for `p` = 0, it gives the tensor itself. Which elements
    /// stay is drawn from the [generator](crate::generator) of its device: those for which
    /// [`bernoulli_`](Tensor::bernoulli_) of `1 - p` would be 1.
    ///
    /// For the gradient nothing is kept but the place of the draw, from which the same numbers are
    /// drawn again. On CUDA the work is enqueued.
    ///
    /// ```
    /// use tensor::{Tensor, saved_bytes};
    /// let x = Tensor::ones([100], ())?.requires_grad_(true)?;
    /// let y = x.dropout(0.5, true)?;
    /// assert_eq!(saved_bytes(&[&y], &[]), 0);
    /// y.sum(())?.backward()?;
    /// assert_eq!(x.grad().expect("it was computed").to_vec::<f32>()?, y.to_vec::<f32>()?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `p` is no probability; in training also: the tensor is of no floats.
    #[track_caller]
    pub fn dropout(&self, p: f64, training: bool) -> Result<Tensor> {
        check(DROPOUT.name(), p)?;
        if !training || p == 0.0 {
            return Ok(self.clone());
        }
        self.expect_floats(DROPOUT.name())?;
        if p == 1.0 {
            return self.mul(0.0);
        }
        dropped(self, p, &RandomDraw::next(self.resolved_device())?)
    }

    /// [`Tensor::dropout`] in place; gives the same handle.
    ///
    /// # Errors
    /// As [`Tensor::dropout`]; the tensor cannot be written in place, since it requires gradients
    /// or its elements share memory.
    #[track_caller]
    pub fn dropout_(&self, p: f64, training: bool) -> Result<Tensor> {
        const OP: &str = "dropout_";
        check(OP, p)?;
        if !training || p == 0.0 {
            return Ok(self.clone());
        }
        self.expect_floats(OP)?;
        if p == 1.0 {
            return self.mul_(0.0);
        }
        let write = InPlace::begin(OP, self, &[])?;
        let draw = RandomDraw::next(self.resolved_device())?;
        let target = self.detach();
        if target.is_contiguous() {
            draw.fill(&DROPOUT, &target, parameters(p), Some(&target))?;
        } else {
            target.copy_(&dropped(&target, p, &draw)?)?;
        }
        Ok(write.finish(|_| {
            move |grad: &Tensor, _: &[bool]| Ok(smallvec::smallvec![Some(dropped(grad, p, &draw)?)])
        }))
    }
}

/// Dropout of `x` with the numbers of a draw: a linear function, and its own gradient.
#[track_caller]
fn dropped(x: &Tensor, p: f64, draw: &RandomDraw) -> Result<Tensor> {
    let input = x.detach().contiguous()?;
    let output = Tensor::uninit_like(&input, input.dtype())?;
    draw.fill(&DROPOUT, &output, parameters(p), Some(&input))?;
    Ok(record(DROPOUT.name(), [x], output, |_| {
        let draw = draw.clone();
        move |grad: &Tensor, _| Ok([Some(dropped(grad, p, &draw)?)])
    }))
}

/// The factors that dropout with the numbers of a draw has for the elements of a shape.
#[track_caller]
pub(crate) fn dropout_factors(
    shape: Shape,
    like: &Tensor,
    p: f64,
    draw: &RandomDraw,
) -> Result<Tensor> {
    dropped(&Tensor::ones(shape, (like.dtype(), like.device()))?, p, draw)
}

/// The probability to stay, and the factor of what stays.
fn parameters(p: f64) -> DistributionParameters {
    let keep = 1.0 - p;
    DistributionParameters { a: keep, b: 1.0 / keep, ..DistributionParameters::default() }
}

fn check(op: &'static str, p: f64) -> Result<()> {
    expect(op, "p", p, (0.0..=1.0).contains(&p), "it must lie in [0, 1]")
}
