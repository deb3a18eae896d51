//! Fills tensors with random numbers from the generator of their device.

use cpu_kernels::random::integer;
use gpu_runtime::Capture;

use super::captured::{CapturedDraw, CapturedDraws};
use super::generator::Generator;
use super::seed::generator_at;
use crate::dispatch::abi::Random;
use crate::dispatch::{self, Operator, working_dtype};
use crate::host::random as kernels;
use crate::reserve::try_with_capacity;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Tensor};

static UNIFORM: Operator<Random> = Operator::new("uniform", kernels::UNIFORM);
static NORMAL: Operator<Random> = Operator::new("normal", kernels::NORMAL);
static RANDOM: Operator<Random> = Operator::new("random", kernels::RANDOM);
static BERNOULLI: Operator<Random> = Operator::new("bernoulli", kernels::BERNOULLI);

/// The parameters of a distribution; each distribution uses some of them.
#[derive(Clone, Copy, Default)]
struct DistributionParameters {
    a: f64,
    b: f64,
    low: i64,
    high: i64,
}

/// Fills the target with floats in [low, high).
#[track_caller]
pub(crate) fn uniform(target: &Tensor, low: f64, high: f64) -> Result<()> {
    draw(
        &UNIFORM,
        target,
        DistributionParameters { a: low, b: high, ..DistributionParameters::default() },
    )
}

/// Fills the target with normally distributed floats.
#[track_caller]
pub(crate) fn normal(target: &Tensor, mean: f64, deviation: f64) -> Result<()> {
    draw(
        &NORMAL,
        target,
        DistributionParameters { a: mean, b: deviation, ..DistributionParameters::default() },
    )
}

/// Fills the target with whole numbers in [low, high), which [`check_integers`] has accepted.
#[track_caller]
pub(crate) fn integers(target: &Tensor, low: i64, high: i64) -> Result<()> {
    draw(&RANDOM, target, DistributionParameters { low, high, ..DistributionParameters::default() })
}

/// Fills the target with ones, each with the given probability, and zeros.
#[track_caller]
pub(crate) fn bernoulli(target: &Tensor, probability: f64) -> Result<()> {
    draw(
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
        let chosen = integer(philox.words(last as u64), 0, last as i64 + 1);
        order.swap(last, chosen as usize);
    }
    Ok(order)
}

#[track_caller]
fn draw(
    operator: &'static Operator<Random>,
    target: &Tensor,
    with: DistributionParameters,
) -> Result<()> {
    let dtype = working_dtype(target, target.dtype());
    operator.check_dtype(target.dtype(), target.resolved_device())?;
    if target.is_contiguous() && dtype == target.dtype() {
        return draw_dense(operator, target, with);
    }
    let dense = Tensor::uninit(target.layout().shape().clone(), dtype, target.resolved_device())?;
    draw_dense(operator, &dense, with)?;
    target.copy_(&dense)?;
    if dtype != target.dtype() && operator.name() == UNIFORM.name() {
        // A value that is rounded to the upper bound becomes the lower one.
        let below = target.lt(with.b)?;
        target.copy_(&Tensor::where_(&below, target, with.a)?)?;
    }
    Ok(())
}

#[track_caller]
fn draw_dense(
    operator: &'static Operator<Random>,
    target: &Tensor,
    with: DistributionParameters,
) -> Result<()> {
    let generator = generator_at(target.resolved_device());
    let captured = captured_draw(&generator, target.resolved_device())?;
    let (seed, offset) = match &captured {
        Some(draw) => (0, draw.offset),
        None => {
            let philox = generator.draw();
            (philox.seed, philox.offset)
        }
    };
    let DistributionParameters { a, b, low, high } = with;
    let call = Random { out: 0, numel: 0, seed, offset, a, b, low, high, state: 0 };
    dispatch::random(operator, target, call, captured.as_ref().map(|draw| &draw.state))
}

/// A draw of the graph that work on the device is being captured into; `None` if it is not.
#[track_caller]
fn captured_draw(generator: &Generator, device: ResolvedDevice) -> Result<Option<CapturedDraw>> {
    let ResolvedDevice::Cuda(device) = device else { return Ok(None) };
    match Capture::of(&*device.current_stream_ref()?)? {
        Some(capture) => CapturedDraws::of(&capture).draw(generator, device).map(Some),
        None => Ok(None),
    }
}
