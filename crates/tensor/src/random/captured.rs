//! Random numbers in graphs: each launch draws from where the generator stands then.
//!
//! What a kernel needs to know of the generator is read from memory of the device. Each launch reserves
//! as many draws as were captured and writes there, before it, the seed and the first of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gpu_runtime::{Capture, Device, Order, Stream, outside_of_captures, with_order};

use super::generator::Generator;
use crate::capture::attached;
use crate::placement::Place;
use crate::{DType, Error, Result, Tensor};

/// A draw whose numbers are known when the graph is launched.
pub(super) struct CapturedDraw {
    /// The seed, and the offset that is counted from, as two `I64` on the device.
    pub(super) state: Tensor,
    /// Which of the graph's draws it is.
    pub(super) offset: u64,
}

/// What the graph of one capture draws: kept by the graph.
#[derive(Default)]
pub(super) struct CapturedDraws(Mutex<Vec<Source>>);

/// The draws from one generator on one device.
struct Source {
    generator: Generator,
    state: Tensor,
    /// A stream of the device, for launches that come from another one.
    own: Stream,
    /// How many draws were captured.
    draws: u64,
    /// The seed that the memory holds.
    seed: Option<u64>,
}

impl CapturedDraws {
    /// Those of a capture.
    pub(super) fn of(capture: &Capture) -> Arc<CapturedDraws> {
        attached(capture, |draws: Arc<CapturedDraws>| {
            capture.before_each_launch(move |stream| draws.reserve(stream).map_err(own));
        })
    }

    /// The next draw from a generator.
    ///
    /// # Errors
    /// The device has no memory or no stream left.
    #[track_caller]
    pub(super) fn draw(&self, generator: &Generator, device: Device) -> Result<CapturedDraw> {
        let mut sources = self.lock();
        let known = sources.iter().position(|source| {
            source.generator.is(generator) && source.state.place() == Place::Cuda(device)
        });
        let index = match known {
            Some(index) => index,
            None => {
                sources.push(Source::new(generator.clone(), device)?);
                sources.len() - 1
            }
        };
        let source = &mut sources[index];
        source.draws += 1;
        Ok(CapturedDraw { state: source.state.clone(), offset: source.draws - 1 })
    }

    /// Reserves what a launch on `stream` draws, and writes down where it begins.
    fn reserve(&self, stream: &Stream) -> Result<()> {
        // The thread may be about to capture something else, and keep order by itself.
        outside_of_captures(|| {
            with_order(Order::Automatic, || {
                self.lock().iter_mut().try_for_each(|source| source.reserve(stream))
            })
        })
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Source>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source {
    #[track_caller]
    fn new(generator: Generator, device: Device) -> Result<Source> {
        // Memory of the capture itself would hold nothing before the launch, which is too late.
        outside_of_captures(|| {
            let own = Stream::new(device)?;
            let _on = own.enter()?;
            let state = Tensor::uninit([2].into(), DType::I64, Place::Cuda(device))?;
            Ok(Source { generator, state, own, draws: 0, seed: None })
        })
    }

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

/// An error as the runtime takes it: its own as such.
fn own(error: Error) -> Box<dyn std::error::Error + Send + Sync> {
    match error {
        Error::Runtime(error) => error.into(),
        error => error.into(),
    }
}
