//! Generators of random numbers: one per device, all from one seed.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::philox::Philox;
use crate::device::Place;
use crate::{Device, Result};

/// The generator that the random numbers of one device come from; a handle, shared by all threads.
///
/// It is counter-based: the numbers of a draw follow from the seed and from how many draws there
/// were before, not from the device. The same calls after the same seed give the same numbers on the
/// CPU and on any CUDA device. Threads that draw at the same time share the sequence in whatever
/// order they come.
#[derive(Clone, Debug)]
pub struct Generator {
    state: Arc<Mutex<GeneratorState>>,
}

/// Where a generator stands, to be put back later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeneratorState {
    /// The seed.
    pub seed: u64,
    /// How many draws there were since.
    pub draws: u64,
}

/// Seeds the generators of all devices, those that are not in use yet too.
///
/// ```
/// use tensor::{Tensor, manual_seed};
/// manual_seed(7);
/// let first = Tensor::randn([3], ())?.to_vec::<f32>()?;
/// manual_seed(7);
/// assert_eq!(Tensor::randn([3], ())?.to_vec::<f32>()?, first);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn manual_seed(seed: u64) {
    let mut defaults = defaults();
    defaults.seed = seed;
    for generator in defaults.generators.values() {
        generator.manual_seed(seed);
    }
}

/// The generator of a device. Before the first seed it has one that differs from run to run.
///
/// # Errors
/// There is no such device.
pub fn generator(device: Device) -> Result<Generator> {
    Ok(generator_at(Place::of(device)?))
}

pub(crate) fn generator_at(place: Place) -> Generator {
    let mut defaults = defaults();
    let seed = defaults.seed;
    defaults.generators.entry(place).or_insert_with(|| Generator::new(seed)).clone()
}

impl Generator {
    fn new(seed: u64) -> Generator {
        Generator { state: Arc::new(Mutex::new(GeneratorState { seed, draws: 0 })) }
    }

    /// Begins anew from a seed, on this device alone.
    pub fn manual_seed(&self, seed: u64) {
        self.set_state(GeneratorState { seed, draws: 0 });
    }

    /// The seed it began from.
    pub fn initial_seed(&self) -> u64 {
        self.state().seed
    }

    /// Where it stands.
    pub fn state(&self) -> GeneratorState {
        *self.lock()
    }

    /// Goes to where it stood.
    pub fn set_state(&self, state: GeneratorState) {
        *self.lock() = state;
    }

    /// The numbers of the next draw.
    pub(crate) fn draw(&self) -> Philox {
        let mut state = self.lock();
        let philox = Philox { seed: state.seed, offset: state.draws };
        state.draws = state.draws.wrapping_add(1);
        philox
    }

    fn lock(&self) -> MutexGuard<'_, GeneratorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The seed for devices that come into use, and the generators of those that are.
struct Defaults {
    seed: u64,
    generators: HashMap<Place, Generator>,
}

fn defaults() -> MutexGuard<'static, Defaults> {
    static DEFAULTS: OnceLock<Mutex<Defaults>> = OnceLock::new();
    DEFAULTS
        .get_or_init(|| {
            // The standard library's hasher is keyed by the system's source of randomness.
            let seed = RandomState::new().hash_one("seed");
            Mutex::new(Defaults { seed, generators: HashMap::new() })
        })
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
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
