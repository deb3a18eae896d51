//! Generators of random numbers: a seed, and the number of draws so far.

use std::sync::Arc;

use parking_lot::Mutex;

use cpu_kernels::random::Philox;

/// A generator of random numbers for one device (`torch.Generator`). It is a handle; clones are the
/// same generator, and threads share it.
///
/// It is counter-based (Philox): the numbers of a draw follow from the seed and from the number of
/// draws before it, and not from the device. So the same calls after the same seed give the same
/// numbers on the CPU and on any CUDA device. Threads that draw from one generator at the same time
/// get its draws in an order that varies; [`with_manual_seed`](crate::with_manual_seed) gives a
/// thread a generator of its own.
///
/// While work is captured into a graph nothing is drawn. Each launch of the graph draws instead, as
/// if the captured calls were made then: from the generator that was the device's at the capture,
/// in its state at the launch.
///
/// ```
/// use tensor::{Device, Tensor, generator, with_manual_seed};
///
/// with_manual_seed(3, || {
///     let generator = generator(Device::Cpu)?;
///     let state = generator.state();
///     let first = Tensor::rand([2], ())?.to_vec::<f32>()?;
///     generator.set_state(state);
///     assert_eq!(Tensor::rand([2], ())?.to_vec::<f32>()?, first);
///     Ok::<(), tensor::Error>(())
/// })?;
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    state: Arc<Mutex<GeneratorState>>,
}

/// The state of a generator, by which it can be put back later (`get_rng_state`, `set_rng_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorState {
    /// The seed that it began from.
    pub seed: u64,
    /// The number of draws since then.
    pub draws: u64,
}

impl Generator {
    pub(super) fn new(seed: u64) -> Generator {
        Generator { state: Arc::new(Mutex::new(GeneratorState { seed, draws: 0 })) }
    }

    /// Begins anew from a seed. The generators of other devices are not affected.
    ///
    /// ```
    /// use tensor::Device;
    /// let generator = tensor::generator(Device::Cpu)?;
    /// generator.manual_seed(7);
    /// assert_eq!(generator.initial_seed(), 7);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn manual_seed(&self, seed: u64) {
        self.set_state(GeneratorState { seed, draws: 0 });
    }

    /// The seed that it began from.
    pub fn initial_seed(&self) -> u64 {
        self.state().seed
    }

    /// Its present state.
    ///
    /// ```
    /// use tensor::{Device, Tensor};
    /// let generator = tensor::generator(Device::Cpu)?;
    /// let state = generator.state();
    /// let first = Tensor::rand([3], ())?;
    /// generator.set_state(state);
    /// assert!(Tensor::rand([3], ())?.equal(&first)?, "the same numbers again");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn state(&self) -> GeneratorState {
        *self.state.lock()
    }

    /// Goes back (or forward) to a state.
    pub fn set_state(&self, state: GeneratorState) {
        *self.state.lock() = state;
    }

    /// Makes one draw.
    pub(crate) fn draw(&self) -> Philox {
        self.reserve(1)
    }

    /// Makes `draws` draws at once, and gives the first one; the others have the offsets after it.
    pub(super) fn reserve(&self, draws: u64) -> Philox {
        let mut state = self.state.lock();
        let philox = Philox { seed: state.seed, offset: state.draws };
        state.draws = state.draws.wrapping_add(draws);
        philox
    }

    /// Whether the two are handles of one generator.
    pub(super) fn is(&self, other: &Generator) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_draw_has_numbers_of_its_own() {
        let generator = Generator::new(3);
        let (first, second) = (generator.draw(), generator.draw());
        assert_ne!(first.words(0), second.words(0));
        assert_ne!(first.words(0), first.words(1));
    }

    #[test]
    fn a_state_put_back_repeats_the_draws() {
        let generator = Generator::new(3);
        generator.draw();
        let state = generator.state();
        let drawn = generator.draw();
        generator.set_state(state);
        assert_eq!(generator.draw(), drawn);
    }
}
