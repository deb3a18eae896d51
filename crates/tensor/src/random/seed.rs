//! The generators of all devices: those of the process, and those of scopes with a seed of their
//! own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use super::generator::Generator;
use crate::resolved_device::ResolvedDevice;
use crate::{Device, Result};

/// Seeds the generators of all devices (`torch.manual_seed`), also of those that are not in use
/// yet. Inside of [`with_manual_seed`] it seeds the generators of that scope, elsewhere those of
/// the process.
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
    SeedScope::capture().generators(|generators| generators.manual_seed(seed));
}

/// Runs `f` with generators of its own, which begin from `seed`. The numbers that this thread draws
/// inside do not depend on other threads, and do not change theirs. Threads that enter this
/// thread's [`ExecutionContext`](crate::ExecutionContext) share the generators.
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
    SeedScope { origin: SeedOrigin::Seed(seed), folded: None }.enter()
}

/// Runs `f` with generators that begin from the present seed with `data` folded into it
/// ([`fold_in`]). It is for parts of a program that need random numbers of their own: each replica
/// of a module, each sample of a dataset.
///
/// The generators belong to the process or to the scope that this thread is in. So a later call
/// with the same `data` goes on where the last one ended, and [`manual_seed`] makes them begin
/// anew.
///
/// ```
/// use tensor::{Tensor, with_folded_seed, with_manual_seed};
/// let draw = || Tensor::rand([2], ())?.to_vec::<f32>();
/// let parts = || Ok::<_, tensor::Error>([with_folded_seed(1, draw)?, with_folded_seed(2, draw)?]);
/// let [one, two] = with_manual_seed(3, parts)?;
/// assert_ne!(one, two);
/// assert_eq!(with_manual_seed(3, parts)?, [one, two]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn with_folded_seed<R>(data: u64, f: impl FnOnce() -> R) -> R {
    let mut scope = SeedScope::capture();
    scope.folded = Some(scope.folded.map_or(data, |folded| fold_in(folded, data)));
    let _scope = scope.enter();
    f()
}

/// A seed that follows from `seed` and `data`, and differs for each `data` (`jax.random.fold_in`).
/// It gives random numbers that do not depend on those that were drawn before.
///
/// ```
/// use tensor::fold_in;
/// assert_ne!(fold_in(0, 1), fold_in(0, 2));
/// assert_eq!(fold_in(0, 1), fold_in(0, 1));
/// # Ok::<(), tensor::Error>(())
/// ```
pub fn fold_in(seed: u64, data: u64) -> u64 {
    scatter(scatter(seed.wrapping_add(WEYL)) ^ data)
}

/// The seed that the CPU's generator began from, in the scope that this thread is in
/// (`torch.initial_seed`). Generators of other libraries can be seeded with it.
pub fn initial_seed() -> u64 {
    let unused = SCOPED.try_with(|scoped| scoped.borrow().unused_seed());
    let unused = unused.unwrap_or_default();
    unused.unwrap_or_else(|| generator_at(ResolvedDevice::Cpu).initial_seed())
}

/// The fraction of the golden ratio in 64 bits. It is added first, since `scatter` maps zero to
/// zero.
const WEYL: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of the 64-bit words that changes half of the bits wherever one is changed: the
/// finalizer of SplitMix64 (Steele, Lea and Flood, 2014), with Stafford's constants.
fn scatter(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The generator of a device: inside of [`with_manual_seed`] that of the scope, elsewhere that of
/// the process. A process that sets no seed begins from one that differs from run to run.
///
/// # Errors
/// There is no such device.
pub fn generator(device: Device) -> Result<Generator> {
    Ok(generator_at(ResolvedDevice::of(device)?))
}

pub(crate) fn generator_at(device: ResolvedDevice) -> Generator {
    let scope = SeedScope::capture();
    scope.generators(|generators| generators.at(device, scope.folded))
}

/// Restores, when it is dropped, the generators that this thread had when the guard was made. If
/// guards are dropped in another order, the thread has in the end what the last one dropped had
/// found.
#[must_use = "the seed holds only while the guard lives"]
#[derive(Debug)]
pub struct SeedGuard {
    found: SeedScope,
    _of_this_thread: PhantomData<*const ()>,
}

impl SeedGuard {
    /// Lets the generators of this thread begin from another seed, as if the guard had been dropped
    /// and [`enter_manual_seed`] were called: for parts of a loop that draw numbers of their own.
    ///
    /// ```
    /// use tensor::{Tensor, enter_manual_seed, with_manual_seed};
    /// let draw = || Tensor::rand([2], ())?.to_vec::<f32>();
    /// let scope = enter_manual_seed(0);
    /// for seed in [3, 4] {
    ///     scope.restart(seed);
    ///     let drawn = draw()?;
    ///     assert_eq!(with_manual_seed(seed, draw)?, drawn);
    /// }
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn restart(&self, seed: u64) {
        let scope = SeedScope { origin: SeedOrigin::Seed(seed), folded: None };
        let _gone_at_thread_end = SCOPED.try_with(|scoped| scoped.replace(scope));
    }
}

impl Drop for SeedGuard {
    fn drop(&mut self) {
        let found = std::mem::replace(&mut self.found, SeedScope::OF_PROCESS);
        let _gone_at_thread_end = SCOPED.try_with(|scoped| scoped.replace(found));
    }
}

/// The generators that a thread draws from.
#[derive(Clone, Debug)]
pub(crate) struct SeedScope {
    origin: SeedOrigin,
    /// The data that is folded into the seed.
    folded: Option<u64>,
}

/// The generators of a scope.
#[derive(Clone, Debug)]
enum SeedOrigin {
    /// The generators of the process.
    Process,
    /// The generators of a scope with its own seed, which are made when the first number is drawn: a
    /// loader enters a scope for each sample, and few samples draw.
    Seed(u64),
    /// The same, since then.
    Generators(Arc<DeviceGenerators>),
}

impl SeedScope {
    /// The scope of a thread that entered none.
    const OF_PROCESS: SeedScope = SeedScope { origin: SeedOrigin::Process, folded: None };

    /// The scope that this thread is in now, with its generators.
    pub(crate) fn capture() -> SeedScope {
        let captured = SCOPED.try_with(|scoped| {
            let mut scope = scoped.borrow_mut();
            if let SeedOrigin::Seed(seed) = scope.origin {
                scope.origin = SeedOrigin::Generators(Arc::new(DeviceGenerators::new(seed)));
            }
            scope.clone()
        });
        // At the end of a thread, while destructors run, its locals may be gone already.
        captured.unwrap_or(SeedScope::OF_PROCESS)
    }

    /// The seed that generators would begin from, if none are made yet.
    fn unused_seed(&self) -> Option<u64> {
        match self.origin {
            SeedOrigin::Seed(seed) => Some(with_folded(seed, self.folded)),
            SeedOrigin::Process | SeedOrigin::Generators(_) => None,
        }
    }

    /// Puts this thread into the scope until the guard is dropped.
    pub(crate) fn enter(self) -> SeedGuard {
        let found = SCOPED.try_with(|scoped| scoped.replace(self));
        let found = found.unwrap_or(SeedScope::OF_PROCESS);
        SeedGuard { found, _of_this_thread: PhantomData }
    }

    /// Calls `f` with the generators of the scope.
    fn generators<R>(&self, f: impl FnOnce(&DeviceGenerators) -> R) -> R {
        // The standard library's hasher is keyed by the system's source of randomness.
        static PROCESS: LazyLock<DeviceGenerators> =
            LazyLock::new(|| DeviceGenerators::new(RandomState::new().hash_one("seed")));
        match &self.origin {
            SeedOrigin::Generators(generators) => f(generators),
            SeedOrigin::Seed(seed) => f(&DeviceGenerators::new(*seed)),
            SeedOrigin::Process => f(&PROCESS),
        }
    }
}

thread_local! {
    static SCOPED: RefCell<SeedScope> = const { RefCell::new(SeedScope::OF_PROCESS) };
}

/// One generator for each device in use, and for each that something was folded into.
#[derive(Debug)]
struct DeviceGenerators(Mutex<Seeded>);

#[derive(Debug)]
struct Seeded {
    /// The seed of generators that are made later.
    seed: u64,
    in_use: HashMap<(ResolvedDevice, Option<u64>), Generator>,
}

impl DeviceGenerators {
    fn new(seed: u64) -> DeviceGenerators {
        DeviceGenerators(Mutex::new(Seeded { seed, in_use: HashMap::new() }))
    }

    fn manual_seed(&self, seed: u64) {
        let mut seeded = self.0.lock();
        seeded.seed = seed;
        for ((_, folded), generator) in &seeded.in_use {
            generator.manual_seed(with_folded(seed, *folded));
        }
    }

    fn at(&self, device: ResolvedDevice, folded: Option<u64>) -> Generator {
        let mut seeded = self.0.lock();
        let seed = with_folded(seeded.seed, folded);
        seeded.in_use.entry((device, folded)).or_insert_with(|| Generator::new(seed)).clone()
    }
}

fn with_folded(seed: u64, folded: Option<u64>) -> u64 {
    folded.map_or(seed, |folded| fold_in(seed, folded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_has_generators_of_its_own_and_gives_them_back() {
        let outside = generator_at(ResolvedDevice::Cpu);
        with_manual_seed(5, || {
            let inside = generator_at(ResolvedDevice::Cpu);
            assert_eq!((inside.initial_seed(), inside.state().draws), (5, 0));
            inside.draw();
            with_manual_seed(6, || assert_eq!(generator_at(ResolvedDevice::Cpu).initial_seed(), 6));
            assert_eq!(generator_at(ResolvedDevice::Cpu).state().draws, 1);
            manual_seed(7);
            assert_eq!(generator_at(ResolvedDevice::Cpu).initial_seed(), 7);
        });
        assert_eq!(generator_at(ResolvedDevice::Cpu).initial_seed(), outside.initial_seed());
    }

    #[test]
    fn a_scope_in_which_nothing_is_drawn_has_no_generators_but_a_seed() {
        let is_unused = || SCOPED.with(|scoped| scoped.borrow().unused_seed().is_some());
        with_manual_seed(5, || {
            assert_eq!((initial_seed(), is_unused()), (5, true));
            generator_at(ResolvedDevice::Cpu).draw();
            assert_eq!((initial_seed(), is_unused()), (5, false));
        });
    }

    #[test]
    fn a_thread_that_enters_the_scope_shares_its_generators() {
        with_manual_seed(5, || {
            let scope = SeedScope::capture();
            let child = std::thread::spawn(move || {
                let _in = scope.enter();
                generator_at(ResolvedDevice::Cpu).draw()
            });
            assert_eq!(child.join().expect("no panic").seed, 5);
            assert_eq!(generator_at(ResolvedDevice::Cpu).state().draws, 1);
        });
    }

    #[test]
    fn a_folded_seed_has_generators_of_its_own_which_go_on() {
        let state = || generator_at(ResolvedDevice::Cpu).state();
        with_manual_seed(5, || {
            with_folded_seed(1, || _ = generator_at(ResolvedDevice::Cpu).draw());
            assert_eq!((state().seed, state().draws), (5, 0));
            with_folded_seed(1, || assert_eq!((state().seed, state().draws), (fold_in(5, 1), 1)));
            with_folded_seed(2, || assert_eq!((state().seed, state().draws), (fold_in(5, 2), 0)));
            with_folded_seed(1, || with_folded_seed(2, || assert_ne!(state().seed, fold_in(5, 2))));
            manual_seed(6);
            with_folded_seed(1, || assert_eq!((state().seed, state().draws), (fold_in(6, 1), 0)));
        });
    }

    #[test]
    fn each_data_folds_into_another_seed() {
        let seeds: std::collections::HashSet<u64> =
            (0..100).flat_map(|seed| (0..100).map(move |data| fold_in(seed, data))).collect();
        assert_eq!(seeds.len(), 100 * 100);
    }
}
