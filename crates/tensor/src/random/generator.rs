//! A generator of random numbers: a seed, and how many draws there were.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::philox::Philox;

/// The generator that the random numbers of one device come from; a handle, shared by all threads.
///
/// It is counter-based: the numbers of a draw follow from the seed and from how many draws there
/// were before, not from the device. The same calls after the same seed give the same numbers on the
/// CPU and on any CUDA device. Threads that draw at the same time share the sequence in whatever
/// order they come; a sequence of one's own is [`with_manual_seed`](crate::with_manual_seed)'s.
///
/// Where work is captured into a graph nothing is drawn, but at each launch of the graph, as if the
/// captured calls were made then: from the generator that was the device's when they were captured,
/// with its seed and state at the time of the launch.
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

impl Generator {
    pub(super) fn new(seed: u64) -> Generator {
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
        self.reserve(1)
    }

    /// The numbers of the first of the next `draws` draws, none of which anybody else gets.
    pub(super) fn reserve(&self, draws: u64) -> Philox {
        let mut state = self.lock();
        let philox = Philox { seed: state.seed, offset: state.draws };
        state.draws = state.draws.wrapping_add(draws);
        philox
    }

    /// Whether the two are handles of one generator.
    pub(super) fn is(&self, other: &Generator) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    fn lock(&self) -> MutexGuard<'_, GeneratorState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
