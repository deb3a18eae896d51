//! One draw of random numbers: which ones they are, and filling tensors with them.

use gpu_runtime::Capture;

use super::captured::{CapturedDraw, CapturedDraws};
use super::generator::Generator;
use super::seed::generator_at;
use crate::dispatch::abi::Random;
use crate::dispatch::{self, DropoutDraw, Operator, RandomOperands};
use crate::resolved_device::ResolvedDevice;
use crate::{Result, Tensor};

/// The parameters of a distribution; each distribution uses some of them.
#[derive(Clone, Copy, Default)]
pub(super) struct DistributionParameters {
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) low: i64,
    pub(super) high: i64,
}

/// One draw of a generator. Its numbers follow from its place among the draws, so they can be had
/// again, by whoever keeps this instead of the numbers.
#[derive(Clone)]
pub(crate) struct RandomDraw {
    seed: u64,
    offset: u64,
    /// For a draw that was captured into a graph: the seed, and a number that is added to the
    /// offset, which each launch of the graph sets.
    state: Option<Tensor>,
}

impl RandomDraw {
    /// The next draw of a device's generator.
    ///
    /// # Errors
    /// Work on the device is being captured, and memory for the state of the graph's draws is short.
    #[track_caller]
    pub(crate) fn next(device: ResolvedDevice) -> Result<RandomDraw> {
        let generator = generator_at(device);
        match captured_draw(&generator, device)? {
            Some(CapturedDraw { state, offset }) => {
                Ok(RandomDraw { seed: 0, offset, state: Some(state) })
            }
            None => {
                let philox = generator.draw();
                Ok(RandomDraw { seed: philox.seed, offset: philox.offset, state: None })
            }
        }
    }

    /// The draw for kernels of attention, of which shares stay with the probability `keep`.
    pub(crate) fn of_attention(&self, keep: f64) -> DropoutDraw<'_> {
        DropoutDraw { seed: self.seed, offset: self.offset, state: self.state.as_ref(), keep }
    }

    /// Fills a contiguous tensor with the draw's numbers, or with what dropout leaves of `input`.
    ///
    /// # Errors
    /// The operator has no such dtype; the runtime failed.
    #[track_caller]
    pub(super) fn fill(
        &self,
        operator: &'static Operator<Random>,
        target: &Tensor,
        with: DistributionParameters,
        input: Option<&Tensor>,
    ) -> Result<()> {
        let RandomDraw { seed, offset, ref state } = *self;
        let DistributionParameters { a, b, low, high } = with;
        let call = Random { out: 0, numel: 0, seed, offset, a, b, low, high, state: 0, input: 0 };
        let operands = RandomOperands { state: state.as_ref(), input };
        dispatch::random(operator, target, call, operands)
    }
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
