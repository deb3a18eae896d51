//! Whatever a worker dies of, its batch is an error in its place, and nobody waits for ever.

use std::panic::panic_any;
use std::sync::mpsc;
use std::time::Duration;

use parallel::{DataLoader, Dataset, LoaderError, SampleSource, from_fn};
use tensor::{Error, Result};
use test_support::isolate;

use crate::counting;

/// A batch as a loop gets it.
type Made<B> = std::result::Result<B, LoaderError>;

/// Panics when it is dropped, unless it went into a batch.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in drop");
    }
}

/// What `f` gives; the test fails where it does not end.
fn ends<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || done.send(f()));
    result.recv_timeout(Duration::from_secs(60)).expect("it hangs, or it panicked")
}

/// The results of an epoch of twelve samples in batches of four, of which number 6 is read as told.
fn epoch(workers: usize, sixth: fn() -> Result<Bomb>) -> Vec<Made<usize>> {
    ends(move || {
        let bombs = from_fn(12, move |index| if index == 6 { sixth() } else { Ok(Bomb) });
        let counted = bombs.collate_with(|bombs: Vec<Bomb>| {
            let count = bombs.len();
            bombs.into_iter().for_each(test_support::forget);
            Ok(count)
        });
        let loader = DataLoader::builder(counted).batch_size(4).workers(workers).build();
        loader.expect("a loader").iter().collect()
    })
}

#[test]
fn samples_whose_destructors_panic_cost_their_batch_only() {
    for workers in [0, 1, 2] {
        let results = epoch(workers, || Err(Error::other("no such file")));
        let [Ok(4), Err(error), Ok(4)] = &results[..] else { panic!("{results:?}") };
        assert!(matches!(error, LoaderError::Sample { batch: 1, index: 6, .. }), "{error}");
    }
}

#[test]
fn samples_whose_destructors_panic_after_a_panic_cost_their_batch_only() {
    for workers in [0, 1, 2] {
        let results = epoch(workers, || panic!("cursed"));
        let [Ok(4), Err(error), Ok(4)] = &results[..] else { panic!("{results:?}") };
        assert!(matches!(error, LoaderError::Panicked { batch: 1, index: 6, .. }), "{error}");
        assert!(error.to_string().contains("cursed"), "{error}");
    }
}

#[test]
fn a_panics_payload_whose_destructor_panics_costs_its_batch_only() {
    for workers in [0, 1, 2] {
        let results = epoch(workers, || panic_any(Bomb));
        let [Ok(4), Err(error), Ok(4)] = &results[..] else { panic!("{results:?}") };
        assert!(matches!(error, LoaderError::Panicked { batch: 1, index: 6, .. }), "{error}");
    }
}

/// Forty numbers, which are joined as the first one of a batch says, into what panics when it is
/// dropped.
fn joined() -> impl SampleSource<Batch = Bomb> {
    counting(40).collate_with(|numbers: Vec<i64>| match numbers[0] {
        2 => panic!("cannot be joined"),
        4 => panic_any(Bomb),
        _ => Ok(Bomb),
    })
}

#[test]
fn a_panic_in_joining_costs_its_batch_only() {
    for workers in [0, 1, 2] {
        let made = ends(move || {
            let loader = DataLoader::builder(joined()).batch_size(2).workers(workers).build();
            let results =
                loader.expect("a loader").iter().map(|made| made.map(test_support::forget));
            results.map(|made| made.map_err(|error| error.to_string())).collect::<Vec<_>>()
        });
        assert_eq!(made.len(), 20);
        for (batch, made) in made.iter().enumerate() {
            assert_eq!(made.is_err(), [1, 2].contains(&batch), "{batch}: {made:?}");
        }
    }
}

#[test]
fn an_epoch_that_is_dropped_joins_its_workers_though_its_batches_destructors_panic() {
    ends(|| {
        let loader = DataLoader::builder(joined()).batch_size(10).workers(2).build();
        let loader = loader.expect("a loader");
        for _ in 0..20 {
            let mut epoch = loader.iter();
            test_support::forget(epoch.next());
        }
    });
}

#[test]
fn a_worker_that_cannot_be_started_is_an_error_and_ends_the_epoch() {
    isolate(|| {
        let loader = DataLoader::builder(joined()).batch_size(2).workers(2).build();
        let mut epoch = loader.expect("a loader").iter();
        let Some(Err(error)) = epoch.next() else { panic!("no thread can be started") };
        assert!(matches!(error, LoaderError::Spawn { worker: 0, .. }), "{error}");
        assert!(epoch.next().is_none());
    })
    // No system has so much memory for a thread's stack.
    .env("RUST_MIN_STACK", &(1u64 << 50).to_string())
    .run();
}
