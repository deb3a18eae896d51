//! Loops that wait: time-outs, cancellation, batches out of order, workers that stay.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use parallel::{DataLoader, Dataset, LoaderError, get_worker_info, is_cancelled};
use tensor::Tensor;
use test_support::isolate;

/// Numbers, of which one comes only when the test says so.
struct Gated {
    at: usize,
    gate: Mutex<Receiver<()>>,
    reached: Sender<()>,
    /// Whether it comes when nobody wants it any more, too.
    gives_up: bool,
}

impl Dataset for Gated {
    type Sample = i64;
    type Error = Infallible;

    fn len(&self) -> usize {
        8
    }

    fn get(&self, index: usize) -> Result<i64, Infallible> {
        if index == self.at {
            let _test_is_over = self.reached.send(());
            let gate = self.gate.lock().expect("not poisoned");
            while !(self.gives_up && is_cancelled()) {
                if gate.recv_timeout(Duration::from_millis(1)).is_ok() {
                    break;
                }
            }
        }
        Ok(index as i64)
    }
}

fn gated(at: usize, gives_up: bool) -> (Gated, Sender<()>, Receiver<()>) {
    let ((open, gate), (reached, arrival)) = (channel(), channel());
    (Gated { at, gate: Mutex::new(gate), reached, gives_up }, open, arrival)
}

fn numbers(batch: Option<Result<Tensor, LoaderError>>) -> Vec<i64> {
    batch.expect("one more").expect("a batch").to_vec().expect("integers")
}

#[test]
fn a_batch_that_comes_too_late_is_an_error_and_is_not_lost() {
    let (data, open, arrival) = gated(2, false);
    let loader = DataLoader::builder(data).batch_size(2).workers(2);
    let loader = loader.timeout(Duration::from_millis(20)).build().expect("a loader");
    let mut epoch = loader.iter();
    assert_eq!(numbers(epoch.next()), [0, 1]);
    arrival.recv().expect("a worker has come to it");
    for _ in 0..2 {
        let Some(Err(error)) = epoch.next() else { panic!("the batch cannot be there") };
        assert!(matches!(error, LoaderError::Timeout { batch: 1, .. }), "{error}");
    }
    let state = loader.state();
    assert_eq!((state.epoch, state.batches), (0, 1));
    open.send(()).expect("the worker waits");
    // The machine may be slow: a further time-out is none of this test's business.
    let late = std::iter::from_fn(|| epoch.next());
    let made: Vec<Tensor> = late.filter_map(Result::ok).collect();
    let made: Vec<Vec<i64>> = made.iter().map(|batch| batch.to_vec().expect("integers")).collect();
    assert_eq!(made, [[2, 3], [4, 5], [6, 7]]);
}

#[test]
fn a_sample_that_never_comes_keeps_nobody_longer_than_the_time_out() {
    let (data, open, arrival) = gated(0, false);
    let loader = DataLoader::builder(data).workers(1).timeout(Duration::from_millis(10));
    let loader = loader.build().expect("a loader");
    let mut epoch = loader.iter();
    arrival.recv().expect("a worker has come to it");
    assert!(matches!(epoch.next(), Some(Err(LoaderError::Timeout { batch: 0, .. }))));
    drop(epoch);
    drop(loader);
    // Only now the worker can end.
    open.send(()).expect("the worker waits");
}

#[test]
fn a_loop_that_waits_is_cancelled_and_so_is_the_sample_that_it_waits_for() {
    for workers in [0, 2] {
        let (data, _open, arrival) = gated(2, true);
        let loader = DataLoader::builder(data).batch_size(2).workers(workers).build();
        let loader = loader.expect("a loader");
        let mut epoch = loader.iter();
        assert_eq!(numbers(epoch.next()), [0, 1]);
        let canceller = epoch.canceller();
        let other = std::thread::spawn(move || {
            arrival.recv().expect("the sample is asked for");
            canceller.cancel();
        });
        assert!(matches!(epoch.next(), Some(Err(LoaderError::Cancelled))), "{workers} workers");
        assert!(epoch.next().is_none());
        other.join().expect("no panic");
        let state = loader.state();
        assert_eq!((state.epoch, state.batches), (0, 1), "the loop has got one batch");
        // Another iterator is not cancelled, and begins where it is told to.
        drop(epoch);
        loader.set_state(state);
        drop(loader);
    }
}

#[test]
fn out_of_order_a_batch_that_takes_long_holds_up_no_other_and_none_is_lost() {
    let (data, open, arrival) = gated(0, false);
    let loader = DataLoader::builder(data).batch_size(2).workers(2).in_order(false).build();
    let loader = loader.expect("a loader");
    let mut epoch = loader.iter();
    let early: Vec<_> = (0..3).map(|_| numbers(epoch.next())).collect();
    assert_eq!(early, [[2, 3], [4, 5], [6, 7]]);
    arrival.recv().expect("a worker has come to it");
    let state = loader.state();
    assert_eq!((state.epoch, state.batches, &state.early[..]), (0, 0, &[1, 2, 3][..]));
    open.send(()).expect("the worker waits");
    assert_eq!(numbers(epoch.next()), [0, 1]);
    assert!(epoch.next().is_none());
    assert_eq!(loader.state().epoch, 1);

    // Who goes on from there gets what was not handed out, and nothing twice.
    open.send(()).expect("the next one need not wait");
    loader.set_state(state);
    let mut rest = loader.iter();
    assert_eq!(numbers(rest.next()), [0, 1]);
    assert!(rest.next().is_none());
    assert_eq!(loader.state().epoch, 1);
}

/// Notes the threads that read it.
#[derive(Default)]
struct Noted(Mutex<HashSet<ThreadId>>);

impl Dataset for Noted {
    type Sample = i64;
    type Error = Infallible;

    fn len(&self) -> usize {
        12
    }

    fn get(&self, _index: usize) -> Result<i64, Infallible> {
        self.0.lock().expect("not poisoned").insert(std::thread::current().id());
        Ok(get_worker_info().map_or(-1, |worker| (worker.id + 10 * worker.num_workers) as i64))
    }
}

#[test]
fn workers_stay_from_epoch_to_epoch_and_know_their_number() {
    let data = Arc::new(Noted::default());
    let loader = DataLoader::builder(Arc::clone(&data)).workers(2).build().expect("a loader");
    for _ in 0..20 {
        for batch in &loader {
            let worker = batch.expect("a batch").item::<i64>().expect("one number");
            assert!([20, 21].contains(&worker), "{worker}");
        }
    }
    let threads = data.0.lock().expect("not poisoned").len();
    assert!(threads <= 2, "{threads} threads");
    drop(loader);
    assert_eq!(Arc::strong_count(&data), 1, "no thread holds the dataset");
    assert_eq!(get_worker_info(), None);
}

#[test]
fn two_epochs_at_once_share_the_workers() {
    let loader = DataLoader::builder(Arc::new(Noted::default())).batch_size(3).workers(2).build();
    let loader = loader.expect("a loader");
    for outer in &loader {
        outer.expect("a batch");
        assert_eq!(loader.iter().filter(Result::is_ok).count(), 4);
    }
    let (mut one, mut two) = (loader.iter(), loader.iter());
    drop(loader);
    for _ in 0..4 {
        assert!(one.next().is_some_and(|batch| batch.is_ok()));
        assert!(two.next().is_some_and(|batch| batch.is_ok()));
    }
    assert!(one.next().is_none() && two.next().is_none());
}

#[test]
fn page_locked_memory_without_a_driver_is_refused_when_the_loader_is_built() {
    isolate(|| {
        let build = |pin| DataLoader::builder(Noted::default()).pin_memory(pin).build();
        let error = build(true).map(drop).expect_err("no driver").to_string();
        assert!(error.contains("pin_memory"), "{error}");
        assert!(build(false).is_ok());
    })
    .env("GPU_DRIVER", "nvidia")
    .env("CUDA_VISIBLE_DEVICES", "-1")
    .run();
}
