//! What a loader does when something goes wrong: it says what and where, and it never hangs.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use parallel::{DataLoader, Dataset, LoaderError, from_fn};
use tensor::{Error, Tensor};

use crate::counting;

/// Fails at sample 5 and panics at sample 9.
fn faulty() -> impl Dataset<Sample = i64, Error = Error> + 'static {
    from_fn(16, |index| match index {
        5 => Err(Error::other("no such file: image-5.png")),
        9 => panic!("sample {index} is cursed"),
        _ => Ok(index as i64),
    })
}

#[test]
fn a_dataset_of_any_length_has_batches_until_memory_ends() {
    for workers in [0, 2] {
        let mut loader = DataLoader::builder(counting(usize::MAX)).batch_size(2).workers(workers);
        if workers > 0 {
            loader = loader.prefetch_factor(usize::MAX);
        }
        let loader = loader.build().expect("a loader");
        let third = loader.iter().nth(2).expect("a third batch").expect("two numbers");
        assert_eq!(third.to_vec::<i64>().expect("values"), [4, 5]);

        let whole = DataLoader::builder(counting(usize::MAX))
            .batch_size(usize::MAX)
            .workers(workers)
            .build();
        let refused = whole.expect("a loader").iter().next();
        assert!(
            matches!(refused, Some(Err(LoaderError::TooLarge { batch: 0, .. }))),
            "{refused:?}"
        );

        let shuffled =
            DataLoader::builder(counting(usize::MAX)).shuffle(1).workers(workers).build();
        let mut epoch = shuffled.as_ref().expect("a loader").iter();
        let refused = epoch.next();
        assert!(matches!(refused, Some(Err(LoaderError::Begin { epoch: 0, .. }))), "{refused:?}");
        assert!(epoch.next().is_none(), "an epoch without an order has no batches");
    }
}

#[test]
fn errors_and_panics_take_the_place_of_their_batches_and_the_others_follow() {
    for workers in [0, 1, 3] {
        let loader = DataLoader::builder(faulty()).batch_size(4).workers(workers).build();
        let results: Vec<_> = loader.expect("a loader").iter().collect();
        let [Ok(first), Err(error), Err(panic), Ok(last)] = &results[..] else {
            panic!("{results:?}");
        };
        assert_eq!(first.to_vec::<i64>().expect("values"), [0, 1, 2, 3]);
        assert_eq!(last.to_vec::<i64>().expect("values"), [12, 13, 14, 15]);
        assert!(matches!(error, LoaderError::Sample { batch: 1, index: 5, .. }), "{error}");
        assert!(error.to_string().contains("image-5.png"), "{error}");
        assert!(matches!(panic, LoaderError::Panicked { batch: 2, index: 9, .. }), "{panic}");
        let who = if workers == 0 { "the calling thread" } else { "worker" };
        assert!(panic.to_string().contains(who) && panic.to_string().contains("cursed"), "{panic}");
    }
}

#[test]
fn samples_that_do_not_fit_together_are_an_error_of_their_batch() {
    for workers in [0, 2] {
        let ragged = from_fn(4, |index| Tensor::zeros([index + 1], ()));
        let loader = DataLoader::builder(ragged).batch_size(2).workers(workers).build();
        let results: Vec<_> = loader.expect("a loader").iter().collect();
        assert_eq!(results.len(), 2);
        for (batch, result) in results.iter().enumerate() {
            let error = result.as_ref().expect_err("shapes differ");
            assert!(
                matches!(error, LoaderError::Collate { batch: b, .. } if *b == batch),
                "{error}"
            );
        }
    }
}

#[test]
fn dropping_an_epoch_in_the_middle_stops_and_joins_the_workers() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let data = from_fn(1_000_000, move |index| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(index as i64)
    });
    let loader = DataLoader::builder(data).batch_size(10).workers(4).build().expect("a loader");
    let mut epoch = loader.iter();
    assert!(epoch.next().is_some());
    drop(epoch);
    // The workers hold the dataset; when they are joined, only the loader's own handle is left.
    drop(loader);
    assert_eq!(Arc::strong_count(&calls), 1);
    // One batch was taken: at most that and what may be ahead of it was begun.
    assert!(calls.load(Ordering::Relaxed) <= 10 * (1 + 4 * 2));
}

/// Notes how many samples were begun, and whether ever more than was agreed.
#[derive(Default)]
struct Ahead {
    counts: Mutex<Counts>,
    begun: Condvar,
}

#[derive(Default)]
struct Counts {
    begun: usize,
    asked_for: usize,
    most_ahead: usize,
}

impl Ahead {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().expect("not poisoned")
    }
}

impl Dataset for Ahead {
    type Sample = i64;
    type Error = Infallible;

    fn len(&self) -> usize {
        200
    }

    fn get(&self, index: usize) -> Result<i64, Infallible> {
        let mut counts = self.counts();
        counts.begun += 1;
        counts.most_ahead = counts.most_ahead.max(counts.begun - counts.asked_for);
        self.begun.notify_all();
        Ok(index as i64)
    }
}

#[test]
fn no_more_is_made_ahead_than_was_agreed() {
    let data = Arc::new(Ahead::default());
    let loader = DataLoader::builder(Arc::clone(&data)).workers(2).prefetch_factor(3).build();
    let loader = loader.expect("a loader");
    let mut epoch = loader.iter();
    for asked_for in 1..=190 {
        // Everything that is allowed is begun before the next batch leaves: workers that may go on
        // have all the time to do so.
        let counts = data.counts();
        drop(data.begun.wait_while(counts, |counts| counts.begun < asked_for + 5));
        data.counts().asked_for = asked_for;
        epoch.next().expect("there are 200").expect("a batch");
    }
    assert_eq!(data.counts().most_ahead, 6);
}
