//! Datasets that are read from the beginning to the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parallel::{DataLoader, DataLoaderState, IterableDataset, LoaderError};
use tensor::Tensor;

#[derive(Debug, thiserror::Error)]
#[error("line {0} is torn")]
struct Torn(usize);

/// Numbers from the epoch's on. Some cannot be read, and one of reading and of making panics.
#[derive(Clone, Default)]
struct Lines {
    count: usize,
    torn: Option<usize>,
    cursed_reading: Option<usize>,
    cursed_making: Option<usize>,
    made: Arc<AtomicUsize>,
}

impl IterableDataset for Lines {
    type Item = usize;
    type Sample = (i64, Tensor);
    type Error = Torn;
    type Iter = Box<dyn Iterator<Item = Result<usize, Torn>> + Send>;

    fn iter(&self, epoch: u64) -> Result<Self::Iter, Torn> {
        if epoch == 9 {
            return Err(Torn(0));
        }
        let Lines { torn, cursed_reading, .. } = *self;
        let read = move |line| {
            assert_ne!(Some(line), cursed_reading, "the reader is cursed");
            if Some(line) == torn { Err(Torn(line)) } else { Ok(line + 100 * epoch as usize) }
        };
        Ok(Box::new((0..self.count).map(read)))
    }

    fn sample(&self, line: usize) -> Result<(i64, Tensor), Torn> {
        assert_ne!(Some(line), self.cursed_making, "the sample is cursed");
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok((line as i64, Tensor::rand([1], ()).expect("memory")))
    }
}

type Read = Vec<Result<(Vec<i64>, Vec<f32>), LoaderError>>;

fn epoch(loader: &DataLoader<parallel::Iterable<Lines>>) -> Read {
    let values = |batch: Result<(Tensor, Tensor), LoaderError>| {
        let (lines, noise) = batch?;
        Ok((lines.to_vec().expect("integers"), noise.to_vec().expect("numbers")))
    };
    loader.iter().map(values).collect()
}

fn loader(lines: Lines, workers: usize) -> DataLoader<parallel::Iterable<Lines>> {
    let builder = DataLoader::from_iterable(lines).batch_size(4).seed(3).workers(workers);
    builder.build().expect("a loader")
}

#[test]
fn each_item_comes_once_and_in_order_whatever_the_number_of_workers() {
    let read = |workers| -> Vec<(Vec<i64>, Vec<f32>)> {
        let loader = loader(Lines { count: 23, ..Lines::default() }, workers);
        (0..2).flat_map(|_| epoch(&loader)).map(|batch| batch.expect("a batch")).collect()
    };
    let alone = read(0);
    let lines: Vec<i64> = alone.iter().flat_map(|(lines, _)| lines.clone()).collect();
    assert_eq!(lines, (0..23).chain(100..123).collect::<Vec<_>>());
    for workers in [1, 2, 8] {
        assert_eq!(read(workers), alone, "{workers} workers");
    }
}

#[test]
fn a_loader_goes_on_from_any_batch_of_a_stream() {
    let read = |workers, batches| -> Vec<(Vec<i64>, Vec<f32>)> {
        let loader = loader(Lines { count: 23, ..Lines::default() }, workers);
        loader.set_state(DataLoaderState { epoch: 0, batches, ..DataLoaderState::default() });
        (0..2).flat_map(|_| epoch(&loader)).map(|batch| batch.expect("a batch")).collect()
    };
    let whole = read(0, 0);
    for workers in [0, 1, 2, 8] {
        for batches in 0..=6 {
            assert_eq!(
                read(workers, batches)[..],
                whole[batches..],
                "{workers} workers, {batches}"
            );
        }
        assert_eq!(read(workers, 100)[..], whole[6..], "nothing is left of that epoch");
    }
}

#[test]
fn the_state_goes_to_the_next_epoch_when_the_loop_has_seen_the_end() {
    for workers in [0, 2] {
        let loader = loader(Lines { count: 8, ..Lines::default() }, workers);
        let mut epoch = loader.iter();
        assert!(epoch.next().is_some() && epoch.next().is_some());
        let state = loader.state();
        assert_eq!((state.epoch, state.batches), (0, 2));
        assert!(epoch.next().is_none());
        let state = loader.state();
        assert_eq!((state.epoch, state.batches), (1, 0));
    }
}

#[test]
fn items_that_cannot_be_read_or_made_cost_their_batch_only() {
    for workers in [0, 1, 3] {
        let lines = Lines { count: 16, torn: Some(5), cursed_making: Some(9), ..Lines::default() };
        let results = epoch(&loader(lines, workers));
        let [Ok(first), Err(torn), Err(cursed), Ok(last)] = &results[..] else {
            panic!("{results:?}");
        };
        assert_eq!((&first.0[..], &last.0[..]), (&[0, 1, 2, 3][..], &[12, 13, 14, 15][..]));
        assert!(matches!(torn, LoaderError::Sample { batch: 1, index: 5, .. }), "{torn}");
        assert!(matches!(cursed, LoaderError::Panicked { batch: 2, index: 9, .. }), "{cursed}");
    }
}

#[test]
fn a_reader_that_panics_ends_the_epoch_after_an_error() {
    for workers in [0, 2] {
        let lines = Lines { count: 16, cursed_reading: Some(5), ..Lines::default() };
        let results = epoch(&loader(lines, workers));
        let [Ok(_), Err(cursed)] = &results[..] else { panic!("{results:?}") };
        assert!(matches!(cursed, LoaderError::Panicked { batch: 1, index: 5, .. }), "{cursed}");
    }
}

#[test]
fn an_epoch_that_cannot_be_read_is_one_error() {
    for workers in [0, 2] {
        let loader = loader(Lines { count: 16, ..Lines::default() }, workers);
        loader.set_epoch(9);
        let results = epoch(&loader);
        let [Err(error)] = &results[..] else { panic!("{results:?}") };
        assert!(matches!(error, LoaderError::Begin { epoch: 9, .. }), "{error}");
        assert_eq!(epoch(&loader).len(), 4, "the next epoch can");
    }
}

#[test]
fn no_more_is_read_than_may_be_ahead_and_the_rest_of_a_dropped_epoch_is_not_made() {
    let lines = Lines { count: 1_000_000, ..Lines::default() };
    let made = Arc::clone(&lines.made);
    let loader = loader(lines, 2);
    let mut epoch = loader.iter();
    assert!(epoch.next().is_some());
    drop(epoch);
    let count = made.load(Ordering::Relaxed);
    assert!(count <= 4 * (1 + 2 * 2), "{count}");
    assert_eq!(made.load(Ordering::Relaxed), count, "workers have stopped");
}
