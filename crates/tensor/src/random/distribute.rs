//! Draws from the generator of a tensor's device into its memory.

use gpu_runtime::Capture;

use super::captured::{CapturedDraw, CapturedDraws};
use super::generator::Generator;
use super::seed::generator_at;
use crate::dispatch::abi::Random;
use crate::dispatch::{self, Operation};
use crate::host::random as kernels;
use crate::philox::distribution::integer;
use crate::placement::Place;
use crate::reserve::try_with_capacity;
use crate::{DType, Error, Result, Tensor};

static UNIFORM: Operation<Random> = Operation::new("uniform", kernels::uniform);
static NORMAL: Operation<Random> = Operation::new("normal", kernels::normal);
static RANDOM: Operation<Random> = Operation::new("random", kernels::random);
static BERNOULLI: Operation<Random> = Operation::new("bernoulli", kernels::bernoulli);

/// The parameters of a distribution; which of them count depends on it.
#[derive(Clone, Copy, Default)]
struct Parameters {
    a: f64,
    b: f64,
    low: i64,
    high: i64,
}

/// Floats in [low, high).
#[track_caller]
pub(crate) fn uniform(target: &Tensor, low: f64, high: f64) -> Result<()> {
    draw(&UNIFORM, target, Parameters { a: low, b: high, ..Parameters::default() })
}

/// Floats of the given mean and standard deviation.
#[track_caller]
pub(crate) fn normal(target: &Tensor, mean: f64, deviation: f64) -> Result<()> {
    draw(&NORMAL, target, Parameters { a: mean, b: deviation, ..Parameters::default() })
}

/// Whole numbers in [low, high); see [`check_integers`].
#[track_caller]
pub(crate) fn integers(target: &Tensor, low: i64, high: i64) -> Result<()> {
    draw(&RANDOM, target, Parameters { low, high, ..Parameters::default() })
}

/// One with the given probability, else zero.
#[track_caller]
pub(crate) fn bernoulli(target: &Tensor, probability: f64) -> Result<()> {
    draw(&BERNOULLI, target, Parameters { a: probability, ..Parameters::default() })
}

/// # Errors
/// There is no number in [low, high), or not every one can be represented.
pub(crate) fn check_integers(op: &'static str, low: i64, high: i64, dtype: DType) -> Result<()> {
    let refuse =
        |why| Err(Error::InvalidArgument { op, argument: "high", value: high.to_string(), why });
    if low >= high {
        return refuse("it must be above `low`");
    }
    // The floats' bounds are those up to which every whole number has a value of its own.
    let (least, most) = match dtype {
        DType::F16 => (-(1 << 11), 1 << 11),
        DType::F32 => (-(1 << 24), 1 << 24),
        DType::F64 => (-(1 << 53), 1 << 53),
        DType::I64 => (i64::MIN, i64::MAX),
        DType::U8 => (0, 255),
        DType::Bool => (0, 1),
    };
    if low < least || high - 1 > most {
        return refuse("not every number of the range can be represented in the dtype");
    }
    Ok(())
}

/// The numbers from 0 to `n - 1` in random order (Fisher and Yates).
///
/// # Errors
/// The host has no memory for them.
pub(crate) fn permutation(place: Place, n: usize) -> Result<Vec<i64>> {
    let mut order = try_with_capacity(n)?;
    order.extend(0..n as i64);
    let philox = generator_at(place).draw();
    for last in (1..n).rev() {
        let chosen = integer(philox.words(last as u64), 0, last as i64 + 1);
        order.swap(last, chosen as usize);
    }
    Ok(order)
}

#[track_caller]
fn draw(operation: &'static Operation<Random>, target: &Tensor, with: Parameters) -> Result<()> {
    if target.is_contiguous() {
        return draw_dense(operation, target, with);
    }
    let dense = Tensor::uninit(target.layout().shape().clone(), target.dtype(), target.place())?;
    draw_dense(operation, &dense, with)?;
    target.copy_(&dense)?;
    Ok(())
}

#[track_caller]
fn draw_dense(
    operation: &'static Operation<Random>,
    target: &Tensor,
    with: Parameters,
) -> Result<()> {
    let generator = generator_at(target.place());
    let captured = captured_draw(&generator, target.place())?;
    let (seed, offset) = match &captured {
        Some(draw) => (0, draw.offset),
        None => {
            let philox = generator.draw();
            (philox.seed, philox.offset)
        }
    };
    let Parameters { a, b, low, high } = with;
    let call = Random { out: 0, numel: 0, seed, offset, a, b, low, high, state: 0 };
    dispatch::random(operation, target, call, captured.as_ref().map(|draw| &draw.state))
}

/// What is drawn at the launches of a graph, if the work is being captured.
#[track_caller]
fn captured_draw(generator: &Generator, place: Place) -> Result<Option<CapturedDraw>> {
    let Place::Cuda(device) = place else { return Ok(None) };
    match Capture::of(&*device.current_stream_ref()?)? {
        Some(capture) => CapturedDraws::of(&capture).draw(generator, device).map(Some),
        None => Ok(None),
    }
}
