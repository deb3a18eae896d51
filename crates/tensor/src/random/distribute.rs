//! Fills tensors with random numbers from the generator of their device.

use cpu_kernels::random::integer;

use super::draw::{DistributionParameters, RandomDraw};
use super::seed::generator_at;
use crate::dispatch::abi::Random;
use crate::dispatch::{Operator, working_dtype};
use crate::host::random as kernels;
use crate::reserve::try_with_capacity;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Tensor};

static UNIFORM: Operator<Random> = Operator::new("uniform", kernels::UNIFORM);
static NORMAL: Operator<Random> = Operator::new("normal", kernels::NORMAL);
static EXPONENTIAL: Operator<Random> = Operator::new("exponential", kernels::EXPONENTIAL);
static RANDOM: Operator<Random> = Operator::new("random", kernels::RANDOM);
static BERNOULLI: Operator<Random> = Operator::new("bernoulli", kernels::BERNOULLI);

/// Fills the target with floats in [low, high).
#[track_caller]
pub(crate) fn uniform(target: &Tensor, low: f64, high: f64) -> Result<()> {
    fill(
        &UNIFORM,
        target,
        DistributionParameters { a: low, b: high, ..DistributionParameters::default() },
    )
}

/// Fills the target with normally distributed floats.
#[track_caller]
pub(crate) fn normal(target: &Tensor, mean: f64, deviation: f64) -> Result<()> {
    fill(
        &NORMAL,
        target,
        DistributionParameters { a: mean, b: deviation, ..DistributionParameters::default() },
    )
}

/// Fills the target with exponentially distributed floats.
#[track_caller]
pub(crate) fn exponential(target: &Tensor, rate: f64) -> Result<()> {
    fill(
        &EXPONENTIAL,
        target,
        DistributionParameters { a: rate, ..DistributionParameters::default() },
    )
}

/// Fills the target with whole numbers in [low, high), which [`check_integers`] has accepted.
#[track_caller]
pub(crate) fn integers(target: &Tensor, low: i64, high: i64) -> Result<()> {
    fill(&RANDOM, target, DistributionParameters { low, high, ..DistributionParameters::default() })
}

/// Fills the target with ones, each with the given probability, and zeros.
#[track_caller]
pub(crate) fn bernoulli(target: &Tensor, probability: f64) -> Result<()> {
    fill(
        &BERNOULLI,
        target,
        DistributionParameters { a: probability, ..DistributionParameters::default() },
    )
}

/// Checks the range of whole numbers for a dtype.
///
/// # Errors
/// There is no number in [low, high), or not each of them can be represented.
pub(crate) fn check_integers(op: &'static str, low: i64, high: i64, dtype: DType) -> Result<()> {
    let refuse =
        |why| Err(Error::InvalidArgument { op, argument: "high", value: high.to_string(), why });
    if low >= high {
        return refuse("it must be above `low`");
    }
    // Up to these bounds each whole number is a value of the floating-point dtype.
    let (least, most) = match dtype {
        DType::F16 => (-(1 << 11), 1 << 11),
        DType::BF16 => (-(1 << 8), 1 << 8),
        DType::F32 => (-(1 << 24), 1 << 24),
        DType::F64 => (-(1 << 53), 1 << 53),
        DType::I64 => (i64::MIN, i64::MAX),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::U8 => (0, 255),
        DType::Bool => (0, 1),
    };
    if low < least || high - 1 > most {
        return refuse("not every number of the range can be represented in the dtype");
    }
    Ok(())
}

/// The numbers from 0 to `n - 1` in random order: Fisher and Yates' shuffle, as Durstenfeld has it
/// (CACM 7, 1964).
///
/// # Errors
/// The host has no memory for them.
pub(crate) fn permutation(device: ResolvedDevice, n: usize) -> Result<Vec<i64>> {
    let mut order = try_with_capacity(n)?;
    order.extend(0..n as i64);
    let philox = generator_at(device).draw();
    for last in (1..n).rev() {
        let chosen = integer(philox.bits(last as u64), 0, last as i64 + 1);
        order.swap(last, chosen as usize);
    }
    Ok(order)
}

#[track_caller]
fn fill(
    operator: &'static Operator<Random>,
    target: &Tensor,
    with: DistributionParameters,
) -> Result<()> {
    let dtype = working_dtype(target, target.dtype());
    operator.check_dtype(target.dtype(), target.resolved_device())?;
    if target.is_contiguous() && dtype == target.dtype() {
        return RandomDraw::next(target.resolved_device())?.fill(operator, target, with, None);
    }
    let dense = Tensor::uninit(target.layout().shape().clone(), dtype, target.resolved_device())?;
    RandomDraw::next(target.resolved_device())?.fill(operator, &dense, with, None)?;
    target.copy_(&dense)?;
    if dtype != target.dtype() && operator.name() == UNIFORM.name() {
        // A value that is rounded to the upper bound becomes the lower one.
        let below = target.lt(with.b)?;
        target.copy_(&Tensor::where_cond(&below, target, with.a)?)?;
    }
    Ok(())
}
