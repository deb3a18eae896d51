//! Loaders whose workers are threads: S29.
//!
//! Of each of many seeds a dataset follows, whose samples are late, fail, panic, or panic when they
//! are dropped, and a loop over it that ends in the middle, is cancelled by another thread, and goes
//! on with another number of workers. `LOADER_SEEDS` says how many seeds are tried.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use gpu_runtime::panics::discard;
use parallel::{
    Collate, DataLoader, DataLoaderBuilder, DataLoaderState, Dataset, Iterable, IterableDataset,
    LoaderError, RandomSampler, SampleList, SampleSource, Sampler, get_worker_info,
};
use tensor::{Result, Tensor, fold_in};
use test_support::isolate;

/// Numbers that follow from a seed.
struct Chance {
    seed: u64,
    drawn: Cell<u64>,
}

impl Chance {
    fn new(seed: u64) -> Chance {
        Chance { seed, drawn: Cell::new(0) }
    }

    fn below(&self, bound: usize) -> usize {
        self.drawn.set(self.drawn.get() + 1);
        (fold_in(self.seed, self.drawn.get()) % bound as u64) as usize
    }

    fn one_in(&self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// What becomes of a sample.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Good,
    Late,
    Fails,
    Panics,
    /// Its destructor panics, wherever that runs.
    PanicsInDrop,
}

#[derive(Debug)]
struct Unreadable;

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it cannot be read")
    }
}

impl std::error::Error for Unreadable {}

/// The values and the workers that live.
#[derive(Default)]
struct Living {
    values: AtomicUsize,
    workers: AtomicUsize,
}

/// A sample or a batch, which is counted as long as it lives.
struct Counted<T> {
    value: T,
    panics_in_drop: bool,
    living: Arc<Living>,
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        self.living.values.fetch_sub(1, Ordering::Relaxed);
        // A second panic while the first unwinds aborts any program.
        assert!(!self.panics_in_drop || std::thread::panicking(), "in drop");
    }
}

fn counted<T>(value: T, panics_in_drop: bool, living: &Arc<Living>) -> Counted<T> {
    living.values.fetch_add(1, Ordering::Relaxed);
    Counted { value, panics_in_drop, living: Arc::clone(living) }
}

impl Collate for Counted<usize> {
    type Batch = Counted<Vec<usize>>;
    type Slot = SampleList<Self>;

    fn slot(_pin_memory: bool) -> SampleList<Self> {
        SampleList::new()
    }

    fn begin(slot: &mut SampleList<Self>, samples: usize) {
        slot.begin(samples);
    }

    fn put(self, slot: &mut SampleList<Self>) -> Result<()> {
        slot.push(self);
        Ok(())
    }

    fn finish(slot: &mut SampleList<Self>) -> Result<Self::Batch> {
        let samples = slot.take();
        let living = Arc::clone(&samples[0].living);
        let indices: Vec<usize> = samples.iter().map(|sample| sample.value).collect();
        samples.into_iter().for_each(discard);
        let panics_in_drop = indices[0] % 5 == 4;
        Ok(counted(indices, panics_in_drop, &living))
    }
}

/// A worker thread, which is counted until it ends.
struct CountedWorker(Arc<Living>);

impl Drop for CountedWorker {
    fn drop(&mut self) {
        self.0.workers.fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local! {
    static WORKER: Cell<Option<CountedWorker>> = const { Cell::new(None) };
}

/// A dataset of which a seed decides the fate of each sample.
#[derive(Clone)]
struct Chaos {
    samples: usize,
    seed: u64,
    living: Arc<Living>,
}

impl Chaos {
    fn fate(&self, index: usize) -> Fate {
        match fold_in(self.seed, index as u64) % 64 {
            0 => Fate::Fails,
            1 => Fate::Panics,
            2..5 => Fate::PanicsInDrop,
            5..9 => Fate::Late,
            _ => Fate::Good,
        }
    }

    fn read(&self, index: usize) -> std::result::Result<Counted<usize>, Unreadable> {
        if get_worker_info().is_some() {
            let known = WORKER.take().unwrap_or_else(|| {
                self.living.workers.fetch_add(1, Ordering::Relaxed);
                CountedWorker(Arc::clone(&self.living))
            });
            WORKER.set(Some(known));
        }
        let fate = self.fate(index);
        match fate {
            Fate::Fails => return Err(Unreadable),
            Fate::Panics => panic!("sample {index} is cursed"),
            Fate::Late => std::thread::sleep(Duration::from_micros(50)),
            Fate::Good | Fate::PanicsInDrop => {}
        }
        Ok(counted(index, fate == Fate::PanicsInDrop, &self.living))
    }
}

impl Dataset for Chaos {
    type Sample = Counted<usize>;
    type Error = Unreadable;

    fn len(&self) -> usize {
        self.samples
    }

    fn get(&self, index: usize) -> std::result::Result<Counted<usize>, Unreadable> {
        self.read(index)
    }
}

impl IterableDataset for Chaos {
    type Item = usize;
    type Sample = Counted<usize>;
    type Error = Unreadable;
    type Iter = Box<dyn Iterator<Item = std::result::Result<usize, Unreadable>> + Send>;

    fn iter(&self, _epoch: u64) -> std::result::Result<Self::Iter, Unreadable> {
        Ok(Box::new((0..self.samples).map(Ok)))
    }

    fn sample(&self, index: usize) -> std::result::Result<Counted<usize>, Unreadable> {
        self.read(index)
    }
}

/// The results of an epoch by the numbers of their batches: the indices, or the error.
type Results = BTreeMap<usize, std::result::Result<Vec<usize>, String>>;

/// Goes through an epoch, in several loops of which all but the last end early, each with another
/// number of workers.
fn interrupted<D>(
    chance: &Chance,
    numbered: &BTreeMap<usize, usize>,
    builder: impl Fn() -> DataLoaderBuilder<D>,
) -> Results
where
    D: SampleSource<Batch = Counted<Vec<usize>>>,
{
    let in_order = !chance.one_in(3);
    let mut state = DataLoaderState::default();
    let mut results = Results::new();
    while state.epoch == 0 {
        let mut loader = builder().in_order(in_order);
        let workers = [0, 1, 2, 8][chance.below(4)];
        if workers > 0 {
            loader = loader.workers(workers).prefetch_factor(1 + chance.below(3));
        }
        let loader = loader.build().expect("a loader");
        loader.set_state(state.clone());
        one_loop(chance, &loader, numbered, &mut results);
        state = loader.state();
    }
    results
}

/// A loop that ends when the epoch does, or earlier.
fn one_loop<D>(
    chance: &Chance,
    loader: &DataLoader<D>,
    numbered: &BTreeMap<usize, usize>,
    results: &mut Results,
) where
    D: SampleSource<Batch = Counted<Vec<usize>>>,
{
    let mut epoch = loader.iter();
    let left = if chance.one_in(4) { usize::MAX } else { chance.below(12) };
    let canceller = chance.one_in(4).then(|| {
        let (canceller, after) =
            (epoch.canceller(), Duration::from_micros(chance.below(300) as u64));
        std::thread::spawn(move || {
            std::thread::sleep(after);
            canceller.cancel();
        })
    });
    for _ in 0..left {
        let (batch, result) = match epoch.next() {
            None | Some(Err(LoaderError::Cancelled)) => break,
            Some(Ok(batch)) => {
                let indices = batch.value.clone();
                discard(batch);
                (numbered[&indices[0]], Ok(indices))
            }
            Some(Err(error)) => match error {
                LoaderError::Sample { batch, .. } | LoaderError::Panicked { batch, .. } => {
                    (batch, Err(error.to_string()))
                }
                other => panic!("{other}"),
            },
        };
        let twice = results.insert(batch, result);
        assert!(twice.is_none(), "batch {batch} came twice");
    }
    drop(epoch);
    if let Some(canceller) = canceller {
        canceller.join().expect("no panic");
    }
}

/// One seed: nothing is lost, nothing comes twice, and nothing is left.
fn try_seed(seed: u64) {
    let chance = Chance::new(seed);
    let living = Arc::new(Living::default());
    let data = Chaos { samples: chance.below(120), seed, living: Arc::clone(&living) };
    let batch_size = 1 + chance.below(6);
    let order: Vec<usize> = match chance.below(3) {
        0 => RandomSampler::new(data.samples, seed).iter(0).expect("an order").collect(),
        _ => (0..data.samples).collect(),
    };
    let is_shuffled = !order.is_sorted();
    let batches: Vec<&[usize]> = order.chunks(batch_size).collect();
    let first = |(batch, indices): (usize, &&[usize])| (indices[0], batch);
    let numbered: BTreeMap<usize, usize> = batches.iter().enumerate().map(first).collect();

    let results = if chance.one_in(3) && !is_shuffled {
        let builder = || -> DataLoaderBuilder<Iterable<Chaos>> {
            DataLoader::from_iterable(data.clone()).batch_size(batch_size)
        };
        interrupted(&chance, &numbered, builder)
    } else {
        let builder = || {
            let builder = DataLoader::builder(data.clone()).batch_size(batch_size);
            if is_shuffled { builder.shuffle(seed) } else { builder }
        };
        interrupted(&chance, &numbered, builder)
    };

    assert_eq!(results.len(), batches.len(), "as many batches");
    for (batch, indices) in batches.iter().enumerate() {
        let fails = |&index: &usize| matches!(data.fate(index), Fate::Fails | Fate::Panics);
        match &results[&batch] {
            Ok(made) => assert!(made == indices && !indices.iter().any(fails), "batch {batch}"),
            Err(error) => assert!(indices.iter().any(fails), "batch {batch}: {error}"),
        }
    }
    assert_eq!(living.values.load(Ordering::Relaxed), 0, "samples and batches are dropped");
    assert_eq!(living.workers.load(Ordering::Relaxed), 0, "no worker is left behind");
}

#[test]
fn s29_no_loop_hangs_no_sample_is_lost_or_doubled_and_no_thread_is_left() {
    let asked = std::env::var("LOADER_SEEDS").ok();
    let seeds: u64 = asked.map_or(1000, |seeds| seeds.parse().expect("LOADER_SEEDS is a number"));
    isolate(|| {
        // Thousands of panics are the test's own.
        std::panic::set_hook(Box::new(|_| {}));
        for seed in 0..seeds {
            let (done, result) = mpsc::channel();
            let tried = std::thread::spawn(move || {
                try_seed(seed);
                done.send(()).expect("somebody waits");
            });
            let ended = result.recv_timeout(Duration::from_secs(60));
            assert_ne!(ended, Err(mpsc::RecvTimeoutError::Timeout), "seed {seed} hangs");
            let tried = tried.join().map_err(gpu_runtime::panics::message);
            if let Err(why) = tried {
                drop(std::panic::take_hook());
                panic!("seed {seed}: {why}");
            }
        }
    })
    .run();
}

/// Numbers with noise, as a dataset of either kind.
#[derive(Clone)]
struct Noisy;

impl Dataset for Noisy {
    type Sample = (i64, Tensor);
    type Error = tensor::Error;

    fn len(&self) -> usize {
        50
    }

    fn get(&self, index: usize) -> Result<(i64, Tensor)> {
        Ok((index as i64, Tensor::rand([2], ())?))
    }
}

impl IterableDataset for Noisy {
    type Item = usize;
    type Sample = (i64, Tensor);
    type Error = tensor::Error;
    type Iter = Box<dyn Iterator<Item = Result<usize>> + Send>;

    fn iter(&self, _epoch: u64) -> Result<Self::Iter> {
        Ok(Box::new((0..50).map(Ok)))
    }

    fn sample(&self, item: usize) -> Result<(i64, Tensor)> {
        self.get(item)
    }
}

/// What a loader gives from a batch on, to the end of the epoch.
fn rest<D>(
    builder: DataLoaderBuilder<D>,
    workers: usize,
    batches: usize,
) -> Vec<(Vec<i64>, Vec<f32>)>
where
    D: SampleSource<Batch = (Tensor, Tensor)>,
{
    let loader = builder.batch_size(4).seed(5).workers(workers).build().expect("a loader");
    loader.set_state(DataLoaderState { epoch: 2, batches, ..DataLoaderState::default() });
    let values = |batch: std::result::Result<(Tensor, Tensor), LoaderError>| {
        let (indices, noise) = batch.expect("a batch");
        (indices.to_vec().expect("integers"), noise.to_vec().expect("numbers"))
    };
    loader.iter().map(values).collect()
}

#[test]
fn s29_a_loader_goes_on_from_any_batch_with_the_same_rest_for_any_number_of_workers() {
    let whole = rest(DataLoader::builder(Noisy).shuffle(5), 0, 0);
    let whole_stream = rest(DataLoader::from_iterable(Noisy), 0, 0);
    assert_eq!((whole.len(), whole_stream.len()), (13, 13));
    for workers in [0, 1, 2, 8] {
        for batches in 0..=13 {
            let shuffled = rest(DataLoader::builder(Noisy).shuffle(5), workers, batches);
            assert_eq!(shuffled[..], whole[batches..], "{workers} workers from {batches} on");
            let stream = rest(DataLoader::from_iterable(Noisy), workers, batches);
            assert_eq!(stream[..], whole_stream[batches..], "{workers} workers from {batches} on");
        }
    }
}
