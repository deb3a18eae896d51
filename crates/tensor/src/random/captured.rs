//! Random numbers in graphs: each launch draws other numbers, from the generator's state at that
//! time.
//!
//! As in PyTorch (`philox_cuda_state`), a captured kernel reads the seed and the offset from memory
//! of the device. Before each launch as many draws as were captured are reserved, and the seed and
//! the offset of the first one are written there.

use std::sync::Arc;

use gpu_runtime::{Capture, Device, Order, Stream, outside_of_captures, with_order};
use parking_lot::Mutex;

use super::generator::Generator;
use crate::capture::attached;
use crate::resolved_device::ResolvedDevice;
use crate::{DType, Error, Result, Tensor};

/// A draw that was captured; its numbers are determined when the graph is launched.
pub(super) struct CapturedDraw {
    /// The seed and the offset of the graph's first draw, as two `I64` on the device.
    pub(super) state: Tensor,
    /// The number of this draw among the graph's draws, which is added to the offset.
    pub(super) offset: u64,
}

/// The draws of the graph of one capture, which the graph keeps.
#[derive(Default)]
pub(super) struct CapturedDraws(Mutex<Vec<CapturedGenerator>>);

/// The draws from one generator on one device.
struct CapturedGenerator {
    generator: Generator,
    state: Tensor,
    /// A stream of the device, for launches on a stream of another device.
    own: Stream,
    /// The number of draws that were captured.
    draws: u64,
    /// The seed that `state` holds.
    seed: Option<u64>,
}

impl CapturedDraws {
    /// The draws of a capture, which are attached to it at the first call.
    pub(super) fn of(capture: &Capture) -> Arc<CapturedDraws> {
        attached(capture, |draws: Arc<CapturedDraws>| {
            capture.before_each_launch(move |stream| draws.reserve(stream).map_err(own));
        })
    }

    /// Adds a draw from a generator to the graph.
    ///
    /// # Errors
    /// The device has no memory or no stream left.
    #[track_caller]
    pub(super) fn draw(&self, generator: &Generator, device: Device) -> Result<CapturedDraw> {
        let mut sources = self.0.lock();
        let known = sources.iter().position(|source| {
            source.generator.is(generator)
                && source.state.resolved_device() == ResolvedDevice::Cuda(device)
        });
        let index = match known {
            Some(index) => index,
            None => {
                sources.push(CapturedGenerator::new(generator.clone(), device)?);
                sources.len() - 1
            }
        };
        let source = &mut sources[index];
        source.draws += 1;
        Ok(CapturedDraw { state: source.state.clone(), offset: source.draws - 1 })
    }

    /// Reserves the draws of a launch on `stream`, and writes the seed and the first offset to the
    /// device.
    fn reserve(&self, stream: &Stream) -> Result<()> {
        // The thread that launches may be capturing another graph, and may have switched the order
        // between streams off; neither concerns these writes.
        outside_of_captures(|| {
            with_order(Order::Automatic, || {
                self.0.lock().iter_mut().try_for_each(|source| source.reserve(stream))
            })
        })
    }
}

impl CapturedGenerator {
    #[track_caller]
    fn new(generator: Generator, device: Device) -> Result<CapturedGenerator> {
        // Not memory of the capture itself, which holds nothing before the first launch.
        outside_of_captures(|| {
            let own = Stream::new(device)?;
            let _on = own.enter()?;
            let state = Tensor::uninit([2].into(), DType::I64, ResolvedDevice::Cuda(device))?;
            Ok(CapturedGenerator { generator, state, own, draws: 0, seed: None })
        })
    }

    /// Reserves the generator's draws for a launch on `stream`.
    fn reserve(&mut self, stream: &Stream) -> Result<()> {
        let first = self.generator.reserve(self.draws);
        let is_here = stream.device() == self.own.device();
        let on = if is_here { stream } else { &self.own };
        {
            let _on = on.enter()?;
            if self.seed != Some(first.seed) {
                self.state.narrow(0, 0, 1)?.fill_(first.seed as i64)?;
                self.seed = Some(first.seed);
            }
            self.state.narrow(0, 1, 1)?.fill_(first.offset as i64)?;
        }
        // Under manual order a launch waits for nothing by itself.
        if is_here { Ok(()) } else { Ok(stream.wait_stream(on)?) }
    }
}

/// An error as the runtime takes it from a hook: its own errors unwrapped.
fn own(error: Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error {
        Error::Runtime(error) => error.into(),
        error => error.into(),
    }
}
