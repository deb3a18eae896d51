//! Pinned memory: S24, S25.

use std::collections::BTreeMap;

use parallel::{Collate, DataLoader, Dataset, PinMemory};
use semantics::{choose_driver, last_device};
use tensor::{DType, Device, Result, Tensor, tensor};
use test_support::isolate;

#[test]
pub(crate) fn s24_pin_memory_returns_a_copy_in_page_locked_memory() -> Result<()> {
    choose_driver();
    let x = tensor![1.0, 2.0, 3.0]?;
    assert!(!x.is_pinned());
    let pinned = x.pin_memory()?;
    assert!(pinned.is_pinned() && !x.is_pinned());
    x.fill_(0.0)?;
    assert_eq!(pinned.to_vec::<f32>()?, [1.0, 2.0, 3.0], "a copy, not an alias");
    assert_eq!(pinned.pin_memory()?.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    assert!(Tensor::zeros([2], Device::cuda_at(0))?.pin_memory().is_err(), "only CPU tensors");
    Ok(())
}

#[test]
pub(crate) fn s24_a_storage_is_pinned_as_a_whole() -> Result<()> {
    choose_driver();
    let x = tensor![[1.0, 2.0], [3.0, 4.0]]?;
    let row = x.select(0, 1)?;
    assert!(row.storage().ptr_eq(x.storage()) && !row.storage().is_pinned());
    assert_eq!((row.storage().nbytes(), row.storage().device()), (16, Device::Cpu));
    let pinned = row.storage().pin_memory()?;
    assert!(pinned.is_pinned() && !pinned.ptr_eq(x.storage()), "a copy, not an alias");
    assert!(pinned.pin_memory()?.ptr_eq(&pinned), "it is page-locked already");
    x.fill_(0.0)?;
    let all = Tensor::from_storage(&pinned, DType::F32)?;
    assert!(all.is_pinned());
    assert_eq!(all.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0], "all of it, not the row");
    let there = Tensor::zeros([2], last_device())?;
    assert_eq!((there.storage().nbytes(), there.storage().device()), (8, last_device()));
    assert!(there.storage().pin_memory().is_err(), "only memory of the host");
    Ok(())
}

#[test]
fn s24_pinning_beyond_the_cap_is_an_error_that_names_it() {
    isolate(|| {
        gpu_alloc::set_pinned_limit(1 << 20);
        let x = Tensor::zeros([1 << 20], DType::F32).expect("4 MiB of ordinary memory");
        let error = x.pin_memory().expect_err("four times the cap").to_string();
        assert!(error.contains("limit is 1.00 MiB"), "{error}");
    })
    .env("GPU_DRIVER", "software:4")
    .run();
}

struct Nested;

/// A sample of one's own, of every kind of part.
#[derive(Collate)]
struct Parts {
    matrix: [[f32; 2]; 2],
    list: Vec<Tensor>,
    label: Option<usize>,
    name: String,
}

#[test]
fn s25_every_kind_of_part_is_made_in_pinned_memory() {
    choose_driver();
    let parts = |index: usize| Parts {
        matrix: [[index as f32; 2]; 2],
        list: vec![Tensor::full([3], index as f64, ()).expect("memory"); 2],
        label: Some(index),
        name: format!("#{index}"),
    };
    for workers in [0, 2] {
        let data = Nested.map(move |(index, _)| Ok(parts(index.mean(())?.item::<f32>()? as usize)));
        let loader = DataLoader::builder(data).batch_size(4).workers(workers).pin_memory(true);
        let loader = loader.build().expect("a loader");
        for (number, batch) in loader.iter().enumerate() {
            let PartsBatch { matrix, list, label, name } = batch.expect("a batch");
            let label = label.expect("each sample has one");
            assert!(matrix.is_pinned() && list.iter().all(Tensor::is_pinned) && label.is_pinned());
            let first = 4 * number;
            assert_eq!(label.to_vec::<i64>().expect("integers")[0], first as i64);
            assert_eq!((list.len(), &name[0]), (2, &format!("#{first}")));
        }
    }
}

impl Dataset for Nested {
    type Sample = (Tensor, BTreeMap<String, Tensor>);
    type Error = tensor::Error;

    fn len(&self) -> usize {
        10
    }

    fn get(&self, index: usize) -> Result<Self::Sample> {
        let x = Tensor::full([2], index as f64, ())?;
        Ok((x.clone(), BTreeMap::from([("twice".to_owned(), (&x + &x)?)])))
    }
}

#[test]
fn s25_a_loader_yields_batches_in_pinned_memory_nested_ones_included() {
    choose_driver();
    for workers in [0, 2] {
        let loader = DataLoader::builder(Nested)
            .batch_size(4)
            .workers(workers)
            .pin_memory(true)
            .build()
            .expect("a loader");
        let mut seen = 0;
        for batch in &loader {
            let (x, more) = batch.expect("a batch");
            assert!(x.is_pinned() && more["twice"].is_pinned());
            let twice = more["twice"].to_vec::<f32>().expect("values");
            assert_eq!(twice[0], 2.0 * seen as f32);
            seen += x.shape()[0];
        }
        assert_eq!(seen, 10);
    }
}

#[test]
fn s25_a_users_own_batch_type_can_be_pinned() {
    struct Mine(Tensor);
    impl PinMemory for Mine {
        fn into_pinned(self) -> Result<Self> {
            Ok(Mine(self.0.pin_memory()?))
        }
    }
    choose_driver();
    let mine = Mine(tensor![1.0].expect("made")).into_pinned().expect("pinned");
    assert!(mine.0.is_pinned());
}
