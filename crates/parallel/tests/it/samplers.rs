//! Samplers, alone and in loaders. The shares of processes are those that PyTorch's
//! `DistributedSampler` gives: see `tests/expected/samplers.py`.

use parallel::{
    BatchSampler, DataLoader, DataLoaderState, DistributedSampler, RandomSampler, Sampler,
    SequentialSampler, Subset, SubsetRandomSampler, WeightedRandomSampler,
};
use tensor::Result;

use crate::{Counted, counting};

/// The lines of `samplers.txt`: samples, replicas, rank, whether the rest is dropped, and the indices.
fn expected() -> impl Iterator<Item = ([usize; 3], bool, Vec<usize>)> {
    include_str!("../expected/samplers.txt").lines().map(|line| {
        let mut words = line.split(' ').map(|word| word.parse().expect("a number"));
        let mut word = || words.next().expect("four numbers first");
        let numbers = [word(), word(), word()];
        (numbers, word() == 1, words.collect())
    })
}

#[test]
fn each_process_gets_the_share_that_pytorch_gives_it() -> Result<()> {
    let mut lines = 0;
    for ([samples, replicas, rank], drop_last, indices) in expected() {
        let sampler = DistributedSampler::new(samples, replicas, rank)?.drop_last(drop_last);
        let context = format!("{rank} of {replicas}, {samples} samples, drop_last: {drop_last}");
        assert_eq!(sampler.iter(0)?.collect::<Vec<_>>(), indices, "{context}");
        assert_eq!(sampler.len(), indices.len(), "{context}");
        lines += 1;
    }
    assert!(lines > 100, "{lines}");
    Ok(())
}

#[test]
fn processes_that_shuffle_share_one_order() -> Result<()> {
    for epoch in 0..3 {
        let share = |rank| DistributedSampler::new(100, 4, rank)?.shuffle(7).iter(epoch);
        let shares = (0..4).map(|rank| Ok(share(rank)?.collect::<Vec<_>>()));
        let shares: Vec<Vec<usize>> = shares.collect::<Result<_>>()?;
        let order: Vec<usize> =
            (0..25).flat_map(|turn| shares.iter().map(move |s| s[turn])).collect();
        assert_eq!(order, RandomSampler::new(100, 7).iter(epoch)?.collect::<Vec<_>>());
    }
    assert!(DistributedSampler::new(5, 2, 2).is_err() && DistributedSampler::new(5, 0, 0).is_err());
    Ok(())
}

#[test]
fn random_samplers_draw_as_many_as_they_are_asked_for() -> Result<()> {
    let sorted = |sampler: &dyn Sampler| -> Result<Vec<usize>> {
        let mut drawn: Vec<usize> = sampler.iter(3)?.collect();
        assert_eq!(drawn.len(), sampler.len());
        drawn.sort_unstable();
        Ok(drawn)
    };
    let random = || RandomSampler::new(4, 1);
    assert_eq!(sorted(&random())?, [0, 1, 2, 3]);
    assert_eq!(sorted(&random().num_samples(8))?, [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(sorted(&random().num_samples(3))?.len(), 3);
    let drawn = sorted(&random().replacement(true).num_samples(1000))?;
    // 250 are expected of each; six standard deviations are 83.
    for index in 0..4 {
        let count = drawn.iter().filter(|&&drawn| drawn == index).count();
        assert!(count.abs_diff(250) < 83, "{index}: {count}");
    }
    assert!(sorted(&RandomSampler::new(0, 1).num_samples(5))?.is_empty(), "there are none to draw");
    assert_eq!(sorted(&SubsetRandomSampler::new(vec![9, 5, 7], 2))?, [5, 7, 9]);
    Ok(())
}

#[test]
fn a_loader_goes_on_from_any_batch_whatever_its_sampler() {
    type Of = fn(usize) -> parallel::DataLoaderBuilder<Counted>;
    let loaders: [(&str, Of); 4] = [
        ("random", |_| {
            DataLoader::builder(counting(23)).batch_size(4).sampler(RandomSampler::new(23, 1))
        }),
        ("weighted", |_| {
            let weights = (1..=23).map(f64::from).collect();
            let sampler = WeightedRandomSampler::new(weights, 30, true, 5).expect("weights");
            DataLoader::builder(counting(23)).batch_size(4).sampler(sampler)
        }),
        ("distributed", |_| {
            let sampler = DistributedSampler::new(23, 2, 1).expect("two ranks").shuffle(3);
            DataLoader::builder(counting(23)).batch_size(3).sampler(sampler)
        }),
        ("batches", |_| {
            let batches = BatchSampler::new(SequentialSampler::new(23), 5, true);
            DataLoader::builder(counting(23)).batch_sampler(batches.expect("batches of five"))
        }),
    ];
    for (name, builder) in loaders {
        let read = |workers: usize, batches: usize| -> Vec<Vec<i64>> {
            let loader = builder(workers).workers(workers).build().expect("a loader");
            loader.set_state(DataLoaderState { epoch: 1, batches, ..DataLoaderState::default() });
            let batch = |batch: std::result::Result<tensor::Tensor, _>| {
                batch.expect("a batch").to_vec().expect("values")
            };
            loader.iter().map(batch).chain(loader.iter().map(batch)).collect()
        };
        let whole = read(0, 0);
        for workers in [0, 1, 2, 8] {
            let per_epoch = builder(0).build().expect("a loader").len();
            for batches in 0..=per_epoch {
                assert_eq!(
                    read(workers, batches)[..],
                    whole[batches..],
                    "{name}, {workers}, {batches}"
                );
            }
        }
    }
}

#[test]
fn an_index_that_the_dataset_has_not_is_its_own_error_in_a_subset_too() {
    use parallel::TensorDataset;
    let data = TensorDataset::new(tensor::Tensor::arange(3, ()).expect("made")).expect("rows");
    let subset = Subset::new(data, vec![2, 0, 3]);
    let loader = DataLoader::builder(subset).build().expect("a loader");
    let is_made: Vec<bool> = loader.iter().map(|batch| batch.is_ok()).collect();
    assert_eq!(is_made, [true, true, false]);
}
