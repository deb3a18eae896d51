//! The one operation behind all convolutions, which is closed under differentiation: each of the
//! three tensors of a convolution is the gradient by it of the sum of the products of the three.

use cpu_kernels::conv::ConvPass;
use smallvec::SmallVec;

use super::geometry::ConvArguments;
use crate::autograd::{SavedTensor, record_many};
use crate::dispatch::{self, ConvGeometry, ConvolutionKernels};
use crate::host::convolution::CONVOLUTION;
use crate::ops::convert::dense;
use crate::{DType, Error, Result, Tensor};

static KERNELS: ConvolutionKernels = ConvolutionKernels::new(CONVOLUTION);

/// The computation of one of the three tensors from the two others.
#[derive(Clone, Copy)]
pub(super) struct Convolve {
    pub(super) op: &'static str,
    pub(super) geometry: ConvGeometry,
    /// The tensor that is computed.
    pub(super) pass: ConvPass,
}

impl Convolve {
    /// The tensor, from the two others in the order input, weight, output. A bias is added to each
    /// channel.
    #[track_caller]
    pub(super) fn apply(self, [a, b]: [&Tensor; 2], bias: Option<&Tensor>) -> Result<Tensor> {
        let of_dense = |x: &Tensor| dense(x, x.dtype());
        let (dense_a, dense_b) = (of_dense(a)?, of_dense(b)?);
        let dense_bias = bias.map(of_dense).transpose()?;
        let output = dispatch::convolve(
            &KERNELS,
            self.pass,
            &self.geometry,
            [&dense_a, &dense_b],
            dense_bias.as_ref(),
        )?;
        let inputs: SmallVec<[&Tensor; 3]> =
            [Some(a), Some(b), bias].into_iter().flatten().collect();
        let has_bias = bias.is_some();
        Ok(record_many(self.op, &inputs, output, |saving| {
            let other = |position, other| saving.needs(position).then(|| saving.save(other));
            let others = [other(0, b), other(1, a)];
            move |grad: &Tensor, needs: &[bool]| {
                let of = |position: usize, grad: &Tensor| {
                    let other = others[position].as_ref().filter(|_| needs[position]);
                    let other = other.map(SavedTensor::get).transpose()?;
                    other.map(|other| self.gradient(position, grad, &other)).transpose()
                };
                let in_order = if needs[0] || needs[1] { grad.contiguous()? } else { grad.clone() };
                let mut gradients = smallvec::smallvec![of(0, &in_order)?, of(1, &in_order)?];
                if has_bias {
                    let dims: Vec<isize> =
                        (0..grad.dims() as isize).filter(|dim| *dim != 1).collect();
                    gradients.push(needs[2].then(|| grad.sum(dims)).transpose()?);
                }
                Ok(gradients)
            }
        }))
    }

    /// The gradient of an operand, from that of the result and the other operand.
    #[track_caller]
    fn gradient(self, position: usize, grad: &Tensor, other: &Tensor) -> Result<Tensor> {
        let wanted = others(self.pass)[position];
        let pair = others(wanted).map(|tensor| if tensor == self.pass { grad } else { other });
        Convolve { pass: wanted, ..self }.apply(pair, None)
    }
}

/// The two tensors that one is computed from, in the order input, weight, output.
fn others(pass: ConvPass) -> [ConvPass; 2] {
    match pass {
        ConvPass::Input => [ConvPass::Weight, ConvPass::Output],
        ConvPass::Weight => [ConvPass::Input, ConvPass::Output],
        ConvPass::Output => [ConvPass::Input, ConvPass::Weight],
    }
}

/// # Errors
/// The operands lie on different devices or differ in dtype, or there are no convolutions of it.
pub(super) fn check_operands(arguments: &ConvArguments<'_>) -> Result<()> {
    let ConvArguments { op, x, weight, bias } = *arguments;
    let all = [("self", Some(x)), ("weight", Some(weight)), ("bias", bias)];
    let all: SmallVec<[(&'static str, &Tensor); 3]> =
        all.into_iter().filter_map(|(name, tensor)| Some((name, tensor?))).collect();
    dispatch::same_device(op, &all)?;
    dispatch::same_dtype(op, &all)?;
    let is_there = match x.is_cuda() {
        true => x.dtype().is_float(),
        false => x.dtype() != DType::Bool,
    };
    if is_there {
        return Ok(());
    }
    Err(Error::UnsupportedDType { op, dtype: x.dtype(), device: x.device() })
}
