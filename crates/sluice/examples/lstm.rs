//! An LSTM that learns to foretell a signal. The signal is long, so it is read in chunks: the state
//! behind one chunk is the state before the next, but no gradient flows back from there (truncated
//! backpropagation through time). In the end the network goes on by itself, from what it has foretold.
//!
//! ```sh
//! cargo run --release --example lstm
//! cargo run --release --example lstm -- --device cpu --epochs 3
//! GPU_DRIVER=software:1 cargo run --release --example lstm -- --device cuda --epochs 3
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use clap::Parser;
use sluice::nn::{LSTM, Linear};
use sluice::prelude::*;

/// The signals that are read at a time.
const STREAMS: usize = 16;
/// The steps of a signal, and those of a chunk: less than one of its waves.
const STEPS: usize = 240;
const CHUNK: usize = 12;

/// Learns to foretell a signal.
#[derive(Parser)]
struct LstmArgs {
    /// The device to compute on: cpu, cuda or cuda:N; a GPU, where there is one, if it is not given.
    #[arg(long)]
    device: Option<Device>,
    /// The number of times that the signals are read.
    #[arg(long, default_value_t = 30)]
    epochs: usize,
}

/// The hidden state and the cell state.
type CarriedState = (Tensor, Tensor);

/// Foretells the next element of a sequence: the last one, and a change that an LSTM gives.
#[derive(Module)]
struct Forecaster {
    memory: LSTM,
    change: Linear,
}

impl Forecaster {
    fn new() -> Result<Forecaster> {
        let memory = LSTM::builder(1, 32).batch_first().build()?;
        Ok(Forecaster { memory, change: Linear::new(32, 1)? })
    }

    /// The state before the first chunk.
    fn initial_state(&self, device: Device) -> Result<CarriedState> {
        let zeros = Tensor::zeros([1, STREAMS, 32], device)?;
        Ok((zeros.clone(), zeros))
    }
}

/// A chunk `[batch, steps, 1]`, and the state that the one before has left.
impl Forward<(Tensor, CarriedState)> for Forecaster {
    type Output = (Tensor, CarriedState);

    fn forward(&self, input: &(Tensor, CarriedState)) -> Result<(Tensor, CarriedState)> {
        let (output, state) = self.memory.forward(input)?;
        Ok(((&input.0 + self.change.forward(&output)?)?, state))
    }
}

/// Waves, each with another beginning, that grow and shrink slowly: `[STREAMS, steps, 1]`.
fn signals(steps: usize, device: Device) -> Result<Tensor> {
    let begin = (100.0 * Tensor::rand([STREAMS, 1, 1], ())?)?;
    let time = (Tensor::arange(steps, DType::F32)?.view((1, steps, 1))? + begin)?;
    let size = (1.0 + (0.5 * (0.11 * &time)?.sin()?)?)?;
    ((0.4 * &time)?.sin()? * size)?.to(device)
}

/// Reads the signals once, chunk by chunk, and learns from each. Gives the mean of the losses.
fn read(model: &Forecaster, optimizer: &mut optim::Adam, signals: &Tensor) -> Result<f32> {
    let mut state = model.initial_state(signals.device())?;
    let mut losses = Vec::new();
    for start in (0..STEPS).step_by(CHUNK) {
        let input = signals.narrow(1, start, CHUNK)?;
        let next = signals.narrow(1, start + 1, CHUNK)?;
        let (forecast, (hidden, cell)) = model.forward(&(input, state))?;
        let loss = forecast.mse_loss(&next)?;
        optimizer.zero_grad();
        loss.backward()?;
        nn::utils::clip_grad_norm_(model.parameters(), 1.0, ())?;
        optimizer.step()?;
        // The next chunk begins with these numbers, but its gradient ends here.
        state = (hidden.detach(), cell.detach());
        losses.push(loss.detach());
    }
    Tensor::stack(&losses, 0)?.mean(())?.item()
}

/// The root of the mean squared error of forecasts of the next step, with the state carried on from
/// chunk to chunk, or with each chunk beginning anew.
fn error(model: &Forecaster, signals: &Tensor, is_carried: bool) -> Result<f32> {
    let mut state = model.initial_state(signals.device())?;
    let mut forecasts = Vec::new();
    for start in (0..STEPS).step_by(CHUNK) {
        let (forecast, behind) = model.forward(&(signals.narrow(1, start, CHUNK)?, state))?;
        forecasts.push(forecast);
        state = if is_carried { behind } else { model.initial_state(signals.device())? };
    }
    let forecasts = Tensor::cat(&forecasts, 1)?;
    forecasts.mse_loss(&signals.narrow(1, 1, STEPS)?)?.sqrt()?.item()
}

/// The signals' next steps, each foretold from the one before.
fn continued(model: &Forecaster, signals: &Tensor, steps: usize) -> Result<Tensor> {
    let before = (signals.clone(), model.initial_state(signals.device())?);
    let (forecast, mut state) = model.forward(&before)?;
    let mut written = vec![forecast.i((.., -1.., ..))?];
    while written.len() < steps {
        let last = written[written.len() - 1].clone();
        let (forecast, behind) = model.forward(&(last, state))?;
        written.push(forecast);
        state = behind;
    }
    Tensor::cat(&written, 1)
}

fn main() -> Result<()> {
    let args = LstmArgs::parse();
    let available = || if cuda::is_available() { Device::cuda() } else { Device::Cpu };
    let device = args.device.unwrap_or_else(available);
    sluice::manual_seed(0);
    let mut model = Forecaster::new()?;
    model.to(device)?;
    let mut optimizer = optim::Adam::new(model.parameters(), 5e-3).build()?;
    for epoch in 1..=args.epochs {
        let loss = read(&model, &mut optimizer, &signals(STEPS + 1, device)?)?;
        println!("epoch {epoch:2}: loss {loss:.5}");
    }

    let unseen = signals(STEPS + 1, device)?;
    let (carried, anew) = no_grad(|| {
        Ok::<_, sluice::Error>((error(&model, &unseen, true)?, error(&model, &unseen, false)?))
    })?;
    println!("one step ahead: off by {carried:.3}, by {anew:.3} if each chunk begins anew");

    let ahead = 16;
    let signal = signals(STEPS + ahead, device)?;
    let forecast = no_grad(|| continued(&model, &signal.narrow(1, 0, STEPS)?, ahead))?;
    let truth = signal.narrow(1, STEPS, ahead)?;
    let off = forecast.mse_loss(&truth)?.sqrt()?.item::<f32>()?;
    println!("{ahead} steps ahead, by itself: off by {off:.3}");
    for (forecast, truth) in forecast
        .i((0, .., 0))?
        .to_vec::<f32>()?
        .into_iter()
        .zip(truth.i((0, .., 0))?.to_vec::<f32>()?)
    {
        println!("{forecast:6.2} where {truth:6.2} comes");
    }
    Ok(())
}
