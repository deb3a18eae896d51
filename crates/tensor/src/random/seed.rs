//! The generators of all devices: the process's, and those of a scope with a seed of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::generator::Generator;
use crate::device::Place;
use crate::{Device, Result};

/// Seeds the generators of all devices, those that are not in use yet too: the process's, or inside
/// of [`with_manual_seed`] the scope's.
///
/// ```standalone_crate
/// use tensor::{Tensor, manual_seed};
/// manual_seed(7);
/// let first = Tensor::randn([3], ())?.to_vec::<f32>()?;
/// manual_seed(7);
/// assert_eq!(Tensor::randn([3], ())?.to_vec::<f32>()?, first);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn manual_seed(seed: u64) {
    with_generators(|generators| generators.manual_seed(seed));
}

/// Runs `f` with generators of its own, which begin from `seed`: what this thread draws in there
/// does not depend on other threads, and they do not notice. Threads that enter its
/// [`ExecutionContext`](crate::ExecutionContext) share them.
///
/// ```
/// use tensor::{Tensor, with_manual_seed};
/// let draw = || Tensor::rand([2], ())?.to_vec::<f32>();
/// assert_eq!(with_manual_seed(3, draw)?, with_manual_seed(3, draw)?);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn with_manual_seed<R>(seed: u64, f: impl FnOnce() -> R) -> R {
    let _scope = enter_manual_seed(seed);
    f()
}

/// [`with_manual_seed`] until the guard is dropped.
pub fn enter_manual_seed(seed: u64) -> SeedGuard {
    SeedScope(Some(Arc::new(Generators::new(seed)))).enter()
}

/// The generator of a device: the process's, or inside of [`with_manual_seed`] the scope's. Before
/// the first seed the process's has one that differs from run to run.
///
/// # Errors
/// There is no such device.
pub fn generator(device: Device) -> Result<Generator> {
    Ok(generator_at(Place::of(device)?))
}

pub(crate) fn generator_at(place: Place) -> Generator {
    with_generators(|generators| generators.at(place))
}

/// Restores the generators that this thread had when the guard was made. Guards that are dropped
/// out of order leave what the last one dropped had found.
#[must_use = "the seed holds only while the guard lives"]
#[derive(Debug)]
pub struct SeedGuard {
    found: SeedScope,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for SeedGuard {
    fn drop(&mut self) {
        let found = self.found.0.take();
        let _gone_at_thread_end = SCOPED.try_with(|scoped| scoped.replace(found));
    }
}

/// The generators of the scope that a thread is in, if it is in one.
#[derive(Clone, Debug)]
pub(crate) struct SeedScope(Option<Arc<Generators>>);

impl SeedScope {
    /// The scope that this thread is in now.
    pub(crate) fn capture() -> SeedScope {
        // At the end of the thread, while destructors run, it may be in none any more.
        SeedScope(SCOPED.try_with(|scoped| scoped.borrow().clone()).ok().flatten())
    }

    /// Puts this thread into the scope until the guard is dropped.
    pub(crate) fn enter(self) -> SeedGuard {
        let found = SCOPED.try_with(|scoped| scoped.replace(self.0)).ok().flatten();
        SeedGuard { found: SeedScope(found), _of_this_thread: PhantomData }
    }
}

thread_local! {
    static SCOPED: RefCell<Option<Arc<Generators>>> = const { RefCell::new(None) };
}

/// One generator for each device in use.
#[derive(Debug)]
struct Generators(Mutex<Seeded>);

#[derive(Debug)]
struct Seeded {
    /// For devices that come into use.
    seed: u64,
    in_use: HashMap<Place, Generator>,
}

impl Generators {
    fn new(seed: u64) -> Generators {
        Generators(Mutex::new(Seeded { seed, in_use: HashMap::new() }))
    }

    fn manual_seed(&self, seed: u64) {
        let mut seeded = self.lock();
        seeded.seed = seed;
        seeded.in_use.values().for_each(|generator| generator.manual_seed(seed));
    }

    fn at(&self, place: Place) -> Generator {
        let mut seeded = self.lock();
        let seed = seeded.seed;
        seeded.in_use.entry(place).or_insert_with(|| Generator::new(seed)).clone()
    }

    fn lock(&self) -> MutexGuard<'_, Seeded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `f` with the scope's generators, or the process's.
fn with_generators<R>(f: impl FnOnce(&Generators) -> R) -> R {
    static PROCESS: OnceLock<Generators> = OnceLock::new();
    match SeedScope::capture().0 {
        Some(scoped) => f(&scoped),
        // The standard library's hasher is keyed by the system's source of randomness.
        None => f(PROCESS.get_or_init(|| Generators::new(RandomState::new().hash_one("seed")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_generators_of_its_own_and_gives_them_back() {
        let outside = generator_at(Place::Cpu);
        with_manual_seed(5, || {
            let inside = generator_at(Place::Cpu);
            assert_eq!((inside.initial_seed(), inside.state().draws), (5, 0));
            inside.draw();
            with_manual_seed(6, || assert_eq!(generator_at(Place::Cpu).initial_seed(), 6));
            assert_eq!(generator_at(Place::Cpu).state().draws, 1);
            manual_seed(7);
            assert_eq!(generator_at(Place::Cpu).initial_seed(), 7);
        });
        assert_eq!(generator_at(Place::Cpu).initial_seed(), outside.initial_seed());
    }

    #[test]
    fn a_thread_that_enters_the_scope_shares_its_generators() {
        with_manual_seed(5, || {
            let scope = SeedScope::capture();
            let child = std::thread::spawn(move || {
                let _in = scope.enter();
                generator_at(Place::Cpu).draw()
            });
            assert_eq!(child.join().expect("no panic").seed, 5);
            assert_eq!(generator_at(Place::Cpu).state().draws, 1);
        });
    }
}
