//! What a loader yields.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parallel::{
    BatchSampler, BuildError, DataLoader, DataLoaderBuilder, DataLoaderState, Dataset, PinMemory,
    SampleSource, SequentialSampler, TensorDataset, ToDevice,
};
use tensor::{Blocking, DType, Device, Tensor, cuda};

use crate::{counting, four_devices};

fn at(epoch: u64, batches: usize) -> DataLoaderState {
    DataLoaderState { epoch, batches, ..DataLoaderState::default() }
}

fn batches(loader: &DataLoader<impl SampleSource<Batch = Tensor>>) -> Vec<Vec<i64>> {
    loader.iter().map(|batch| batch.expect("a batch").to_vec().expect("values")).collect()
}

#[test]
fn batches_come_in_order_whatever_the_number_of_workers() {
    for workers in [0, 1, 2, 4] {
        let loader = DataLoader::builder(counting(10)).batch_size(4).workers(workers).build();
        let loader = loader.expect("a loader");
        assert_eq!(loader.len(), 3);
        assert_eq!(batches(&loader), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
    }
}

#[test]
fn a_seed_gives_the_same_batches_whatever_the_number_of_workers() {
    let epochs = |workers| -> Vec<Vec<Vec<i64>>> {
        let loader = DataLoader::builder(counting(50)).batch_size(8).shuffle(3).workers(workers);
        let loader = loader.build().expect("a loader");
        (0..3).map(|_| batches(&loader)).collect()
    };
    let alone = epochs(0);
    assert_ne!(alone[0], alone[1], "each epoch has its own order");
    for workers in [1, 2, 4] {
        assert_eq!(epochs(workers), alone);
    }
}

#[test]
fn an_epoch_can_be_begun_again() {
    let loader = DataLoader::builder(counting(50)).batch_size(8).shuffle(3).build();
    let loader = loader.expect("a loader");
    let first = batches(&loader);
    batches(&loader);
    loader.set_epoch(0);
    assert_eq!(batches(&loader), first);
}

#[test]
fn an_empty_dataset_gives_no_batches() {
    for workers in [0, 2] {
        let loader = DataLoader::builder(counting(0)).batch_size(4).workers(workers).build();
        let loader = loader.expect("a loader");
        assert!(loader.is_empty() && loader.iter().next().is_none());
    }
}

#[test]
fn drop_last_leaves_the_short_batch_out() {
    let loader = DataLoader::builder(counting(10)).batch_size(4).drop_last(true).workers(2).build();
    assert_eq!(batches(&loader.expect("a loader")), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
}

#[test]
fn arguments_that_contradict_each_other_are_errors() {
    fn error<D: SampleSource>(builder: DataLoaderBuilder<D>) -> Option<BuildError> {
        builder.build().err()
    }
    let builder = || DataLoader::builder(counting(10));
    assert_eq!(error(builder().batch_size(0)), Some(BuildError::ZeroBatchSize));
    assert_eq!(
        error(builder().workers(2).prefetch_factor(0)),
        Some(BuildError::ZeroPrefetchFactor)
    );
    assert_eq!(
        error(builder().prefetch_factor(3)),
        Some(BuildError::PrefetchFactorWithoutWorkers(3))
    );
    let second = Duration::from_secs(1);
    assert_eq!(error(builder().timeout(second)), Some(BuildError::TimeoutWithoutWorkers(second)));
    let sampler = || SequentialSampler::new(10);
    assert_eq!(error(builder().sampler(sampler()).shuffle(1)), Some(BuildError::SamplerAndShuffle));
    let batch_sampler = || BatchSampler::new(sampler(), 2, false).expect("batches of two");
    for (builder, name) in [
        (builder().batch_size(2), "batch_size"),
        (builder().drop_last(true), "drop_last"),
        (builder().shuffle(1), "shuffle"),
    ] {
        let refused = error(builder.batch_sampler(batch_sampler()));
        assert_eq!(refused, Some(BuildError::BatchSamplerExcludes(name)));
    }
}

#[test]
fn samples_are_mapped_and_joined_part_by_part() {
    let data = counting(4).map(|i| {
        let named = BTreeMap::from([("half".to_owned(), i as f64 / 2.0)]);
        Ok((i, (i % 2 == 0, format!("#{i}")), named))
    });
    let loader = DataLoader::builder(data).batch_size(4).workers(1).build().expect("a loader");
    let (numbers, (even, names), named) = loader.iter().next().expect("one").expect("a batch");
    assert_eq!(numbers.to_vec::<i64>().expect("values"), [0, 1, 2, 3]);
    assert_eq!(even.to_vec::<bool>().expect("values"), [true, false, true, false]);
    assert_eq!(names, ["#0", "#1", "#2", "#3"]);
    assert_eq!(named["half"].to_vec::<f64>().expect("values"), [0.0, 0.5, 1.0, 1.5]);
}

#[test]
fn whatever_is_nested_is_pinned_and_moved() {
    four_devices();
    let tensor = || Tensor::ones([3], ()).expect("made");
    let nested = (
        vec![tensor(), tensor()],
        Some(tensor()),
        HashMap::from([("a", tensor())]),
        "text".to_owned(),
        7i64,
    );
    let (list, option, map, text, number) = nested.into_pinned().expect("pinned");
    assert!(list.iter().all(Tensor::is_pinned) && map["a"].is_pinned());
    assert!(option.as_ref().is_some_and(Tensor::is_pinned));
    let moved = (list, option, map).into_device(Device::cuda_at(1), Blocking::No).expect("moved");
    let all = moved.0.iter().chain(&moved.1).chain(moved.2.values());
    for tensor in all {
        assert_eq!(tensor.device(), Device::cuda_at(1));
        assert_eq!(tensor.to_vec::<f32>().expect("values"), [1.0; 3]);
    }
    assert_eq!((text.as_str(), number), ("text", 7));
}

#[test]
fn prefetched_batches_are_on_the_device_in_order() {
    four_devices();
    let images = Tensor::arange(0..40, DType::F32).and_then(|x| x.reshape([20, 2]));
    let data = TensorDataset::new(images.expect("made")).expect("rows");
    for (workers, pin) in [(0, false), (0, true), (2, false), (2, true)] {
        let loader = DataLoader::builder(data.clone())
            .batch_size(3)
            .workers(workers)
            .pin_memory(pin)
            .prefetch_to(Device::cuda_at(2))
            .build()
            .expect("a loader");
        let mut seen = Vec::new();
        for batch in &loader {
            let batch = batch.expect("a batch");
            assert_eq!(batch.device(), Device::cuda_at(2));
            // The work on the current stream must wait for the copy on the loader's stream.
            seen.extend((&batch + 1.0).and_then(|x| x.to_vec::<f32>()).expect("values"));
        }
        assert_eq!(seen, (1..=40).map(|i| i as f32).collect::<Vec<_>>(), "{workers} workers");
    }
}

#[test]
fn without_workers_a_batch_is_given_before_the_next_is_made() {
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&begun);
    let data = counting(3).map(move |index| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(index)
    });
    let loader = DataLoader::builder(data).prefetch_to(Device::Cpu).build().expect("a loader");
    for (made, batch) in loader.iter().enumerate() {
        batch.expect("a batch");
        assert_eq!(begun.load(Ordering::Relaxed), made + 1);
    }
}

/// Three epochs of samples with a random number each, and one for each batch.
fn augmented(workers: usize, seed: Option<u64>) -> Vec<Vec<f32>> {
    let random = |_| Tensor::rand([1], ()).expect("memory");
    let data = counting(20).map(move |index| Ok((index, random(index))));
    let data = data.collate_with(|samples: Vec<(i64, Tensor)>| {
        let joined = Tensor::rand([1], ())?.item::<f32>()?;
        let samples = samples.into_iter().map(|(index, number)| Ok((index, number.item()?)));
        Ok((samples.collect::<tensor::Result<Vec<(i64, f32)>>>()?, joined))
    });
    let builder = DataLoader::builder(data).batch_size(3).workers(workers);
    let builder = match seed {
        Some(seed) => builder.shuffle(seed),
        None => builder,
    };
    let loader = builder.build().expect("a loader");
    let epoch = |_| {
        let mut drawn = vec![0.0; 20];
        for batch in &loader {
            let (samples, joined) = batch.expect("a batch");
            samples.into_iter().for_each(|(index, number)| drawn[index as usize] = number);
            drawn.push(joined);
        }
        drawn
    };
    (0..3).map(epoch).collect()
}

#[test]
fn random_numbers_of_samples_follow_from_seed_epoch_and_index() {
    let alone = augmented(0, Some(3));
    let mut all: Vec<u32> = alone.iter().flatten().map(|number| number.to_bits()).collect();
    all.sort_unstable();
    all.dedup();
    // Of 2^24 different numbers: in a run with another seed two may be equal.
    assert_eq!(all.len(), 3 * (20 + 7), "each sample and batch draws anew in each epoch");
    for workers in [0, 1, 2, 4] {
        assert_eq!(augmented(workers, Some(3)), alone, "{workers} workers");
    }
    assert_ne!(augmented(2, Some(4)), alone);
}

#[test]
fn without_an_order_of_its_own_a_loader_draws_by_the_callers_seed() {
    let seeded = |seed, workers| tensor::with_manual_seed(seed, || augmented(workers, None));
    let alone = seeded(5, 0);
    assert_ne!(alone[0], alone[1]);
    assert_eq!(seeded(5, 3), alone);
    assert_ne!(seeded(6, 0), alone);
}

#[test]
fn workers_inherit_the_callers_device_and_defaults() {
    four_devices();
    let _two = cuda::device(2).expect("a third device");
    let data = counting(4).map(|_| Ok(Tensor::zeros([1], Device::cuda()).expect("made")));
    tensor::with_default_dtype(DType::F64, || {
        let loader = DataLoader::builder(data).batch_size(2).workers(2).build().expect("a loader");
        for batch in &loader {
            let batch = batch.expect("a batch");
            assert_eq!((batch.device(), batch.dtype()), (Device::cuda_at(2), DType::F64));
        }
    })
    .expect("a floating dtype");
}

#[test]
fn datasets_whose_rows_differ_in_number_are_refused() {
    let (three, two) = (Tensor::ones([3, 1], ()), Tensor::ones([2], ()));
    let error = TensorDataset::new((three.expect("made"), two.expect("made"))).err();
    let text = error.expect("3 and 2 rows").to_string();
    assert!(text.contains('3') && text.contains('2'), "{text}");
    let scalar = Tensor::scalar(1.0, DType::F32).expect("made");
    assert!(TensorDataset::new(scalar).is_err());
}

#[test]
fn a_loader_goes_on_from_any_batch_with_the_same_rest_for_any_number_of_workers() {
    let loader = |workers| {
        let noisy = counting(23).map(|index| Ok((index, Tensor::rand([2], ()).expect("numbers"))));
        let builder = DataLoader::builder(noisy).batch_size(4).shuffle(3).workers(workers);
        builder.build().expect("a loader")
    };
    let read = |workers, state| {
        let loader = loader(workers);
        loader.set_state(state);
        let mut seen: Vec<(Vec<i64>, Vec<f32>)> = Vec::new();
        for _ in 0..2 {
            for batch in &loader {
                let (indices, noise) = batch.expect("a batch");
                seen.push((indices.to_vec().expect("indices"), noise.to_vec().expect("noise")));
            }
        }
        (seen, loader.state())
    };
    let (whole, end) = read(0, DataLoaderState::default());
    assert_eq!((whole.len(), end), (12, at(2, 0)));
    for workers in [0, 1, 2, 5] {
        for batches in 0..6 {
            let (rest, _) = read(workers, at(0, batches));
            assert_eq!(rest[..], whole[batches..], "{workers} workers, from batch {batches}");
        }
    }
    let beyond = read(2, at(0, usize::MAX)).0;
    assert_eq!(beyond[..], whole[6..], "nothing is left of that epoch");
}

#[test]
fn the_state_counts_what_the_loop_has_got_and_not_what_workers_made_ahead() {
    let loader = DataLoader::builder(counting(20)).batch_size(2).workers(3);
    let loader = loader.build().expect("a loader");
    let mut epoch = loader.iter();
    for batches in 1..=10 {
        epoch.next().expect("a batch").expect("it is read");
        let expected = match batches {
            10 => at(1, 0),
            _ => at(0, batches),
        };
        assert_eq!(loader.state(), expected);
    }
}
