//! Normalisation of channels: what batch, group and instance normalisation have in common.

use std::panic::Location;

use gpu_runtime::at_place;
use smallvec::SmallVec;

use crate::autograd::{SavedTensor, record_many};
use crate::dims::keepdim;
use crate::ops::pointwise::{Kinds, Pointwise};
use crate::ops::scan::widened;
use crate::{DType, Result, Tensor, is_grad_enabled, no_grad};

static NORMALIZED: Pointwise<4> =
    Pointwise::common("normalize_channels", |[x, mean, scale, bias]| (x - mean) * scale + bias)
        .of(Kinds::FLOATS);

/// The gradient of a result times the normalised element.
static PRODUCT: Pointwise<4> =
    Pointwise::common("normalize_channels_backward", |[grad, x, mean, rstd]| {
        grad * ((x - mean) * rstd)
    })
    .of(Kinds::FLOATS);

/// The gradient of an element, from that of the result.
static OF_X: Pointwise<6> = Pointwise::common(
    "normalize_channels_backward",
    |[grad, x, mean, of_grad, of_distance, shift]| {
        grad * of_grad + ((x - mean) * of_distance + shift)
    },
)
.of(Kinds::FLOATS);

/// The elements that are normalised together.
#[derive(Clone, Copy)]
pub(super) enum ChannelGroups {
    /// A channel, over the batch.
    OverBatch,
    /// So many groups of neighbouring channels of each sample.
    OfSample(usize),
}

/// Mean and variance of what is normalised together, `[batch or 1, channels or groups, 1]`.
pub(super) struct ChannelMoments {
    pub(super) mean: Tensor,
    pub(super) variance: Tensor,
}

/// A normalisation of `[batch, channels, ..]`.
#[derive(Clone, Copy)]
pub(super) struct ChannelNorm {
    pub(super) op: &'static str,
    pub(super) groups: ChannelGroups,
    pub(super) epsilon: f64,
}

/// The tensors that a normalisation is of.
#[derive(Clone, Copy)]
pub(super) struct ChannelOperands<'a> {
    pub(super) x: &'a Tensor,
    pub(super) weight: Option<&'a Tensor>,
    pub(super) bias: Option<&'a Tensor>,
}

impl ChannelNorm {
    /// The normalised tensor, with the moments that are `given` or else the tensor's own, which are
    /// given back.
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub(super) fn apply(
        self,
        operands: ChannelOperands<'_>,
        given: Option<ChannelMoments>,
    ) -> Result<(Tensor, ChannelMoments)> {
        let ChannelOperands { x, weight, bias } = operands;
        let is_given = given.is_some();
        let compute = || {
            let moments = match given {
                Some(moments) => moments,
                None => self.moments(&widened(&channel_rows(x)?)?)?,
            };
            let rstd = self.rstd(&moments.variance)?;
            let channels = x.shape()[1];
            let of_channels = |moment: &Tensor| self.of_channels(moment, channels);
            let output = normalized(operands, &of_channels(&moments.mean)?, &of_channels(&rstd)?)?;
            Ok::<_, crate::Error>((output, moments))
        };
        let (output, moments) = at_place(Location::caller(), || no_grad(compute))?;
        let inputs: SmallVec<[&Tensor; 3]> =
            [Some(x), weight, bias].into_iter().flatten().collect();
        if x.numel() == 0 {
            // Of no elements the gradients are zeros, and nothing is kept for them.
            let shapes: SmallVec<[_; 3]> =
                inputs.iter().map(|input| input.layout().shape().clone()).collect();
            let output = record_many(self.op, &inputs, output, |_| {
                move |grad: &Tensor, needs: &[bool]| {
                    let zeros = |shape| Tensor::zeros(shape, (grad.dtype(), grad.device()));
                    let pairs = shapes.iter().zip(needs);
                    pairs.map(|(shape, needed)| needed.then(|| zeros(shape)).transpose()).collect()
                }
            });
            return Ok((output, moments));
        }
        let output = record_many(self.op, &inputs, output, |saving| {
            let is_there = [true, weight.is_some(), bias.is_some()];
            let of_x = saving.needs(0);
            let of_weight = weight.is_some() && saving.needs(1);
            // Moments that are given are the program's own, and so take no memory.
            let saved = SavedNorm {
                norm: self,
                is_given,
                x: (of_weight || (of_x && !is_given)).then(|| saving.save(x)),
                weight: weight.filter(|_| of_x).map(|weight| saving.save(weight)),
                moments: [&moments.mean, &moments.variance].map(|moment| saving.save(moment)),
                dtype: x.dtype(),
                parameters: weight.or(bias).map_or(x.dtype(), Tensor::dtype),
            };
            move |grad: &Tensor, needs: &[bool]| {
                let of_bias = is_there[2] && needs[1 + usize::from(is_there[1])];
                let needs = [needs[0], is_there[1] && needs[1], of_bias];
                let gradients = saved.gradients(grad, needs)?.into_iter().zip(is_there);
                let there = gradients.filter(|(_, is_there)| *is_there);
                Ok(there.map(|(gradient, _)| gradient).collect())
            }
        });
        Ok((output, moments))
    }

    /// Mean and variance of what is normalised together, of `[batch, channels, positions]`.
    #[track_caller]
    fn moments(self, x: &Tensor) -> Result<ChannelMoments> {
        let (variance, mean) = match self.groups {
            ChannelGroups::OverBatch => x.var_mean(keepdim([0, 2]), 0.0)?,
            ChannelGroups::OfSample(groups) => {
                // There may be no channels, and then no groups.
                let channels = x.shape()[1] / groups.max(1);
                let (batch, inside) = (x.shape()[0], channels * x.shape()[2]);
                x.reshape([batch, groups, inside])?.var_mean(keepdim(2), 0.0)?
            }
        };
        Ok(ChannelMoments { mean, variance })
    }

    /// One over the deviation.
    #[track_caller]
    fn rstd(self, variance: &Tensor) -> Result<Tensor> {
        variance.add(self.epsilon)?.rsqrt()
    }

    /// The mean of numbers of each channel, `[batch, channels, 1]`, over the elements that are
    /// normalised together, `positions` of each channel.
    #[track_caller]
    fn mean(self, numbers: &Tensor, positions: usize) -> Result<Tensor> {
        let (batch, channels) = (numbers.shape()[0], numbers.shape()[1]);
        match self.groups {
            ChannelGroups::OverBatch => numbers.sum(keepdim(0))?.div((batch * positions) as f64),
            ChannelGroups::OfSample(groups) => {
                let inside = channels / groups.max(1);
                let sums = numbers.reshape([batch, groups, inside])?.sum(keepdim(2))?;
                self.of_channels(&sums.div((inside * positions) as f64)?, channels)
            }
        }
    }

    /// Numbers of groups as numbers of their channels.
    #[track_caller]
    fn of_channels(self, numbers: &Tensor, channels: usize) -> Result<Tensor> {
        match self.groups {
            ChannelGroups::OfSample(groups) if groups != channels => {
                let batch = numbers.shape()[0];
                let each = numbers.unsqueeze(2)?.expand([batch, groups, channels / groups, 1])?;
                each.reshape([batch, channels, 1])
            }
            _ => Ok(numbers.clone()),
        }
    }
}

/// The values that the gradients of a normalisation are computed from.
struct SavedNorm {
    norm: ChannelNorm,
    /// Whether the moments are constants.
    is_given: bool,
    x: Option<SavedTensor>,
    weight: Option<SavedTensor>,
    /// Mean and variance.
    moments: [SavedTensor; 2],
    dtype: DType,
    /// The dtype of the parameters.
    parameters: DType,
}

impl SavedNorm {
    /// The gradients that are needed of `x`, the weight and the bias. They are recorded if grad mode
    /// is on.
    #[track_caller]
    fn gradients(
        &self,
        grad: &Tensor,
        [of_x, of_weight, of_bias]: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let x = self.x.as_ref().map(SavedTensor::get).transpose()?;
        let x = x.as_ref().map(channel_rows).transpose()?;
        let rows = channel_rows(grad)?;
        let [mean, rstd] = self.moments_of(x.as_ref(), rows.shape()[1])?;
        let computed = mean.dtype();
        let positions = rows.shape()[2];
        let needs_products = of_weight || (of_x && !self.is_given);
        let products = x.as_ref().filter(|_| needs_products).map(|x| {
            let operands = [(&rows).into(), x.into(), (&mean).into(), (&rstd).into()];
            PRODUCT.apply_in(computed, computed, operands)?.sum(keepdim(2))
        });
        let products = products.transpose()?;
        let needs_sums = of_bias || (of_x && !self.is_given);
        let sums = needs_sums.then(|| widened(&rows)?.sum(keepdim(2))).transpose()?;
        let of_parameter = |numbers: &Tensor| numbers.sum((0, 2))?.to(self.parameters);
        let gradient_of_x = || {
            let weight = self.weight.as_ref().map(SavedTensor::get).transpose()?;
            let weight = weight.map(|weight| as_channels(&weight)).transpose()?;
            let times_weight = |x: &Tensor| match &weight {
                Some(weight) => x.mul(weight),
                None => Ok(x.clone()),
            };
            let scale = times_weight(&rstd)?;
            let (Some(x), Some(sums), Some(products)) = (&x, &sums, &products) else {
                return rows.mul(&scale)?.to(self.dtype);
            };
            if self.is_given {
                return rows.mul(&scale)?.to(self.dtype);
            }
            let along = self.norm.mean(&times_weight(products)?, positions)?;
            let of_distance = along.mul(&rstd.square()?)?.neg()?;
            let shift = self.norm.mean(&times_weight(sums)?, positions)?.mul(&rstd)?.neg()?;
            let operands = [&rows, x, &mean, &scale, &of_distance, &shift].map(Into::into);
            OF_X.apply_in(computed, self.dtype, operands)
        };
        let shape = grad.layout().shape();
        Ok([
            of_x.then(|| gradient_of_x()?.reshape(shape)).transpose()?,
            products.as_ref().filter(|_| of_weight).map(of_parameter).transpose()?,
            sums.as_ref().filter(|_| of_bias).map(of_parameter).transpose()?,
        ])
    }

    /// Mean of each channel, and one over the deviation: those of the forward pass, or, to be
    /// differentiated again, as functions of `x`.
    #[track_caller]
    fn moments_of(&self, x: Option<&Tensor>, channels: usize) -> Result<[Tensor; 2]> {
        let ChannelMoments { mean, variance } = match x {
            Some(x) if is_grad_enabled() && !self.is_given => self.norm.moments(&widened(x)?)?,
            _ => ChannelMoments { mean: self.moments[0].get()?, variance: self.moments[1].get()? },
        };
        let rstd = self.norm.rstd(&variance)?;
        let of_channels = |moment: &Tensor| self.norm.of_channels(moment, channels);
        Ok([of_channels(&mean)?, of_channels(&rstd)?])
    }
}

/// The normalised tensor, without history.
#[track_caller]
fn normalized(operands: ChannelOperands<'_>, mean: &Tensor, rstd: &Tensor) -> Result<Tensor> {
    let ChannelOperands { x, weight, bias } = operands;
    let parameter = |parameter: &Tensor| as_channels(&parameter.detach());
    let scale = match weight {
        Some(weight) => rstd.mul(&parameter(weight)?)?,
        None => rstd.clone(),
    };
    let bias = bias.map(parameter).transpose()?;
    let bias = bias.as_ref().map_or(0.0.into(), Into::into);
    let rows = channel_rows(&x.detach())?;
    let operands = [(&rows).into(), mean.into(), (&scale).into(), bias];
    let output = NORMALIZED.compute(mean.dtype(), x.dtype(), operands)?;
    // It is no view, which could not be written in place as a result can.
    Ok(output.reshape(x.layout().shape())?.detach())
}

/// `[batch, channels, ..]` as `[batch, channels, positions]`.
#[track_caller]
pub(super) fn channel_rows(x: &Tensor) -> Result<Tensor> {
    let positions: usize = x.shape()[2..].iter().product();
    x.reshape([x.shape()[0], x.shape()[1], positions])
}

/// Numbers of channels as `[1, channels, 1]`, in a dtype that halves are computed in.
#[track_caller]
pub(super) fn as_channels(numbers: &Tensor) -> Result<Tensor> {
    widened(numbers)?.reshape([1, numbers.numel(), 1])
}
